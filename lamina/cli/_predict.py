"""``lamina predict``: a saved model and a table in, a column of predictions out."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from ._models import drop_target, is_classifier, load_table_model
from ._options import OUTPUT, SHARE, Flag, UsageError, probabilities
from ._output import Output, quoted
from ._writing import check_file, write_csv

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Wanted:
    """What is to be said of the distribution of a number."""

    std: bool
    interval: float | None
    quantiles: list[float] | None
    samples: int | None

    @property
    def anything(self) -> bool:
        """Whether anything is."""
        return self.std or any(
            value is not None for value in (self.interval, self.quantiles, self.samples)
        )


def predict(
    model: Path,
    data: Path,
    /,
    *,
    output: Annotated[Path | None, OUTPUT] = None,
    proba: Flag = False,
    std: Flag = False,
    interval: Annotated[float | None, SHARE] = None,
    quantiles: str | None = None,
    samples: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    random_state: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 0,
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Predict every row of a table.

    The answer is CSV with a line per row of the table, in its order.

    Parameters
    ----------
    model : Path
        Folder that lamina fit or lamina search wrote.
    data : Path
        CSV, TSV or Parquet file with the columns that the model was fitted on, in any order.
    output : Path
        CSV file to write. Without it the answer goes to stdout.
    proba : bool
        Of a classifier: a column of probability for each class, too.
    std : bool
        Of a number: a column of standard deviations, too.
    interval : float
        Of a number: columns with the ends of the central interval that holds it with this
        probability.
    quantiles : str
        Of a number: a column for each of these quantiles, such as 0.1,0.5,0.9.
    samples : int
        Of a number: so many columns of draws from its distribution.
    random_state : int
        Seed of the draws.
    quiet : bool
        Print nothing but the answer, warnings and errors.
    json : bool
        Print one JSON document instead.
    """
    say = Output(json=json, quiet=quiet)
    if output is not None:
        check_file(output)
    fitted = load_table_model(model)
    from lamina.tables import read_table

    wanted = Wanted(
        std, interval, None if quantiles is None else probabilities(quantiles), samples
    )
    _check_kind(fitted, proba=proba, wanted=wanted)
    X = drop_target(fitted, read_table(data))
    table = _answer(fitted, X, proba=proba)
    if wanted.anything:
        told = _told(fitted.predict_dist(X), wanted, random_state)
        table = table.assign(**told)
    if output is not None:
        write_csv(output, table)
        say.note(f"Wrote {len(table):,} predictions to {output}")
    elif not json:
        table.to_csv(sys.stdout, index=False, lineterminator="\n")
    say.document(_document(table, model, data, output))
    if output is not None:
        say.next(f"lamina evaluate {quoted(str(model))} {quoted(str(data))}")


def _check_kind(model: Any, *, proba: bool, wanted: Wanted) -> None:
    """Refuse options that do not belong to the kind of model."""
    if proba and not is_classifier(model):
        raise UsageError("--proba must be used with a classifier. Got a regressor.")
    if wanted.anything and is_classifier(model):
        raise UsageError(
            "--std, --interval, --quantiles and --samples must be used with a regressor. "
            "Got a classifier. Use --proba."
        )


def _answer(model: Any, X: pd.DataFrame, *, proba: bool) -> pd.DataFrame:
    """Return the predictions as a table."""
    import pandas as pd

    if not is_classifier(model):
        return pd.DataFrame({"prediction": model.predict(X)})
    shares = model.predict_proba(X)
    answer = pd.DataFrame({"prediction": model.classes_[shares.argmax(axis=1)]})
    if proba:
        for i, label in enumerate(model.classes_):
            answer[f"probability_{label}"] = shares[:, i]
    return answer


def _told(dist: Any, wanted: Wanted, random_state: int) -> dict[str, Any]:
    """Return columns that say what was asked of the distribution of each row."""
    columns: dict[str, Any] = {}
    if wanted.std:
        columns["std"] = dist.std()
    if wanted.interval is not None:
        low, high = dist.interval(wanted.interval).T
        columns |= {f"lower_{wanted.interval:g}": low, f"upper_{wanted.interval:g}": high}
    if wanted.quantiles is not None:
        values = dist.quantile(wanted.quantiles)
        columns |= {f"q{q:g}": values[:, i] for i, q in enumerate(wanted.quantiles)}
    if wanted.samples is not None:
        draws = dist.sample(wanted.samples, random_state)
        columns |= {f"sample_{i + 1}": draws[:, i] for i in range(wanted.samples)}
    return columns


def _document(table: pd.DataFrame, model: Path, data: Path, output: Path | None) -> dict[str, Any]:
    """Return the answer for machines."""
    return {
        "command": "predict",
        "model": str(model),
        "data": str(data),
        "output": None if output is None else str(output),
        "n_rows": len(table),
        "columns": {str(name): table[name].tolist() for name in table.columns},
    }
