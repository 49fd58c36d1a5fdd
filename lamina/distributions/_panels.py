"""Integrals over the whole line, as Gauss-Legendre sums over panels of each row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lamina._typing import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def integral(of: Callable[[FloatArray], FloatArray], edges: FloatArray) -> FloatArray:
    """Return the integral (N,) of ``of``, (N, m) to (N, m), over panels between edges (N, K).

    The edges of each row are sorted; panels of length 0 count nothing.
    """
    half = 0.5 * np.diff(edges, axis=1)
    middle = edges[:, :-1] + half
    y = middle[:, :, None] + half[:, :, None] * _NODES
    values = of(y.reshape(len(edges), -1)).reshape(y.shape)
    total: FloatArray = np.einsum("npk,np,k->n", values, half, _WEIGHTS)
    return total
