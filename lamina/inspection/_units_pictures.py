"""Pictures of units and of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from lamina._checks import check_choice, check_integer
from lamina._errors import ParameterError

from ._axes import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lamina._typing import FloatArray

    from ._gradients import GradientsResult
    from ._rank import RankResult
    from ._units import UnitsResult


def draw_units(
    result: UnitsResult, kind: Literal["heat", "saturation", "moved"], layer: int, ax: Axes
) -> Axes:
    """Draw one of the three pictures of units."""
    check_choice("kind", kind, ("heat", "saturation", "moved"))
    if kind == "moved":
        return _bars(result, layer, ax)
    return _heat(result, ax) if kind == "heat" else _strips(result, ax)


def _grid(rows: list[FloatArray]) -> FloatArray:
    """Return rows of different lengths as one array, NaN where a row has ended."""
    grid = np.full((len(rows), max(map(len, rows))), np.nan)
    for line, values in zip(grid, rows, strict=True):
        line[: len(values)] = values
    return grid


def _layer_axis(result: UnitsResult, ax: Axes) -> None:
    """Name the layers, the first one on top."""
    names = [*(str(layer.layer) for layer in result.layers[:-1]), "output"]
    ax.set_yticks(np.arange(len(names)) + 0.5, names)
    ax.set_ylim(len(names), 0)
    ax.set_xlabel("unit, or its rank in the layer")
    ax.set_ylabel("layer")
    ax.grid(visible=False)


def _heat(result: UnitsResult, ax: Axes) -> Axes:
    """Draw the spread of each unit beside the largest of its layer, and mark the dead ones."""
    largest = [max(float(layer.std.max()), 1e-300) for layer in result.layers]
    grid = _grid([layer.std / top for layer, top in zip(result.layers, largest, strict=True)])
    mesh = ax.pcolormesh(np.ma.masked_invalid(grid), cmap="cividis", vmin=0.0, vmax=1.0)
    ax.figure.colorbar(mesh, ax=ax, label="spread / largest of the layer")
    places = [
        (unit + 0.5, row + 0.5)
        for row, layer in enumerate(result.layers)
        for unit in np.flatnonzero(layer.dead).tolist()
    ]
    if places:
        x, y = np.array(places).T
        ax.plot(x, y, linestyle="none", marker="x", color=ORANGE, label=f"dead ({len(places)})")
        ax.legend(loc="upper right")
    _layer_axis(result, ax)
    ax.set_xlabel("unit")
    ax.set_title(f"{len(result.dead)} of {result.n_hidden} hidden units are dead")
    return ax


def _strips(result: UnitsResult, ax: Axes) -> Axes:
    """Draw the saturated share of the units, a strip for each layer, largest first."""
    grid = _grid([np.sort(layer.saturated_share)[::-1] for layer in result.layers])
    mesh = ax.pcolormesh(np.ma.masked_invalid(grid), cmap="cividis", vmin=0.0, vmax=1.0)
    ax.figure.colorbar(mesh, ax=ax, label="share of rows saturated")
    _layer_axis(result, ax)
    ax.set_xlabel("units, most saturated first")
    ax.set_title(f"slope below {result.saturation:g} of the largest")
    return ax


def _bars(result: UnitsResult, layer: int, ax: Axes) -> Axes:
    """Draw how far each unit of a layer moved, dead ones in another colour."""
    layer = check_integer("layer", layer, 1, len(result.layers))
    record = result.layers[layer - 1]
    if record.moved is None:
        raise ParameterError(
            "kind must be 'heat' or 'saturation' without an initial network. Got 'moved'. "
            "Pass initial= to units."
        )
    for name, colour, which in (
        ("alive", BLUE, ~record.dead),
        ("dead", ORANGE, record.dead),
    ):
        if which.any():
            places = np.flatnonzero(which)
            ax.bar(places, record.moved[which], color=colour, label=name)
            # A bar of height 0 cannot be seen.
            ax.plot(places, record.moved[which], "o", color=colour)
    ax.set_xlabel(f"unit of layer {layer}")
    ax.set_ylabel("distance moved by its weights and bias")
    ax.set_title(f"least {record.moved.min():.3g}, most {record.moved.max():.3g}")
    ax.legend(loc="upper right")
    return ax


def draw_gradients(result: GradientsResult, ax: Axes) -> Axes:
    """Draw signal and gradient norm of each layer."""
    numbers = [layer.layer for layer in result.layers]
    for name, colour, marker in (("signal", BLUE, "o"), ("norm", ORANGE, "s")):
        values = np.array([getattr(layer, name) for layer in result.layers])
        label = "signal ‖δ‖" if name == "signal" else "‖gradient of W, b‖"
        ax.plot(
            numbers, np.where(values > 0, values, np.nan), marker + "-", color=colour, label=label
        )
    if any(layer.norm for layer in result.layers):
        ax.set_yscale("log")
    ax.axhline(1.0, color=GREY, linewidth=0.6)
    ax.set_xticks(numbers)
    ax.set_xlabel("layer")
    ax.set_ylabel("size")
    cause = "" if result.cause == "none" else f", by the {result.cause}"
    ax.set_title(f"gradient: {result.verdict}{cause}")
    ax.legend(loc="best")
    return ax


def draw_singular_values(result: RankResult, ax: Axes) -> Axes:
    """Draw the singular values of each layer beside its largest, early layers dark."""
    lowest = 1.0
    for place, layer in enumerate(result.layers):
        values = layer.singular_values / (layer.singular_values[0] or 1.0)
        shade = 1.0 - 0.7 * place / max(1, len(result.layers) - 1)
        numbers = np.arange(1, len(values) + 1)
        label = f"layer {layer.layer}: rank {layer.rank}"
        shown = np.where(values > 0, values, np.nan)
        ax.plot(numbers, shown, ".-", color=BLUE, alpha=shade, label=label)
        lowest = min(lowest, float(values[values > 0].min(initial=1.0)))
    ax.set_yscale("log")
    ax.set_ylim(max(lowest / 2, 1e-18), 2.0)
    ax.set_xlabel("number of the singular value")
    ax.set_ylabel("singular value / largest")
    ax.legend(loc="best")
    return ax
