"""From candidates and their outcomes to scikit-learn's ``cv_results_`` and its companions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import DataError
from lamina._typing import FloatArray, IntArray

from ._candidates import Candidate
from ._halving import ranks
from ._outcome import LOST, Outcome

if TYPE_CHECKING:
    import pandas as pd

TRAIN = "train_"
"""Before the name of a score of the rows that a fit was trained on."""


def all_score_names(candidates: Sequence[Candidate], asked: Sequence[str]) -> list[str]:
    """Return the names of all scores; those of a user's own scorer are known by what it said."""
    found = dict[str, None]()
    for candidate in candidates:
        for outcome in candidate.outcomes.values():
            if outcome.end in ("finished", "paused"):
                found |= dict.fromkeys(n for n in outcome.scores if not n.startswith(TRAIN))
    return list(found or asked)


def as_sklearn(
    candidates: Sequence[Candidate], n_folds: int, names: Sequence[str], missing: float
) -> list[dict[str, Any]]:
    """Return an entry for each candidate and fold, as scikit-learn's own fits give."""
    return [
        _entry(candidate, fold, names, missing)
        for candidate in candidates
        for fold in range(n_folds)
    ]


def _entry(
    candidate: Candidate, fold: int, names: Sequence[str], missing: float
) -> dict[str, Any]:
    outcome = candidate.outcomes.get(fold)
    scores: Mapping[str, float] = {} if outcome is None else outcome.scores
    lacking = math.nan if outcome is None else missing
    return {
        "fit_time": candidate.fit_seconds.get(fold, math.nan),
        "score_time": candidate.score_seconds.get(fold, math.nan),
        "test_scores": {name: scores.get(name, lacking) for name in names},
        "train_scores": {name: scores.get(TRAIN + name, lacking) for name in names},
        "fit_error": None if outcome is None else outcome.error,
    }


def refuse_if_all_failed(entries: Sequence[Mapping[str, Any]]) -> None:
    """Raise if no fit came to anything, with what most of them said."""
    errors = Counter(str(entry["fit_error"]) for entry in entries if entry["fit_error"])
    if errors.total() < len(entries) or not entries:
        return
    text, count = errors.most_common(1)[0]
    says = " ".join(re.sub(r"^lamina\._errors\.\w+: ", "", text).split())
    where = " Rows are counted among those of the fold." if " in row " in says else ""
    raise DataError(f"All the {len(entries)} fits failed, {count} of them with: {says}{where}")


def more_columns(candidates: Sequence[Candidate]) -> dict[str, list[Any]]:
    """Return what a search in rungs has to say beyond scikit-learn's columns."""
    return {
        "n_epochs": [candidate.n_epochs for candidate in candidates],
        "rung": [candidate.rung for candidate in candidates],
        "batch": [candidate.batch for candidate in candidates],
        "status": [status_of(candidate) for candidate in candidates],
    }


def status_of(candidate: Candidate) -> str:
    """Return how a candidate ended: the worst of its folds."""
    ends = {outcome.end for outcome in candidate.outcomes.values()}
    for end, name in (("failed", "failed"), ("diverged", "diverged"), ("paused", "stopped")):
        if end in ends:
            return name
    return "finished" if ends else "not run"


def rank_again(
    results: dict[str, Any], candidates: Sequence[Candidate], names: Sequence[str]
) -> None:
    """Rank by rung, then by score; a score after few epochs says less than one after many.

    What diverged or failed is last, whatever number stands for its score.
    """
    rungs = [candidate.rung for candidate in candidates]
    lost = [status_of(candidate) in LOST for candidate in candidates]
    for name in names:
        scores = np.where(lost, np.nan, results[f"mean_test_{name}"])
        results[f"rank_test_{name}"] = ranks(rungs, scores.tolist())


def history_table(history: Sequence[tuple[int, Outcome]]) -> pd.DataFrame:
    """Return a row for each candidate, fold and rung."""
    import pandas as pd

    rows = [
        {
            "candidate": outcome.candidate,
            "split": outcome.fold,
            "rung": rung,
            "n_epochs": outcome.n_epochs,
            **outcome.scores,
            "fit_time": outcome.fit_seconds,
            "status": "stopped" if outcome.end == "paused" else outcome.end,
        }
        for rung, outcome in history
    ]
    return pd.DataFrame(rows)


def out_of_fold(
    candidate: Candidate, folds: Sequence[tuple[IntArray, IntArray]], n_samples: int
) -> FloatArray | None:
    """Return predictions (N, K) of every row by fits that did not see it.

    A row that was held out several times has the mean; one that never was has NaN. None where
    a fold has not come to its end.
    """
    parts = [candidate.outcomes.get(fold) for fold in range(len(folds))]
    arrays = [None if part is None else part.held_out for part in parts]
    known = [array for array in arrays if array is not None]
    if len(known) < len(folds):
        return None
    total = np.zeros((n_samples, known[0].shape[1]))
    counts = np.zeros((n_samples, 1))
    for (_, held_out), array in zip(folds, known, strict=True):
        np.add.at(total, held_out, array)
        np.add.at(counts, held_out, 1.0)
    predictions: FloatArray = np.divide(
        total, counts, out=np.full_like(total, np.nan), where=counts > 0
    )
    return predictions
