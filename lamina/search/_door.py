"""What a search takes from its arguments before it begins, or refuses in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from lamina._errors import DataError, ParameterError
from lamina._typing import Array, IntArray

from ._space import Space
from ._together import last_step


def folds_of(splits: Iterable[tuple[Any, Any]], n_samples: int) -> list[tuple[IntArray, IntArray]]:
    """Return training and held-out rows of each fold as row numbers."""
    folds: list[tuple[IntArray, IntArray]] = []
    for parts in splits:
        rows, held_out = (np.asarray(part) for part in parts)
        rows, held_out = (
            np.flatnonzero(part) if part.dtype == bool else part.astype(np.int64)
            for part in (rows, held_out)
        )
        if not len(rows) or not len(held_out):
            raise DataError(
                f"cv must give each fold rows for training and rows to hold out. Got "
                f"{len(rows)} and {len(held_out)} of {n_samples} rows in fold {len(folds)}."
            )
        folds.append((rows, held_out))
    if not folds:
        raise ParameterError("cv must give at least one fold. Got none.")
    return folds


def plain_target(y: Any) -> Any:
    """Return numbers that came as objects as numbers, which scikit-learn's scores ask for."""
    if isinstance(y, np.ndarray) and y.dtype == object:
        plain = np.array(y.tolist())
        if plain.shape == y.shape and plain.dtype.kind in "biuf":
            return plain
    return y


def weight_of(estimator: BaseEstimator, fit_params: Mapping[str, Any]) -> Any:
    """Return the weights of the rows for the network; nothing else can be given to its fit."""
    names = {"sample_weight"}
    if isinstance(estimator, Pipeline):
        names = {f"{estimator.steps[-1][0]}__sample_weight"}
    for name in fit_params:
        if name not in names:
            raise ParameterError(
                f"fit takes {sorted(names)[0]} and groups, besides X and y. Got {name!r}."
            )
    return next(iter(fit_params.values()), None)


def score_names(scorers: Any) -> list[str]:
    """Return the names of the scores; a user's own scorer has one until it says otherwise."""
    if isinstance(scorers, _MultimetricScorer):
        return list(scorers._scorers)
    return ["score"]


def classes_of(estimator: BaseEstimator, y: Any) -> Array | None:
    """Return all classes in order, or None for other targets."""
    if not is_classifier(estimator) or type_of_target(y) not in ("binary", "multiclass"):
        return None
    classes: Array = np.unique(np.asarray(y).ravel())
    return classes


def seeded(estimator: BaseEstimator, space: Space, seed: int) -> BaseEstimator:
    """Return the estimator with a seed, where it has none, so that rungs and folds repeat."""
    given = getattr(last_step(estimator), "random_state", 0)
    start = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    name = f"{start}random_state"
    if name not in space.names and isinstance(given, np.random.RandomState):
        seed = int(given.randint(2**31 - 1))
        estimator.set_params(**{name: seed})
    elif name not in space.names and given is None:
        estimator.set_params(**{name: seed})
    return estimator
