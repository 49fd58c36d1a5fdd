"""``lamina fit``: a table in, a saved model out, with its score on rows it has not seen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from lamina._errors import DataError

from ._fit_from import Rows, Source, fit_from
from ._options import OUTPUT, TARGET, Flag, UsageError
from ._output import Output, number, quoted, seconds
from ._progress import INTERRUPTED, Watch, watched
from ._scores import LABELS, Baseline, Scores, baseline, held_out, model_scores

if TYPE_CHECKING:
    import pandas as pd

Loss: TypeAlias = Literal["squared_error", "normal", "heteroscedastic", "mixture", "poisson"]


@dataclass(frozen=True)
class Options:
    """How to fit."""

    target: str
    task: Literal["auto", "classification", "regression"]
    preset: Literal["fast", "default", "best"]
    time_limit: float | None
    categorical: tuple[str, ...]
    random_state: int
    valid_fraction: float
    device: str
    loss: Loss | None


@dataclass(frozen=True)
class Fitted:
    """A fitted model, and what it and a trivial one score on the rows held out."""

    model: Any
    classes: bool
    n_rows: int
    n_held_out: int
    seconds: float
    interrupted: bool
    scores: Scores | None
    baseline: Baseline | None

    @property
    def n_epochs(self) -> int:
        """Epochs of the member that trained longest."""
        return int(self.model.history_["epoch"].max())


def fit(
    data: Path,
    /,
    *,
    target: Annotated[str, TARGET],
    output: Annotated[Path, OUTPUT],
    task: Literal["auto", "classification", "regression"] = "auto",
    preset: Literal["fast", "default", "best"] = "default",
    loss: Loss | None = None,
    time_limit: Annotated[float | None, Parameter(validator=Number(gt=0))] = None,
    categorical: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    random_state: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 0,
    valid_fraction: Annotated[float, Parameter(validator=Number(gte=0, lt=1))] = 0.2,
    device: str = "auto",
    source: Annotated[Path | None, Parameter(name="--from")] = None,
    strategy: Literal["frozen", "last", "fine_tune"] | None = None,
    quiet: Flag = False,
    json: Flag = False,
) -> int:
    """Fit a model to a table and save it.

    Some rows are held out: the model never sees them, and its score on them is printed beside
    that of a trivial answer. Ctrl-C ends training and saves the best weights so far (exit
    status 130); a second Ctrl-C quits.

    Parameters
    ----------
    data : Path
        CSV, TSV or Parquet file: numbers, text, categories, dates and holes as they come.
    target : str
        Name of the column to predict.
    output : Path
        Folder to write the model to. A model that is there is replaced.
    task : str
        What the target holds: classes, or numbers to regress on. "auto" looks at it.
    preset : str
        How much effort to spend.
    loss : str
        What to learn of a number. "squared_error", if nothing is said: its mean, with one
        spread for all rows. "normal" learns that spread along. "heteroscedastic": a spread that
        depends on the row. "mixture": a distribution of any shape. "poisson": the rate of
        counts.
    time_limit : float
        Most seconds of training.
    categorical : tuple of str
        A column of numbers that are codes, such as postcodes; may be repeated.
    random_state : int
        Seed of the held-out rows and of training: the same seed gives the same model.
    valid_fraction : float
        Share of the rows to hold out. 0 trains on all and prints no score.
    device : str
        Where to train: "auto", "cpu", "cuda".
    source : Path
        Folder of an encoder that lamina pretrain wrote, or of a model, whose layers are used:
        for tables with few rows that have a target. Compare with lamina fit without it: with
        some fifty rows a class that is the better of the two on most tables.
    strategy : str
        With --from: "frozen", if nothing is said, trains new outputs alone, "last" the last
        copied layer, too, and "fine_tune" all layers, by small steps.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    from lamina._files import check_writable

    check_writable(output)
    options = Options(
        target, task, preset, time_limit, categorical, random_state, valid_fraction, device, loss
    )
    from lamina import save
    from lamina.tables import infer_task, read_table, split_target

    say.note(f"Reading {data}")
    X, y = split_target(read_table(data), target, task)
    kind = infer_task(y) if task == "auto" else task
    if loss is not None and kind == "classification":
        raise UsageError(
            f"--loss must be used with a number to predict. Got {loss!r}, and {target!r} holds "
            "classes. If these are numbers: --task regression"
        )
    if task == "auto" and kind == "classification" and y.dtype.kind in "iuf":
        say.note("These numbers are taken for classes. If they are not: --task regression")
    if source is not None:
        _refuse_for_transfer(options)
        how = Source(source, strategy or "frozen", random_state, device, loss)
        rows = Rows(X, y, _aside(y, options, kind == "classification"), kind == "classification")
        document = fit_from(how, rows, output, say)
        say.document(document | {"data": str(data)})
        say.next(f"lamina predict {quoted(str(output))} {quoted(str(data))} -o predictions.csv")
        return 0
    if strategy is not None:
        raise UsageError("--strategy must be used with --from, whose layers it is about.")
    fitted = _fit(X, y, options, say, classes=kind == "classification")
    save(fitted.model, output)
    _report(fitted, output, say)
    say.document(_document(fitted, options, data, output))
    say.next(f"lamina predict {quoted(str(output))} {quoted(str(data))} -o predictions.csv")
    return INTERRUPTED if fitted.interrupted else 0


def _refuse_for_transfer(options: Options) -> None:
    """Refuse options that mean nothing where layers are copied."""
    given = {
        "--preset": options.preset != "default",
        "--time-limit": options.time_limit is not None,
        "--categorical": bool(options.categorical),
    }
    for name, used in given.items():
        if used:
            raise UsageError(
                f"{name} must not be used with --from: the columns and the size of the network "
                "are those of the model whose layers are copied."
            )


def _aside(y: pd.Series[Any], options: Options, classes: bool) -> Any:
    """Return which rows to hold out; refuse a table that is too small for that."""
    aside = held_out(y, options.valid_fraction, options.random_state, classes=classes)
    if aside.all() or (options.valid_fraction > 0 and not aside.any()):
        raise DataError(
            f"The table must have more rows to hold out {options.valid_fraction:.0%} of them. "
            f"Got {len(y)} with a target. Use --valid-fraction 0 to train on all."
        )
    return aside


def _fit(
    X: pd.DataFrame, y: pd.Series[Any], options: Options, say: Output, *, classes: bool
) -> Fitted:
    """Hold out rows, fit to the others and score."""
    from lamina import TableClassifier, TableRegressor

    aside = _aside(y, options, classes)
    given: dict[str, Any] = {
        "preset": options.preset,
        "time_limit": options.time_limit,
        "categorical_features": list(options.categorical) or None,
        "random_state": options.random_state,
        "device": options.device,
    }
    if options.loss is not None:
        given["loss"] = options.loss
    model = (TableClassifier if classes else TableRegressor)(**given)
    what = f"{y.nunique()} classes" if classes else "a number"
    say.note(
        f"Predicting {options.target} ({what}) from {X.shape[1]} columns and "
        f"{int((~aside).sum()):,} rows; {int(aside.sum()):,} rows are held out"
    )
    show = say.err.is_terminal and not say.quiet
    watch = Watch(say.err, show=show, time_limit=options.time_limit)
    began = time.perf_counter()
    with watched(model, watch):
        model.fit(X[~aside], y[~aside])
    took = time.perf_counter() - began
    scored = bool(aside.any())
    return Fitted(
        model=model,
        classes=classes,
        n_rows=len(y),
        n_held_out=int(aside.sum()),
        seconds=took,
        interrupted=watch.interrupted,
        scores=model_scores(model, X[aside], y[aside], classes=classes) if scored else None,
        baseline=baseline(y[~aside], y[aside], classes=classes) if scored else None,
    )


def _report(fitted: Fitted, output: Path, say: Output) -> None:
    """Print what the columns were taken for, and the scores."""
    columns = fitted.model.encoder_.report()
    say.table(
        "Columns",
        ["column", "taken for", "distinct", "missing", "inputs", ""],
        [
            [
                str(row.column),
                str(row.kind) if row.features else "dropped",
                f"{row.distinct:,}",
                f"{row.missing:,}",
                str(row.features),
                str(row.note),
            ]
            for row in columns.itertuples()
        ],
    )
    say.line("")
    if fitted.scores is not None and fitted.baseline is not None:
        say.table(
            f"Scores on {fitted.n_held_out:,} held-out rows",
            ["", *(LABELS[key] for key in fitted.scores)],
            [
                ["lamina", *map(number, fitted.scores.values())],
                [fitted.baseline.name, *map(number, fitted.baseline.scores.values())],
            ],
        )
        say.line("")
    epochs = f"{fitted.n_epochs} epoch{'' if fitted.n_epochs == 1 else 's'}"
    if fitted.interrupted:
        say.err.print(
            f"Interrupted after {epochs}; the best weights until then were kept.",
            style="yellow",
            soft_wrap=True,
        )
    say.line(f"Saved the model to {output} after {epochs} in {seconds(fitted.seconds)}")


def _document(fitted: Fitted, options: Options, data: Path, output: Path) -> dict[str, Any]:
    """Return the result for machines."""
    return {
        "command": "fit",
        "data": str(data),
        "model": str(output),
        "target": options.target,
        "task": "classification" if fitted.classes else "regression",
        "n_rows": fitted.n_rows,
        "n_held_out": fitted.n_held_out,
        "loss": None if fitted.classes else fitted.model.loss,
        "n_epochs": fitted.n_epochs,
        "seconds": fitted.seconds,
        "interrupted": fitted.interrupted,
        "scores": fitted.scores,
        "baseline": None
        if fitted.baseline is None
        else {"name": fitted.baseline.name, "scores": fitted.baseline.scores},
        "columns": fitted.model.encoder_.report().to_dict("records"),
    }
