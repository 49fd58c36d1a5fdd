"""Tables as they come: lamina's table estimators against other learners.

In each split another quarter of the rows is held out. ``python -m benchmarks.tables FOLDER
--splits 5`` takes every ``.csv`` and ``.csv.gz`` in a folder, with the target in the column
``target``; without a folder it takes the small tables that come with scikit-learn. With
``--results FILE`` every fit is written down as soon as it is done, and a killed run goes on.
``--rivals RealMLP TabM`` wants pytabkit. ``--ablation`` compares the default recipe with itself,
one thing changed at a time; its splits begin at ``--seed 100``, say, so that no choice is made on
the splits that the final comparison uses.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import accuracy_score, log_loss, r2_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks._table import machine
from benchmarks._tables_ablation import CHANGES, ablation_table, changed, estimator
from benchmarks._tables_results import Figures, Results, summary
from benchmarks._tables_rivals import RIVALS, Predictions, Problem, is_missing
from lamina import TableClassifier, TableRegressor
from lamina.tables import infer_task, read_table, split_target

TARGET = "target"
BUNDLED = {"breast_cancer": load_breast_cancer, "diabetes": load_diabetes, "wine": load_wine}


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


def ours(data: Problem, seed: int, preset: str) -> tuple[Any, Problem]:
    """Return the table estimator and the table as it comes."""
    kind = TableClassifier if data.classifies else TableRegressor
    return kind(preset=preset, random_state=seed), data


def measured(label: str, model: Any, data: Problem, split: int) -> Figures:
    """Return accuracy and log loss, or R² and RMSE, and the seconds that fitting took."""
    model = Predictions(model)
    start = time.perf_counter()
    model.fit(data)
    seconds = time.perf_counter() - start
    predicted, proba = model.predict(data)
    y = data.y_test
    if proba is not None:
        labels = model.model.classes_
        score, error = accuracy_score(y, predicted), log_loss(y, proba, labels=labels)
    else:
        score, error = r2_score(y, predicted), root_mean_squared_error(y, predicted)
    n_rows = len(data.X) + len(data.X_test)
    figures = (float(score), float(error), seconds)
    return Figures(data.name, n_rows, data.task, split, label, *figures)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of CSV files")
    parser.add_argument("--preset", default="default", choices=["fast", "default", "best"])
    parser.add_argument("--only", nargs="*", default=[], help="names of tables")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first split")
    parser.add_argument("--splits", type=int, default=1, help="how many splits")
    parser.add_argument("--rivals", nargs="*", default=["boosting", "MLP", "MLP-stopped"])
    parser.add_argument("--ablation", action="store_true", help="change one thing at a time")
    parser.add_argument("--changes", nargs="*", default=list(CHANGES), help="which of them")
    parser.add_argument("--results", type=Path, help="file of JSON lines to go on with")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    results = Results(arguments.results)
    splits = range(arguments.seed, arguments.seed + arguments.splits)
    label = f"lamina-{arguments.preset}"
    rivals = [name for name in RIVALS if name in arguments.rivals and not arguments.ablation]
    changes = arguments.changes if arguments.ablation else []
    for name in filter(is_missing, rivals):
        print(f"{name} wants pytabkit: pip install pytabkit")
    rivals = [name for name in rivals if not is_missing(name)]
    against = ", ".join(rivals) or "itself with one thing changed"
    print(f"{label} against {against}; a quarter of the rows held out in each split")
    print(machine(), flush=True)
    for name, frame in frames(arguments.folder, arguments.only):
        for split in splits:
            data = problem(name, frame, split)
            for model in [label, *rivals]:
                if (name, split, model) in results:
                    continue
                made = ours(data, split, arguments.preset) if model == label else None
                results.add(measured(model, *(made or RIVALS[model](data, split)), split))
            for change in changes:
                if (name, split, change) not in results:
                    with changed(change):
                        model = estimator(change, data, split)
                        results.add(measured(change, model, data, split))
        line = [f"{m} {_mean(results, name, m, splits):.4g}" for m in [label, *rivals, *changes]]
        print(f"  {name}  {'  '.join(line)}", flush=True)
    if arguments.ablation:
        print(ablation_table(results, label, splits))
        return
    print(summary(results, [label, *rivals], splits))


def _mean(results: Results, table: str, model: str, splits: range) -> float:
    errors = [figures.error for figures in results.of(table, model, splits)]
    return sum(errors) / len(errors)


if __name__ == "__main__":
    main()
