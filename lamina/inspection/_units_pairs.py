"""Find units whose weights are equal or opposite, without comparing all pairs entry by entry."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray, IntArray

_ENTRIES = 2**22
"""Most products of rows in memory at once: 32 MiB."""


def earlier_twins(
    rows: FloatArray, tolerance: float, *, scaled: bool, also_equal: FloatArray | None
) -> tuple[IntArray, IntArray]:
    """Return for each row the first earlier one that equals it, and the first negated one.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Weights and bias of each unit.
    tolerance : float
        Largest distance of two rows of norm 1.
    scaled : bool
        Whether rows that differ by a positive factor count as equal.
    also_equal : ndarray of shape (n,) or None
        Numbers that twins must share.

    Returns
    -------
    twin, opposite : ndarray of int of shape (n,)
        Places of the rows; -1 without one. Rows of zeros have none.
    """
    n = len(rows)
    # Divided by the largest entry first: squares of tiny weights would vanish.
    largest = np.abs(rows).max(1, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0)
    norms = np.linalg.norm(rows / scale, axis=1, keepdims=True)
    directions = rows / scale / np.where(norms > 0, norms, 1.0)
    sizes = (norms * scale)[:, 0]

    def equal(later: int, j: int, sign: int) -> bool:
        same = np.linalg.norm(directions[later] - sign * directions[j]) <= tolerance
        if not scaled:
            same &= abs(sizes[later] - sizes[j]) <= tolerance * max(sizes[later], sizes[j])
        return bool(same and (also_equal is None or also_equal[later] == also_equal[j]))

    found = {1: np.full(n, -1), -1: np.full(n, -1)}
    # |u - v|² = 2 - 2 u·v loses half of the digits, so that products only name candidates.
    close = 1.0 - max(tolerance, 1e-6) ** 2
    for start in range(0, n, max(1, _ENTRIES // n)):
        stop = min(start + max(1, _ENTRIES // n), n)
        products = directions[start:stop] @ directions[:stop].T
        earlier = np.arange(stop) < np.arange(start, stop)[:, None]
        for sign, first in found.items():
            candidates = (sign * products >= close) & earlier
            for place in np.flatnonzero(candidates.any(1)).tolist():
                later = start + place
                others = np.flatnonzero(candidates[place]).tolist()
                first[later] = next((j for j in others if equal(later, j, sign)), -1)
    return found[1], found[-1]
