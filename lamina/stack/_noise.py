r"""Noise on the inputs, new in each step: a penalty on how steep the network is.

.. math:: \tilde x = x + \sigma z, \qquad z = \Phi^{-1}\bigl((i + \tfrac12)/n\bigr)
          \Big/ s_n, \qquad i = \text{hash}(\text{seed, step, row, column}) \bmod n

where n = 1024 and s makes the variance exactly 1. Like a dropout mask it depends neither on the
other members nor on the backend.

References
----------
.. [1] C. M. Bishop, Training with noise is equivalent to Tikhonov regularization, Neural
   Computation 7, 1995, https://doi.org/10.1162/neco.1995.7.1.108
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from lamina._random import NOISE
from lamina._typing import FloatArray

from ._dropout import Hashes

N_VALUES = 1024


@cache
def normal_values() -> FloatArray:
    """Return the equally likely values ``(1024,)``, of mean 0 and variance 1."""
    from scipy.special import ndtri

    z = ndtri((np.arange(N_VALUES) + 0.5) / N_VALUES)
    values: FloatArray = z / np.sqrt(np.mean(z**2))
    return values


class NoisePlan(Hashes):
    """Noise of a group whose members have their own scales and seeds.

    Parameters
    ----------
    seeds, scales : sequence of length K
        Each member's seed and standard deviation of the noise, 0 for none.
    like : Tensor
        Gives dtype and device.
    """

    def __init__(self, seeds: Sequence[int], scales: Sequence[float], like: Tensor) -> None:
        super().__init__(seeds, NOISE, like.device)
        self._values = torch.from_numpy(normal_values()).to(like.dtype).to(like.device)
        scale = torch.tensor(scales, dtype=torch.float64)[:, None, None]
        self._scale = scale.to(like.dtype).to(like.device)

    def added_to(self, x: Tensor, step: int) -> Tensor:
        """Return inputs ``(K, B, D)`` with the noise of one step of the epoch."""
        _, n_rows, width = x.shape
        place = self.words(n_rows, width, step, 0).bitwise_and_(N_VALUES - 1)
        return x + self._scale * self._values[place.long()]
