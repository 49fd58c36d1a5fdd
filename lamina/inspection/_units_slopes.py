"""The largest slope of an activation, which saturation and a Lipschitz bound are measured by."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import torch

from lamina._typing import FloatArray
from lamina.nn import (
    ELU,
    GELU,
    Activation,
    LeakyReLU,
    PReLU,
    Sigmoid,
    SiLU,
    Softplus,
    Step,
    Tanh,
)

# GELU: f' = Φ + aφ is largest at √2. SiLU: f' is largest where 2 = a tanh(a / 2), at 2.39935728.
_GELU_SLOPE = 1.1289041451851556
_SILU_SLOPE = 1.0998393201288676


@lru_cache(maxsize=64)
def largest_slope(activation: Activation) -> float | None:
    """Return the supremum of |f'|, or None for a curved function that is not lamina's.

    A step has an infinite one. Of parametric ReLUs it is that of slopes within [-1, 1]; see
    `largest_slopes`.
    """
    match activation:
        case Sigmoid(steepness=steepness):
            return abs(steepness) / 4
        case Tanh() | Softplus():
            return 1.0
        case GELU():
            return _GELU_SLOPE
        case SiLU():
            return _SILU_SLOPE
        case ELU(alpha=alpha):
            return max(1.0, alpha)
        case LeakyReLU(slope=slope):
            return max(1.0, abs(slope))
        case Step():
            return np.inf
        case PReLU():
            return 1.0
    kinks = activation.breakpoints
    if kinks is None:
        return None
    # One point in each piece of a piecewise linear function tells all of its slopes.
    middles = [(low + high) / 2 for low, high in itertools.pairwise(kinks)]
    points = [kinks[0] - 1, *middles, kinks[-1] + 1] if kinks else [0.0]
    return float(activation.derivative(torch.tensor(points, dtype=torch.float64)).abs().max())


def largest_slopes(
    activation: Activation, learned: torch.Tensor | None, n_units: int
) -> FloatArray | None:
    """Return the largest |f'| of each unit (n_units,), with the learned slopes."""
    largest = largest_slope(activation)
    if largest is None:
        return None
    slopes = np.full(n_units, largest)
    return slopes if learned is None else np.maximum(slopes, learned.abs().numpy())


def saturation_scale(
    activation: Activation, learned: torch.Tensor | None, n_units: int
) -> FloatArray:
    """Return the slope of each unit (n_units,) that its slopes on data are compared with."""
    largest = largest_slopes(activation, learned, n_units)
    if largest is None:
        grid = torch.linspace(-30.0, 30.0, 6001, dtype=torch.float64)
        return np.full(n_units, float(activation.derivative(grid).abs().max()))
    # The slope of a step is 0 beside its jump: every row is flat.
    return np.where(np.isfinite(largest), largest, 1.0)
