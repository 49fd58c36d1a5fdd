"""Many roots at once: Newton's method that never leaves a shrinking bracket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lamina._typing import FloatArray, IntArray

Evaluate = Callable[[IntArray, FloatArray], tuple[FloatArray, FloatArray]]
"""From places (K,) and their points (K,) to values and slopes (K,) of increasing functions."""

_MAX_STEPS = 400


def increasing_roots(
    evaluate: Evaluate,
    low: FloatArray,
    high: FloatArray,
    start: FloatArray,
    tolerance: FloatArray,
) -> FloatArray:
    """Return the root of each of K increasing functions.

    A root is found when the value is within ``tolerance`` of 0, or when no float64 lies
    between the two ends of its bracket. A step that leaves the bracket, or that is not half
    of the one before the last, is replaced by the middle of the bracket; so the number of
    steps is bounded whatever the function looks like.

    Parameters
    ----------
    evaluate : callable
        Values and slopes at some of the places.
    low, high, start, tolerance : ndarray of shape (K,)
        Brackets, first guesses, and how far from 0 a value may be.
    """
    roots = np.clip(start, low, high)
    places = np.arange(len(roots))
    low, high, y = low.copy(), high.copy(), roots.copy()
    before = last = high - low
    following: FloatArray
    for _ in range(_MAX_STEPS):
        value, slope = evaluate(places, y)
        low = np.where(value <= 0, y, low)
        high = np.where(value >= 0, y, high)
        middle = low + 0.5 * (high - low)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = value / slope
            newton = y - step
        good = (newton > low) & (newton < high) & (2 * np.abs(step) <= np.abs(before))
        following = np.where(good, newton, middle)
        found = (np.abs(value) <= tolerance) | (middle <= low) | (middle >= high)
        found |= following == y
        roots[places[found]] = y[found]
        going = ~found
        if not going.any():
            break
        before, last = last[going], (following - y)[going]
        places, low, high, y = places[going], low[going], high[going], following[going]
        tolerance = tolerance[going]
    else:  # pragma: no cover - a bracket of float64 halves fewer times than this
        roots[places] = y
    return roots
