"""``lamina evaluate``: how good a saved model is on a table whose target is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from ._distributions import (
    calibration_of,
    distribution_of,
    report_calibration,
    report_distribution,
)
from ._models import is_classifier, load_table_model, target_of
from ._options import TARGET, Flag
from ._output import Output, number, quoted
from ._scores import LABELS, baseline, model_scores


def evaluate(
    model: Path,
    data: Path,
    /,
    *,
    target: Annotated[str | None, TARGET] = None,
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Score a model on a table, beside a trivial answer.

    Of a number it also says how good its distribution is: the mean negative log density (NLL),
    the continuous ranked probability score (CRPS), how often central intervals hold what they
    promise, and how far the probability integral transform (PIT) is from even. Of classes it
    says whether probabilities are frequencies.

    The table must have the column that the model predicts. Give rows that the model has not
    been fitted to: on others it looks better than it is.

    Parameters
    ----------
    model : Path
        Folder that lamina fit or lamina search wrote.
    data : Path
        CSV, TSV or Parquet file.
    target : str
        Name of the target, where it differs from that of the fitted table.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    fitted = load_table_model(model)
    classes = is_classifier(fitted)
    task: Literal["classification", "regression"] = "classification" if classes else "regression"
    from lamina.tables import read_table, split_target

    name = target or target_of(fitted, model)
    X, y = split_target(read_table(data), name, task)
    scores = model_scores(fitted, X, y, classes=classes)
    trivial = baseline(y, y, classes=classes)
    say.table(
        f"Scores on {len(y):,} rows",
        ["", *(LABELS[key] for key in scores)],
        [
            ["lamina", *map(number, scores.values())],
            [f"{trivial.name} of these rows", *map(number, trivial.scores.values())],
        ],
    )
    whole = calibration_of(fitted, X, y) if classes else distribution_of(fitted, X, y)
    if isinstance(whole, str):
        say.note(whole)
    elif classes:
        report_calibration(say, whole)
    else:
        report_distribution(say, whole)
    told = None if isinstance(whole, str) else whole
    say.document(
        {
            "command": "evaluate",
            "model": str(model),
            "data": str(data),
            "target": name,
            "task": task,
            "n_rows": len(y),
            "scores": scores,
            "baseline": {"name": trivial.name, "scores": trivial.scores},
            "calibration" if classes else "distribution": told,
        }
    )
    say.next(f"lamina predict {quoted(str(model))} {quoted(str(data))} -o predictions.csv")
