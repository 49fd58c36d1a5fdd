"""Normal densities with independent targets: error and closed-form gradient, rows last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, Independent
from torch.distributions import Normal as TorchNormal

from lamina._typing import Array

from ._floats import (
    HALF_LOG_TWO_PI,
    as_positive,
    bounded_exp,
    floored_log_scale,
    floored_slope,
    largest,
    raw_of_scale,
    saturated,
)

# The axes are (..., T, B) for residuals and (..., S, B) for raw scales.


def sum_of_targets(values: Tensor) -> Tensor:
    """Return the sum over the targets, (..., T, B) to (..., B); free of charge for T = 1."""
    return values.squeeze(-2) if values.shape[-2] == 1 else values.sum(-2)


@dataclass(frozen=True)
class Covariance(ABC):
    """How raw outputs describe the covariance of T targets, with a floor for each scale."""

    floor: float

    @abstractmethod
    def n_raw(self, n_targets: int) -> int:
        """Return the number of raw outputs S for T targets."""

    @abstractmethod
    def errors(self, residual: Tensor, raw: Tensor) -> Tensor:
        """Return the negative log density (..., B) of residuals loc − y."""

    @abstractmethod
    def errors_and_gradients(self, residual: Tensor, raw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the errors, and their gradients on the residuals and on the raw outputs."""

    @abstractmethod
    def distribution(self, loc: Tensor, raw: Tensor) -> Distribution:
        """Return the distribution; here the rows come first: loc (..., T), raw (..., S)."""

    @abstractmethod
    def start(self, residual: Array) -> Array:
        """Return raw outputs (S,) whose covariance is that of residuals (N, T)."""


class Diagonal(Covariance):
    r"""One scale for each target: :math:`\sigma_t^2 = m^2 + e^{2 a_t}`."""

    def n_raw(self, n_targets: int) -> int:
        """Return T."""
        return n_targets

    def errors(self, residual: Tensor, raw: Tensor) -> Tensor:
        """Return the sum of ½ z² + ln σ + ½ ln 2π over the targets."""
        log_scale = floored_log_scale(raw, self.floor)
        half = bounded_exp(-0.5 * log_scale)
        return self._error((residual * half * half).square(), log_scale)

    def _error(self, squares: Tensor, log_scale: Tensor) -> Tensor:
        n_targets, n_scales = squares.shape[-2], log_scale.shape[-2]
        logs = sum_of_targets(log_scale) * (n_targets / n_scales)
        half = 0.5 * sum_of_targets(squares)
        return saturated(half + logs + n_targets * HALF_LOG_TWO_PI)

    def errors_and_gradients(
        self, residual: Tensor, raw: Tensor, beta: float = 0.0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return errors (..., B) and gradients; those of a target are multiplied by σ^{2β}."""
        log_scale = floored_log_scale(raw, self.floor)
        half = bounded_exp(-0.5 * log_scale)  # σ^{-1/2}: its square may leave the float range
        z = residual * half * half
        squares = z.square().clamp_(max=largest(raw))
        error = self._error(squares, log_scale)
        weight: Tensor | float = 1.0
        if beta:
            weight = bounded_exp(2.0 * beta * log_scale)
            half = bounded_exp(0.5 * (beta - 1.0) * log_scale)
            z = residual * half * half
            squares = z.square().clamp_(max=largest(raw))
        d_residual = saturated(z * half * half)
        d_raw = self._d_raw(squares, weight) * floored_slope(raw, self.floor)
        return error, d_residual, saturated(d_raw)

    def _d_raw(self, squares: Tensor, weight: Tensor | float) -> Tensor:
        """Return the gradient on ln σ."""
        return weight - squares

    def distribution(self, loc: Tensor, raw: Tensor) -> Distribution:
        """Return independent normals."""
        scale = as_positive(floored_log_scale(raw, self.floor))
        return Independent(TorchNormal(loc, scale.expand(loc.shape)), 1)

    def start(self, residual: Array) -> Array:
        """Return the log root mean square of each target."""
        return np.array([raw_of_scale(s, self.floor) for s in root_mean_squares(residual)])


class Spherical(Diagonal):
    r"""One scale for all targets of a row: :math:`\sigma^2 = m^2 + e^{2a}`."""

    def n_raw(self, n_targets: int) -> int:
        """Return 1."""
        return 1

    def _d_raw(self, squares: Tensor, weight: Tensor | float) -> Tensor:
        return squares.shape[-2] * weight - squares.sum(-2, keepdim=True)

    def start(self, residual: Array) -> Array:
        """Return the log root mean square over all targets."""
        scale = float(np.sqrt(np.mean(np.square(root_mean_squares(residual)))))
        return np.array([raw_of_scale(scale, self.floor)])


def root_mean_squares(residual: Array) -> list[float]:
    """Return the root mean square of each column; 1 for a column of zeros."""
    scale = np.sqrt(np.mean(np.square(residual), axis=0))
    return [float(s) for s in np.where(scale > 0, scale, 1.0)]


def rows_last(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return tensors (..., B, Q) as contiguous (..., Q, B)."""
    return tuple(t.mT.contiguous() for t in tensors)


def rows_first(blocks: list[Tensor]) -> Tensor:
    """Return blocks (..., Q, B) of a gradient side by side as contiguous (..., B, Q)."""
    return torch.cat(blocks, -2).mT.contiguous()
