"""Extrema of a density of which nothing but its values is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lamina._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from ._continuous import Continuous

_GOLDEN = (np.sqrt(5.0) - 1) / 2
_TAIL = 10.0 ** np.arange(-8, -2, 0.25)
_LEVELS = np.concatenate([_TAIL, np.linspace(0.01, 0.99, 197), 1 - _TAIL[::-1]])
_STEPS = 60


def searched_extrema(dist: Continuous) -> tuple[FloatArray, IntArray]:
    """Return extrema (N, E) and their counts (N,), found between 245 quantiles of each row.

    Two maxima between neighbouring quantiles count as one.
    """
    grid = np.maximum.accumulate(dist._quantile(_LEVELS), axis=1)
    rises = np.diff(dist._log_pdf(grid), axis=1)
    found = [_alternating(grid[row], rises[row]) for row in range(len(grid))]
    counts = np.array([len(brackets) for brackets in found])
    rows = np.repeat(np.arange(len(grid)), counts)
    flat = np.array([bracket for brackets in found for bracket in brackets])
    places = np.full((len(grid), int(counts.max())), np.nan)
    order = np.concatenate([np.arange(count) for count in counts])
    sign = np.where(order % 2 == 0, 1.0, -1.0)
    places[rows, order] = _golden(dist._take(rows), sign, flat[:, 0], flat[:, 1])
    return places, counts


def _alternating(grid: FloatArray, rises: FloatArray) -> list[tuple[float, float]]:
    """Return the brackets of maxima and minima in turn, beginning and ending with a maximum."""
    signs = np.sign(rises)
    told = np.flatnonzero(signs)
    # A density that falls from the start has its maximum there, one that rises at the end.
    steps = np.concatenate([[1.0], signs[told], [-1.0]])
    left = np.concatenate([[0], told, [len(grid) - 1]])
    right = np.concatenate([[0], told + 1, [len(grid) - 1]])
    change = np.flatnonzero(steps[1:] != steps[:-1])
    return [(float(grid[left[i]]), float(grid[right[i + 1]])) for i in change]


def _golden(dist: Continuous, sign: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the maximum of sign times density in each bracket, by golden section."""

    def value(y: FloatArray) -> FloatArray:
        return sign * dist._log_pdf(y[:, None])[:, 0]

    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_first, at_second = value(first), value(second)
    for step in range(_STEPS):
        # On a plateau both sides are cut in turn, which ends inside it.
        left = (at_first > at_second) | ((at_first == at_second) & (step % 2 == 0))
        low, high = np.where(left, low, first), np.where(left, second, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = value(new)
        first, second = np.where(left, new, second), np.where(left, first, new)
        at_first, at_second = np.where(left, at_new, at_second), np.where(left, at_first, at_new)
    middle: FloatArray = low + 0.5 * (high - low)
    return middle
