r"""Distances to the nearest rows in float64, as exact as taking every difference.

The matrix product :math:`|x|^2 + |z|^2 - 2 x \cdot z` is fast and loses the digits of small
distances. It only proposes candidates; their distances are taken again from differences. Where
its rounding might have hidden a nearer row, the row is searched again without it.
"""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray, IntArray

_SPARE = 4
"""Candidates beyond those asked for, so that few rows must be searched again."""
_BLOCK = 2**21
"""Numbers in a block of products, 16 MiB."""
_TREE_UP_TO = 12
"""Features up to which a tree is quicker than the products."""


def nearest(X: FloatArray, k: int) -> FloatArray:
    """Return the distances (N, k) of each row to the k nearest other rows, in rising order."""
    if X.shape[1] <= _TREE_UP_TO:
        from scipy.spatial import cKDTree  # slow to import, and only needed here

        distances: FloatArray = np.asarray(cKDTree(X).query(X, k + 1)[0])
        return distances[:, 1:]
    n = len(X)
    squares = np.einsum("ij,ij->i", X, X)
    rounding = 4 * np.finfo(np.float64).eps * (X.shape[1] + 4)
    found = np.empty((n, k))
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        found[rows] = _of_block(X, squares, rows, k, rounding)
    return found


def _of_block(
    X: FloatArray, squares: FloatArray, rows: IntArray, k: int, rounding: float
) -> FloatArray:
    """Return the distances (B, k) of some rows."""
    from scipy.spatial.distance import cdist

    n, n_candidates = len(X), min(k + _SPARE, len(X) - 1)
    products = X[rows] @ X.T
    products *= -2.0
    products += squares
    products += squares[rows, None]
    products[np.arange(len(rows)), rows] = np.inf  # a row is not its own neighbour
    candidates = np.argpartition(products, n_candidates - 1, axis=1)[:, :n_candidates]
    exact = np.sqrt(np.square(X[rows, None] - X[candidates]).sum(axis=2))  # (B, C)
    exact.sort(axis=1)
    found: FloatArray = exact[:, :k]
    if n_candidates < n - 1:
        # No row left out is nearer than the farthest candidate less what rounding can do.
        limit = np.take_along_axis(products, candidates, axis=1).max(axis=1)
        safe = limit - rounding * (squares[rows] + squares.max())
        doubtful = np.flatnonzero(np.square(found[:, -1]) > safe)
        for i in doubtful:
            others = cdist(X[rows[i], None], np.delete(X, rows[i], axis=0))[0]
            found[i] = np.partition(others, np.arange(k))[:k]
    return found
