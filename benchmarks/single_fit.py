"""One network: lamina's estimator against scikit-learn's, everything else equal.

Same data, architecture, optimiser, batch size, epochs and precision (float64), on one core and
on all: ``python -m benchmarks.single_fit``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import sklearn.neural_network
import torch
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import lamina
from benchmarks._table import median_seconds, print_ratios, usable_cores

WIDTHS: tuple[tuple[int, ...], ...] = ((16,), (64,), (64, 64), (256, 256))


def problem(n_samples: int, n_features: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return a three-class problem that no width here solves exactly."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    score = 2 * X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n_samples)
    return X, np.digitize(score, [0.0, 2.0])


def rows(n_samples: int, n_epochs: int, batch_size: int, repeats: int) -> dict:
    """Return the medians by width."""
    X, y = problem(n_samples)
    table = {}
    for width in WIDTHS:
        settings = {
            "hidden_layer_sizes": width,
            "max_iter": n_epochs,
            "batch_size": batch_size,
            "n_iter_no_change": n_epochs,
            "random_state": 0,
        }
        ours = lamina.MLPClassifier(**settings)
        theirs = sklearn.neural_network.MLPClassifier(**settings)
        ways = {
            "lamina": lambda model=ours: model.fit(X, y),
            "scikit-learn": lambda model=theirs: model.fit(X, y),
        }
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
        torch.set_num_threads(cores)
        with threadpool_limits(cores, user_api="blas"):
            table = rows(
                arguments.samples, arguments.epochs, arguments.batch_size, arguments.repeats
            )
        title = f"\nOne fit, {arguments.samples} rows, {arguments.epochs} epochs, {cores} core(s)"
        print_ratios(title, table, ours="lamina")


if __name__ == "__main__":
    main()
