"""Generators and checks that the makers of data share."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from lamina._checks import check_real, shown
from lamina._errors import ParameterError

Seed: TypeAlias = int | np.random.Generator | None


def generator_of(random_state: Seed) -> np.random.Generator:
    """Return NumPy's generator for a seed, or the generator itself."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"random_state must be a non-negative integer, a NumPy Generator or None. "
            f"Got {shown(random_state)}."
        ) from error


def check_noise(noise: float) -> float:
    """Return the standard deviation of the noise."""
    return check_real("noise", noise, 0.0)
