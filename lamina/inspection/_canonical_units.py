"""One representative of each unit: its sign, its scale, its place, and who is the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._symmetry_group import group_of
from ._symmetry_layers import Layers, apply_factors

_SMALLEST_SQUARE, _LARGEST_SQUARE = 1e-250, 1e250
"""Between these the squares of a row lose nothing that counts."""

_PIVOT = 1e-6
"""An entry below this share of a row's largest is too small to give the row its sign."""

_DOUBT = 100.0
"""Two numbers that are this near to the tolerance, as a factor, are neither equal nor not."""


def row_norms(rows: FloatArray) -> FloatArray:
    """Return the length of each row (n,), also of rows whose squares leave float64."""
    with np.errstate(over="ignore"):
        squares: FloatArray = np.einsum("ij,ij->i", rows, rows)
    norms = np.sqrt(squares)
    wild = np.flatnonzero((squares < _SMALLEST_SQUARE) | (squares > _LARGEST_SQUARE))
    if wild.size:
        largest = np.abs(rows[wild]).max(axis=1, initial=0.0)
        safe = np.where(largest == 0, 1.0, largest)
        norms[wild] = safe * np.sqrt(np.square(rows[wild] / safe[:, None]).sum(axis=1))
        norms[wild[largest == 0]] = 0.0
    return norms


def incoming(layers: Layers, i: int) -> FloatArray:
    """Return what decides on a unit, (units, in + 1): its bias and its weights."""
    return np.column_stack([layers.biases[i], layers.weights[i]])


def choose_scale(layers: Layers, i: int, tolerance: float) -> FloatArray:
    """Give units length 1 and slopes within [-1, 1]; return the factors (units,)."""
    group, slopes = group_of(layers.activations[i]), layers.slopes[i]
    factors = np.ones(len(layers.biases[i]))
    if group.inverts and slopes is not None:
        factors[np.abs(slopes) > 1.0 + tolerance] = -1.0
    if group.scales:
        norms = row_norms(incoming(layers, i))
        factors = factors / np.where(norms == 0, 1.0, norms)
    if (factors != 1.0).any():
        apply_factors(layers, i, factors)
    return factors


def choose_gauge(layers: Layers, i: int, tolerance: float) -> None:
    """Give the units of a hidden layer length 1, slopes within 1, and a first sign of plus."""
    group = group_of(layers.activations[i])
    choose_scale(layers, i, tolerance)
    if group.scales:
        # Again, since the length of a row that was far from 1 is only 1 to rounding.
        choose_scale(layers, i, tolerance)
    slopes = layers.slopes[i]
    free = np.full(len(layers.biases[i]), group.parity != 0)
    if group.inverts and slopes is not None:
        free = np.abs(np.abs(slopes) - 1.0) <= tolerance
    if free.any():
        apply_factors(layers, i, np.where(free, _signs(layers.weights[i]), 1.0))


def _signs(rows: FloatArray) -> FloatArray:
    """Return the sign of the first entry of each row that is not negligible."""
    counts = np.abs(rows) > _PIVOT * np.abs(rows).max(axis=1, keepdims=True)
    first = rows[np.arange(len(rows)), counts.argmax(axis=1)]
    return np.where(first < 0, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Places:
    """An order of rows.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The rows in ascending order.
    labels : ndarray of shape (n,)
        A number for each row in the order of `order`; equal rows have equal numbers.
    certain : bool
        Whether no two entries that decided are as far apart as rounding may put them.
    """

    order: IntArray
    labels: IntArray
    certain: bool


def places(rows: FloatArray, tolerance: float) -> Places:
    """Sort rows by their first entries that differ by more than the tolerance.

    The tolerance is a share of a column's largest entry. Rows are compared in groups that are
    still equal, so that a difference by rounding never decides.
    """
    n, certain = len(rows), True
    labels = np.zeros(n, dtype=np.intp)
    open_rows = np.arange(n)
    for column in rows.T:
        if not open_rows.size:
            break
        values, own = column[open_rows], labels[open_rows]
        turn = np.lexsort((values, own))
        gaps = np.diff(values[turn])
        limit = tolerance * np.abs(column).max()
        together = np.diff(own[turn]) == 0
        new = ~together | (gaps > limit)
        doubtful = together & (gaps > limit / _DOUBT) & (gaps < limit * _DOUBT)
        certain = certain and not bool(doubtful.any())
        # The first of a run has the number of places before it, so that numbers stay in order.
        starts = np.concatenate([[True], new])
        run = np.flatnonzero(starts)[np.cumsum(starts) - 1]
        first_of_group = np.flatnonzero(np.concatenate([[True], ~together]))
        group = first_of_group[np.cumsum(np.concatenate([[True], ~together])) - 1]
        labels[open_rows[turn]] = own[turn] + run - group
        open_rows = open_rows[_shared(labels[open_rows])]
    order = np.argsort(labels, kind="stable")
    return Places(order, labels[order], certain)


def _shared(labels: IntArray) -> Array:
    """Return which labels occur more than once."""
    _, back, counts = np.unique(labels, return_inverse=True, return_counts=True)
    several: Array = counts[back] > 1
    return several


def merge_columns(columns: FloatArray, labels: IntArray) -> FloatArray:
    """Return the sums of neighbouring columns with equal labels; what cancels is exactly 0."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(labels) != 0]))
    sums: FloatArray = np.add.reduceat(columns, starts, axis=1)
    sizes = np.add.reduceat(np.abs(columns), starts, axis=1)
    return np.where(np.abs(sums) <= 8 * np.finfo(np.float64).eps * sizes, 0.0, sums)
