"""Quantiles that never cross: a distribution without a family."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, Independent

from lamina._checks import check_real, shown
from lamina._errors import ParameterError
from lamina._typing import Array
from lamina.distributions import QuantileFunction

from ._covariance import rows_last
from ._floats import logistic, softplus
from ._head import Head
from ._metrics import weighted_mean
from ._targets import float_columns


@dataclass(frozen=True, init=False)
class Quantiles(Head):
    r"""Quantiles of each target at L levels τ, in order by construction.

    The L raw outputs of a target are the middle quantile and the distances of the others to
    their neighbours towards the middle m, made positive by ζ(a) = ln(1 + eᵃ):

    .. math:: q_j = a_m + \sum_{m < i \le j} \zeta(a_i) \quad (j \ge m), \qquad
              q_j = a_m - \sum_{j \le i < m} \zeta(a_i) \quad (j < m)

    The error is the mean pinball loss over the levels, summed over the targets,

    .. math:: E = \sum_t \frac1L \sum_j \max\bigl(\tau_j (y_t - q_{tj}),
                  (\tau_j - 1)(y_t - q_{tj})\bigr), \qquad
              \frac{\partial E}{\partial q_{tj}} = \frac{[y_t < q_{tj}] - \tau_j}{L}

    It is no negative log-likelihood: :math:`e^{-E}` is not a density.

    Parameters
    ----------
    levels : sequence of float, default=(0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
        Strictly increasing numbers in (0, 1). The middle one, at place L // 2, is free; the
        others keep to its sides.

    Notes
    -----
    The raw outputs are ordered by target, and within a target by level. `distribution` is
    linear between the quantiles and has exponential tails; it needs two levels at least.
    `mean` is its mean, and with a single level that quantile itself.

    References
    ----------
    .. [1] R. Koenker and G. Bassett, Regression quantiles, Econometrica 46, 1978,
       https://doi.org/10.2307/1913643

    Examples
    --------
    >>> import torch
    >>> head = Quantiles((0.1, 0.5, 0.9))
    >>> head.quantiles(torch.tensor([[-50.0, 1.0, 0.5413]]))
    tensor([[[1.0000, 1.0000, 2.0000]]])
    """

    levels: tuple[float, ...]

    name: ClassVar[str] = "quantiles"
    metric_name: ClassVar[str] = "minus the pinball loss"

    def __init__(self, levels: Sequence[float] = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)) -> None:
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise ParameterError(f"levels must be a sequence of numbers. Got {shown(levels)}.")
        values = tuple(
            check_real(f"levels[{i}]", v, 0.0, 1.0, open_minimum=True, open_maximum=True)
            for i, v in enumerate(levels)
        )
        if not values or any(a >= b for a, b in itertools.pairwise(values)):
            raise ParameterError(
                f"levels must be one or more numbers in increasing order. Got {shown(values)}."
            )
        object.__setattr__(self, "levels", values)

    @property
    def location_scale(self) -> bool:
        """Whether the head can follow any shift and scale of the targets: yes."""
        return True

    def targets(self, y: Array) -> Array:
        """Return ``y`` as finite float64 of shape (N, T)."""
        return float_columns(y)

    def n_raw(self, n_targets: int) -> int:
        """Return L T."""
        return super().n_raw(n_targets) * len(self.levels)

    def start(self, y: Array) -> Array:
        """Return raw outputs (L T,) whose quantiles are those of each column of ``y``."""
        quantiles = np.quantile(y, self.levels, axis=0).T  # (T, L)
        spread = np.maximum(y.std(0), 1e-6 * np.maximum(np.abs(y).max(0), 1e-6))[:, None]
        gaps = np.maximum(np.diff(quantiles, axis=1), 1e-3 * spread)
        raw = gaps + np.log(-np.expm1(-gaps))  # the inverse of ζ
        middle = len(self.levels) // 2
        return np.asarray(np.insert(raw, middle, quantiles[:, middle], axis=1).ravel())

    def _check(self, raw: Tensor, y: Tensor) -> None:
        self._check_raw(raw, y)

    def _in_order(self, a: Tensor) -> Tensor:
        """Return quantiles from raw outputs, both with the levels along axis −2."""
        middle = len(self.levels) // 2
        steps = softplus(a)
        base = a[..., middle : middle + 1, :]
        above = base + steps[..., middle + 1 :, :].cumsum(-2)
        below = base - steps[..., :middle, :].flip(-2).cumsum(-2).flip(-2)
        return torch.cat([below, base, above], -2)

    def _split(self, rows: Tensor) -> Tensor:
        """Return raw outputs (..., T L, B) as (..., T, L, B)."""
        *lead, n_raw, n_rows = rows.shape
        return rows.reshape(*lead, n_raw // len(self.levels), len(self.levels), n_rows)

    def _levels(self, like: Tensor) -> Tensor:
        return like.new_tensor(self.levels).unsqueeze(-1)

    def quantiles(self, raw: Tensor) -> Tensor:
        """Return the quantiles of each target in increasing order.

        Parameters
        ----------
        raw : Tensor of shape (..., B, Q)
            Raw outputs.

        Returns
        -------
        Tensor of shape (..., B, T, L)
            One number for each target and level, not decreasing along the last axis.
        """
        return self._in_order(self._split(raw.mT)).movedim(-1, -3)

    def _pinball(self, residual: Tensor) -> Tensor:
        """Return the loss (..., B) of y − q, shape (..., T, L, B)."""
        levels = self._levels(residual)
        loss = torch.maximum(levels * residual, (levels - 1) * residual)
        return loss.sum((-3, -2)) / len(self.levels)

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        return self._pinball(y.mT.unsqueeze(-2) - self._in_order(self._split(raw.mT)))

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, Q), without checks."""
        rows, target = rows_last(raw, y)
        a = self._split(rows)
        residual = target.unsqueeze(-2) - self._in_order(a)
        # at y = q the slope is the mean of those on both sides
        below = torch.heaviside(-residual, residual.new_tensor(0.5))
        slope = (below - self._levels(residual)) / len(self.levels)
        middle = len(self.levels) // 2
        gradient = logistic(a)
        gradient[..., middle, :] = slope.sum(-2)
        # a step moves every quantile from it outwards
        gradient[..., middle + 1 :, :] *= slope[..., middle + 1 :, :].flip(-2).cumsum(-2).flip(-2)
        gradient[..., :middle, :] *= -slope[..., :middle, :].cumsum(-2)
        return self._pinball(residual), gradient.flatten(-3, -2).mT.contiguous()

    def distribution(self, raw: Tensor) -> Distribution:
        """Return the distribution with these quantiles for each target, event shape (T,)."""
        if len(self.levels) < 2:
            raise ParameterError(
                f"levels must be at least two for a distribution. Got {self.levels}."
            )
        quantiles = self.quantiles(raw)
        return Independent(QuantileFunction(quantiles.new_tensor(self.levels), quantiles), 1)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the means of `distribution` (..., B, T)."""
        if len(self.levels) < 2:
            return raw
        quantiles = self.quantiles(raw)
        levels = quantiles.new_tensor(self.levels)
        return QuantileFunction(levels, quantiles, validate_args=False).mean

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return minus the mean pinball loss."""
        return -weighted_mean(self._error(raw, y), weight)

    def _to_config(self) -> dict[str, Any]:
        return {"name": self.name, "levels": list(self.levels)}
