"""Random draws of which each row has its own stream, whatever rows stand beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina._checks import shown
from lamina._errors import ParameterError
from lamina._random import SAMPLE, generator
from lamina._typing import FloatArray, IntArray

_SMALLEST = 2.0**-54


def seed_of(random_state: Any) -> int:
    """Return a seed: the integer itself, or one drawn from a generator or from the system."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state)
    raise ParameterError(
        "random_state must be None, an integer, a numpy Generator or a RandomState. "
        f"Got {shown(random_state)}."
    )


def uniforms(seed: int, rows: IntArray, n: int, each: int) -> FloatArray:
    """Return uniform numbers (N, n, each) above 0 and below 1.

    Row i is a function of the seed and of ``rows[i]`` alone, and more draws begin with fewer.
    """
    draws = np.empty((len(rows), n, each))
    for place, row in enumerate(rows):
        generator(seed, SAMPLE, int(row)).random(out=draws[place])
    return np.maximum(draws, _SMALLEST, out=draws)
