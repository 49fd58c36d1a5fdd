"""A network on a graph of units: its levels from left to right, its edges by weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamina._checks import check_integer, shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray
from lamina.nn import GraphNetwork, Network

from ._style import axes_or_new, colour, marker, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 80
"""Units of a larger graph stay without their names."""

SWEEPS = 4
"""How often units of a level are put in the order of their neighbours."""


def plot_graph(
    network: GraphNetwork | Network, *, max_edges: int = 2000, ax: Axes | None = None
) -> Axes:
    """Draw a network unit by unit: levels from left to right, edges by the size of the weight.

    Edges that skip levels are bent around the units between.

    Parameters
    ----------
    network : GraphNetwork or Network
        What to draw.
    max_edges : int, default=2000
        Of more edges those with the largest weights are drawn; the title says so.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Raises
    ------
    ParameterError
        If it is no network.

    Examples
    --------
    >>> from lamina.nn import GraphNetwork
    >>> from lamina.plots import plot_graph
    >>> network = GraphNetwork({"h": ["a", "b"], "y": ["h", "a"]}, random_state=0)
    >>> plot_graph(network).get_title()
    '2 units, 4 edges, depth 2'
    """
    check_integer("max_edges", max_edges, 0)
    if isinstance(network, Network):
        network = GraphNetwork.from_network(network)
    if not isinstance(network, GraphNetwork):
        raise ParameterError(f"network must be a GraphNetwork or a Network. Got {shown(network)}.")
    levels = network.levels
    place = _places(levels, network.parents)
    with style():
        width, height = 1.2 + 1.1 * len(levels), 1.4 + 0.45 * max(map(len, levels))
        ax = axes_or_new(ax, (min(max(width, 5.2), 12.0), min(max(height, 2.6), 9.0)))
        _draw_edges(ax, network, place, max_edges)
        _draw_units(ax, network, place)
        n_units, n_edges = len(network.unit_biases), len(network.edge_weights)
        drawn = f"{max_edges:,} of {n_edges:,}" if n_edges > max_edges else f"{n_edges:,}"
        ax.set_title(f"{n_units:,} units, {drawn} edges, depth {network.depth}")
        ax.set_xlabel("level")
        ax.set_xticks(range(0, len(levels), max(1, len(levels) // 10)))
        ax.set_yticks([])
        ax.grid(visible=False)
        ax.margins(0.08, 0.15)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4.2, ncols=5)
    return ax


def _places(
    levels: Sequence[Sequence[str]], parents: dict[str, tuple[str, ...]]
) -> dict[str, tuple[float, float]]:
    """Return where each unit stands: x is its level, y the middle of its neighbours, spread."""
    heights = {unit: (len(level) - 1) / 2 - i for level in levels for i, unit in enumerate(level)}
    near: dict[str, list[str]] = {unit: list(parents.get(unit, ())) for unit in heights}
    for unit, above in parents.items():
        for parent in above:
            near[parent].append(unit)
    for _ in range(SWEEPS):
        for level in levels[1:]:
            means = {
                u: sum(heights[v] for v in near[u]) / len(near[u]) if near[u] else heights[u]
                for u in level
            }
            ranked = sorted(level, key=lambda unit: -means[unit])
            heights |= {unit: (len(level) - 1) / 2 - i for i, unit in enumerate(ranked)}
    return {unit: (float(x), heights[unit]) for x, level in enumerate(levels) for unit in level}


def _draw_edges(
    ax: Axes, network: GraphNetwork, place: dict[str, tuple[float, float]], max_edges: int
) -> None:
    """Draw the edges with the largest weights, one colour for each sign."""
    from matplotlib.collections import LineCollection

    weights = network.weights
    edges = [
        (parent, unit, float(w))
        for unit, above in network.parents.items()
        for parent, w in zip(above, weights[unit], strict=True)
    ]
    edges = sorted(edges, key=lambda edge: -abs(edge[2]))[:max_edges]
    largest = max((abs(w) for *_, w in edges), default=1.0) or 1.0
    for sign, label, index in ((1, "positive weight", 0), (-1, "negative weight", 1)):
        here = [edge for edge in edges if (edge[2] >= 0) == (sign > 0)]
        if not here:
            continue
        lines = LineCollection(
            [_path(place[parent], place[unit]) for parent, unit, _ in here],
            colors=colour(index),
            linestyles="-" if sign > 0 else "--",
            linewidths=[0.3 + 2.2 * abs(w) / largest for *_, w in here],
            alpha=0.75,
            zorder=1,
            label=label,
        )
        ax.add_collection(lines)


def _path(start: tuple[float, float], stop: tuple[float, float]) -> FloatArray:
    """Return a line, or a curve around what stands between where levels are skipped."""
    (x0, y0), (x1, y1) = start, stop
    skipped = x1 - x0 - 1
    if skipped <= 0:
        return np.array([start, stop])
    t = np.linspace(0.0, 1.0, 17)
    side = 1.0 if y0 + y1 >= 0 else -1.0
    bend = side * (0.35 + 0.1 * skipped) * 4 * t * (1 - t)
    return np.stack([x0 + t * (x1 - x0), y0 + t * (y1 - y0) + bend], axis=1)


def _draw_units(ax: Axes, network: GraphNetwork, place: dict[str, tuple[float, float]]) -> None:
    """Draw inputs, hidden units and outputs, with their names where they are few."""
    kinds: dict[str, list[str]] = {"input": [], "hidden": [], "output": []}
    kind_of = dict.fromkeys(network.inputs, "input") | dict.fromkeys(network.outputs, "output")
    for unit in place:
        kinds[kind_of.get(unit, "hidden")].append(unit)
    for index, (label, units) in enumerate(kinds.items()):
        if units:
            x, y = np.array([place[unit] for unit in units]).T
            size = 90 if len(place) <= MOST_NAMES else 12
            ax.scatter(
                x, y, s=size, c=colour(index + 2), marker=marker(index), label=label, zorder=2
            )
    if len(place) <= MOST_NAMES:
        for unit, at in place.items():
            ax.annotate(
                unit, at, (0, 8), textcoords="offset points", ha="center", fontsize=8, zorder=3
            )
