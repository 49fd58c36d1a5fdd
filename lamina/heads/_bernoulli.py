"""The Bernoulli distribution: one label, or several that do not exclude one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.distributions import Bernoulli as TorchBernoulli
from torch.distributions import Distribution, Independent
from torch.nn.functional import binary_cross_entropy_with_logits

from lamina._typing import Array

from ._head import Head, over_outputs
from ._metrics import accuracy
from ._probabilities import look_like_sigmoid, warn_about_sigmoid
from ._targets import float_columns, refuse


@dataclass(frozen=True)
class Bernoulli(Head):
    r"""Labels 0 or 1, each from one logit; several columns are a multilabel problem.

    The probability of 1 is the logistic sigmoid of the raw output. The error is the binary
    cross-entropy, summed over the Q labels:

    .. math:: E = \sum_q \operatorname{softplus}(a_q) - y_q a_q,
              \qquad \partial E / \partial a = \sigma(a) - y

    Warns
    -----
    ProbabilityWarning
        From `error`, if the raw outputs look like probabilities.

    Notes
    -----
    The error is computed as :math:`(1 - y) a - \ln \sigma(a)`, which neither overflows nor
    cancels: it is exact for logits of any size, where :math:`-\ln \sigma(a)` taken from the
    rounded sigmoid is infinite below about -104 in single precision.

    References
    ----------
    .. [1] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, section 6.4,
       2024, https://www.bishopbook.com

    Examples
    --------
    >>> import torch
    >>> raw, y = torch.tensor([[-800.0], [0.0], [800.0]]), torch.tensor([[1.0], [1.0], [1.0]])
    >>> Bernoulli().error(raw, y)
    tensor([8.0000e+02, 6.9315e-01, 0.0000e+00])
    """

    name: ClassVar[str] = "bernoulli"
    canonical: ClassVar[bool] = True
    kernel: ClassVar[str | None] = "bernoulli"
    metric_name: ClassVar[str] = "accuracy"

    def targets(self, y: Array) -> Array:
        """Return ``y`` as float64 of shape (N, Q), every value 0 or 1."""
        columns = float_columns(y)
        refuse((columns != 0) & (columns != 1), columns, "0 or 1")
        return columns

    def _check(self, raw: Tensor, y: Tensor) -> None:
        super()._check(raw, y)
        if look_like_sigmoid(raw, y):
            warn_about_sigmoid()

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        y = y.expand(raw.shape)
        return over_outputs(binary_cross_entropy_with_logits(raw, y, reduction="none"))

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient σ(a) - y, without checks."""
        # torch.sigmoid rounds differently with the place in memory, so that a member would not
        # be the same alone and among others; these four steps round alike everywhere
        probability = raw.neg().exp_().add_(1.0).reciprocal_()
        return self._error(raw, y), probability.sub_(y)

    def distribution(self, raw: Tensor) -> Distribution:
        """Return independent Bernoulli distributions with logits ``raw``."""
        return Independent(TorchBernoulli(logits=raw), 1)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the probability of label 1, shape (..., B, Q)."""
        return raw.sigmoid()

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return the share of rows whose labels are all right (threshold: logit 0)."""
        return accuracy((raw > 0) == (y > 0.5), raw, weight)
