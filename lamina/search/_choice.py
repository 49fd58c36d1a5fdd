"""Which candidates of a search form an ensemble."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from lamina._typing import Array, FloatArray

from ._candidates import Candidate, Problem
from ._results import out_of_fold
from ._selection import MOST_CONSIDERED, greedy_votes, score_of_predictions


def choose_votes(
    candidates: Sequence[Candidate],
    problem: Problem,
    scorer: Any,
    metric: str,
    n_votes: int,
    classes: Array | None,
    *,
    classifier: bool,
) -> tuple[dict[int, int], float]:
    """Return votes by candidate, and the score of the ensemble's out-of-fold predictions.

    There are none where no candidate was trained to its end on every fold.
    """
    n_samples = _num_samples(problem.X)
    ordered = sorted(
        (c for c in candidates if c.outcomes and not np.isnan(c.mean(metric))),
        key=lambda c: (-c.mean(metric), c.number),
    )
    predictions: dict[int, FloatArray] = {}
    for candidate in ordered:
        found = out_of_fold(candidate, problem.folds, n_samples)
        if found is not None and len(predictions) < MOST_CONSIDERED:
            predictions[candidate.number] = found
    if not predictions:
        return {}, math.nan
    known = ~np.isnan(next(iter(predictions.values()))).any(axis=1)
    rows = np.flatnonzero(known)
    score = score_of_predictions(
        scorer,
        metric,
        _safe_indexing(problem.X, rows),
        _safe_indexing(problem.y, rows),
        classes,
        classifier=classifier,
    )
    parts = [p[rows] for p in predictions.values()]
    votes = greedy_votes(parts, score, n_votes)
    mean = np.average(np.stack(parts), axis=0, weights=votes)
    return dict(zip(predictions, votes, strict=True)), score(mean)
