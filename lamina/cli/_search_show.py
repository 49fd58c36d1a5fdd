"""``lamina search show``: what a storage holds of a search, also while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from ._options import Flag
from ._output import Output, number, quoted
from ._search_metrics import label, unsigned
from ._search_report import candidate_table, varied
from ._search_space import short

if TYPE_CHECKING:
    from lamina.search import ImportanceResult, StudyView, TrialView

_LITTLE = 0.1
"""Share of the ranks below which importances say nothing."""

_ENDS = {"complete": "finished", "pruned": "stopped", "fail": "failed"}


def show(
    storage: str,
    study: str | None = None,
    /,
    *,
    top: Annotated[int, Parameter(validator=Number(gte=1))] = 10,
    plots: Path | None = None,
    quiet: Flag = False,
    json: Flag = False,
) -> None:
    """Say what a storage holds of a search, also while it runs: nothing is trained.

    Candidates best first, how far each rung is, and how much each parameter has mattered for
    the ranks.

    Parameters
    ----------
    storage : str
        File or URL that lamina search or StackedSearchCV was given.
    study : str
        Name of the search, where the storage holds several. Without it the newest.
    top : int
        Candidates to print.
    plots : Path
        Folder for pictures of the search, each with its numbers as CSV beside it.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    from lamina.search import list_studies, read_study

    view = read_study(storage, study)
    others = [info.name for info in list_studies(storage) if info.name != view.name]
    ranked = ranked_trials(view.trials)
    mattered = _importance(ranked)
    _print(view, ranked, mattered, top, say)
    files: list[Path] = []
    if plots is not None:
        from ._search_pictures import write_pictures

        files = write_pictures(view, plots)
        for file in files:
            say.line(f"Wrote {file}")
    if others:
        say.note(f"Other searches there: {', '.join(others)}")
    say.document(_document(view, ranked, mattered, storage, files))
    if plots is None and any(math.isfinite(trial.score) for trial in view.trials):
        say.next(f"lamina search show {quoted(storage)} --plots pictures")


def ranked_trials(trials: Sequence[TrialView]) -> list[TrialView]:
    """Return candidates best first: by how far they came, then by score."""
    return sorted(
        trials,
        key=lambda trial: (
            not math.isfinite(trial.score),
            -reached(trial),
            -trial.score if math.isfinite(trial.score) else 0.0,
            trial.number,
        ),
    )


def reached(trial: TrialView) -> float:
    """Return how far a candidate came: its rungs, and beyond all of them if to the end."""
    return math.inf if trial.state == "complete" else float(len(trial.values))


def state_of(view: StudyView) -> str:
    """Return whether a search runs, stopped or has finished."""
    if view.n_alive:
        return f"running, {view.n_alive} process{'' if view.n_alive == 1 else 'es'}"
    planned = view.spec.get("n_candidates", view.spec.get("n_iter", 0))
    whole = all(stage.n_done == stage.n_shards for stage in view.stages)
    if whole and len(view.trials) >= planned:
        return "finished"
    return "stopped; the same command goes on"


def _print(
    view: StudyView,
    ranked: Sequence[TrialView],
    mattered: ImportanceResult | None,
    top: int,
    say: Output,
) -> None:
    """Print state and rungs, and what there is to say of candidates."""
    spec, metric = view.spec, str(view.spec.get("metric", "score"))
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(view.created))
    say.line(f"{view.name}: {state_of(view)}", style="bold")
    planned = spec.get("n_candidates", spec.get("n_iter", "?"))
    say.line(
        f"{spec.get('estimator', 'estimator')} on {number(float(spec.get('n_samples', 0)))} rows "
        f"in {spec.get('n_splits', '?')} folds, begun {begun}; "
        f"{len(view.trials)} of {planned} candidates have ended"
    )
    say.line("")
    rungs = rung_rows(view)
    say.table(
        "Rungs",
        ["rung", "shards done", "worked on", "candidates that ended", f"best {label(metric)}",
         "median"],
        [
            [
                str(row["rung"]),
                f"{row['n_done']} of {row['n_shards']}",
                str(row["n_held"] if view.n_alive else 0),
                str(row["n_candidates"]),
                _told(row["best"]),
                _told(row["median"]),
            ]
            for row in rungs
        ],
    )  # fmt: skip
    if ranked:
        _print_candidates(ranked, mattered, metric, top, say)


def _print_candidates(
    ranked: Sequence[TrialView],
    mattered: ImportanceResult | None,
    metric: str,
    top: int,
    say: Output,
) -> None:
    """Print the best candidates, and what mattered."""
    say.line("")
    candidate_table(
        "Candidates",
        [metric],
        [
            {
                "scores": [trial.score],
                "params": trial.params,
                "epochs": max(trial.values, default=0),
                "status": _ENDS[trial.state],
            }
            for trial in ranked[:top]
        ],
        varied([trial.params for trial in ranked]),
        say,
    )
    say.line("")
    if mattered is None:
        say.line("Too few candidates have ended to say which parameters mattered")
        return
    say.table(
        f"What mattered (all together explain {mattered.explained:.0%} of the ranks)",
        ["parameter", "importance"],
        [[short(name), f"{share:.0%}"] for name, share in mattered.importances.items()],
    )
    if mattered.explained < _LITTLE:
        say.line("That is too little to believe these shares; more candidates tell more")


def _told(value: float | None) -> str:
    return "" if value is None else number(value)


def rung_rows(view: StudyView) -> list[dict[str, Any]]:
    """Return what every rung says, all batches together.

    Scores are of candidates that have ended; those that train on are told when they end.
    """
    metric = str(view.spec.get("metric", "score"))
    rows: dict[int, dict[str, Any]] = {}
    for stage in view.stages:
        rung = int(stage.name.rpartition("rung")[2])
        row = rows.setdefault(rung, {"rung": rung + 1, "n_shards": 0, "n_done": 0, "n_held": 0})
        for name in ("n_shards", "n_done", "n_held"):
            row[name] += getattr(stage, name)
    for rung, row in rows.items():
        scores = sorted(
            score
            for trial in view.trials
            for score in [_score_in(trial, rung)]
            if score is not None and math.isfinite(score)
        )
        n = len(scores)
        median = (scores[(n - 1) // 2] + scores[n // 2]) / 2 if n else None
        row["n_candidates"] = sum(_score_in(trial, rung) is not None for trial in view.trials)
        row["best"] = unsigned(metric, scores[-1]) if n else None
        row["median"] = None if median is None else unsigned(metric, median)
    return [rows[rung] for rung in sorted(rows)]


def _score_in(trial: TrialView, rung: int) -> float | None:
    """Return the score of a candidate in a rung, if it was there."""
    scores = [score for _, score in sorted(trial.values.items())]
    return scores[rung] if rung < len(scores) else None


def _importance(ranked: Sequence[TrialView]) -> ImportanceResult | None:
    """Return what mattered, or None where too little is known."""
    from lamina import DataError
    from lamina.search import parameter_importance

    try:
        return parameter_importance(
            [trial.params for trial in ranked],
            [trial.score for trial in ranked],
            [min(reached(trial), 1e6) for trial in ranked],
        )
    except DataError:
        return None


def _document(
    view: StudyView,
    ranked: Sequence[TrialView],
    mattered: ImportanceResult | None,
    storage: str,
    files: Sequence[Path],
) -> Mapping[str, Any]:
    """Return the result for machines; scores as the search knows them, larger is better."""
    return {
        "command": "search show",
        "storage": storage,
        "study": view.name,
        "state": state_of(view).partition(",")[0].partition(";")[0],
        "n_processes": view.n_alive,
        "created": view.created,
        "spec": view.spec,
        "rungs": rung_rows(view),
        "candidates": [
            {
                "candidate": trial.number,
                "score": trial.score,
                "state": trial.state,
                "params": trial.params,
                "scores_by_epoch": trial.values,
                "seconds": trial.seconds,
            }
            for trial in ranked
        ],
        "importance": None
        if mattered is None
        else {"explained": mattered.explained, "shares": mattered.importances},
        "files": [str(file) for file in files],
    }
