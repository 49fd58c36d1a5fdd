"""Weights of the rows: given ones checked, and those that balance classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray, IntArray

from ._inputs import located_weight

ClassWeight: TypeAlias = "Mapping[Any, float] | Literal['balanced'] | None"


def check_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Return one finite weight of at least 0 for each row as float64, or None if none are given.

    Wrong shapes and weights that are all zero are refused with scikit-learn's sentences.
    """
    if sample_weight is None:
        return None
    try:
        weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        raise located_weight(sample_weight, error) from error
    wrong = np.flatnonzero(weights < 0)
    if wrong.size:
        raise DataError(
            f"sample_weight must be 0 or more. Got {weights[wrong[0]]:g} in row {wrong[0]}. "
            "Use 0 to leave a row out."
        )
    return weights


def with_class_weight(
    weights: FloatArray | None, class_weight: ClassWeight, classes: Array, numbers: IntArray
) -> FloatArray | None:
    r"""Return row weights times the weight of the row's class.

    "balanced" gives each of the K classes that occur the same total weight,

    .. math:: c_k = \frac{\sum_n w_n}{K \sum_{n: y_n = k} w_n}

    ``numbers`` of shape (N, L) are the labels 0 and 1 of a multilabel problem: then the factors
    of all L columns are multiplied, as scikit-learn does.
    """
    if class_weight is None:
        return weights
    given = np.ones(len(numbers)) if weights is None else weights
    columns = numbers.T if numbers.ndim == 2 else numbers[None]
    if isinstance(class_weight, str):
        n_classes = 2 if numbers.ndim == 2 else len(classes)
        factors = [_balancing(given, column, n_classes)[column] for column in columns]
    elif numbers.ndim == 2:
        raise ParameterError(
            "class_weight must be None or 'balanced' for a multilabel target, whose rows have no "
            f"one class. Got {shown(class_weight)}. Use sample_weight."
        )
    else:
        factors = [_from_mapping(class_weight, classes)[numbers]]

    weighted = given * np.prod(factors, axis=0)
    if not (weighted > 0).any():
        raise DataError(
            "class_weight and sample_weight must leave at least one row with a weight above 0. "
            "Got none."
        )
    return np.asarray(weighted)


def _balancing(weights: FloatArray, numbers: IntArray, n_classes: int) -> FloatArray:
    """Return the factor of each class; 1 for one whose rows have no weight."""
    totals = np.bincount(numbers, weights=weights, minlength=n_classes)
    present = totals > 0
    share = totals.sum() / (present.sum() * np.where(present, totals, 1.0))
    return np.where(present, share, 1.0)


def _from_mapping(class_weight: Mapping[Any, float], classes: Array) -> FloatArray:
    """Return the factor of each class; 1 for one that is not named."""
    known = list(classes)
    factors = np.ones(len(known))
    for label, weight in class_weight.items():
        if label not in known:
            raise ParameterError(
                f"class_weight must have keys that are classes of y, {shown(classes.tolist())}. "
                f"Got {label!r}."
            )
        if not (np.isreal(weight) and np.isfinite(weight) and weight >= 0):
            raise ParameterError(
                f"class_weight[{label!r}] must be a finite number of at least 0. Got {weight!r}."
            )
        factors[known.index(label)] = weight
    return factors
