"""Depth and linear pieces: the sawtooth, its shallow twin, bounds, and how pieces are counted."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray
from lamina.inspection import (
    count_arrangement,
    count_regions,
    region_bound,
    regions_in_plane,
    regions_on_line,
    sawtooth_network,
)
from lamina.nn import Gaussian, Network

from ._pieces_random import random_narrow_networks
from ._registry import Values, experiment

WINDOW = ((-2.0, 2.0), (-2.0, 2.0))


@experiment("sawtooth-depth")
def sawtooth_depth() -> Values:
    """Compose the tent map L times and count slopes on a dyadic grid, and exactly."""
    depths = range(1, 7)
    x = np.linspace(0.0, 1.0, 2**12 + 1)
    grid, exact, zeros, ones = [], [], [], []
    for depth in depths:
        network = sawtooth_network(depth)
        y = network.predict_raw(x[:, None])[:, 0]
        grid.append(_pieces_on_grid(x, y))
        exact.append(regions_on_line(network, [0.0], [1.0]).n_pieces)
        zeros.append(int((y[:: 2 ** (13 - depth)] == 0).sum()))
        ones.append(int((y == 1).sum()))
    return {
        "L": list(depths),
        "units": [sum(sawtooth_network(depth).sizes[1:-1]) for depth in depths],
        "pieces": grid,
        "pieces_exact": exact,
        "teeth": ones,
        "zeros_between": zeros,
        "shallow_lower_bound": [pieces - 1 for pieces in exact],
    }


def _pieces_on_grid(x: FloatArray, y: FloatArray) -> int:
    """Count runs of equal slopes between neighbouring points."""
    slopes = np.diff(y) / np.diff(x)
    return 1 + int((np.abs(np.diff(slopes)) > 1e-9 * np.abs(slopes).max()).sum())


@experiment("sawtooth-shallow")
def sawtooth_shallow() -> Values:
    """Build one hidden layer of 2^L units that equals the L-fold tent map, and compare."""
    x = np.linspace(0.0, 1.0, 2**14 + 1)[:, None]
    gap, units, pieces, with_line = 0.0, [], [], 0.0
    for depth in range(1, 7):
        deep, shallow = sawtooth_network(depth), sawtooth_network(depth, shallow=True)
        want = deep.predict_raw(x)
        gap = max(gap, float(np.abs(want - shallow.predict_raw(x)).max()))
        units.append(shallow.sizes[1])
        pieces.append(regions_on_line(shallow, [0.0], [1.0]).n_pieces)
        # The first unit is on everywhere inside: a linear term in its place spares it.
        (W, b), (out, constant) = shallow.layers()
        rest = Network.from_arrays([(W[1:], b[1:]), (out[:, 1:], constant)])
        with_line = max(with_line, float(np.abs(want - out[0, 0] * x - rest.predict_raw(x)).max()))
    return {
        "units": units,
        "pieces": pieces,
        "gap": gap,
        "units_with_linear_term": [n - 1 for n in units],
        "gap_with_linear_term": with_line,
    }


@experiment("pieces-counted-three-ways")
def counted_three_ways() -> Values:
    """Count pieces by slopes on a grid, by pattern changes on it, and exactly, of random nets."""
    x = np.linspace(0.0, 1.0, 2**10 + 1)[:, None]
    networks = [Network((1, 12, 12, 1), init=Gaussian(1.0), random_state=i) for i in range(40)]
    rng = np.random.default_rng(0)
    slopes, changes, regions, pieces = [], [], [], []
    for network in networks:
        layers = [(W, rng.normal(0.0, 0.5, len(b))) for W, b in network.layers()]
        one = Network.from_arrays(layers)
        result = regions_on_line(one, [0.0], [1.0])
        middle = (x[1:] + x[:-1]) / 2
        on = np.concatenate([A > 0 for A in one.preactivations(middle)[:-1]], axis=1)
        slopes.append(_pieces_on_grid(x[:, 0], one.predict_raw(x)[:, 0]))
        changes.append(1 + int((on[1:] != on[:-1]).any(axis=1).sum()))
        regions.append(result.n_regions)
        pieces.append(result.n_pieces)
    return {
        "regions_exact": sum(regions),
        "pieces_exact": sum(pieces),
        "pattern_changes_on_grid": sum(changes),
        "slopes_on_grid": sum(slopes),
        "nets_where_the_grid_misses_a_region": sum(
            c < r for c, r in zip(changes, regions, strict=True)
        ),
        "never_more_pieces_than_regions": all(
            p <= r for p, r in zip(pieces, regions, strict=True)
        ),
    }


@experiment("arrangement-24-lines")
def arrangement_24_lines() -> Values:
    """Count the regions of 24 lines by the formula, in the whole plane, and in a window."""
    networks = [Network((2, 24, 1), init="torch", random_state=seed) for seed in range(6)]
    rng = np.random.default_rng(0)
    general = {
        (m, d): count_arrangement(rng.normal(size=(m, d)), rng.normal(size=m))
        for m, d in ((5, 2), (8, 2), (6, 3), (9, 4))
    }
    return {
        "bound": region_bound((2, 24, 1)).upper,
        "whole_plane": [count_arrangement(*network.layers()[0]) for network in networks],
        "window": [count_regions(network, WINDOW).n_regions for network in networks],
        "m_d": [list(case) for case in general],
        "regions": list(general.values()),
        "bounds": [region_bound((d, m, 1)).upper for m, d in general],
    }


@experiment("regions-24-units")
def regions_24_units() -> Values:
    """Cut a window by nets with 24 units in one, two and three layers, twelve of each."""
    shapes = ((24,), (12, 12), (8, 8, 8))
    counts, gap = [], 0.0
    for shape in shapes:
        row = []
        for seed in range(12):
            result = regions_in_plane(
                Network((2, *shape, 1), init="torch", random_state=seed), WINDOW
            )
            row.append(result.n_regions)
            gap = max(gap, abs(float(result.areas.sum()) - 16.0))
        counts.append(row)
    return {
        "shapes": [list(shape) for shape in shapes],
        "mean": [float(np.mean(row)) for row in counts],
        "least": [min(row) for row in counts],
        "most": [max(row) for row in counts],
        "area_gap": gap,
    }


@experiment("telgarsky-l1")
def telgarsky_l1() -> Values:
    """Follow the k-fold sawtooth with 2^(k-2) pieces as well as we can, and measure the gap.

    All pieces but one lie on slopes of the sawtooth, the last is 1/2 on the rest.
    """
    depths = range(3, 8)
    found = []
    for k in depths:
        n, few = 2**k, 2 ** (k - 2)
        ends = np.arange(few - 1) / n
        followed = [(i, i + 1.0 / n) for i in ends]
        found.append(_distance_from_half(k, (followed[-1][1], 1.0)))
    return {
        "lower_bound": 1 / 16,
        "k": list(depths),
        "found": found,
        "best_found": min(found),
        "half": [_distance_from_half(k, (0.0, 1.0)) for k in depths],
    }


def _distance_from_half(depth: int, interval: tuple[float, float]) -> float:
    """Integrate the distance of the sawtooth from 1/2, piece by piece and exactly."""
    low, high = interval
    result = regions_on_line(sawtooth_network(depth), [low], [high])
    widths = np.diff(np.concatenate([[0.0], result.breakpoints, [1.0]])) * (high - low)
    a, b = result.values[:, 0, 0] - 0.5, result.values[:, 1, 0] - 0.5
    opposite = a * b < 0
    size = np.abs(a) + np.abs(b)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(opposite, (a * a + b * b) / (2 * size), size / 2)
    return float((widths * mean).sum())


@experiment("pieces-upper-bound")
def pieces_upper_bound() -> Values:
    """Compare (m + 1)^L with the largest number of pieces of 40 random nets of each shape."""
    shapes = {"m2L2": (2, 2), "m3L2": (3, 2), "m3L3": (3, 3), "m4L3": (4, 3)}
    bounds = {
        name: region_bound((1, *[m] * depth, 1)).upper for name, (m, depth) in shapes.items()
    }
    largest = [
        max(
            regions_on_line(network, [-20.0], [20.0]).n_regions
            for network in random_narrow_networks(m, depth, 40)
        )
        for m, depth in shapes.values()
    ]
    return {**bounds, "largest": largest}
