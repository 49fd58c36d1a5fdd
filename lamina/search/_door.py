"""What a search takes from its arguments before it begins, or refuses in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, IntArray

from ._space import Space


def folds_of(splits: Iterable[tuple[Any, Any]], n_samples: int) -> list[tuple[IntArray, IntArray]]:
    """Return training and held-out rows of each fold as row numbers."""
    folds: list[tuple[IntArray, IntArray]] = []
    for parts in splits:
        rows, held_out = (_row_numbers(part, n_samples, len(folds)) for part in parts)
        if not len(rows) or not len(held_out):
            raise DataError(
                f"cv must give each fold rows for training and rows to hold out. Got "
                f"{len(rows)} and {len(held_out)} of {n_samples} rows in fold {len(folds)}."
            )
        folds.append((rows, held_out))
    if not folds:
        raise ParameterError("cv must give at least one fold. Got none.")
    return folds


def _row_numbers(part: Any, n_samples: int, fold: int) -> IntArray:
    """Return row numbers of a fold from row numbers or from a mask of all rows."""
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n_samples,):
        return np.flatnonzero(rows)
    numbers = rows.astype(np.int64) if rows.dtype.kind in "iuf" else np.full(1, -1)
    whole = (rows.ndim == 1 and np.array_equal(numbers, rows)) or rows.size == 0
    if not whole or (numbers.size and not 0 <= numbers.min() <= numbers.max() < n_samples):
        raise DataError(
            f"cv must give row numbers from 0 to {n_samples - 1}, or masks of {n_samples} rows. "
            f"Got {shown(part)} in fold {fold}."
        )
    return numbers if rows.size else np.zeros(0, dtype=np.int64)


def plain_target(y: Any) -> Any:
    """Return numbers that came as objects as numbers, which scikit-learn's scores ask for."""
    if isinstance(y, np.ndarray) and y.dtype == object:
        plain = np.array(y.tolist())
        if plain.shape == y.shape and plain.dtype.kind in "biuf":
            return plain
    return y


def weight_of(estimator: BaseEstimator, fit_params: Mapping[str, Any], n_samples: int) -> Any:
    """Return the weights of the rows for the network; nothing else can be given to its fit."""
    names = {"sample_weight"}
    if isinstance(estimator, Pipeline):
        names = {f"{estimator.steps[-1][0]}__sample_weight"}
    for name in fit_params:
        if name not in names:
            raise ParameterError(
                f"fit takes {sorted(names)[0]} and groups, besides X and y. Got {name!r}."
            )
    weight = next(iter(fit_params.values()), None)
    if weight is None or np.shape(weight) == (n_samples,):
        return weight
    raise DataError(
        f"sample_weight must hold one number for each of {n_samples} rows. Got shape "
        f"{np.shape(weight)}."
    )


def score_names(scorers: Any) -> list[str]:
    """Return the names of the scores; a user's own scorer has one until it says otherwise."""
    if isinstance(scorers, _MultimetricScorer):
        return list(scorers._scorers)
    return ["score"]


def score_of_failure(error_score: Any) -> float:
    """Return the score of a fit that failed as a number."""
    return math.nan if error_score == "raise" else float(error_score)


def classes_of(estimator: BaseEstimator, y: Any) -> Array | None:
    """Return all classes in order, or None for other targets."""
    if not is_classifier(estimator) or type_of_target(y) not in ("binary", "multiclass"):
        return None
    classes: Array = np.unique(np.asarray(y).ravel())
    return classes


def seeded(estimator: BaseEstimator, space: Space, seed: int) -> BaseEstimator:
    """Return the estimator with a seed in each part that has none, so that all fits repeat."""
    for name, given in sorted(estimator.get_params().items()):
        if name.rpartition("__")[2] != "random_state" or name in space.names:
            continue
        if isinstance(given, np.random.RandomState):
            estimator.set_params(**{name: int(given.randint(2**31 - 1))})
        elif given is None:
            estimator.set_params(**{name: seed})
    return estimator
