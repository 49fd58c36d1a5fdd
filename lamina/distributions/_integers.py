"""The first integer with a property, for many searches at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lamina._typing import Array, FloatArray, IntArray


def first_integers(
    holds: Callable[[IntArray, FloatArray], Array], low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return the smallest integer above ``low`` and up to ``high`` that has the property.

    Parameters
    ----------
    holds : callable
        From places (K,) and integers (K,) to whether they have the property: false up to some
        integer and true above it.
    low, high : ndarray of shape (K,)
        An integer without and one with the property; ``high`` itself is not looked at.
    """
    low, high = low.copy(), high.copy()
    while True:
        # Above 2**53 the next float is the next integer.
        middle = np.floor(low + 0.5 * (high - low))
        going = np.flatnonzero((middle > low) & (middle < high))
        if not going.size:
            return high
        true = holds(going, middle[going])
        high[going[true]] = middle[going[true]]
        low[going[~true]] = middle[going[~true]]


def bracketed(
    holds: Callable[[IntArray, FloatArray], Array], start: FloatArray, step: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return integers without and with the property, by growing steps from a guess.

    No integer below 0 is looked at: -1 is taken not to have the property.
    """
    start = np.maximum(np.floor(start), 0.0)
    step = np.maximum(np.floor(step), 1.0)
    everywhere = np.arange(len(start))
    up = ~holds(everywhere, start)
    low, high = np.where(up, start, -1.0), np.where(up, np.inf, start)
    going, at = everywhere, start
    while going.size:
        rising = up[going]
        at = np.maximum(at + np.where(rising, step[going], -step[going]), -1.0)
        true = (at >= 0) & holds(going, np.maximum(at, 0.0))
        high[going[true]] = at[true]
        low[going[~true]] = at[~true]
        step = 2 * step
        on = (true != rising) & np.isfinite(at)
        going, at = going[on], at[on]
    return low, high
