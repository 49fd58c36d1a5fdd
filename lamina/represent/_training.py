"""What training by these losses has in common, whatever the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from lamina._typing import Array, IntArray
from lamina.nn import Network

Views: TypeAlias = Callable[[IntArray, np.random.Generator], tuple[Array, Array]]
"""Two arrays (B, D) made of the rows of a step: two views, or a row and what became of it."""


class Training(Protocol):
    """What a loop over steps needs to know."""

    n_steps: int

    def step(self, learning_rate: float) -> float:
        """Take one step and return its loss."""
        ...

    def networks(self) -> list[Network]:
        """Return copies of the networks as they are now."""
        ...
