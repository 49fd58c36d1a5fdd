"""The Poisson distribution: counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent
from torch.distributions import Poisson as TorchPoisson

from lamina._typing import Array

from ._head import Head, over_outputs
from ._metrics import r2
from ._targets import float_columns, refuse


@dataclass(frozen=True)
class Poisson(Head):
    r"""Counts whose rate is the exponential of the raw output.

    .. math:: E = \sum_q e^{a_q} - y_q a_q + \ln \Gamma(y_q + 1),
              \qquad \partial E / \partial a = e^{a} - y

    Notes
    -----
    Targets need not be whole numbers, only non-negative; then E is a quasi-likelihood. Above
    a = 88.7 in single and 709.7 in double precision the rate itself is larger than the largest
    float: the error and the gradient are then infinite.

    References
    ----------
    .. [1] P. McCullagh and J. A. Nelder, Generalized Linear Models, 2nd edition, chapter 6,
       1989, https://doi.org/10.1201/9780203753736

    Examples
    --------
    >>> import torch
    >>> raw, y = torch.tensor([[0.0], [-800.0]]), torch.tensor([[2.0], [0.0]])
    >>> Poisson().error(raw, y)
    tensor([1.6931, 0.0000])
    """

    name: ClassVar[str] = "poisson"
    canonical: ClassVar[bool] = True
    kernel: ClassVar[str | None] = "poisson"
    metric_name: ClassVar[str] = "R²"

    def targets(self, y: Array) -> Array:
        """Return ``y`` as float64 of shape (N, Q), every value non-negative."""
        columns = float_columns(y)
        refuse(columns < 0, columns, "non-negative")
        return columns

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        return over_outputs(raw.exp() - y * raw + (y + 1).lgamma())

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient exp(a) - y, without checks."""
        rate = raw.exp()
        error = torch.addcmul(rate, y, raw, value=-1).add_((y + 1).lgamma_())
        return over_outputs(error), rate.sub_(y)

    def distribution(self, raw: Tensor) -> Distribution:
        """Return independent Poisson distributions with rates ``exp(raw)``."""
        return Independent(TorchPoisson(raw.exp()), 1)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the rates ``exp(raw)``."""
        return raw.exp()

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return R² of the rates, averaged over the targets."""
        return r2(raw.exp(), y, weight)
