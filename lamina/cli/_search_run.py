"""The steps of ``lamina search``: read, search, save the best, and say what was found."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lamina._errors import DataError

from ._options import UsageError
from ._output import Output, quoted
from ._search_metrics import Metric, Scorer, chosen_metric, signed
from ._search_progress import SearchWatch, watched_search
from ._search_report import document, report
from ._search_space import default_space, pipeline_for, space_of_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Options:
    """What was asked for; see `lamina.cli._search`."""

    data: Path
    target: str
    output: Path | None
    storage: str | None
    time_limit: float | None
    trials: int
    folds: int
    metric: Metric | None
    ensemble: int
    sampler: Literal["random", "tpe"]
    space: Path | None
    halving: bool
    jobs: int
    task: Literal["auto", "classification", "regression"]
    categorical: tuple[str, ...]
    random_state: int
    device: str


@dataclass(frozen=True)
class Found:
    """What a search has found.

    Attributes
    ----------
    search : StackedSearchCV
        The fitted search.
    model : object
        The best, as it is saved: an ensemble, or a network with its encoder.
    metric : str
        What decided, as people call it.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    search: Any
    model: Any
    metric: str
    classes: bool
    n_rows: int
    seconds: float
    interrupted: bool


def run_search(options: Options, say: Output) -> Found:
    """Search, save the best, and print what was found."""
    from lamina import save
    from lamina.tables import infer_task, read_table, split_target

    say.note(f"Reading {options.data}")
    X, y = split_target(read_table(options.data), options.target, options.task)
    kind = infer_task(y) if options.task == "auto" else options.task
    classes = kind == "classification"
    if options.task == "auto" and classes and y.dtype.kind in "iuf":
        say.note("These numbers are taken for classes. If they are not: --task regression")
    metric = chosen_metric(options.metric, classes=classes)
    if metric == "nll" and options.ensemble:
        raise UsageError(
            "--ensemble must be 0 with --metric nll: an ensemble is chosen by what its members "
            f"predict, not by their distributions. Got {options.ensemble}."
        )
    _check_rows(y, options.folds, classes=classes)
    what = f"{y.nunique()} classes" if classes else "a number"
    say.note(
        f"Predicting {options.target} ({what}) from {X.shape[1]} columns and {len(y):,} rows in "
        f"{options.folds} folds"
    )
    found = _search(X, y, options, say, metric, classes=classes)
    if options.output is not None:
        save(found.model, options.output)
    report(found, options, say)
    say.document(document(found, options))
    say.next(_next(options))
    return found


def _check_rows(y: pd.Series[Any], folds: int, *, classes: bool) -> None:
    """Raise where there are fewer rows than folds."""
    n = int(y.value_counts().max()) if classes else len(y)
    if n < folds:
        what = "rows of at least one class" if classes else "rows"
        raise DataError(
            f"The table must have {folds} or more {what}, one for each fold. Got {n}. "
            f"Use fewer --folds."
        )


def _search(
    X: pd.DataFrame, y: pd.Series[Any], options: Options, say: Output, metric: str, *,
    classes: bool,
) -> Found:  # fmt: skip
    """Search under a watch."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import KFold, StratifiedKFold

    from lamina import StackedSearchCV

    seed = options.random_state
    pipeline = pipeline_for(
        len(y), classes=classes, categorical=options.categorical, seed=seed, device=options.device
    )
    space = default_space(metric, pipeline)
    if options.space is not None:
        space |= space_of_file(options.space, pipeline)
    splitter = StratifiedKFold if classes else KFold
    search = StackedSearchCV(
        pipeline,
        space,
        n_iter=options.trials,
        cv=splitter(options.folds, shuffle=True, random_state=seed),
        scoring=Scorer(classes, metric),
        factor=3 if options.halving else None,
        sampler=options.sampler,
        storage=options.storage,
        refit=signed(metric),
        ensemble_size=options.ensemble,
        time_limit=options.time_limit,
        n_jobs=options.jobs,
        random_state=seed,
    )
    watch = SearchWatch(
        say.err, quiet=say.quiet, metric=signed(metric), time_limit=options.time_limit
    )
    began = time.perf_counter()
    with warnings.catch_warnings(), watched_search(search, watch):
        # Every candidate is meant to train to its last epoch.
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    return Found(
        search=search,
        model=_saveable(search, options.target, classes=classes),
        metric=metric,
        classes=classes,
        n_rows=len(y),
        seconds=time.perf_counter() - began,
        interrupted=watch.interrupted,
    )


def _saveable(search: Any, target: str, *, classes: bool) -> Any:
    """Return the ensemble, or where there is none the best candidate, as it can be saved."""
    from lamina.search import EncodedClassifier, EncodedRegressor

    ensemble = vars(search).get("ensemble_")
    if ensemble is not None:
        return ensemble
    kind = EncodedClassifier if classes else EncodedRegressor
    return kind.from_pipeline(search.best_estimator_, target)


def _next(options: Options) -> str:
    """Return which command is useful now."""
    data = quoted(str(options.data))
    if options.output is not None:
        return f"lamina predict {quoted(str(options.output))} {data} -o predictions.csv"
    if options.storage is not None:
        return f"lamina search show {quoted(options.storage)}"
    return f"lamina search {data} --target {quoted(options.target)} -o model"
