"""Both sides of pairs: checked, named, and numbered by what they show."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from lamina._checks import shown
from lamina._errors import DataError, DataWarning
from lamina._typing import FloatArray, IntArray
from lamina.represent import row_ids

from ._encoder_inputs import check_enough, plain
from ._encoder_warnings import warn_user
from ._inputs import _cells, _column_name, _is_missing, _is_number, _located


def check_pairs(
    estimator: BaseEstimator, X: Any, y: Any, *, reset: bool
) -> tuple[FloatArray, FloatArray]:
    """Return both sides of pairs as float64 arrays of as many rows."""
    try:
        given = None if y is None else "no_validation"
        rows = validate_data(estimator, X, given, dtype=np.float64, reset=reset)
        if y is not None:
            check_consistent_length(rows, y)
    except ValueError as error:
        raise _located(error, X, y, False, "float64") from error
    check_enough(rows, 2)
    return rows, check_partners(y, None)


def check_partners(y: Any, n_features: int | None) -> FloatArray:
    """Return the other side of pairs as a float64 matrix."""
    try:
        partners: FloatArray = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    except ValueError as error:
        if str(error).startswith("Found array with"):
            raise DataError(
                f"y must have a row of numbers for each pair. Got an array of shape {np.shape(y)}."
            ) from error
        _refuse_text(y)
        raise _located(error, y, y, False, "float64") from error
    partners = partners.reshape(len(partners), -1)
    if n_features is not None and partners.shape[1] != n_features:
        raise DataError(
            f"y must have {n_features} columns, as when fitted. Got {partners.shape[1]}."
        )
    return partners


def _refuse_text(y: Any) -> None:
    """Name the first text of the other side that is no number."""
    for row, column, cell in _cells(y):
        if isinstance(cell, (str, bytes)) and not _is_number(cell):
            raise DataError(
                "y must hold numbers, as the other side of the pairs. Got the text "
                f"{shown(str(cell))} in row {row}{_column_name(y, column)}. Encode text first."
            )


def things_shown(ids: Any, rows: FloatArray, partners: FloatArray) -> IntArray | None:
    """Return a number of what each pair shows, or None where all differ.

    Without ids, pairs show the same if a chain of shared sides links them. One thing alone is
    refused, and one that most pairs show is told.
    """
    n = len(rows)
    if ids is None:
        things = same_things(row_ids(rows), row_ids(partners))
        how = "are linked by sides they share, bit for bit"
        cure = "Give ids that say which pairs show the same, or rows that differ."
    else:
        things, how = _numbered(ids, n), "have one id"
        cure = "Give ids that differ, or leave ids out."
    counts = np.bincount(things)
    n_things, largest = np.count_nonzero(counts), int(counts.max())
    if n_things == 1:
        raise DataError(
            f"Pairs must show at least 2 things to be told apart. Got {n} pairs that all {how}. "
            f"{cure}"
        )
    if largest > n / 2:
        warn_user(
            f"{largest} of {n} pairs {how}. They count as one thing, from which little can be "
            f"learned. {cure}",
            DataWarning,
        )
    elif ids is None and n_things < n:
        warn_user(
            f"{n - n_things} of {n} pairs share a side with another pair, bit for bit, or are "
            "linked to it by pairs that do. They count as the same thing and are not pushed "
            "apart.",
            DataWarning,
        )
    return things if n_things < n else None


def _numbered(ids: Any, n: int) -> IntArray:
    """Return a number for each id, none of which may be missing."""
    given = np.asarray(ids)
    if given.shape != (n,):
        raise DataError(
            f"ids must have one entry for each of the {n} pairs. Got shape {given.shape}."
        )
    for row, one in enumerate(given):
        if _is_missing(one):
            raise DataError(
                f"ids must have one entry for each pair. Got {one} in row {row}. Give such a "
                "pair an id of its own."
            )
    numbers: IntArray = np.unique(plain(given, "ids"), return_inverse=True)[1]
    return numbers


def same_things(one: IntArray, other: IntArray) -> IntArray:
    """Return numbers that pairs have in common if a chain of shared sides links them."""
    n_one = int(one.max()) + 1
    size = n_one + int(other.max()) + 1
    links = coo_array((np.ones(len(one)), (one, other + n_one)), shape=(size, size))
    groups: IntArray = connected_components(links, directed=False)[1]
    return groups[one]
