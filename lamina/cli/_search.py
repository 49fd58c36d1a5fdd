"""``lamina search``: hundreds of networks tried on a table, and the best of them kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ._options import OUTPUT, TARGET, Flag, time_span
from ._output import Output, complain
from ._progress import INTERRUPTED
from ._search_metrics import Metric
from ._search_show import show

search = App(name="search", help_format="plaintext")
search.command(show)


@search.default
def search_table(
    data: Path,
    /,
    *,
    target: Annotated[str, TARGET],
    output: Annotated[Path | None, OUTPUT] = None,
    storage: str | None = None,
    time_limit: str | None = None,
    trials: Annotated[int, Parameter(validator=Number(gte=1))] = 64,
    folds: Annotated[int, Parameter(validator=Number(gte=2))] = 5,
    metric: Metric | None = None,
    ensemble: Annotated[int, Parameter(validator=Number(gte=0))] = 8,
    sampler: Literal["random", "tpe"] = "random",
    space: Path | None = None,
    no_halving: Flag = False,
    jobs: Annotated[int, Parameter(validator=Number(gte=1))] = 1,
    task: Literal["auto", "classification", "regression"] = "auto",
    categorical: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    random_state: Annotated[
        int,
        Parameter(name=["--random-state", "--seed"], validator=Number(gte=0, lt=2**31)),
    ] = 0,
    device: str = "auto",
    quiet: Flag = False,
    json: Flag = False,
) -> int:
    """Search for the best network for a table, many at once.

    Candidates are tried on folds of the rows and train together; after some epochs the worse
    ones leave. Ctrl-C ends the search, and the best so far is fitted to all rows and saved (exit
    status 130); a second Ctrl-C quits. With --storage the same command goes on where it stopped,
    and several that run at a time share the work. What a storage holds: lamina search show

    Parameters
    ----------
    data : Path
        CSV, TSV or Parquet file: numbers, text, categories, dates and holes as they come.
    target : str
        Name of the column to predict.
    output : Path
        Folder to write the best model to. A model that is there is replaced.
    storage : str
        File such as search.db, or URL of a database, that keeps every step of the search.
    time_limit : str
        Most time for the search: seconds, or such as 10m or 1h30m. The best is fitted after it.
    trials : int
        Most candidates.
    folds : int
        In how many parts to cut the rows; each is held out once.
    metric : str
        What decides. If nothing is said: log_loss of classes, and rmse of a number.
    ensemble : int
        Most votes of an ensemble of the best candidates; 0 keeps the best one alone.
    sampler : str
        How candidates are drawn: at random, or by what earlier ones did ("tpe").
    space : Path
        TOML or JSON file that says what parameters may be; others keep their default.
    no_halving : bool
        Train every candidate to its end.
    jobs : int
        Processes. One already uses all cores.
    task : str
        What the target holds: classes, or numbers to regress on. "auto" looks at it.
    categorical : tuple of str
        A column of numbers that are codes, such as postcodes; may be repeated.
    random_state : int
        Seed of the candidates, the folds and of training.
    device : str
        Where to train: "auto", "cpu", "cuda".
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    from ._search_run import Options, run_search

    limit = None if time_limit is None else time_span(time_limit)
    if output is not None:
        from lamina._files import check_writable

        check_writable(output)
    options = Options(
        data=data, target=target, output=output, storage=storage, time_limit=limit,
        trials=trials, folds=folds, ensemble=ensemble, sampler=sampler, space=space,
        halving=not no_halving, jobs=jobs, task=task, categorical=categorical,
        random_state=random_state, device=device, metric=metric,
    )  # fmt: skip
    try:
        found = run_search(options, say)
    except KeyboardInterrupt:
        if storage is None:
            raise
        complain(
            f"No candidate was through its first rung. What is done is kept in {storage}: the "
            "same command goes on.",
            label="Interrupted",
            style="yellow",
        )
        return INTERRUPTED
    return INTERRUPTED if found.interrupted else 0
