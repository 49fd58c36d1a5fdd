"""``lamina predict``: a saved model and a table in, a column of predictions out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lamina._errors import ParameterError

from ._models import drop_target, load_table_model
from ._options import OUTPUT, Flag
from ._output import Output, quoted
from ._writing import check_file, write_csv

if TYPE_CHECKING:
    import pandas as pd


def predict(
    model: Path,
    data: Path,
    /,
    *,
    output: Annotated[Path | None, OUTPUT] = None,
    proba: Flag = False,
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Predict every row of a table.

    The answer is CSV with a line per row of the table, in its order.

    Parameters
    ----------
    model : Path
        Folder that lamina fit wrote.
    data : Path
        CSV, TSV or Parquet file with the columns that the model was fitted on, in any order.
    output : Path
        CSV file to write. Without it the answer goes to stdout.
    proba : bool
        Of a classifier: a column of probability for each class, too.
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

    table = _answer(fitted, drop_target(fitted, read_table(data)), proba=proba)
    if output is not None:
        write_csv(output, table)
        say.note(f"Wrote {len(table):,} predictions to {output}")
    elif not json:
        table.to_csv(sys.stdout, index=False, lineterminator="\n")
    say.document(_document(table, model, data, output))
    if output is not None:
        say.next(f"lamina evaluate {quoted(str(model))} {quoted(str(data))}")


def _answer(model: Any, X: pd.DataFrame, *, proba: bool) -> pd.DataFrame:
    """Return the predictions as a table."""
    import pandas as pd

    from lamina import TableClassifier

    if not isinstance(model, TableClassifier):
        if proba:
            raise ParameterError("--proba must be used with a classifier. Got a regressor.")
        return pd.DataFrame({"prediction": model.predict(X)})
    shares = model.predict_proba(X)
    answer = pd.DataFrame({"prediction": model.classes_[shares.argmax(axis=1)]})
    if proba:
        for i, label in enumerate(model.classes_):
            answer[f"probability_{label}"] = shares[:, i]
    return answer


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
