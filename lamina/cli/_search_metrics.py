"""The scores of ``lamina search``: what decides, and what is told beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ._options import UsageError
from ._scores import LABELS as TITLES
from ._scores import class_scores, regression_scores

Metric: TypeAlias = Literal[
    "log_loss", "accuracy", "balanced_accuracy", "roc_auc", "rmse", "mae", "r2", "nll"
]

OF_CLASSES = ("log_loss", "accuracy", "balanced_accuracy", "roc_auc")
OF_NUMBERS = ("rmse", "mae", "r2", "nll")

LABELS = {**TITLES, "roc_auc": "ROC AUC", "nll": "NLL (nats)"}

_ERRORS = {"log_loss", "rmse", "mae", "nll"}
"""Of these less is better: searches know them with a minus and ``neg_`` before the name."""


def chosen_metric(metric: Metric | None, *, classes: bool) -> str:
    """Return the metric that decides, or say which belong to the task."""
    known = OF_CLASSES if classes else OF_NUMBERS
    if metric is not None and metric not in known:
        what = "classes" if classes else "a number"
        raise UsageError(
            f"--metric must be one of {', '.join(known)} where the target is {what}. "
            f"Got {metric!r}."
        )
    return metric or known[0]


def signed(metric: str) -> str:
    """Return the name by which a search knows a metric."""
    return f"neg_{metric}" if metric in _ERRORS else metric


def unsigned(name: str, score: float) -> float:
    """Return a score as people say it: an error without the minus."""
    return -score if name.startswith("neg_") else score


def label(name: str) -> str:
    """Return the title of a score by the name that a search knows."""
    plain = name.removeprefix("neg_")
    return LABELS.get(plain, plain.replace("_", " "))


@dataclass(frozen=True)
class Scorer:
    """Scores a fitted model on rows it has not seen, by several scores at once.

    A class that the rows for training lacked counts as an error of probability 0.
    """

    classes: bool
    metric: str

    def __call__(self, model: Any, X: Any, y: Any) -> dict[str, float]:
        """Return scores by name; of all of them more is better."""
        if self.classes:
            proba = model.predict_proba(X)
            scores = class_scores(y, model.classes_, proba)
            if self.metric == "roc_auc":
                scores["roc_auc"] = _roc_auc(y, model.classes_, proba)
        else:
            scores = regression_scores(y, model.predict(X))
            if self.metric == "nll":
                scores["nll"] = -float(model.log_likelihood(X, y))
        return {signed(name): unsigned(signed(name), score) for name, score in scores.items()}


def _roc_auc(y: Any, classes: Any, proba: Any) -> float:
    """Return the mean over the classes of the area under each one's curve against the rest."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    labels = np.asarray(y)
    areas = [
        roc_auc_score(labels == own, proba[:, i])
        for i, own in enumerate(classes)
        if 0 < np.count_nonzero(labels == own) < len(labels)
    ]
    return float(np.mean(areas)) if areas else math.nan
