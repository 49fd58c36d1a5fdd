"""``lamina fit --from``: layers of a saved model, and an answer learned upon them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina._errors import DataError, FileError

from ._output import Output, number, quoted, seconds
from ._scores import LABELS, Baseline, Scores, baseline, model_scores

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Source:
    """Where layers come from, and what becomes of them."""

    path: Path
    strategy: str
    random_state: int
    device: str
    loss: str | None


@dataclass(frozen=True)
class Rows:
    """The table, its target, and which rows are held out."""

    X: pd.DataFrame
    y: pd.Series[Any]
    aside: Any
    classes: bool


def fit_from(source: Source, rows: Rows, output: Path, say: Output) -> dict[str, Any]:
    """Fit upon a saved model, save and report; return the result for machines."""
    from lamina import TransferClassifier, TransferRegressor, save

    trunk = _trunk(source.path)
    _refuse_known_target(trunk, str(rows.y.name), source.path)
    given: dict[str, Any] = {"random_state": source.random_state, "device": source.device}
    if source.loss is not None:
        given["loss"] = source.loss
    kind = TransferClassifier if rows.classes else TransferRegressor
    model = kind(trunk, source.strategy, **given)  # type: ignore[arg-type]
    aside = rows.aside
    say.note(
        f"Predicting {rows.y.name} upon {trunk!r} from {int((~aside).sum()):,} rows; "
        f"{int(aside.sum()):,} rows are held out"
    )
    began = time.perf_counter()
    model.fit(rows.X[~aside], rows.y[~aside])
    took = time.perf_counter() - began
    save(model, output)
    scores, trivial = _scores(model, rows)
    _report(model.transfer_.summary(), scores, trivial, int(aside.sum()), say)
    say.line(f"Saved the model to {output} after {seconds(took)}")
    return {
        "command": "fit",
        "model": str(output),
        "from": str(source.path),
        "strategy": source.strategy,
        "target": str(rows.y.name),
        "task": "classification" if rows.classes else "regression",
        "n_rows": len(rows.y),
        "n_held_out": int(aside.sum()),
        "layers": model.transfer_.layers.to_dict("records"),
        "seconds": took,
        "scores": scores,
        "baseline": None if trivial is None else {"name": trivial.name, "scores": trivial.scores},
    }


def _trunk(path: Path) -> Any:
    """Return the layers of a saved model that reads tables."""
    from lamina import load
    from lamina.estimators import Trunk

    trunk = Trunk.of(load(path))
    if trunk.reads_tables:
        return trunk
    raise FileError(
        f"--from must be an encoder that lamina pretrain wrote, or a model of lamina fit. Got "
        f"{quoted(str(path))}, a {trunk.source} that takes numbers alone. Use it from Python: "
        "lamina.TransferClassifier."
    )


def _refuse_known_target(trunk: Any, target: str, path: Path) -> None:
    """Refuse layers that had the target among their inputs."""
    if trunk.feature_names is not None and target in list(trunk.feature_names):
        raise DataError(
            f"--from must be a model that learned without the target. Got {quoted(str(path))}, "
            f"which has {target!r} among its columns. Make it anew: "
            f"lamina pretrain DATA --drop {quoted(target)} -o {quoted(str(path))}"
        )


def _scores(model: Any, rows: Rows) -> tuple[Scores | None, Baseline | None]:
    """Return scores on the rows held out, and those of a trivial answer."""
    aside = rows.aside
    if not aside.any():
        return None, None
    return (
        model_scores(model, rows.X[aside], rows.y[aside], classes=rows.classes),
        baseline(rows.y[~aside], rows.y[aside], classes=rows.classes),
    )


def _report(
    summary: str, scores: Scores | None, trivial: Baseline | None, n: int, say: Output
) -> None:
    """Print what was copied, and the scores."""
    for line in summary.splitlines():
        say.line(line)
    say.line("")
    if scores is not None and trivial is not None:
        say.table(
            f"Scores on {n:,} held-out rows",
            ["", *(LABELS[key] for key in scores)],
            [
                ["lamina", *map(number, scores.values())],
                [trivial.name, *map(number, trivial.scores.values())],
            ],
        )
        say.line("")
