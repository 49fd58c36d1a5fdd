"""What training by these losses has in common, whatever the loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from lamina._checks import check_integer
from lamina._errors import DataWarning
from lamina._typing import Array, IntArray
from lamina.nn import Network

from ._in_batch import same_id
from ._labels import id_numbers
from ._samplers import Sampler

Views: TypeAlias = Callable[[IntArray, np.random.Generator], tuple[Array, Array]]
"""Two arrays (B, D) made of the rows of a step: two views, or a row and what became of it."""


class Training(Protocol):
    """What a loop over steps needs to know."""

    n_steps: int

    def resume(self, other: Any) -> None:
        """Go on from where a training of equal layers stands."""
        ...

    def step(self, learning_rate: float) -> float:
        """Take one step and return its loss."""
        ...

    def threads(self) -> AbstractContextManager[None]:
        """Use one thread within the block where the networks are small."""
        ...

    def networks(self) -> list[Network]:
        """Return copies of the networks as they are now."""
        ...


def largest_batch(max_batch_size: int | None, sampler: Sampler) -> int:
    """Return the rows of the largest batch that memory is needed for."""
    if max_batch_size is None:
        return sampler.batch_size
    return check_integer("max_batch_size", max_batch_size, sampler.batch_size)


class Things:
    """What each row of a training is, and so which rows of a batch are no negatives."""

    def __init__(self, ids: Any) -> None:
        self._ids = None if ids is None else id_numbers(ids, len(ids)).reshape(len(ids), -1)
        self._told = False

    def same(self, rows: IntArray, n_views: int = 1) -> Tensor | None:
        """Return which of the rows are the same thing, or None where all differ."""
        if self._ids is None:
            return None
        return same_id(self._ids[torch.from_numpy(rows)].repeat(n_views, 1))

    def no_negatives(self, rows: IntArray) -> Tensor | None:
        """Return which are the same as well, and say once where a batch has no negatives."""
        same = self.same(rows)
        alone = len(rows) == 1 if same is None else bool(same.all())
        if alone and not self._told:
            self._told = True
            warnings.warn(
                f"A batch of {len(rows)} rows has no negatives: all of them are the same thing, "
                "so that its loss is 0 and nothing is learned from it. Give ids that tell them "
                "apart, or larger batches.",
                DataWarning,
                stacklevel=3,
            )
        return same
