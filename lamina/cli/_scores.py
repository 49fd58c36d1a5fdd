"""Which rows are held out, and how good predictions are on them beside trivial ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from lamina._typing import Array, FloatArray, IntArray

Scores: TypeAlias = dict[str, float]

LABELS: Mapping[str, str] = {
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss (nats)",
}
"""Title of each score; RMSE and MAE are in the unit of the target."""


@dataclass(frozen=True)
class Baseline:
    """What a model says that has seen the target and no other column.

    Attributes
    ----------
    name : str
        ``"mean"`` or ``"most frequent class"``.
    scores : dict
        Its scores on the rows that were asked for.
    """

    name: str
    scores: Scores


def held_out(y: Any, fraction: float, seed: int, *, classes: bool) -> Array:
    """Return which rows to hold out, as booleans.

    Classes are held out in proportion: rows are shuffled, sorted by class, and every
    (1 / fraction)-th is taken. No class is held out as a whole.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    codes = np.unique(np.asarray(y), return_inverse=True)[1] if classes else np.zeros(len(y), int)
    order = order[np.argsort(codes[order], kind="stable")]
    steps = np.floor(np.arange(len(y) + 1) * fraction + rng.random())
    mask = np.zeros(len(y), dtype=bool)
    mask[order] = np.diff(steps) > 0
    if classes:
        kept = np.bincount(codes[~mask], minlength=int(codes.max()) + 1)
        mask &= kept[codes] > 0
    return mask


def regression_scores(y: Any, predicted: Any) -> Scores:
    """Return RMSE and MAE in the unit of the target, and R²."""
    import numpy as np

    measured = np.asarray(y, dtype=np.float64)
    residual = measured - np.asarray(predicted, dtype=np.float64)
    spread = float(np.sum((measured - measured.mean()) ** 2))
    return {
        "rmse": float(np.sqrt(np.mean(residual**2))),
        "mae": float(np.mean(np.abs(residual))),
        "r2": 1 - float(np.sum(residual**2)) / spread if spread > 0 else math.nan,
    }


def class_scores(y: Any, classes: Array, proba: FloatArray) -> Scores:
    """Return accuracy, its mean over the classes, and the log loss.

    A class that the model does not know counts as an error of probability 0, which the log
    loss takes for the smallest number that it tells from 0, as scikit-learn does.
    """
    import numpy as np

    labels = np.asarray(y)
    hits = classes[np.argmax(proba, axis=1)] == labels
    place = {label: i for i, label in enumerate(classes.tolist())}
    codes: IntArray = np.array([place.get(label, -1) for label in labels.tolist()])
    given = np.where(codes >= 0, proba[np.arange(len(codes)), codes], 0.0)
    recalls = [hits[labels == label].mean() for label in np.unique(labels)]
    return {
        "accuracy": float(np.mean(hits)),
        "balanced_accuracy": float(np.mean(recalls)),
        "log_loss": float(-np.mean(np.log(np.maximum(given, np.finfo(np.float64).eps)))),
    }


def model_scores(model: Any, X: Any, y: Any, *, classes: bool) -> Scores:
    """Return the scores of a fitted model."""
    if classes:
        return class_scores(y, model.classes_, model.predict_proba(X))
    return regression_scores(y, model.predict(X))


def baseline(known: Any, y: Any, *, classes: bool) -> Baseline:
    """Return the scores on ``y`` of what can be said from the target values ``known`` alone."""
    import numpy as np

    if not classes:
        mean = float(np.mean(np.asarray(known, dtype=np.float64)))
        return Baseline("mean", regression_scores(y, np.full(len(y), mean)))
    labels, counts = np.unique(np.asarray(known), return_counts=True)
    shares = np.tile(counts / counts.sum(), (len(y), 1))
    return Baseline("most frequent class", class_scores(y, labels, shares))
