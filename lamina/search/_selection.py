"""Greedy ensemble selection from out-of-fold predictions.

References
----------
.. [1] R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, Ensemble selection from libraries of
   models, ICML 2004, https://doi.org/10.1145/1015330.1015432
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics._scorer import _MultimetricScorer

from lamina._typing import Array, FloatArray

MOST_CONSIDERED = 50
"""Candidates that an ensemble is chosen from: the best by themselves."""

Score = Callable[[FloatArray], float]


def greedy_votes(predictions: Sequence[FloatArray], score: Score, n_votes: int) -> list[int]:
    r"""Return how many votes each of the given predictions gets, ``n_votes`` at most.

    Vote after vote goes to the one that makes the mean of all votes so far best,

    .. math:: v_{t+1} = \arg\max_k S\Big(\frac{1}{t+1}\Big(\sum_{s \le t} P_{v_s} + P_k\Big)\Big)

    and the votes up to the best of these means count. Equal means take the first.
    """
    total = np.zeros_like(predictions[0])
    votes: list[int] = []
    path: list[float] = []
    for t in range(n_votes):
        scores = [_told(score((total + p) / (t + 1))) for p in predictions]
        best = _first_best(scores)
        votes.append(best)
        path.append(scores[best])
        total = total + predictions[best]
    kept = votes[: _first_best(path) + 1]
    return [kept.count(k) for k in range(len(predictions))]


def _first_best(scores: Sequence[float]) -> int:
    """Return the first place of what is the largest but for rounding."""
    top = max(scores)
    enough = top - 1e-12 * abs(top) if math.isfinite(top) else top
    return next(i for i, score in enumerate(scores) if score >= enough)


def _told(score: float) -> float:
    return -math.inf if math.isnan(score) else score


def score_of_predictions(
    scorer: Any, metric: str, X: Any, y: Any, classes: Array | None, *, classifier: bool
) -> Score:
    """Return a function that scores predictions by a scorer that wants an estimator."""
    if isinstance(scorer, _MultimetricScorer):
        scorer = scorer._scorers[metric]

    def score(predictions: FloatArray) -> float:
        model = (
            _ToldClassifier(predictions, classes) if classifier else _ToldRegressor(predictions)
        )
        found = scorer(model, X, y)
        return float(found[metric] if isinstance(found, dict) else found)

    return score


class _ToldClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that predicts what it was told, whatever X is."""

    def __init__(self, proba: FloatArray, classes: Array | None) -> None:
        self.proba = proba
        self.classes = classes
        self.classes_ = np.arange(proba.shape[1]) if classes is None else classes

    def predict_proba(self, X: Any) -> FloatArray:
        return self.proba

    def decision_function(self, X: Any) -> FloatArray:
        """Return logits, by which some scores rank; (n,) where there are two classes."""
        proba = np.clip(self.proba, np.finfo(float).tiny, 1.0)
        if self.classes is None:
            logits: FloatArray = np.log(proba) - np.log(np.clip(1.0 - proba, 1e-16, 1.0))
            return logits
        logits = np.log(proba)
        return logits[:, 1] - logits[:, 0] if proba.shape[1] == 2 else logits

    def predict(self, X: Any) -> Array:
        if self.classes is None:  # of several labels each is one of two
            labels: Array = (self.proba > 0.5).astype(np.int64)
            return labels
        chosen: Array = self.classes_[self.proba.argmax(axis=1)]
        return chosen

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _ToldRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that predicts what it was told, whatever X is."""

    def __init__(self, targets: FloatArray) -> None:
        self.targets = targets

    def predict(self, X: Any) -> FloatArray:
        one = self.targets.shape[1] == 1
        targets: FloatArray = self.targets[:, 0] if one else self.targets
        return targets

    def __sklearn_is_fitted__(self) -> bool:
        return True
