"""Pictures of components, distances, curves, intrinsic dimension and radii."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._axes import BLACK, BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._balls import GaussianRadius
    from ._dimension import DimensionResult
    from ._geometry_components import ComponentsResult
    from ._geometry_curve import CurveResult
    from ._geometry_distances import DistancesResult

_COLOURS = (BLUE, ORANGE, GREY)


def draw_components(rows: dict[str, ComponentsResult], ax: Axes) -> Axes:
    """Draw the share of the variance against the number of components of each data set."""
    for (name, found), colour in zip(rows.items(), _COLOURS, strict=False):
        share = found.cumulative
        ax.plot(np.arange(1, len(share) + 1), share, color=colour, label=name)
    first = next(iter(rows.values()))
    for wanted, count in first.counts.items():
        ax.plot(count, wanted, "o", color=BLACK, markersize=4)
        ax.annotate(f"{count}", (count, wanted), (4, -10), textcoords="offset points")
    ax.set_xscale("log")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("components")
    ax.set_ylabel("share of the variance")
    ax.legend(loc="lower right")
    return ax


def draw_distances(found: DistancesResult, ax: Axes) -> Axes:
    """Draw nearest, mean and farthest distance of each query, sorted by the nearest."""
    order = np.argsort(found.nearest, kind="stable")
    place = np.arange(len(order))
    for name, values, colour in (
        ("farthest", found.farthest, GREY),
        ("mean", found.mean, ORANGE),
        ("nearest", found.nearest, BLUE),
    ):
        ax.plot(place, values[order], color=colour, label=name)
    ax.set_ylim(bottom=0)
    ax.set_title(f"nearest / farthest: {found.nearest_to_farthest:.3f}")
    ax.set_xlabel("query, by its nearest distance")
    ax.set_ylabel("distance")
    ax.legend(loc="lower right")
    return ax


def draw_curve(found: CurveResult, ax: Axes) -> Axes:
    """Draw a curve in its first two principal components."""
    x, y = found.plane.T
    ax.plot(x, y, ".-", color=BLUE, markersize=3, label="curve")
    ax.plot(x[[0, -1]], y[[0, -1]], "s", color=ORANGE, label="ends")
    share = found.components.cumulative
    held = float(share[min(2, len(share)) - 1])
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(f"{held:.0%} of the variance is in this plane")
    ax.set_xlabel("first component")
    ax.set_ylabel("second component")
    ax.legend(loc="upper center")
    return ax


def draw_dimension(found: DimensionResult, ax: Axes) -> Axes:
    """Draw -ln(1 - F) of the ratios against their logarithms, with the slope found."""
    finite = found.log_ratios[np.isfinite(found.log_ratios)]
    n = len(finite)
    height = -np.log1p(-np.arange(1, n) / n) if n > 1 else np.zeros(0)
    ax.plot(finite[:-1], height, ".", color=BLUE, markersize=3, label="rows")
    if np.isfinite(found.dimension) and n:
        end = max(float(finite[-1]), 1e-12)
        label = f"slope {found.dimension:.2f}"
        ax.plot([0, end], [0, found.dimension * end], color=ORANGE, label=label)
    ax.set_title(found.method)
    ax.set_xlabel("ln of the ratio of distances")
    ax.set_ylabel("−ln(1 − F)")
    ax.legend(loc="lower right")
    return ax


def draw_radii(radii: Sequence[GaussianRadius], ax: Axes) -> Axes:
    """Draw the density of the length of Gaussian vectors, each dimension with its peak."""
    colours = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
    for i, radius in enumerate(radii):
        low = max(0.0, radius.mean - 5 * radius.std)
        r = np.linspace(low, radius.mean + 5 * radius.std, 401)
        label = f"D = {radius.n_features:,}"
        ax.plot(r, np.exp(radius.log_pdf(r)), color=colours[i % len(colours)], label=label)
    ax.set_ylim(bottom=0)
    ax.set_title("Length of a standard Gaussian vector")
    ax.set_xlabel("distance from the origin")
    ax.set_ylabel("density")
    ax.legend(loc="upper center")
    return ax
