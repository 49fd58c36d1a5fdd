r"""Dropout masks that are a function of seed, step, layer, row of the batch and unit.

A unit's mask is

.. math:: m = [u \ge p] / (1 - p), \qquad
          u = \text{hash}(\text{seed, step, layer, row, unit}) / 2^{24}

so that it depends neither on the other members nor on padding. Masks come again after 2²⁶
steps. The hash is a 32-bit finaliser of the murmur family, applied once to (row, key) and once
to (that, unit, key).

References
----------
.. [1] N. Srivastava et al., Dropout, JMLR 15, 2014, https://jmlr.org/papers/v15/srivastava14a.html
.. [2] C. Wellons, Prospecting for hash functions, 2018, https://nullprogram.com/blog/2018/07/31/
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lamina._random import DROPOUT, generator
from lamina._typing import IntArray

_GOLDEN = np.int64(0x9E3779B9)


def _signed(value: int) -> int:
    """Return a 32-bit word as a signed integer."""
    return value - (1 << 32) if value >= 1 << 31 else value


_MULTIPLIERS = (_signed(0x7FEB352D), _signed(0x846CA68B))


def _shift_xor_(x: Tensor, bits: int) -> Tensor:
    """Compute x ^= x >>> bits on int32 without sign extension, in place."""
    return x.bitwise_xor_((x >> bits).bitwise_and_((1 << (32 - bits)) - 1))


def _mix_(x: Tensor) -> Tensor:
    """Scramble int32 words in place; every output bit depends on every input bit."""
    _shift_xor_(x, 16).mul_(_MULTIPLIERS[0])
    _shift_xor_(x, 15).mul_(_MULTIPLIERS[1])
    return _shift_xor_(x, 16)


def keys_of(seed: int, purpose: int) -> list[int]:
    """Return the three words from which a member's hashes for one purpose begin."""
    return [int(word) for word in generator(seed, purpose).integers(0, 2**32, size=3)]


class Hashes:
    """Random words that are a function of seed, step, layer, row and unit.

    Parameters
    ----------
    seeds : sequence of length K
        Each member's seed.
    purpose : int
        What the words are for; other purposes have other words.
    device : torch.device
        Where they are wanted.
    """

    def __init__(self, seeds: Sequence[int], purpose: int, device: torch.device) -> None:
        self._keys = np.array([keys_of(seed, purpose) for seed in seeds])  # (K, 3)
        self._taken: IntArray = np.zeros(len(seeds), dtype=np.int64)
        self._device = device

    def begin_epoch(self, taken: IntArray) -> None:
        """Set how many steps each member has taken before this epoch."""
        self._taken = taken.copy()

    def words(self, n_rows: int, width: int, step: int, layer: int) -> Tensor:
        """Return words ``(K, B, H)`` as int32 for one step of the epoch and one layer."""
        place = (self._taken + step) * 64 + layer
        row_key = self._words(self._keys[:, 0] + place * _GOLDEN)
        unit_key = self._words(self._keys[:, 1] ^ (place * 0x85EBCA6B + self._keys[:, 2]))
        rows = _mix_(self._count(n_rows, 0x2545F491)[None, :] + row_key[:, None])  # (K, B)
        units = self._count(width, 0x632BE59B)[None, :] ^ unit_key[:, None]  # (K, H)
        return _mix_(rows[:, :, None] + units[:, None, :])

    def _words(self, values: np.ndarray) -> Tensor:
        """Return int64 values modulo 2**32 as int32 on the device."""
        return torch.from_numpy(values.astype(np.uint32).view(np.int32)).to(self._device)

    def _count(self, n: int, factor: int) -> Tensor:
        """Return 0, factor, 2·factor, … modulo 2**32."""
        return torch.arange(n, dtype=torch.int32, device=self._device) * _signed(factor)


class DropoutPlan(Hashes):
    """Masks of a group whose members have their own rates and seeds.

    Parameters
    ----------
    seeds, rates : sequence of length K
        Each member's seed and share of units that are switched off.
    like : Tensor
        Gives dtype and device.
    """

    def __init__(self, seeds: Sequence[int], rates: Sequence[float], like: Tensor) -> None:
        super().__init__(seeds, DROPOUT, like.device)
        p = torch.tensor(rates, dtype=torch.float64)[:, None, None]
        self._threshold = (p * 2**24).round().to(torch.int32).to(like.device)
        self._scale = (1 / (1 - p)).to(like.dtype).to(like.device)

    def fill_mask(self, mask: Tensor, step: int, layer: int) -> None:
        """Write the masks ``(K, B, H)`` of one step of the epoch and one layer."""
        _, n_rows, width = mask.shape
        u = self.words(n_rows, width, step, layer).bitwise_and_((1 << 24) - 1)
        torch.mul(u >= self._threshold, self._scale, out=mask)
