"""What training by these losses has in common, whatever the loss."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

import numpy as np

from lamina._checks import check_integer
from lamina._typing import Array, IntArray
from lamina.nn import Network

from ._samplers import Sampler

Views: TypeAlias = Callable[[IntArray, np.random.Generator], tuple[Array, Array]]
"""Two arrays (B, D) made of the rows of a step: two views, or a row and what became of it."""


class Training(Protocol):
    """What a loop over steps needs to know."""

    n_steps: int

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
