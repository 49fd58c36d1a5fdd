"""How many regions random networks have along a line, and how many of their units are idle."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from lamina.inspection import LineRegionsResult, region_bound, regions_on_line, sawtooth_network
from lamina.nn import Network

from ._registry import Values, experiment

DEPTHS = (2, 4, 6, 8, 10)
N_NETS = 200


def random_narrow_networks(width: int, depth: int, n: int) -> list[Network]:
    """Draw networks of one input with weights N(0, 1) and biases N(0, 1/4)."""
    rng = np.random.default_rng(0)
    sizes = [1, *[width] * depth, 1]
    return [
        Network.from_arrays(
            [
                (rng.normal(size=(m, k)), 0.5 * rng.normal(size=m))
                for k, m in itertools.pairwise(sizes)
            ]
        )
        for _ in range(n)
    ]


@cache
def _found(depth: int) -> list[LineRegionsResult]:
    """Return the regions on [0, 1] of all random networks of two units a layer."""
    return [
        regions_on_line(network, [0.0], [1.0])
        for network in random_narrow_networks(2, depth, N_NETS)
    ]


@experiment("pieces-sawtooth-vs-random")
def sawtooth_against_random() -> Values:
    """Count regions on [0, 1] of the sawtooth and of 200 random nets of its shape, exactly."""
    counts = [[result.n_regions for result in _found(depth)] for depth in DEPTHS]
    saw = [regions_on_line(sawtooth_network(depth), [0.0], [1.0]).n_regions for depth in DEPTHS]
    return {
        "depth": list(DEPTHS),
        "units": [2 * depth for depth in DEPTHS],
        "sawtooth": saw,
        "shallow_bound": [region_bound((1, *[2] * depth, 1)).shallow for depth in DEPTHS],
        "random_mean": [float(np.mean(row)) for row in counts],
        "random_max": [max(row) for row in counts],
    }


@experiment("random-narrow-nets")
def random_narrow_nets() -> Values:
    """Say which share of the units is constant on [0, 1], and of the nets has a dead layer."""
    constant, dead = [], []
    for depth in DEPTHS:
        idle, off = 0, 0
        for result in _found(depth):
            on = result.patterns.reshape(result.n_regions, depth, 2) > 0
            idle += int((on == on[:1]).all(axis=0).sum())
            off += bool((~on.any(axis=(0, 2))).any())
        constant.append(idle / (N_NETS * 2 * depth))
        dead.append(off / N_NETS)
    return {"depth": list(DEPTHS), "constant_share": constant, "dead_layer_share": dead}


@experiment("regions-along-a-line")
def regions_along_a_line() -> Values:
    """Count regions along a line by the number of units, for one, three and six layers."""
    depths, units = (1, 3, 6), (24, 48, 96, 192)
    rng = np.random.default_rng(0)
    means = []
    for depth in depths:
        row = []
        for n in units:
            counts = []
            for seed in range(20):
                sizes = (10, *[n // depth] * depth, 1)
                network = Network(sizes, init="he", random_state=seed)
                layers = [(W, rng.uniform(-0.3, 0.3, len(b))) for W, b in network.layers()]
                start, along = rng.normal(size=(2, 10))
                along *= 10 / np.linalg.norm(along)
                counts.append(
                    regions_on_line(
                        Network.from_arrays(layers), start - along, start + along
                    ).n_regions
                )
            row.append(float(np.mean(counts)))
        means.append(row)
    table = np.array(means)
    return {
        "units": list(units),
        "depths": list(depths),
        "mean_regions": table,
        "regions_a_unit": table / np.array(units),
    }
