"""Intervals from tables: how often lamina's and NGBoost's hold what they promise.

A quarter of the rows is held out, anew with each seed; of the others the first so many (in random
order) are fitted. Both get the same rows and columns, text as ordinal numbers for NGBoost.
``python -m benchmarks.intervals FOLDER`` takes every ``.csv`` and ``.csv.gz`` with numbers in the
column ``target``, and scikit-learn's diabetes table; without a folder that alone.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder

from benchmarks._table import aligned, machine
from lamina import Predictive, TableRegressor
from lamina._errors import DataWarning
from lamina.distributions import NormalMixture
from lamina.tables import infer_task, read_table, split_target

TARGET = "target"
LEVEL = 0.9
DISCRETE = 0.1
"""A target of which fewer than this share of the values are distinct is marked."""

Fit = Callable[[pd.DataFrame, np.ndarray, int], Callable[[pd.DataFrame], Predictive]]
"""Fit (X, y, seed), and return what gives the distributions of the rows of a table."""


def frames(folder: Path | None, only: list[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables with a number to predict by name, small ones first."""
    files = [] if folder is None else sorted(folder.glob("*.csv*"), key=lambda f: f.stat().st_size)
    tables = {"diabetes": load_diabetes(as_frame=True).frame}
    tables |= {
        file.name.split(".")[0]: read_table(file)
        for file in files
        if not only or file.name.split(".")[0] in only
    }
    for name, table in tables.items():
        if (not only or name in only) and infer_task(table[TARGET]) == "regression":
            yield name, table


def ours(loss: str, n_members: int) -> Fit:
    """Return `TableRegressor` at its defaults, but for the loss and the members."""

    def fit(X: pd.DataFrame, y: np.ndarray, seed: int) -> Callable[[pd.DataFrame], Predictive]:
        model = TableRegressor(loss=loss, n_members=n_members, random_state=seed)
        with warnings.catch_warnings(action="ignore", category=DataWarning):  # of discrete targets
            return model.fit(X, y).predict_dist

    return fit


def ngboost(trees: int) -> Fit:
    """Return NGBoost with a normal distribution, at its defaults."""
    from ngboost import NGBRegressor

    def fit(X: pd.DataFrame, y: np.ndarray, seed: int) -> Callable[[pd.DataFrame], Predictive]:
        text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        if text:
            encoder.fit(X[text].astype(str))

        def matrix(X: pd.DataFrame) -> np.ndarray:
            if not text:
                return X.to_numpy(float)
            codes = encoder.transform(X[text].astype(str)).T
            return X.assign(**dict(zip(text, codes, strict=True))).to_numpy(float)

        model = NGBRegressor(n_estimators=trees, random_state=seed, verbose=False)
        model.fit(matrix(X), y)

        def predict(X: pd.DataFrame) -> Predictive:
            parameters = model.pred_dist(matrix(X)).params
            return NormalMixture(parameters["loc"], parameters["scale"])

        return predict

    return fit


def measured(fit: Fit, frame: pd.DataFrame, seed: int, n_rows: int) -> tuple[float, ...]:
    """Return coverage, NLL, CRPS, mean width, and the seconds to fit."""
    X, y = split_target(frame, TARGET)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
    X, y, y_test = X[:n_rows], y[:n_rows].to_numpy(float), y_test.to_numpy(float)
    start = time.perf_counter()
    predict = fit(X, y, seed)
    seconds = time.perf_counter() - start
    dist = predict(X_test)
    low, high = dist.interval(LEVEL).T
    inside = np.mean((low <= y_test) & (y_test <= high))
    nll, crps = -dist.log_prob(y_test).mean(), dist.crps(y_test).mean()
    return float(inside), float(nll), float(crps), float(np.mean(high - low)), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of CSV files")
    parser.add_argument("--only", nargs="*", default=[], help="names of tables")
    parser.add_argument("--losses", nargs="*", default=["heteroscedastic", "mixture"])
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=4000, help="most rows to fit")
    parser.add_argument("--trees", type=int, default=500, help="of NGBoost")
    arguments = parser.parse_args()

    print(f"Central {LEVEL:.0%} intervals and mean test NLL, {arguments.seeds} seeds,")
    print(f"{arguments.members} members, at most {arguments.rows:,} rows to fit")
    print(machine(), flush=True)
    fits = {loss: ours(loss, arguments.members) for loss in arguments.losses}
    if find_spec("ngboost") is None:
        print("NGBoost is not installed: pip install ngboost")
    else:
        fits["NGBoost"] = ngboost(arguments.trees)
    table = [["table", "model", "coverage", "NLL", "± sd", "CRPS", "width", "fit [s]"]]
    for name, frame in frames(arguments.folder, arguments.only):
        distinct = frame[TARGET].nunique() / len(frame)
        shown = name if distinct > DISCRETE else f"{name} ({frame[TARGET].nunique()} values)"
        for model, fit in fits.items():
            runs = range(arguments.seeds)
            figures = [measured(fit, frame, seed, arguments.rows) for seed in runs]
            inside, nll, crps, width, seconds = np.mean(figures, axis=0)
            spread = np.std([figure[1] for figure in figures])
            cells = (f"{value:.4g}" for value in (nll, spread, crps, width, seconds))
            table.append([shown, model, f"{inside:.3f}", *cells])
            print(f"  {'  '.join(table[-1])}", flush=True)
    print(aligned(table))


if __name__ == "__main__":
    main()
