r"""Heads that report their error in scikit-learn's units, for training alone.

The gradient, and so the fitted weights, stay those of the negative log-likelihood; only the
number that is reported, compared with ``tol`` and kept in ``loss_curve_`` changes:

==================  =====================================================================
HalfMeanSquare      :math:`\frac{1}{2Q} \sum_q (a_q - y_q)^2`, a mean over the Q targets
HalfDeviance        :math:`\sum_q y_q \ln (y_q / e^{a_q}) - y_q + e^{a_q}`, which is 0 for a
                    perfect fit
==================  =====================================================================
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution

from lamina._typing import Array
from lamina.heads import Head, Normal, Poisson


class _Reported(Head):
    """A head that is another one in everything but the size of the reported error."""

    canonical: ClassVar[bool] = True
    metric_name: ClassVar[str] = "R²"

    @property
    @abstractmethod
    def head(self) -> Head:
        """The head that this one stands for."""

    def targets(self, y: Array) -> Array:
        """Return the head's own targets."""
        return self.head.targets(y)

    def distribution(self, raw: Tensor) -> Distribution:
        """Return the head's own distribution."""
        return self.head.distribution(raw)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the head's own mean."""
        return self.head.mean(raw)

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return the head's own metric."""
        return self.head.score(raw, y, weight)


@dataclass(frozen=True)
class HalfMeanSquare(_Reported):
    """`Normal`, whose error is half the mean square over the targets of a row."""

    name: ClassVar[str] = "half mean square"
    kernel: ClassVar[str | None] = "half_mean_square"

    @property
    def head(self) -> Head:
        """The normal distribution."""
        return Normal()

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        return (raw - y).square().mean(-1) * 0.5

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and the gradient a − y of the sum of squares."""
        residual = raw - y
        return residual.square().mean(-1).mul_(0.5), residual


@dataclass(frozen=True)
class HalfDeviance(_Reported):
    """`Poisson`, whose error is half the deviance."""

    name: ClassVar[str] = "half deviance"
    kernel: ClassVar[str | None] = "half_deviance"

    @property
    def head(self) -> Head:
        """The Poisson distribution."""
        return Poisson()

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        return (raw.exp() - y * raw + torch.xlogy(y, y) - y).sum(-1)

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient exp(a) − y."""
        rate = raw.exp()
        error = torch.addcmul(rate - y, y, raw, value=-1).add_(torch.xlogy(y, y)).sum(-1)
        return error, rate.sub_(y)


def is_squared_error(head: Head) -> bool:
    """Return whether a head is the normal distribution of unit scale: least squares."""
    return isinstance(head, Normal) and head.scale == "unit"


def reported(head: Head, *, consistent: bool) -> Head:
    """Return the head to train with.

    L-BFGS compares errors along its gradient, so it needs a ``consistent`` error: that of
    `Normal` is then left as it is where the mean over several targets would be out of step.
    """
    if is_squared_error(head) and not consistent:
        return HalfMeanSquare()
    if isinstance(head, Poisson):
        return HalfDeviance()
    return head
