"""Rows for an encoder: checked, and standardised in the way that suits what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, validate_data

from lamina._checks import shown
from lamina._errors import DataError
from lamina._typing import Array, DtypeName, FloatArray, IntArray

from ._input_scaling import centre_and_scale
from ._inputs import _is_missing, _located

CHUNK = 1024
"""Rows that are scaled at a time, in the cache of a processor."""


def check_rows(estimator: BaseEstimator, X: Any, *, reset: bool, least: int = 1) -> FloatArray:
    """Return X as a float64 array with at least so many rows."""
    try:
        rows: FloatArray = validate_data(estimator, X, dtype=np.float64, reset=reset)
    except ValueError as error:
        raise _located(error, X, None, False, "float64") from error
    check_enough(rows, least)
    return rows


def check_enough(rows: FloatArray, least: int) -> None:
    """Refuse a single row, which has nobody to be told apart from."""
    if len(rows) < least:
        raise DataError(
            f"X must have at least {least} rows to learn from. Got n_samples = {len(rows)}."
        )


def scaling_of(rows: FloatArray, *, one_for_all: bool) -> tuple[FloatArray, FloatArray]:
    """Return centre and scale (D,): of each column, or of all pixels of images together."""
    if not one_for_all:
        return centre_and_scale(rows, None)
    centre, scale = centre_and_scale(rows.reshape(-1, 1), None)
    return np.full(rows.shape[1], centre[0]), np.full(rows.shape[1], scale[0])


def scaled(
    rows: FloatArray, centre: FloatArray, scale: FloatArray, dtype: DtypeName, name: str = "X"
) -> FloatArray:
    """Return (rows − centre)/scale, computed in float64, in the precision of the network."""
    values: FloatArray = np.empty(rows.shape, dtype)
    for start in range(0, len(rows), CHUNK):
        some = slice(start, start + CHUNK)
        with np.errstate(over="ignore"):
            values[some] = (rows[some] - centre) / scale
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(
            f"{name} must be within reach of the rows of the fit. Got {rows[row, column]:g} in "
            f"row {row}, column {column}, which is too far for {dtype}."
        )
    return values


def class_numbers(y: Any, n_rows: int, *, needed: bool) -> IntArray | None:
    """Return a number for each row's class, or None where y holds no classes.

    A row whose label is missing (None, NaN) gets a number of its own, n_rows or more.
    """
    labels = _one_column(y)
    check_consistent_length(labels, np.empty(n_rows))
    missing = np.array([_is_missing(label) for label in labels])
    known = labels[~missing]
    if not len(known):
        raise DataError("y must have a label in some row. Got none; leave it out.")
    kind = type_of_target(plain(known))
    if kind not in ("binary", "multiclass"):
        if needed:
            raise DataError(
                f"y must hold class labels with pairs='class'. Got a {kind} target, such as "
                f"{shown(known[0])}. Use pairs='instance', which needs no y."
            )
        return None
    _, codes = np.unique(plain(known), return_inverse=True)
    numbers = n_rows + np.arange(n_rows)
    numbers[~missing] = codes
    return numbers


def _one_column(y: Any) -> Array:
    """Return y as an array (n,)."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"y must have one label for each row. Got shape {values.shape}.")
    return values


def plain(labels: Array, name: str = "y") -> Array:
    """Return labels held as objects as an array of their own type; refuse mixed ones."""
    if labels.dtype.kind != "O":
        return labels
    kinds = {"a text" if isinstance(label, str) else type(label).__name__ for label in labels}
    if len(kinds) > 1:
        raise DataError(
            f"{name} must have labels of one type. Got {' and '.join(sorted(kinds))}. "
            "Convert all of them to text."
        )
    return np.array(labels.tolist())
