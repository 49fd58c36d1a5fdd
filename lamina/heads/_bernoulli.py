"""The Bernoulli distribution: one label, or several that do not exclude one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor
from torch.distributions import Bernoulli as TorchBernoulli
from torch.distributions import Distribution, Independent
from torch.nn.functional import binary_cross_entropy_with_logits

from lamina._errors import DataError
from lamina._typing import Array

from ._covariance import rows_first, rows_last, sum_of_targets
from ._floats import softplus
from ._head import Head, over_outputs
from ._label_noise import (
    START,
    Gate,
    Noise,
    binary_error,
    binary_error_and_gradients,
    check_noise,
)
from ._metrics import accuracy
from ._mixture_start import log_odds
from ._probabilities import look_like_sigmoid, warn_about_sigmoid
from ._targets import float_columns, refuse


@dataclass(frozen=True)
class Bernoulli(Head):
    r"""Labels 0 or 1, each from one logit; several columns are a multilabel problem.

    The probability of 1 is the logistic sigmoid of the raw output. The error is the binary
    cross-entropy, summed over the Q labels:

    .. math:: E = \sum_q \operatorname{softplus}(a_q) - y_q a_q,
              \qquad \partial E / \partial a = \sigma(a) - y

    With label noise, a label that was seen is flipped with probability ε, and

    .. math:: E = -\sum_q y_q \ln \tilde p_q + (1 - y_q) \ln (1 - \tilde p_q), \qquad
              \tilde p = (1 - \varepsilon) \sigma(a) + \varepsilon (1 - \sigma(a)),

    so that no label costs more than :math:`-\ln \varepsilon`, however sure the network is.

    Parameters
    ----------
    label_noise : float in [0, 0.5) or "learn", default=0.0
        The flip probability ε. With "learn", one more raw output b for each label, the same in
        every row, gives :math:`\varepsilon = \sigma(b) / 2`; they follow the logits.

    Warns
    -----
    ProbabilityWarning
        From `error`, if the raw outputs look like probabilities.

    Notes
    -----
    The error is computed as :math:`(1 - y) a - \ln \sigma(a)`, which neither overflows nor
    cancels: it is exact for logits of any size, where :math:`-\ln \sigma(a)` taken from the
    rounded sigmoid is infinite below about -104 in single precision.

    `mean` and `score` are about the true labels, whose probability is σ(a); `error` and
    `distribution` are about the labels seen.

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
    >>> Bernoulli(label_noise=0.1).error(raw, y)
    tensor([2.3026, 0.6931, 0.1054])
    """

    label_noise: Noise = 0.0

    name: ClassVar[str] = "bernoulli"
    canonical: ClassVar[bool] = True
    kernel: ClassVar[str | None] = "bernoulli"
    metric_name: ClassVar[str] = "accuracy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_noise", check_noise(self.label_noise, 0.5))
        if self.label_noise:
            object.__setattr__(self, "canonical", False)
            object.__setattr__(self, "kernel", None)

    @property
    def _learns(self) -> bool:
        return self.label_noise == "learn"

    def n_raw(self, n_targets: int) -> int:
        """Return Q for Q labels, or 2 Q if their noise is learnt."""
        return super().n_raw(n_targets) * (2 if self._learns else 1)

    def shared_raw(self, n_targets: int) -> int:
        """Return Q if the noise is learnt, else 0."""
        return n_targets if self._learns else 0

    def start(self, y: Array) -> Array | None:
        """Return the log odds of each label and a large noise, if that is learnt."""
        if not self._learns:
            return None
        odds = log_odds(y.mean(0))
        return np.concatenate([odds, np.full(len(odds), START)])

    def _logits(self, raw: Tensor) -> Tensor:
        return raw[..., : raw.shape[-1] // 2] if self._learns else raw

    def _gate(self, raw: Tensor, axis: int) -> tuple[Tensor, Gate]:
        """Return the logits and the label noise, for labels along ``axis``."""
        if isinstance(self.label_noise, float):
            return raw, Gate.fixed(self.label_noise, 2, raw)
        logits, noise = raw.chunk(2, axis)
        return logits, Gate.learnt(noise, 2)

    def targets(self, y: Array) -> Array:
        """Return ``y`` as float64 of shape (N, Q), every value 0 or 1."""
        columns = float_columns(y)
        refuse((columns != 0) & (columns != 1), columns, "0 or 1")
        return columns

    def _check(self, raw: Tensor, y: Tensor) -> None:
        if self._learns:
            self._check_raw(raw, y)
        else:
            super()._check(raw, y)
        if self.label_noise and bool(((y != 0) & (y != 1)).any()):
            raise DataError("y must be 0 or 1 with label noise. Got other numbers.")
        if look_like_sigmoid(self._logits(raw), y):
            warn_about_sigmoid()

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        if self.label_noise:
            logits, gate = self._gate(raw, -1)
            return over_outputs(binary_error(gate, logits, y))
        y = y.expand(raw.shape)
        return over_outputs(binary_cross_entropy_with_logits(raw, y, reduction="none"))

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, Q), without checks.

        Without label noise the gradient is σ(a) - y.
        """
        if self.label_noise:
            rows, labels = rows_last(raw, y)
            logits, gate = self._gate(rows, -2)
            error, gradient, rest = binary_error_and_gradients(gate, logits, labels)
            return sum_of_targets(error), rows_first([gradient, *rest])
        # torch.sigmoid rounds differently with the place in memory, so that a member would not
        # be the same alone and among others; these four steps round alike everywhere
        probability = raw.neg().exp_().add_(1.0).reciprocal_()
        return self._error(raw, y), probability.sub_(y)

    def distribution(self, raw: Tensor) -> Distribution:
        """Return independent Bernoulli distributions of the labels seen, event shape (Q,)."""
        logits = raw
        if self.label_noise:
            clean, gate = self._gate(raw, -1)
            logits = gate.log_seen(-softplus(-clean)) - gate.log_seen(-softplus(clean))
        return Independent(TorchBernoulli(logits=logits), 1)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the probability that the true label is 1, shape (..., B, Q)."""
        return self._logits(raw).sigmoid()

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return the share of rows whose labels are all right (threshold: logit 0)."""
        return accuracy((self._logits(raw) > 0) == (y > 0.5), raw, weight)

    def _to_config(self) -> dict[str, Any]:
        return {"name": self.name, "label_noise": self.label_noise}
