"""Which rows are held out for early stopping."""

from __future__ import annotations

import math

import numpy as np
from sklearn.model_selection import train_test_split

from lamina._errors import DataError, ParameterError
from lamina._typing import IntArray


def hold_out(
    rows: IntArray,
    fraction: float,
    random_state: np.random.RandomState,
    numbers: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Return the rows for training and the rows held out, ``ceil(fraction · n)`` of them.

    Without class numbers the split is random. With two classes it is stratified by
    scikit-learn's draw, which refuses a class with one row. With more classes, or where that
    draw would leave a class without a row to train on, every class gives its share but keeps
    at least one row: a class with one row is trained on and never held out.

    Parameters
    ----------
    rows : array of int of shape (n,)
        The rows to split.
    fraction : float
        Share to hold out, in (0, 1).
    random_state : RandomState
        Where the draw comes from.
    numbers : array of int of shape (n,) or None
        Class number of each of the rows; None means no stratification.
    """
    counts = None if numbers is None else np.bincount(numbers)
    two = counts is not None and len(counts) <= 2
    if fraction <= 0:
        raise ParameterError(
            f"validation_fraction must be above 0 with early_stopping=True. Got {fraction}."
        )
    if counts is None or not (two and counts.min() == 1):  # that is scikit-learn's to refuse
        _check_sizes(len(rows), math.ceil(fraction * len(rows)), fraction)
    if numbers is not None and not two:
        return _stratified(rows, numbers, math.ceil(fraction * len(rows)), random_state)

    train, valid = train_test_split(
        np.arange(len(rows)),
        test_size=fraction,
        random_state=random_state,
        # a column, so that scikit-learn's sentence names the class 'True'
        stratify=None if numbers is None else numbers.astype(bool)[:, None],
    )
    if numbers is not None and len(np.unique(numbers[train])) < len(np.unique(numbers)):
        return _stratified(rows, numbers, len(valid), random_state)
    return rows[train], rows[valid]


def _check_sizes(n_rows: int, n_valid: int, fraction: float) -> None:
    """Raise if either part would be too small to use."""
    if n_valid < 2:
        raise DataError(
            "The validation set is too small. Increase 'validation_fraction' or the size of "
            f"your dataset. Got {n_valid} of {n_rows} rows."
        )
    if n_valid >= n_rows:
        raise DataError(
            "The training set is empty. Decrease 'validation_fraction' or increase the size of "
            f"your dataset. Got {n_rows} rows and validation_fraction={fraction}."
        )


def _stratified(
    rows: IntArray, numbers: IntArray, n_valid: int, random_state: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Hold out ``n_valid`` rows, each class its share, with one row of each left to train on."""
    counts = np.bincount(numbers)
    shares = _allot(counts, n_valid)
    order = random_state.permutation(len(rows))
    held = np.zeros(len(rows), dtype=bool)
    for number, share in enumerate(shares):
        held[order[numbers[order] == number][:share]] = True
    return rows[order[~held[order]]], rows[order[held[order]]]


def _allot(counts: IntArray, n_valid: int) -> IntArray:
    """Return how many rows of each class to hold out: largest remainders, at most count − 1."""
    most = np.maximum(counts - 1, 0)
    if n_valid > most.sum():
        raise DataError(
            f"The validation set is too large: {n_valid} of {counts.sum()} rows would leave a "
            "class without a row to train on. Decrease 'validation_fraction' or increase the "
            "size of your dataset."
        )
    ideal = counts * (n_valid / counts.sum())
    shares: IntArray = np.minimum(np.floor(ideal).astype(int), most)
    while (missing := n_valid - shares.sum()) > 0:
        deficit = np.where(shares < most, ideal - shares, -np.inf)
        for number in np.argsort(-deficit, kind="stable")[:missing]:
            shares[number] += shares[number] < most[number]
    return shares
