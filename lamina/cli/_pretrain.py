"""``lamina pretrain``: a table without a target in, an encoder out that ``lamina fit`` can use."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from lamina._errors import DataError

from ._options import OUTPUT, Flag
from ._output import Output, number, quoted, seconds
from ._progress import INTERRUPTED, WatchRounds, watched

if TYPE_CHECKING:
    import pandas as pd


def pretrain(
    data: Path,
    /,
    *,
    output: Annotated[Path, OUTPUT],
    drop: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    categorical: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    steps: Annotated[int, Parameter(validator=Number(gte=1))] = 3000,
    width: Annotated[int, Parameter(validator=Number(gte=1))] = 256,
    layers: Annotated[int, Parameter(validator=Number(gte=1, lte=16))] = 2,
    random_state: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 0,
    quiet: Flag = False,
    json: Flag = False,
) -> int:
    """Learn features from rows that need no target.

    Cells are replaced by those of other rows, and a network learns to restore them. A model for
    few rows with a target then begins with what it knows: lamina fit --from. The target itself
    must be left out: --drop. Ctrl-C ends with the round over the rows, and keeps it.

    Parameters
    ----------
    data : Path
        CSV, TSV or Parquet file: numbers, text, categories, dates and holes as they come.
    output : Path
        Folder to write the encoder to. A model that is there is replaced.
    drop : tuple of str
        A column to leave out, such as a target or a number of the row; may be repeated.
    categorical : tuple of str
        A column of numbers that are codes, such as postcodes; may be repeated.
    steps : int
        Steps of training, of 128 rows each.
    width : int
        Units of each layer.
    layers : int
        Layers.
    random_state : int
        Seed: the same seed gives the same encoder.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    from lamina._files import check_writable

    check_writable(output)
    from sklearn.pipeline import make_pipeline

    from lamina import DenoisingEncoder, save
    from lamina.estimators import Trunk
    from lamina.tables import TableEncoder, read_table

    say.note(f"Reading {data}")
    table = _without(read_table(data), drop)
    columns = TableEncoder(categorical_features=list(categorical) or None, n_bins=0)
    encoder = DenoisingEncoder(
        hidden_layer_sizes=(width,) * layers, max_steps=steps, random_state=random_state
    )
    say.note(f"Learning from {len(table):,} rows of {len(table.columns)} columns")
    watch = WatchRounds(say.err, show=say.err.is_terminal and not quiet)
    began = time.perf_counter()
    with watched(encoder, watch):
        trunk = Trunk.of(make_pipeline(columns, encoder).fit(table))
    took = time.perf_counter() - began
    save(trunk, output)
    if watch.interrupted:
        say.err.print(
            f"Interrupted after {encoder.n_steps_:,} of {steps:,} steps; what it learned is kept.",
            style="yellow",
            soft_wrap=True,
        )
    say.line(f"Loss {number(encoder.loss_curve_[0])} at first, {number(encoder.loss_)} at last")
    say.line(f"Saved the encoder to {output} after {encoder.n_steps_:,} steps in {seconds(took)}")
    say.document(
        {
            "command": "pretrain",
            "data": str(data),
            "encoder": str(output),
            "n_rows": len(table),
            "columns": [str(name) for name in table.columns],
            "sizes": list(trunk.networks[0].sizes),
            **_training(encoder),
            "interrupted": watch.interrupted,
            "seconds": took,
        }
    )
    say.next(f"lamina fit FEW_ROWS --target COLUMN --from {quoted(str(output))} -o model")
    return INTERRUPTED if watch.interrupted else 0


def _training(encoder: Any) -> dict[str, Any]:
    """Return the figures of the training for machines."""
    return {
        "first_loss": float(encoder.loss_curve_[0]),
        "loss": float(encoder.loss_),
        "n_steps": encoder.n_steps_,
    }


def _without(table: pd.DataFrame, drop: tuple[str, ...]) -> pd.DataFrame:
    """Return the table without some columns."""
    from lamina._checks import suggestion

    for name in drop:
        if name not in table.columns:
            raise DataError(
                f"--drop must name a column of the table. Got {name!r}."
                f"{suggestion(name, map(str, table.columns))}"
            )
    rest = table.drop(columns=list(drop))
    if not len(rest.columns):
        raise DataError("The table must have a column that is not dropped. Got none.")
    return rest
