r"""Ratios of gamma functions at :math:`r = e^{-a}`, right where r is huge or tiny.

For large r they come from Stirling's series, whose leading terms cancel in closed form; see
https://dlmf.nist.gov/5.11
"""

from __future__ import annotations

import torch
from torch import Tensor

from ._floats import bounded_exp

# From here on, the six terms of the series below are right to rounding.
_LARGE = 16.0

# B_2k / (2k (2k - 1)) of Stirling's series
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def excess_lgamma(y: Tensor, a: Tensor) -> Tensor:
    r"""Return :math:`\ln \Gamma(y + r) - \ln \Gamma(r) - y \ln r`, which is 0 at y = 0."""
    r = bounded_exp(-a)
    # Γ(r) = Γ(r + 1)/r, and ln r = -a where r itself has underflowed
    close = r.clamp(max=_LARGE)
    shifted = torch.where(y > 0, y, 1.0)
    direct = (shifted + close).lgamma() - (close + 1).lgamma() + (y - 1) * a
    far = r.clamp(min=_LARGE)
    t = y / far
    grown = t.log1p()
    lead = y * (_log1p_ratio_less_one(t) + grown) - 0.5 * grown
    series = lead + _correction(far + y) - _correction(far)
    return torch.where(y > 0, torch.where(r < _LARGE, direct, series), 0.0)


def excess_digamma(y: Tensor, a: Tensor) -> Tensor:
    r"""Return :math:`r (\psi(y + r) - \psi(r)) - y`, minus the slope of the above on a."""
    r = bounded_exp(-a)
    close = r.clamp(max=_LARGE)
    shifted = torch.where(y > 0, y, 1.0)
    # r ψ(r) = r ψ(r + 1) - 1
    direct = close * ((shifted + close).digamma() - (close + 1).digamma()) + 1.0 - y
    far = r.clamp(min=_LARGE)
    t = y / far
    middle = 0.5 * t / (1.0 + t)  # r (1/2r - 1/2(r + y))
    slopes = far * (_correction_slope(far + y) - _correction_slope(far))
    series = y * _log1p_ratio_less_one(t) + middle + slopes
    return torch.where(y > 0, torch.where(r < _LARGE, direct, series), 0.0)


def _correction(z: Tensor) -> Tensor:
    """Return ln Γ(z) - (z - 1/2) ln z + z - ln(2π)/2."""
    inverse = 1.0 / z
    square = inverse * inverse
    total = torch.zeros_like(z)
    for coefficient in reversed(_SERIES):
        total = total * square + coefficient
    return total * inverse


def _correction_slope(z: Tensor) -> Tensor:
    """Return the derivative of the above."""
    square = 1.0 / (z * z)
    total = torch.zeros_like(z)
    for k, coefficient in reversed(list(enumerate(_SERIES))):
        total = total * square - (2 * k + 1) * coefficient
    return total * square


def _log1p_ratio_less_one(t: Tensor) -> Tensor:
    """Return ln(1 + t) / t - 1 for t >= 0; by its series where the two nearly cancel."""
    small = t.clamp(max=0.01)
    total = torch.zeros_like(t)
    for k in range(8, 0, -1):
        total = small * ((-1.0) ** k / (k + 1) + total)
    large = t.clamp(min=0.01)
    return torch.where(t < 0.01, total, large.log1p() / large - 1.0)
