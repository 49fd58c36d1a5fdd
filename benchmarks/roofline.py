"""How near training comes to this machine's own matrix products.

GFLOP/s of whole training steps (forward, backward and Adam, counted as the multiply-adds of the
matrix products alone) against the rate of ``torch.mm`` on 1024 x 1024 matrices in the same run,
on one core and on all: ``python -m benchmarks.roofline``.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np
import torch

from benchmarks._table import aligned, backends, machine, median_seconds, usable_cores
from lamina.stack import Member, train

WIDTHS = (16, 64, 128, 256, 512)
BATCHES = (32, 128, 512)
DEPTH = 3


def product_rate(dtype: str) -> float:
    """Return the GFLOP/s of a large matrix product."""
    a = torch.randn(1024, 1024, dtype=getattr(torch, dtype))
    out = torch.empty_like(a)
    seconds = median_seconds({"mm": lambda: torch.mm(a, a, out=out)}, repeats=15)["mm"]
    return 2 * 1024**3 / seconds / 1e9


def operations(sizes: list[int], n_rows: int) -> float:
    """Return the floating-point operations of one epoch's matrix products."""
    products = [a * b for a, b in pairwise(sizes)]
    # Forward and the weights' gradient for each layer; δ for each but the first.
    return 2.0 * n_rows * (2 * sum(products) + sum(products[1:]))


def training_rate(
    width: int, batch: int, backend: str, dtype: str, cores: int, least: float
) -> float:
    """Return the GFLOP/s of training as many members as there are cores."""
    rng = np.random.default_rng(0)
    n_rows = max(batch * 8, 2048)
    X, y = rng.standard_normal((n_rows, width)), rng.standard_normal((n_rows, 1))
    sizes = [width] * (DEPTH + 1) + [1]
    n_epochs = max(2, int(least / operations(sizes, n_rows)))
    members = [
        Member((width,) * DEPTH, seed=i, batch_size=batch, max_epochs=n_epochs, learning_rate=1e-4)
        for i in range(cores)
    ]
    ways = {"": lambda: train(members, X, y, backend=backend, dtype=dtype)}  # type: ignore[arg-type]
    seconds = median_seconds(ways, repeats=3)[""]
    return cores * n_epochs * operations(sizes, n_rows) / seconds / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--widths", type=int, nargs="*", default=list(WIDTHS))
    parser.add_argument("--batches", type=int, nargs="*", default=list(BATCHES))
    parser.add_argument("--operations", type=float, default=1e10, help="least work per timing")
    arguments = parser.parse_args()
    for cores in sorted({1, usable_cores()}):
        torch.set_num_threads(cores)
        peak = product_rate(arguments.dtype)
        print(f"\n{arguments.dtype}, {cores} core(s); torch.mm reaches {peak:.0f} GFLOP/s")
        print(machine())
        header = ["width", "batch", *(f"{b} GFLOP/s" for b in backends())]
        lines = [[*header, *(f"{b} share" for b in backends())]]
        for width in arguments.widths:
            for batch in arguments.batches:
                rates = [
                    training_rate(width, batch, b, arguments.dtype, cores, arguments.operations)
                    for b in backends()
                ]
                shares = [f"{rate / peak:.0%}" for rate in rates]
                lines.append([str(width), str(batch), *(f"{r:.0f}" for r in rates), *shares])
        print(aligned(lines))


if __name__ == "__main__":
    main()
