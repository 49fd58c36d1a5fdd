"""The negative binomial distribution: counts that vary more than a Poisson's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, Independent
from torch.distributions import NegativeBinomial as TorchNegativeBinomial

from lamina._checks import check_flag
from lamina._typing import Array

from ._covariance import rows_first, rows_last, sum_of_targets
from ._floats import as_positive, bounded_exp, logistic, saturated, softplus
from ._gamma_ratios import excess_digamma, excess_lgamma
from ._head import Head
from ._metrics import r2
from ._targets import float_columns, refuse


@dataclass(frozen=True)
class NegativeBinomial(Head):
    r"""Counts with mean μ and variance μ + α μ², both from raw outputs.

    The T log means m are followed by T log dispersions a. With :math:`\mu = e^m`,
    :math:`\alpha = e^a` and :math:`r = 1 / \alpha`,

    .. math:: E = \sum_t \ln \frac{\Gamma(r) \, \Gamma(y + 1)}{\Gamma(y + r)}
                  + r \ln (1 + \alpha \mu)
                  + y \ln \frac{1 + \alpha \mu}{\alpha \mu}, \qquad
              \frac{\partial E}{\partial m} = \frac{\mu - y}{1 + \alpha \mu}

    It is a Poisson distribution whose rate varies by a gamma distribution of variance α μ²,
    and a Poisson distribution itself for :math:`a \to -\infty`.

    Parameters
    ----------
    shared : bool, default=True
        Whether one learnt dispersion for each target serves all rows; otherwise it is an output
        of the network.

    Notes
    -----
    Targets need not be whole numbers, only non-negative; then E is a quasi-likelihood, and
    ``distribution(raw).log_prob`` refuses them. An error or gradient beyond the float range is
    put at its end.

    References
    ----------
    .. [1] J. M. Hilbe, Negative Binomial Regression, 2nd edition, 2011,
       https://doi.org/10.1017/CBO9780511973420

    Examples
    --------
    >>> import torch
    >>> raw, y = torch.tensor([[0.0, 0.0], [0.0, -800.0]]), torch.tensor([[2.0], [2.0]])
    >>> NegativeBinomial().error(raw, y)  # the second row is Poisson's
    tensor([2.0794, 1.6931])
    """

    shared: bool = True

    name: ClassVar[str] = "negative_binomial"
    metric_name: ClassVar[str] = "R²"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shared", check_flag("shared", self.shared))

    def targets(self, y: Array) -> Array:
        """Return ``y`` as float64 of shape (N, T), every value non-negative."""
        columns = float_columns(y)
        refuse(columns < 0, columns, "non-negative")
        return columns

    def n_raw(self, n_targets: int) -> int:
        """Return 2 T."""
        return 2 * super().n_raw(n_targets)

    def shared_raw(self, n_targets: int) -> int:
        """Return T for a shared dispersion, else 0."""
        return n_targets if self.shared else 0

    def start(self, y: Array) -> Array:
        """Return log mean and log dispersion of each column, by its moments."""
        mean = np.maximum(y.mean(0), 1.0 / (2 * len(y)))
        dispersion = (y.var(0) - mean) / mean**2
        return np.concatenate([np.log(mean), np.log(np.clip(dispersion, 0.01, 10.0))])

    def _check(self, raw: Tensor, y: Tensor) -> None:
        self._check_raw(raw, y)

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        log_mean, log_dispersion = raw.mT.chunk(2, -2)
        return _errors(log_mean, log_dispersion, y.mT)

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, Q), without checks."""
        rows, target = rows_last(raw, y)
        log_mean, log_dispersion = rows.chunk(2, -2)
        error = _errors(log_mean, log_dispersion, target)
        return error, rows_first(_gradients(log_mean, log_dispersion, target))

    def distribution(self, raw: Tensor) -> Distribution:
        """Return independent negative binomials with ``total_count`` r, event shape (T,)."""
        log_mean, log_dispersion = raw.chunk(2, -1)
        count = as_positive(-log_dispersion)
        return Independent(TorchNegativeBinomial(count, logits=log_mean + log_dispersion), 1)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the means μ, the exponentials of the first T raw outputs."""
        return raw.chunk(2, -1)[0].exp()

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return R² of the means, averaged over the targets."""
        return r2(self.mean(raw), y, weight)

    def _to_config(self) -> dict[str, Any]:
        return {"name": self.name, "shared": self.shared}


def _errors(m: Tensor, a: Tensor, y: Tensor) -> Tensor:
    """Return ln Γ(y+1) − ln Γ(y+r)/(Γ(r) rʸ) + r ζ(η) + y (ζ(η) − m) with η = m + a."""
    eta = m + a
    grown = softplus(eta)
    x = bounded_exp(eta.clamp(max=0.0))
    # r ζ(η), which is μ for small α although r is infinite there
    small = bounded_exp(m) * _log1p_ratio(x)
    base = torch.where(eta < 0, small, bounded_exp(-a) * grown)
    factorial = (y + 1).lgamma() - excess_lgamma(y, a)
    return saturated(sum_of_targets(saturated(factorial + base + y * (grown - m))))


def _gradients(m: Tensor, a: Tensor, y: Tensor) -> list[Tensor]:
    """Return the derivatives on log mean and log dispersion."""
    eta = m + a
    grown, rising, falling = softplus(eta), logistic(eta), logistic(-eta)
    d_mean = saturated(bounded_exp(m - grown) - y * falling)  # μ/(1 + αμ) − y/(1 + αμ)
    x = bounded_exp(eta.clamp(max=0.0))
    # r (ζ(η) − σ(η)), which is 0 for small α
    small = bounded_exp(m) * (_log1p_ratio(x) - 1.0 / (1.0 + x))
    base = torch.where(eta < 0, small, bounded_exp(-a) * (grown - rising))
    return [d_mean, saturated(excess_digamma(y, a) + y * rising - base)]


def _log1p_ratio(x: Tensor) -> Tensor:
    """Return ln(1 + x) / x, which is 1 at 0."""
    return torch.where(x > 0, x.log1p() / torch.where(x > 0, x, 1.0), 1.0)
