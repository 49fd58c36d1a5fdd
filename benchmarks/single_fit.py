"""One network: lamina's backends against scikit-learn's MLP, everything else equal.

Same data, architecture, optimiser, penalty, batch size, epochs and precision, on one core and on
all: ``python -m benchmarks.single_fit``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import sklearn.neural_network
import torch
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks._table import backends, median_seconds, print_ratios, usable_cores
from lamina.heads import Categorical
from lamina.stack import Member, train

WIDTHS: tuple[tuple[int, ...], ...] = ((16,), (64,), (64, 64), (256, 256))


def problem(n_samples: int, n_features: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return a three-class problem that no width here solves exactly."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    score = 2 * X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n_samples)
    return X, np.digitize(score, [0.0, 2.0])


def rows(n_samples: int, n_epochs: int, batch_size: int, repeats: int, dtype: str) -> dict:
    """Return the medians by width."""
    X, y = problem(n_samples)
    X = X.astype(dtype)
    table = {}
    for width in WIDTHS:
        member = Member(
            width, head=Categorical(3), alpha=1e-4, batch_size=batch_size, max_epochs=n_epochs
        )
        theirs = sklearn.neural_network.MLPClassifier(
            width, batch_size=batch_size, max_iter=n_epochs, n_iter_no_change=n_epochs
        )
        ways = {
            backend: lambda backend=backend, member=member: train(
                [member], X, y, backend=backend, dtype=dtype
            )
            for backend in backends()
        }
        ways["scikit-learn"] = lambda model=theirs: model.fit(X, y)
        table["-".join(map(str, width))] = median_seconds(ways, repeats=repeats)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for cores in sorted({1, usable_cores()}):
        for dtype in ("float32", "float64"):
            torch.set_num_threads(cores)
            with threadpool_limits(cores, user_api="blas"):
                table = rows(
                    arguments.samples,
                    arguments.epochs,
                    arguments.batch_size,
                    arguments.repeats,
                    dtype,
                )
            steps = arguments.epochs * -(-arguments.samples // arguments.batch_size)
            print_ratios(
                f"\nOne fit in {dtype}, {arguments.samples} rows, {steps} steps, {cores} core(s)",
                table,
                ours=backends()[0],
            )


if __name__ == "__main__":
    main()
