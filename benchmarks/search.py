"""A search over many networks against scikit-learn's grid search, and a large one.

``python -m benchmarks.search`` tries 48 candidates on five folds of scikit-learn's digits, 50
epochs of batches of 64, as GridSearchCV does over scikit-learn's MLP on all cores; once with
every candidate trained to its end and once with successive halving from three epochs on, in
float32 where nothing else is said. Then ``--large`` candidates
on a table given by ``--table``, or on digits, with the memory it took and how true the progress
was. ``--spot-checks`` compares candidates with `cross_val_score` on each alone.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
import sklearn.neural_network
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._table import aligned, machine, usable_cores
from lamina import MLPClassifier, StackedSearchCV
from lamina.search._report import SearchReport
from lamina.tables import read_table, split_target

GRID = {
    "hidden_layer_sizes": [(32,), (64,), (64, 64), (128, 64)],
    "learning_rate_init": [1e-3, 3e-3, 1e-2],
    "alpha": [1e-4, 1e-2],
    "activation": ["relu", "tanh"],
}
"""Widths, learning rates, weight decays, activations: 48 candidates."""

COMMON: dict[str, Any] = {"batch_size": 64, "random_state": 0, "n_iter_no_change": 10_000}


@dataclass(frozen=True)
class Run:
    """One search: its seconds and its best mean score."""

    seconds: float
    score: float


def grid_search(X: np.ndarray, y: np.ndarray, epochs: int) -> Run:
    """Search as scikit-learn's users do, without a fit on all rows at the end."""
    model = sklearn.neural_network.MLPClassifier(max_iter=epochs, **COMMON)
    start = time.perf_counter()
    search = GridSearchCV(model, GRID, cv=5, n_jobs=usable_cores(), refit=False).fit(X, y)
    return Run(time.perf_counter() - start, search.best_score_)


def stacked(X: np.ndarray, y: np.ndarray, epochs: int, **settings: Any) -> Run:
    """Search the same candidates as members of stacks."""
    search = StackedSearchCV(
        MLPClassifier(max_iter=epochs, **COMMON),
        GRID,
        n_iter=48,
        cv=5,
        refit=False,
        random_state=0,
        n_jobs=usable_cores(),
        **settings,
    )
    start = time.perf_counter()
    search.fit(X, y)
    return Run(time.perf_counter() - start, search.best_score_)


def compare(epochs: int, repeats: int) -> None:
    """Print seconds, ratios and best scores; the ways take turns."""
    X, y = load_digits(return_X_y=True)
    X /= 16
    narrow = X.astype(np.float32)
    ways = {
        "GridSearchCV, scikit-learn": lambda: grid_search(X, y, epochs),
        "StackedSearchCV, float64": lambda: stacked(X, y, epochs, factor=None),
        "StackedSearchCV": lambda: stacked(narrow, y, epochs, factor=None),
        "StackedSearchCV, halving": lambda: stacked(narrow, y, epochs, min_epochs=3),
    }
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            runs[name].append(way())
    medians = {name: statistics.median(r.seconds for r in own) for name, own in runs.items()}
    slow = medians["GridSearchCV, scikit-learn"]
    rows = [["48 candidates, 5 folds, digits", "seconds", "times faster", "best mean score"]]
    for name, seconds in medians.items():
        figures = [f"{seconds:.3g}", f"{slow / seconds:.1f}", f"{runs[name][0].score:.4f}"]
        rows.append([name, *figures])
    print(aligned(rows), flush=True)


def spot_check(epochs: int, n: int) -> None:
    """Compare candidates with `cross_val_score` on each of them alone."""
    X, y = load_digits(return_X_y=True)
    X /= 16
    model = MLPClassifier(max_iter=epochs, **COMMON)
    search = StackedSearchCV(model, GRID, n_iter=48, factor=None, refit=False, random_state=0)
    results = search.fit(X, y).cv_results_
    worst = 0.0
    for i in np.linspace(0, len(results["params"]) - 1, n).astype(int):
        alone = cross_val_score(clone(model).set_params(**results["params"][i]), X, y, cv=5)
        ours = np.array([results[f"split{fold}_test_score"][i] for fold in range(5)])
        worst = max(worst, float(np.abs(alone - ours).max()))
    print(f"{n} candidates alone: fold scores differ by at most {worst:g}", flush=True)


def large(table: Path | None, n: int, epochs: int) -> None:
    """Search very many candidates; print time, memory, and how true the progress was."""
    if table is None:
        X, y = load_digits(return_X_y=True)
    else:
        X, y = split_target(read_table(table), "target")
    told: list[tuple[float, float]] = []

    def listen(report: SearchReport) -> None:
        told.append((report.seconds, report.seconds_left))

    space = {
        "mlpclassifier__hidden_layer_sizes": [(16,), (32,), (64,), (32, 32), (64, 64)],
        "mlpclassifier__activation": ["relu", "tanh", "gelu", "silu"],
        "mlpclassifier__learning_rate_init": scipy.stats.loguniform(1e-4, 1e-1),
        "mlpclassifier__alpha": scipy.stats.loguniform(1e-6, 1.0),
        "mlpclassifier__dropout": [0.0, 0.1, 0.3],
    }
    model = make_pipeline(StandardScaler(), MLPClassifier(max_iter=epochs, **COMMON))
    search = StackedSearchCV(model, space, n_iter=n, cv=5, random_state=0)
    search._listen = listen
    start = time.perf_counter()
    search.fit(X, y)
    total = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{n} candidates, 5 folds, {len(y)} rows: {total:.3g} s, peak {peak:.2f} GiB, "
        f"best mean score {search.best_score_:.4f}"
    )
    searched = told[-1][0]
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        seconds, left = min(told, key=lambda pair: abs(pair[0] - share * searched))
        expected = "unknown" if math.isnan(left) else f"{left:.3g} s"
        print(
            f"  after {seconds:.3g} s it expected {expected} more; it took "
            f"{searched - seconds:.3g} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--spot-checks", type=int, default=0)
    parser.add_argument("--large", type=int, default=0, help="candidates of the large search")
    parser.add_argument("--table", type=Path, help="a CSV file with the column 'target'")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine(), flush=True)
    if arguments.repeats:
        compare(arguments.epochs, arguments.repeats)
    if arguments.spot_checks:
        spot_check(arguments.epochs, arguments.spot_checks)
    if arguments.large:
        large(arguments.table, arguments.large, arguments.epochs)


if __name__ == "__main__":
    main()
