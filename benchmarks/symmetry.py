"""Find the units of a copied network: lamina's match against rebasin.

The second network is the first one in a random order of its hidden units, and besides with
lognormal factors (ReLU), flipped signs (tanh), or with units that differ in their biases alone.
``python -m benchmarks.symmetry``; without rebasin (``pip install rebasin``) lamina stands alone.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import torch

from benchmarks._table import aligned, machine, median_seconds
from lamina.inspection import flip_signs, match, permute, rescale
from lamina.nn import Network

SIZES = ((784, 256, 256, 10), (784, 1024, 1024, 10), (784, 4096, 4096, 10))
LOG_SD = 2.0


@dataclass(frozen=True)
class Pair:
    """Two networks, and which unit of the second each unit of the first one is."""

    name: str
    a: Network
    b: Network
    orders: tuple[np.ndarray, ...]


def copied(name: str, sizes: tuple[int, ...], activation: str, how: str) -> Pair:
    """Return a network and a copy of it."""
    rng = np.random.default_rng(0)
    a = Network(sizes, activation, init="torch", random_state=0)
    if how == "biases":
        a.weights[0].data.fill_(1.0)
        a.weights[1].data.fill_(1.0)
    b, orders = a, []
    for layer, width in enumerate(sizes[1:-1], start=1):
        if how == "scales":
            b = rescale(b, np.exp(LOG_SD * rng.standard_normal(width)), layer=layer)
        elif how == "signs":
            b = flip_signs(b, np.flatnonzero(rng.random(width) < 0.5), layer=layer)
        order = rng.permutation(width)
        b = permute(b, order, layer=layer)
        orders.append(np.argsort(order))
    return Pair(name, a, b, tuple(orders))


def pairs(largest: int) -> list[Pair]:
    """Return the cases, the narrow networks first."""
    cases = [copied("1-64-1 tanh, biases", (1, 64, 1), "tanh", "biases")]
    for sizes in (sizes for sizes in SIZES if max(sizes[1:]) <= largest):
        name = "-".join(map(str, sizes))
        cases += [
            copied(f"{name} gelu, order", sizes, "gelu", "order"),
            copied(f"{name} relu, scales", sizes, "relu", "scales"),
            copied(f"{name} tanh, signs", sizes, "tanh", "signs"),
        ]
    return cases


def share_found(pair: Pair, orders: tuple[np.ndarray, ...]) -> float:
    """Return the share of hidden units whose partner is right."""
    right = [found == true for found, true in zip(orders, pair.orders, strict=True)]
    return float(np.concatenate(right).mean())


def by_rebasin(pair: Pair) -> tuple[Callable[[], object], Callable[[], tuple[np.ndarray, ...]]]:
    """Return a function that matches by rebasin, and one that tells what it found last."""
    from rebasin import PermutationCoordinateDescent

    a, b = pair.a.to_torch(), pair.b.to_torch()
    x = torch.zeros(1, pair.a.sizes[0], dtype=torch.float64)
    last: list[torch.nn.Module] = []

    def run() -> None:
        moved = copy.deepcopy(b)
        with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
            descent = PermutationCoordinateDescent(
                a, moved, x, x, device_a="cpu", device_b="cpu", logging_level=logging.ERROR
            )
            descent.rebasin()
        last[:] = [moved]

    def found() -> tuple[np.ndarray, ...]:
        # No two units have the same bias, so that it tells which unit stands where.
        linear = [m for m in last[0] if isinstance(m, torch.nn.Linear)][:-1]
        before = [bias.detach().numpy() for bias in pair.b.biases][:-1]
        after = [m.bias.detach().numpy() for m in linear]
        return tuple(
            np.argsort(old)[np.searchsorted(np.sort(old), new)]
            for old, new in zip(before, after, strict=True)
        )

    return run, found


def row(pair: Pair, repeats: int, *, with_rebasin: bool) -> list[str]:
    """Return the figures of one case."""
    ways: dict[str, Callable[[], object]] = {"lamina": lambda: match(pair.a, pair.b)}
    if with_rebasin:
        ways["rebasin"], found = by_rebasin(pair)
    seconds = median_seconds(ways, repeats=repeats)
    result = match(pair.a, pair.b)
    cells = [
        pair.name,
        f"{seconds['lamina'] * 1e3:.3g}",
        f"{share_found(pair, result.orders):.0%}",
    ]
    cells.append("yes" if result.exact else "no")
    if with_rebasin:
        ratio = seconds["rebasin"] / seconds["lamina"]
        cells += [
            f"{seconds['rebasin'] * 1e3:.3g}",
            f"{share_found(pair, found()):.0%}",
            f"{ratio:.1f}",
        ]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=4096, help="widest hidden layer")
    parser.add_argument("--widest-rebasin", type=int, default=1024, help="and that for rebasin")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    installed = find_spec("rebasin") is not None
    header = ["", "lamina [ms]", "units found", "exact"]
    if installed:
        header += ["rebasin [ms]", "units found", "rebasin / lamina"]
    else:
        print("rebasin is not installed: pip install rebasin")
    table = [header]
    for pair in pairs(arguments.largest):
        theirs = installed and max(pair.a.sizes[1:]) <= arguments.widest_rebasin
        cells = row(pair, arguments.repeats, with_rebasin=theirs)
        table.append(cells + ["-"] * (len(header) - len(cells)))
    print("\nUnits of a copy, float64")
    print(machine())
    print(aligned(table))


if __name__ == "__main__":
    main()
