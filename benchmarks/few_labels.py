"""Few labels and many rows without: what a learned representation is worth.

From each table some rows are drawn: N labels a class, up to ``--rows`` rows without a label, and
up to 4,000 to test on. Beside logistic regression on the columns themselves stand a network that
begins from random weights, and networks that begin from an encoder which has seen all rows but
no label: denoising (frozen, last layer retrained, all fine-tuned) and contrastive; and a table
classifier, which reads no more than the labelled rows.
``python -m benchmarks.few_labels FOLDER`` takes the classification tables of a folder, with the
target in the column ``target``; without a folder, small ones of scikit-learn. Where LAMINA_DATA
names a folder with MNIST, digits 5 to 9 at random places are added, with a network that knows
the digits 0 to 4 as one more source. With ``--results FILE`` a killed run goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._few_labels_digits import digits, known_digits
from benchmarks._few_labels_summary import summary
from benchmarks._table import machine
from benchmarks._tables_results import Figures, Results
from benchmarks.tables import frames as all_frames
from lamina import ContrastiveEncoder, DenoisingEncoder, TableClassifier, TransferClassifier
from lamina.tables import TableEncoder, infer_task, split_target

N_TEST = 4000
HIDDEN = (256, 256)


@dataclass(frozen=True)
class Draw:
    """One draw of labelled, unlabelled and test rows, as matrices."""

    X: Any
    y: Any
    X_unlabelled: Any
    X_test: Any
    y_test: Any
    pool: Any  # all rows to learn from, labelled or not, in an order of their own
    image_shape: tuple[int, int] | None = None
    known: Any = None  # a network that was trained on another task


def frames(folder: Path | None, only: list[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the classification tables by name, small ones first."""
    for name, table in all_frames(folder, only):
        if infer_task(split_target(table, "target")[1]) == "classification":
            yield name, table


def table_draw(frame: pd.DataFrame, n_labels: int, n_rows: int, seed: int) -> Draw:
    """Draw rows of a table; half of them are never looked at before the test."""
    X, target = split_target(frame, "target")
    y = target.to_numpy().astype(str)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    pool, test = order[: len(y) // 2][:n_rows], order[len(y) // 2 :][:N_TEST]
    chosen = [np.flatnonzero(y[pool] == label) for label in np.unique(y)]
    labelled = pool[np.concatenate([rng.permutation(rows)[:n_labels] for rows in chosen])]
    others = np.setdiff1d(pool, labelled)
    encoder = TableEncoder(n_bins=0).fit(X.iloc[pool])
    parts = [encoder.transform(X.iloc[rows]) for rows in (labelled, others, test, pool)]
    return Draw(parts[0], y[labelled], parts[1], parts[2], y[test], parts[3])


def logistic(draw: Draw) -> Any:
    """Return logistic regression on standardised columns."""
    scaler = StandardScaler().fit(np.concatenate([draw.X, draw.X_unlabelled]))
    return make_pipeline(scaler, LogisticRegression(max_iter=5000))


def transfer(source: Any, strategy: str, seed: int) -> TransferClassifier:
    """Return a transfer at its defaults."""
    return TransferClassifier(source, strategy, random_state=seed)


def ways(
    draw: Draw, seed: int, steps: int, trained: dict[str, Any]
) -> dict[str, Callable[[], Any]]:
    """Return how to make each model; encoders are trained when the first one asks."""

    def encoder(kind: str) -> Any:
        if kind not in trained:
            given = {"hidden_layer_sizes": HIDDEN, "max_steps": steps, "random_state": seed}
            if kind == "denoising":
                trained[kind] = DenoisingEncoder(**given).fit(draw.pool)
            elif draw.image_shape is None:
                trained[kind] = ContrastiveEncoder(**given).fit(draw.pool)
            else:
                given["image_shape"] = draw.image_shape
                trained[kind] = ContrastiveEncoder("shift", **given).fit(draw.pool)
        return trained[kind]

    scratch = TransferClassifier(hidden_layer_sizes=HIDDEN, random_state=seed)
    made: dict[str, Callable[[], Any]] = {
        "logistic": lambda: logistic(draw),
        "scratch": lambda: scratch,
        "table": lambda: TableClassifier(random_state=seed),
        "frozen": lambda: transfer(encoder("denoising"), "frozen", seed),
        "last": lambda: transfer(encoder("denoising"), "last", seed),
        "fine-tuned": lambda: transfer(encoder("denoising"), "fine_tune", seed),
        "contrastive": lambda: transfer(encoder("contrastive"), "fine_tune", seed),
    }
    if draw.known is not None:
        made["other digits, frozen"] = lambda: transfer(draw.known, "frozen", seed)
        made["other digits, fine-tuned"] = lambda: transfer(draw.known, "fine_tune", seed)
    return made


def measured(table: str, model: str, made: Any, draw: Draw, split: int) -> Figures:
    """Return accuracy and log loss on the test rows, and the seconds of fitting."""
    start = time.perf_counter()
    if isinstance(made, TransferClassifier):
        made.fit(draw.X, draw.y, X_unlabelled=draw.X_unlabelled)
    else:
        made.fit(draw.X, draw.y)
    seconds = time.perf_counter() - start
    score = float(made.score(draw.X_test, draw.y_test))
    known = np.isin(draw.y_test, made.classes_)
    proba = made.predict_proba(draw.X_test[known])
    error = float(log_loss(draw.y_test[known], proba, labels=made.classes_))
    return Figures(table, len(draw.y), "classification", split, model, score, error, seconds)


def run_table(
    name: str, make: Callable[[int, int], Draw], arguments: argparse.Namespace, results: Results
) -> None:
    """Measure all models on all draws of one table."""
    names: list[str] = []
    for split in range(arguments.seed, arguments.seed + arguments.draws):
        trained: dict[str, Any] = {}  # the rows of a split are the same for any number of labels
        for n_labels in arguments.labels:
            draw = make(n_labels, split)
            made = ways(draw, split, arguments.steps, trained)
            names = [model for model in made if not arguments.models or model in arguments.models]
            for model in names:
                table = f"{name}/{n_labels}"
                if (table, split, model) in results:
                    continue
                with warnings.catch_warnings(action="ignore"):
                    results.add(measured(table, model, made[model](), draw, split))
    splits = range(arguments.seed, arguments.seed + arguments.draws)
    print(summary(results, [f"{name}/{n}" for n in arguments.labels], names, splits), flush=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of CSV files")
    parser.add_argument("--labels", type=int, nargs="*", default=[5, 20, 50])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--rows", type=int, default=5000, help="most rows to learn from")
    parser.add_argument("--steps", type=int, default=3000, help="steps of the encoders")
    parser.add_argument("--only", nargs="*", default=[], help="names of tables")
    parser.add_argument("--models", nargs="*", default=[], help="names of models")
    parser.add_argument("--results", type=Path, help="file of JSON lines to go on with")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    results = Results(arguments.results)
    print("Accuracy in percent, mean ± spread over draws; a slash, and labels a class")
    print(machine(), flush=True)
    for name, frame in frames(arguments.folder, arguments.only):
        run_table(
            name,
            lambda n, seed, frame=frame: table_draw(frame, n, arguments.rows, seed),
            arguments,
            results,
        )
    images = digits() if not arguments.only or "digits" in arguments.only else None
    if images is not None:
        known = known_digits(images)

        def draw(n_labels: int, seed: int) -> Draw:
            return Draw(*images.draw(n_labels, arguments.rows, seed), images.shape, known)

        run_table("digits", draw, arguments, results)


if __name__ == "__main__":
    main()
