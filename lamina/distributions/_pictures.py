"""Pictures of predictive distributions: the density of one row, and of many side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer
from lamina._errors import DataError, ParameterError
from lamina._optional import optional_import
from lamina._typing import FloatArray

from ._arguments import numbers, refuse_nan
from ._predictive import Predictive

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _ORANGE, _BLACK = "#0072b2", "#e69f00", "#000000"
_N_POINTS = 400
_MOST_NODES = 300


def _axes(ax: Axes | None) -> Axes:
    """Return the axes that were given, or those of a new figure without pyplot or a window."""
    if ax is not None:
        return ax
    figure_class = optional_import("matplotlib.figure", extra="plots", purpose="Plotting").Figure
    new: Axes = figure_class(figsize=(4.8, 3.6), layout="constrained").subplots()
    return new


def plot_row(dist: Predictive, i: int, level: float, ax: Axes | None) -> Axes:
    """Draw the density of one row, with its mean, its modes and its region."""
    one = dist[check_integer("i", i, -len(dist), len(dist) - 1)]
    if one.n_targets == 2 and not one.is_discrete:
        return _plane(one, _axes(ax))
    if one.n_targets > 1:
        raise ParameterError(
            "plot draws one target, or two continuous ones. Got "
            f"{one.n_targets} targets. Use marginal(target).plot(i)."
        )
    ax = _axes(ax)
    y = _grid(one, _N_POINTS)
    density = one.pdf(y[None])[0]
    pieces = one.highest_density(level)[0]
    if one.is_discrete:
        ax.vlines(y, 0, density, color=_BLUE)
    else:
        ax.plot(y, density, color=_BLUE)
    for number, (low, high) in enumerate(pieces):
        inside = y[(y > low) & (y < high)]
        x = np.concatenate([[low], inside, [high]])
        label = f"{level:.0%} region" if number == 0 else None
        ax.fill_between(x, one.pdf(x[None])[0], color=_BLUE, alpha=0.2, linewidth=0, label=label)
    modes = one.modes()
    ax.plot(modes.locations[0], modes.heights[0], "o", color=_ORANGE, label="modes")
    ax.axvline(float(one.mean()[0]), color=_BLACK, linestyle="--", label="mean")
    ax.set_xlabel("y")
    ax.set_ylabel("probability" if one.is_discrete else "density")
    ax.set_title(f"row {int(one.rows[0])}")
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper right")
    return ax


def _grid(dist: Predictive, n: int) -> FloatArray:
    """Return values (n,) that cover the rows of a distribution of one target."""
    ends = dist.quantile([1e-3, 1 - 1e-3])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    if dist.is_discrete:
        step = max(1.0, np.ceil((high - low + 1) / _MOST_NODES))
        return np.arange(max(low - 1, 0.0), high + 2, step)
    margin = 0.05 * (high - low)
    return np.linspace(low - margin, high + margin, n)


def _plane(one: Predictive, ax: Axes) -> Axes:
    """Draw contours of the joint density of two targets."""
    across, up = (_grid(one.marginal(target), 120) for target in (0, 1))
    places = np.stack(np.meshgrid(across, up), axis=-1)
    density = one.pdf(places.reshape(1, -1, 2))[0].reshape(places.shape[:2])
    ax.contourf(across, up, density, levels=12, cmap="Blues")
    mean = one.mean()[0]
    ax.plot(mean[0], mean[1], "+", color=_BLACK, label="mean")
    ax.set_xlabel("y0")
    ax.set_ylabel("y1")
    ax.set_title(f"row {int(one.rows[0])}")
    ax.legend(loc="upper right")
    return ax


def plot_density(dist: Predictive, grid: Any, x: Any, ax: Axes | None) -> Axes:
    """Draw the density of all rows as a heat map over x and y."""
    if dist.n_targets > 1:
        raise ParameterError(
            f"plot_density draws one target. Got {dist.n_targets} targets. "
            "Use marginal(target).plot_density()."
        )
    y = _grid(dist, _N_POINTS) if grid is None else np.sort(_line("grid", grid))
    across = dist.rows.astype(np.float64) if x is None else _line("x", x)
    if across.shape != (len(dist),):
        raise DataError(
            f"x must have shape ({len(dist)},), a value for each row. Got shape {across.shape}."
        )
    order = np.argsort(across, kind="stable")
    ax = _axes(ax)
    density = dist.pdf(y[None])[order].T
    # One bright row must not leave all the others dark.
    top = np.quantile(density.max(axis=0), 0.9)
    picture = ax.pcolormesh(
        _cells(across[order]), _cells(y), density, cmap="Blues", vmin=0.0, vmax=top or None
    )
    ax.figure.colorbar(picture, ax=ax, label="probability" if dist.is_discrete else "density")
    ax.set_xlabel("row" if x is None else "x")
    ax.set_ylabel("y")
    return ax


def _line(name: str, values: Any) -> FloatArray:
    line = numbers(name, values)
    refuse_nan(name, line, infinite_too=True)
    if line.ndim != 1 or not line.size:
        raise DataError(f"{name} must have shape (m,) with m of at least 1. Got {line.shape}.")
    return line


def _cells(centres: FloatArray) -> FloatArray:
    """Return the edges (n + 1,) of cells around n centres in order."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - middle[0], 2 * centres[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])
