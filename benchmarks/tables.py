"""Tables as they come: lamina's table estimators against scikit-learn's gradient boosting.

A quarter of the rows is held out, once. ``python -m benchmarks.tables FOLDER`` takes every
``.csv`` and ``.csv.gz`` in a folder, with the target in the column ``target``; without a folder
it takes the small tables that come with scikit-learn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks._table import aligned, machine
from lamina import TableClassifier, TableRegressor
from lamina.tables import infer_task, read_table, split_target

TARGET = "target"
BUNDLED = {"breast_cancer": load_breast_cancer, "diabetes": load_diabetes, "wine": load_wine}


@dataclass(frozen=True)
class Problem:
    """A table cut in two."""

    name: str
    task: str
    X: pd.DataFrame
    y: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series


def frames(folder: Path | None, only: list[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables by name, small ones first."""
    if folder is None:
        tables = {name: load(as_frame=True).frame for name, load in BUNDLED.items()}
    else:
        files = sorted(folder.glob("*.csv*"), key=lambda file: file.stat().st_size)
        tables = {file.name.split(".")[0]: read_table(file) for file in files}
    yield from ((name, table) for name, table in tables.items() if not only or name in only)


def problem(name: str, frame: pd.DataFrame, seed: int) -> Problem:
    """Hold out a quarter of the rows, of each class if there are classes."""
    X, y = split_target(frame, TARGET)
    task = infer_task(y)
    by_class = y if task == "classification" else None
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.25, random_state=seed, stratify=by_class
    )
    return Problem(name, task, X, y, X_test, y_test)


def measured(model: BaseEstimator, data: Problem) -> tuple[float, float, float]:
    """Return accuracy and log loss, or R² and RMSE, and the seconds that fitting took."""
    start = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    predicted = model.predict(data.X_test)
    if data.task == "classification":
        proba = model.predict_proba(data.X_test)
        loss = log_loss(data.y_test, proba, labels=model.classes_)
        return accuracy_score(data.y_test, predicted), loss, seconds
    error = root_mean_squared_error(data.y_test, predicted)
    return r2_score(data.y_test, predicted), error, seconds


def boosting(data: Problem, seed: int) -> tuple[float, float, float]:
    """Return the figures of gradient boosting; text becomes categories, which it wants."""
    text = [column for column in data.X if not pd.api.types.is_numeric_dtype(data.X[column])]
    levels = {
        column: pd.CategoricalDtype(pd.concat([data.X[column], data.X_test[column]]).unique())
        for column in text
    }
    categorical = Problem(
        data.name,
        data.task,
        data.X.astype(levels),
        data.y,
        data.X_test.astype(levels),
        data.y_test,
    )
    kind = (
        HistGradientBoostingClassifier
        if data.task == "classification"
        else HistGradientBoostingRegressor
    )
    model = kind(categorical_features="from_dtype", random_state=seed)
    return measured(model, categorical)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of CSV files")
    parser.add_argument("--preset", default="default", choices=["fast", "default", "best"])
    parser.add_argument("--only", nargs="*", default=[], help="names of tables")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    print(f"lamina ({arguments.preset}) against gradient boosting: score (accuracy or R²),")
    print("error (log loss in nats or RMSE), and seconds to fit; a quarter of the rows held out")
    print(machine(), flush=True)
    header = ["table", "rows", "score", "boosting", "error", "boosting", "seconds", "boosting"]
    rows = []
    for name, frame in frames(arguments.folder, arguments.only):
        data = problem(name, frame, arguments.seed)
        kind = TableClassifier if data.task == "classification" else TableRegressor
        ours = measured(kind(preset=arguments.preset, random_state=arguments.seed), data)
        theirs = boosting(data, arguments.seed)
        figures = [f"{x:.4g}" for pair in zip(ours, theirs, strict=True) for x in pair]
        rows.append([name, str(len(frame)), *figures])
        print(f"  {'  '.join(rows[-1])}", flush=True)
    print(aligned([header, *rows]))
    errors = np.array([[float(row[4]), float(row[5])] for row in rows])
    wins = int((errors[:, 0] < errors[:, 1]).sum())
    print(f"lamina has the smaller error on {wins} of {len(rows)} tables")


if __name__ == "__main__":
    main()
