"""What ``lamina search`` prints in the end: the best candidates, and where the model is."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._output import Output, number, seconds
from ._search_metrics import label, signed, unsigned
from ._search_space import short

if TYPE_CHECKING:
    from ._search_run import Found, Options

SHOWN = 10
"""Candidates that are printed."""

_DIGITS = 3


def report(found: Found, options: Options, say: Output) -> None:
    """Print the best candidates, the ensemble, and how the search ended."""
    results = found.search.cv_results_
    names = _scores(found)
    order = _order(found)
    tried = [i for i in order if results["status"][i] != "not run"]
    rows = [
        {
            "scores": [results[f"mean_test_{name}"][i] for name in names],
            "params": results["params"][i],
            "epochs": results["n_epochs"][i],
            "status": results["status"][i],
        }
        for i in tried[:SHOWN]
    ]
    candidate_table(
        f"Best of {len(tried)} candidates on {found.n_rows:,} rows in {options.folds} folds",
        names,
        rows,
        varied([results["params"][i] for i in tried]),
        say,
    )
    say.line("")
    _tell_failures(results["status"], say)
    ensemble = vars(found.search).get("ensemble_")
    if ensemble is not None:
        score = unsigned(signed(found.metric), found.search.ensemble_score_)
        n = len(ensemble.estimators_)
        what = f"An ensemble of {n}" if n > 1 else "The ensemble is one network, and"
        say.line(
            f"{what} has {label(signed(found.metric))} {number(score)} on held-out rows, which "
            "have chosen it, too"
        )
    _tell_end(found, options, say)


def _tell_failures(status: Sequence[str], say: Output) -> None:
    for end in ("diverged", "failed"):
        n = sum(one == end for one in status)
        if n:
            say.line(f"{n} candidate{'' if n == 1 else 's'} {end}", style="yellow")


def _tell_end(found: Found, options: Options, say: Output) -> None:
    """Say why the search ended early, and where the model is."""
    if found.interrupted:
        say.err.print("Interrupted; the best until then was kept.", style="yellow")
    elif found.search.interrupted_:
        again = " The same command goes on." if options.storage is not None else ""
        say.err.print(
            f"Time was up before the search ended; the best until then was kept.{again}",
            style="yellow",
            soft_wrap=True,
        )
    took = seconds(found.seconds)
    if options.output is not None:
        say.line(f"Saved the model to {options.output} after {took}")
    else:
        say.line(f"Searched {took}; no model was saved, since --output was not given")


def candidate_table(
    title: str,
    scores: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    say: Output,
) -> None:
    """Print candidates, the best first: scores, the parameters that varied, and the end."""
    say.table(
        title,
        ["rank", *map(label, scores), *map(_heading, names), "epochs", ""],
        [
            [
                str(rank),
                *(number(unsigned(*pair)) for pair in zip(scores, row["scores"], strict=True)),
                *(value_text(row["params"].get(name)) for name in names),
                number(row["epochs"], _DIGITS),
                row["status"],
            ]
            for rank, row in enumerate(rows, 1)
        ],
    )


def _heading(name: str) -> str:
    """Return the name of a parameter in words, between which a line may break."""
    return short(name).rpartition(".")[2].replace("_", " ")


def value_of(value: Any) -> Any:
    """Return a value from a storage, which holds widths as text, as it was."""
    if isinstance(value, str) and re.fullmatch(r"\((\d+,( \d+)?|\d+(, \d+)+)?\)", value):
        return tuple(map(int, re.findall(r"\d+", value)))
    return value


def value_text(value: Any) -> str:
    """Return a value of a parameter as short text: (64, 32) as 64-32."""
    value = value_of(value)
    if isinstance(value, (tuple, list)):
        return "-".join(map(str, value)) or "none"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return number(float(value), _DIGITS) if math.isfinite(value) else str(value)


def varied(params: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of parameters with at least two values, in order of mention."""
    names = dict.fromkeys(name for own in params for name in own)
    return [name for name in names if len({repr(own.get(name)) for own in params}) > 1]


def document(found: Found, options: Options) -> dict[str, Any]:
    """Return the result for machines."""
    search, results = found.search, found.search.cv_results_
    names = _scores(found)
    ensemble = vars(search).get("ensemble_")
    order = _order(found)
    return {
        "command": "search",
        "data": str(options.data),
        "target": options.target,
        "task": "classification" if found.classes else "regression",
        "metric": found.metric,
        "model": None if options.output is None else str(options.output),
        "storage": options.storage,
        "n_rows": found.n_rows,
        "n_folds": options.folds,
        "n_candidates": len(results["params"]),
        "seconds": found.seconds,
        "interrupted": found.interrupted,
        "complete": not search.interrupted_,
        "best": _candidate(results, int(search.best_index_), names),
        "ensemble": None
        if ensemble is None
        else {
            "score": unsigned(signed(found.metric), search.ensemble_score_),
            "weights": ensemble.weights_.tolist(),
            "n_networks": len(ensemble.estimators_),
        },
        "candidates": [_candidate(results, i, names) for i in order],
    }


def _candidate(results: Mapping[str, Any], i: int, names: Sequence[str]) -> dict[str, Any]:
    """Return one candidate for machines."""
    return {
        "candidate": i,
        "scores": {
            name.removeprefix("neg_"): unsigned(name, float(results[f"mean_test_{name}"][i]))
            for name in names
        },
        "params": {short(name): value for name, value in results["params"][i].items()},
        "n_epochs": float(results["n_epochs"][i]),
        "rung": int(results["rung"][i]),
        "status": str(results["status"][i]),
    }


def _order(found: Found) -> list[int]:
    """Return candidates by rank."""
    import numpy as np

    ranks = found.search.cv_results_[f"rank_test_{signed(found.metric)}"]
    return [int(i) for i in np.argsort(ranks, kind="stable")]


def _scores(found: Found) -> list[str]:
    """Return the names of the scores, the one that decides first."""
    first = signed(found.metric)
    told = [key.removeprefix("mean_test_") for key in found.search.cv_results_
            if key.startswith("mean_test_")]  # fmt: skip
    return [first, *(name for name in told if name != first)]
