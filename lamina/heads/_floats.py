r"""Arithmetic that stays finite: bounded exponentials, and scales that have a floor.

Inside a head of several parameters the rows are the last axis, ``(..., Q, B)``: a block of raw
outputs is then one piece of memory for each member, and sums run across whole rows.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def largest(values: Tensor) -> float:
    """Return the largest float of the tensor's type."""
    return torch.finfo(values.dtype).max


def bounded_exp(values: Tensor) -> Tensor:
    """Return the exponential, at most (nearly) the largest float."""
    return values.clamp(max=math.log(largest(values)) - 1e-3).exp()


def saturated(values: Tensor) -> Tensor:
    """Return the values with those beyond the float range put at its end; NaN stays NaN."""
    top = largest(values)
    return values.clamp(-top, top)


def softplus(values: Tensor) -> Tensor:
    """Return ln(1 + exp(a)) to full precision, rounded alike at every place in memory."""
    # torch's own is the identity above 20, and its sigmoid and softplus round with the place;
    # the maximum has slope 1/2 at 0, as it must
    top = torch.maximum(values, values.new_zeros(()))
    return values.abs().neg_().exp_().log1p().add_(top)


def logistic(values: Tensor) -> Tensor:
    """Return the sigmoid by steps that round alike at every place in memory."""
    return values.neg().exp_().add_(1.0).reciprocal_()


def logaddexp(first: Tensor, second: Tensor) -> Tensor:
    """Return ln(exp(a) + exp(b)), rounded alike at every place in memory."""
    top = torch.maximum(first, second)
    return (first - second).abs().neg_().exp_().log1p().add_(top)


def floored_log_scale(raw: Tensor, floor: float) -> Tensor:
    r"""Return ln σ, where :math:`\sigma^2 = m^2 + e^{2a}` with the floor m."""
    if floor == 0.0:
        return raw
    low = math.log(floor)
    return 0.5 * softplus(2.0 * (raw - low)) + low


def floored_slope(raw: Tensor, floor: float) -> Tensor | float:
    r"""Return :math:`\partial \ln \sigma / \partial a = e^{2a} / (m^2 + e^{2a})`."""
    return 1.0 if floor == 0.0 else logistic(2.0 * (raw - math.log(floor)))


def raw_of_scale(scale: float, floor: float) -> float:
    """Return the raw output whose scale is nearest to ``scale``."""
    return 0.5 * math.log(max(scale**2 - floor**2, 1e-4 * scale**2))


def as_positive(log_scale: Tensor) -> Tensor:
    """Return σ from ln σ, never 0 and never infinite."""
    kind = torch.finfo(log_scale.dtype)
    return log_scale.clamp(math.log(kind.tiny) + 1e-3, math.log(kind.max) - 1e-3).exp()
