"""The categorical distribution: one of K classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor
from torch.distributions import Categorical as TorchCategorical
from torch.distributions import Distribution
from torch.nn.functional import one_hot

from lamina._checks import check_integer, check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array

from ._covariance import rows_first
from ._head import Head
from ._label_noise import (
    START,
    Gate,
    Noise,
    check_noise,
    class_error,
    class_error_and_gradients,
)
from ._metrics import accuracy
from ._probabilities import look_like_softmax, warn_about_softmax
from ._targets import float_columns, refuse

# From this many classes on, softmax along the last axis is the faster one.
_MANY_CLASSES = 16


@dataclass(frozen=True)
class Categorical(Head):
    r"""One of K classes, from K logits through softmax.

    The error is the cross-entropy, computed by log-sum-exp:

    .. math:: E = \ln \sum_k e^{a_k} - a_y, \qquad
              \partial E / \partial a_k = \operatorname{softmax}(a)_k - [k = y]

    Parameters
    ----------
    n_classes : int, optional
        Number of classes K. By default, one more than the largest class number in the targets.
    label_smoothing : float in [0, 1), default=0.0
        Share ε of every target that is spread evenly over all K classes. The error is then
        the cross-entropy to the smoothed target, which is not minus the log-likelihood.
    label_noise : float in [0, (K - 1)/K) or "learn", default=0.0
        Probability ε that a label seen is another class than the true one, each of the others
        alike. The error is then that of the labels seen,

        .. math:: E = -\ln \tilde p_y, \qquad \tilde p_k = (1 - \varepsilon) p_k
                  + \frac{\varepsilon}{K - 1} \sum_{j \ne k} p_j

        With "learn", one more raw output b after the logits, the same in every row, gives
        :math:`\varepsilon = \sigma(b) (K - 1) / K`.

    Warns
    -----
    ProbabilityWarning
        From `error`, if the raw outputs look like probabilities.

    Notes
    -----
    Targets are class numbers of shape (..., B), or one-hot rows or class probabilities of the
    shape of the raw outputs. Adding a constant to all logits of a row changes nothing; weight
    decay removes this flat direction.

    With label noise, `mean` and `score` are about the true class; `error` and `distribution`
    are about the labels seen.

    References
    ----------
    .. [1] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, section 6.4,
       2024, https://www.bishopbook.com
    .. [2] C. Szegedy et al., Rethinking the Inception architecture for computer vision,
       CVPR 2016, https://arxiv.org/abs/1512.00567

    Examples
    --------
    >>> import torch
    >>> raw, y = torch.tensor([[10.0, 0.0, 0.0]]), torch.tensor([0])
    >>> print(f"{Categorical().error(raw, y).item():.0e}")
    9e-05
    >>> Categorical().mean(torch.tensor([[1000.0, 1000.0]]))
    tensor([[0.5000, 0.5000]])
    """

    n_classes: int | None = None
    label_smoothing: float = 0.0
    label_noise: Noise = 0.0

    name: ClassVar[str] = "categorical"
    canonical: ClassVar[bool] = True
    kernel: ClassVar[str | None] = "categorical"
    metric_name: ClassVar[str] = "accuracy"

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        label_smoothing: float = 0.0,
        label_noise: Noise = 0.0,
    ) -> None:
        if n_classes is not None:
            n_classes = check_integer("n_classes", n_classes, 2)
        smoothing = check_real("label_smoothing", label_smoothing, 0.0, 1.0, open_maximum=True)
        object.__setattr__(self, "n_classes", n_classes)
        object.__setattr__(self, "label_smoothing", smoothing)
        below = 1.0 if n_classes is None else (n_classes - 1) / n_classes
        object.__setattr__(self, "label_noise", check_noise(label_noise, below))
        if self.label_noise:
            object.__setattr__(self, "canonical", False)
            object.__setattr__(self, "kernel", None)

    @property
    def _learns(self) -> bool:
        return self.label_noise == "learn"

    def n_targets(self, y: Array) -> int:
        """Return K: `n_classes`, the columns of one-hot ``y``, or its largest entry plus one."""
        if self.n_classes is not None:
            return self.n_classes
        if y.ndim == 2 and y.shape[1] > 1:
            return int(y.shape[1])
        return max(int(np.max(y, initial=0)) + 1, 2)

    def n_raw(self, n_targets: int) -> int:
        """Return the number of classes K, or K + 1 if the label noise is learnt."""
        n_targets = check_integer("n_targets", n_targets, 2)
        if self.n_classes is not None and n_targets != self.n_classes:
            raise ParameterError(
                f"n_classes must be the number of classes in y, {n_targets}. Got {self.n_classes}."
            )
        check_noise(self.label_noise, (n_targets - 1) / n_targets)
        return n_targets + self._learns

    def shared_raw(self, n_targets: int) -> int:
        """Return 1 if the label noise is learnt, else 0."""
        return int(self._learns)

    def start(self, y: Array) -> Array | None:
        """Return log shares of the classes and a large noise, if that is learnt."""
        if not self._learns:
            return None
        n_classes = self.n_targets(y)
        share = (np.bincount(y, minlength=n_classes) + 1.0) / (len(y) + n_classes)
        return np.append(np.log(share), START)

    def targets(self, y: Array) -> Array:
        """Return class numbers, int64 of shape (N,); one-hot rows are accepted."""
        columns = float_columns(y)
        if np.ndim(y) == 2 and columns.shape[1] > 1:
            one_hot = np.isin(columns, (0.0, 1.0)).all(1) & (columns.sum(1) == 1)
            if not one_hot.all():
                row = int(np.argmin(one_hot))
                raise DataError(
                    f"y must be one-hot rows. Got {shown(columns[row].tolist())} in row {row}."
                )
            numbers = np.argmax(columns, axis=1)
        else:
            numbers = columns[:, 0]
            top = np.inf if self.n_classes is None else self.n_classes - 1
            rule = "whole numbers from 0" + (f" to {top}" if self.n_classes else "")
            refuse((numbers != np.floor(numbers)) | (numbers < 0) | (numbers > top), numbers, rule)
        return np.asarray(numbers, dtype=np.int64)

    def _check(self, raw: Tensor, y: Tensor) -> None:
        n_classes = raw.shape[-1] - self._learns
        rows = y.shape[:-1] if _is_soft(raw, y) else y.shape
        if raw.ndim < 2 or not rows or rows[-1] != raw.shape[-2]:
            raise DataError(
                f"raw must have shape (..., B, K) and y (..., B) with class numbers or "
                f"(..., B, K) with one-hot rows. Got {tuple(raw.shape)} and {tuple(y.shape)}."
            )
        if not _is_soft(raw, y) and y.numel():
            low, high = int(y.min()), int(y.max())
            if low < 0 or high >= n_classes:
                raise DataError(
                    f"y must be class numbers from 0 to {n_classes - 1}, one for each raw "
                    f"output. Got values from {low} to {high}."
                )
        if self.label_noise:
            check_noise(self.label_noise, (n_classes - 1) / n_classes)
        if look_like_softmax(self._logits(raw)):
            warn_about_softmax(n_classes)

    def _smoothed(self, y: Tensor, n_classes: int) -> Tensor:
        """Return probabilities (..., B, K) mixed with the uniform distribution."""
        return y * (1 - self.label_smoothing) + self.label_smoothing / n_classes

    def _logits(self, raw: Tensor) -> Tensor:
        return raw[..., :-1] if self._learns else raw

    def _gate(self, rows: Tensor) -> tuple[Tensor, Gate]:
        """Return the logits and the label noise, both with the rows last."""
        if isinstance(self.label_noise, float):
            return rows, Gate.fixed(self.label_noise, rows.shape[-2], rows)
        n_classes = rows.shape[-2] - 1
        return rows[..., :-1, :], Gate.learnt(rows[..., -1:, :], n_classes)

    def _target(self, raw: Tensor, y: Tensor) -> Tensor:
        """Return smoothed probabilities of the labels seen, shape (..., K, B)."""
        n_classes = raw.shape[-1] - self._learns
        if not _is_soft(raw, y):
            y = one_hot(_index(raw, y).squeeze(-1), n_classes).to(raw.dtype)
        return self._smoothed(y, n_classes).mT.contiguous()

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        if self.label_noise:
            logits, gate = self._gate(raw.mT)
            return class_error(gate, logits, self._target(raw, y))
        log_p = raw.log_softmax(-1)
        if _is_soft(raw, y):
            return -(self._smoothed(y, raw.shape[-1]) * log_p).sum(-1)
        error = -log_p.gather(-1, _index(raw, y)).squeeze(-1)
        if not self.label_smoothing:
            return error
        return error * (1 - self.label_smoothing) - log_p.mean(-1) * self.label_smoothing

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, K), without checks.

        Without label noise the gradient is softmax(a) - target.
        """
        if self.label_noise:
            logits, gate = self._gate(raw.mT.contiguous())
            error, blocks = class_error_and_gradients(gate, logits, self._target(raw, y))
            return error, rows_first(blocks)
        if _is_soft(raw, y):
            log_p = raw.log_softmax(-1)
            target = self._smoothed(y, raw.shape[-1])
            total = target.sum(-1, keepdim=True)
            return -(target * log_p).sum(-1), log_p.exp().mul_(total).sub_(target)

        if raw.shape[-1] < _MANY_CLASSES and raw.device.type == "cpu":
            # torch's softmax is slow along a short last axis: put rows last while it runs
            error, gradient = self._by_number(raw.mT.contiguous(), _index(raw, y).mT, axis=-2)
            return error, gradient.mT.contiguous()
        return self._by_number(raw, _index(raw, y), axis=-1)

    def _by_number(self, raw: Tensor, index: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """Return error and gradient for class numbers, with the classes along ``axis``."""
        log_p = raw.log_softmax(axis)
        chosen = log_p.gather(axis, index)
        share = self.label_smoothing
        # expm1 keeps p - 1 of the right class when p is within rounding of 1
        if not share:
            gradient = log_p.exp_().scatter_(axis, index, chosen.expm1())
            return chosen.squeeze(axis).neg_(), gradient

        error = log_p.mean(axis).mul_(-share).sub_(chosen.squeeze(axis), alpha=1 - share)
        gradient = log_p.exp_().scatter_(axis, index, chosen.expm1().add_(share))
        return error, gradient.sub_(share / raw.shape[axis])

    def distribution(self, raw: Tensor) -> Distribution:
        """Return categorical distributions of the labels seen."""
        if self.label_noise:
            logits, gate = self._gate(raw.mT)
            return TorchCategorical(logits=gate.log_seen(logits.log_softmax(-2)).mT)
        return TorchCategorical(logits=raw)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the probabilities of the true class, shape (..., B, K)."""
        return self._logits(raw).softmax(-1)

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return the share of rows whose largest logit is at the right class."""
        number = y.argmax(-1) if _is_soft(raw, y) else y
        return accuracy(self._logits(raw).argmax(-1) == number, raw, weight)

    def _to_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "n_classes": self.n_classes,
            "label_smoothing": self.label_smoothing,
            "label_noise": self.label_noise,
        }


def _is_soft(raw: Tensor, y: Tensor) -> bool:
    """Return whether ``y`` has a probability for each class rather than a class number."""
    return y.ndim == raw.ndim


def _index(raw: Tensor, y: Tensor) -> Tensor:
    """Return class numbers as an index (..., B, 1) into ``raw``."""
    if y.ndim < raw.ndim - 1:
        y = y.expand(raw.shape[:-1])
    return y.unsqueeze(-1)
