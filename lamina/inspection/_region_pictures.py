"""Breakpoints along a segment, and regions in a plane with one colour a pattern."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lamina._checks import check_integer
from lamina._typing import FloatArray

from ._axes import BLACK, BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._bounds import RegionBoundResult
    from ._line import LineRegionsResult
    from ._plane import RegionCountResult
    from ._plane_result import PlaneRegionsResult

_DRAW_EDGES = 8_000
"""More faces than these are drawn without lines between them, which would hide them."""


def draw_line(result: LineRegionsResult, output: int, ax: Axes) -> Axes:
    """Draw one output against t, its breakpoints on it, and a tick at each below."""
    column = check_integer("output", output, 0, result.values.shape[2] - 1)
    ends = np.concatenate([[0.0], result.breakpoints, [1.0]])
    t = np.stack([ends[:-1], ends[1:]], axis=1).ravel()
    y = result.values[:, :, column].ravel()
    ax.plot(t, y, color=BLUE, label=f"output {column}")
    few = result.n_regions <= 200
    ax.plot(
        result.breakpoints, result.values[1:, 0, column], "o" if few else ".",
        color=ORANGE, markersize=4 if few else 1.5, linestyle="None",
        label=f"{result.n_regions - 1:,} breakpoints",
    )  # fmt: skip
    low = y.min() - 0.08 * (np.ptp(y) or 1.0)
    ax.plot(
        result.breakpoints, np.full(len(result.breakpoints), low), "|", color=GREY,
        markersize=6, linestyle="None",
    )  # fmt: skip
    ax.set_title(f"{result.n_regions:,} regions, {result.n_pieces:,} linear pieces")
    ax.set_xlabel("t")
    ax.set_ylabel(f"output {column}")
    ax.legend()
    return ax


def draw_plane(
    result: PlaneRegionsResult, colour: str, ax: Axes, *, boundary: bool = False
) -> Axes:
    """Draw each face as a polygon, and the edges between them where there are not too many."""
    from matplotlib.collections import LineCollection, PolyCollection

    polygons = [result.vertices[face] for face in result.faces]
    values = _face_values(result, colour)
    faces = PolyCollection(
        polygons, edgecolors="face", linewidths=0.2, rasterized=True, label="region"
    )
    faces.set_array(values)
    faces.set_cmap("cividis")
    ax.add_collection(faces)
    if result.n_regions <= _DRAW_EDGES:
        inner = result.edges[(result.edge_faces >= 0).all(axis=1)]
        width = 0.8 if result.n_regions <= 500 else 0.3
        ax.add_collection(
            LineCollection(list(result.vertices[inner]), colors="white", linewidths=width)
        )
    if boundary:
        segments = list(result.decision_boundary())
        ax.add_collection(
            LineCollection(segments, colors=BLACK, linewidths=1.8, label="decision boundary")
        )
    if colour == "size":
        bar = ax.figure.colorbar(faces, ax=ax, shrink=0.8)
        bar.set_label("log10 of the area")
    ax.set_xlim(*result.bounds[0])
    ax.set_ylim(*result.bounds[1])
    ax.set_aspect("equal", adjustable="box")
    ax.grid(False)
    ax.set_title(f"{result.n_regions:,} regions")
    plain = (
        len(result.origin) == 2 and not result.origin.any() and (result.axes == np.eye(2)).all()
    )
    ax.set_xlabel("x1" if plain else "u")
    ax.set_ylabel("x2" if plain else "v")
    return ax


def _face_values(result: PlaneRegionsResult, colour: str) -> FloatArray:
    """Return a number from 0 to 1 for each face: its own, or by its area."""
    if colour == "size":
        tiny = np.finfo(float).tiny
        values: FloatArray = np.log10(np.maximum(result.areas, tiny))
        return values
    # Steps of the golden ratio: faces that were cut from one another get colours far apart.
    spread: FloatArray = (np.arange(result.n_regions) * 0.6180339887498949) % 1.0
    return spread


def draw_counts(result: RegionCountResult, ax: Axes) -> Axes:
    """Draw the number of regions after each layer as bars."""
    layers = np.arange(1, len(result.regions_by_layer) + 1)
    bars = ax.bar(layers, result.regions_by_layer, color=BLUE)
    ax.bar_label(bars, labels=[f"{n:,}" for n in result.regions_by_layer])
    ax.set_xticks(layers)
    ax.set_xlabel("after layer")
    ax.set_ylabel("regions")
    return ax


def draw_bounds(result: RegionBoundResult, ax: Axes) -> Axes:
    """Draw bounds as horizontal bars on a logarithmic axis."""
    named = {
        "reached by some": result.reached,
        "at most, one layer": result.shallow,
        "at most, ReLU": result.upper_relu,
        "at most": result.upper,
    }
    # Whole numbers of any length have a logarithm, but not always a float.
    digits = [math.log10(number) for number in named.values()]
    ax.barh(list(named), digits, color=BLUE)
    ax.set_xlabel("log10 of the number of regions")
    ax.set_ylabel("bound")
    ax.set_title("-".join(str(size) for size in result.sizes))
    return ax
