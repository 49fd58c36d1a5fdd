r"""Normal densities with full covariance, from a Cholesky factor; rows last.

The raw outputs are the lower triangle of the factor L row by row, logs on the diagonal:
:math:`L_{00}; L_{10}, L_{11}; L_{20}, L_{21}, L_{22}; \dots`
"""

from __future__ import annotations

import functools
import math

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, MultivariateNormal

from lamina._typing import Array

from ._covariance import Covariance, root_mean_squares, sum_of_targets
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


@functools.lru_cache(maxsize=64)
def _places(n_targets: int) -> tuple[list[int], list[list[int]], list[int], list[int]]:
    """Return places in the packed triangle: diagonal, below it by column; and row and column."""
    start = [i * (i + 1) // 2 for i in range(n_targets)]
    diagonal = [start[i] + i for i in range(n_targets)]
    below = [[start[i] + j for i in range(j + 1, n_targets)] for j in range(n_targets)]
    row = [i for i in range(n_targets) for _ in range(i + 1)]
    column = [j for i in range(n_targets) for j in range(i + 1)]
    return diagonal, below, row, column


class Cholesky(Covariance):
    r"""The factor of :math:`\Sigma = L L^\top`, with :math:`L_{tt}^2 = m^2 + e^{2 a_{tt}}`."""

    def n_raw(self, n_targets: int) -> int:
        """Return T(T+1)/2."""
        return n_targets * (n_targets + 1) // 2

    def errors(self, residual: Tensor, raw: Tensor) -> Tensor:
        """Return ½ |z|² + Σ ln L_tt + T/2 ln 2π with z = L⁻¹ (loc − y)."""
        log_scale, half = self._diagonal(residual, raw)
        return self._error(self._solve(residual, raw, half), log_scale)

    def _diagonal(self, residual: Tensor, raw: Tensor) -> tuple[Tensor, Tensor]:
        """Return ln L_tt and L_tt^{-1/2}."""
        diagonal = _places(residual.shape[-2])[0]
        log_scale = floored_log_scale(raw[..., diagonal, :], self.floor)
        return log_scale, bounded_exp(-0.5 * log_scale)

    def _error(self, z: Tensor, log_scale: Tensor) -> Tensor:
        half = 0.5 * sum_of_targets(z.square())
        return saturated(half + sum_of_targets(log_scale) + z.shape[-2] * HALF_LOG_TWO_PI)

    def _solve(self, residual: Tensor, raw: Tensor, half: Tensor) -> Tensor:
        """Return z = L⁻¹ residual, column by column; at most the root of the largest float."""
        below = _places(residual.shape[-2])[1]
        top = math.sqrt(largest(raw) / residual.shape[-2])
        z = []
        for j, places in enumerate(below):
            first = half[..., j : j + 1, :]
            z.append((residual[..., :1, :] * first * first).clamp(-top, top))
            residual = residual[..., 1:, :]
            if places:
                residual = residual - raw[..., places, :] * z[j]
        return torch.cat(z, -2)

    def errors_and_gradients(self, residual: Tensor, raw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the errors, and their gradients u = L⁻ᵀ z on loc and −u zᵀ on the factor."""
        diagonal, _, row, column = _places(residual.shape[-2])
        log_scale, half = self._diagonal(residual, raw)
        z = self._solve(residual, raw, half)
        u, scaled = self._solve_transposed(z, raw, half)
        d_raw = saturated(-u[..., row, :] * z[..., column, :])
        slope = floored_slope(raw[..., diagonal, :], self.floor)
        d_raw[..., diagonal, :] = saturated(1.0 - scaled * z) * slope
        return self._error(z, log_scale), u, d_raw

    def _solve_transposed(self, z: Tensor, raw: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
        """Return u = L⁻ᵀ z and L_tt u_t, from the last target to the first."""
        top = largest(raw) * 1e-9  # so that a sum of products with raw outputs is finite
        u, scaled = [], []
        for i in reversed(range(z.shape[-2])):
            scaled.append(z[..., i : i + 1, :].clamp(-top, top))
            first = half[..., i : i + 1, :]
            u.append((scaled[-1] * first * first).clamp(-top, top))
            start = i * (i + 1) // 2
            z = z[..., :i, :] - raw[..., start : start + i, :] * u[-1]
        return torch.cat(u[::-1], -2), torch.cat(scaled[::-1], -2)

    def factor(self, raw: Tensor, n_targets: int) -> Tensor:
        """Return L of shape (..., T, T) from raw outputs (..., S)."""
        diagonal, _, row, column = _places(n_targets)
        packed = raw.clone()
        packed[..., diagonal] = as_positive(floored_log_scale(raw[..., diagonal], self.floor))
        full = raw.new_zeros(*raw.shape[:-1], n_targets, n_targets)
        full[..., row, column] = packed
        return full

    def distribution(self, loc: Tensor, raw: Tensor) -> Distribution:
        """Return multivariate normals with factor L."""
        return MultivariateNormal(loc, scale_tril=self.factor(raw, loc.shape[-1]))

    def start(self, residual: Array) -> Array:
        """Return the factor of the residuals' covariance, a little of its diagonal added."""
        diagonal, _, row, column = _places(residual.shape[1])
        covariance = residual.T @ residual / len(residual)
        ridge = np.square(root_mean_squares(residual))
        covariance = covariance + np.diag(np.maximum(1e-4 * ridge, ridge - np.diag(covariance)))
        packed = np.linalg.cholesky(covariance)[row, column]
        packed[diagonal] = [raw_of_scale(float(s), self.floor) for s in packed[diagonal]]
        return np.asarray(packed)
