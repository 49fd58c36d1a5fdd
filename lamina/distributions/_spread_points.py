"""Points that fill the unit cube evenly, the same in every run."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray


def spread_points(n: int, n_axes: int) -> FloatArray:
    r"""Return n points (n, n_axes) of an additive recurrence, strictly inside the unit cube.

    Axis k steps by :math:`\varphi^{-k}` modulo 1, where :math:`\varphi^{d+1} = \varphi + 1`:
    the golden ratio in one dimension, and its kin in d.
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (n_axes + 1))
    steps = ratio ** -np.arange(1.0, n_axes + 1)
    points: FloatArray = (0.5 + np.outer(np.arange(1.0, n + 1), steps)) % 1.0
    return np.clip(points, 2.0**-54, 1 - 2.0**-53)
