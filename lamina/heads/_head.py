"""What every head can do: error, gradient, distribution, mean and score of raw outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import Array


def over_outputs(values: Tensor) -> Tensor:
    """Return the sum over the last axis, (..., B, Q) to (..., B); free of charge for Q = 1."""
    return values.squeeze(-1) if values.shape[-1] == 1 else values.sum(-1)


class Head(ABC):
    r"""An output layer's meaning: which conditional distribution the raw outputs stand for.

    A network computes raw outputs :math:`a(x)`; the head says what distribution
    :math:`p(y \mid a)` they are the parameters of. The error is its negative log-likelihood,

    .. math:: E(a, y) = -\ln p(y \mid a) \quad\text{in nats},

    always computed from the raw outputs in log space, never from probabilities.

    Attributes
    ----------
    name : str
        Name in the registry.
    canonical : bool
        Whether the gradient of the error on the raw outputs is mean minus target.
    kernel : str or None
        Name of the machine code that computes the same error and gradient, if there is one. A
        subclass does not inherit it, since it may compute something else.
    metric_name : str
        What `score` measures; larger is better.
    """

    name: ClassVar[str]
    canonical: ClassVar[bool] = False
    kernel: ClassVar[str | None] = None
    metric_name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kernel" not in vars(cls):
            cls.kernel = None

    @property
    def location_scale(self) -> bool:
        """Whether the head can follow any shift and scale of the targets.

        If y is of its family then so is a + b y. Such a head may be trained on standardised
        targets without another distribution coming out.
        """
        return False

    @abstractmethod
    def targets(self, y: Array) -> Array:
        """Return ``y`` checked and converted to what `error` takes.

        Parameters
        ----------
        y : ndarray of shape (N,) or (N, Q)
            Targets as the user has them.

        Raises
        ------
        DataError
            If a target is impossible under this head; the message names the row.
        """

    def n_targets(self, y: Array) -> int:
        """Return what `n_raw` takes: the number of target columns of ``y``."""
        return 1 if y.ndim == 1 else int(y.shape[1])

    def n_raw(self, n_targets: int) -> int:
        """Return how many raw outputs the network needs for ``n_targets``."""
        return check_integer("n_targets", n_targets, 1)

    def shared_raw(self, n_targets: int) -> int:
        """Return how many of the last raw outputs are the same in every row.

        A raw output that does not depend on the inputs is a parameter of the noise alone: the
        weights into it stay zero, and only its bias is learnt.
        """
        return 0

    def start(self, y: Array) -> Array | None:
        """Return biases (n_raw,) at which the raw outputs should begin, or None for zeros.

        Parameters
        ----------
        y : ndarray of shape (N, T), or (N,) for `Categorical`
            Targets as `targets` returns them.
        """
        return None

    @abstractmethod
    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        """Return the error of each row without checks, differentiable in ``raw``."""

    def _check(self, raw: Tensor, y: Tensor) -> None:
        """Refuse shapes that would broadcast into something else than rows and outputs."""
        if raw.ndim < 2 or y.ndim < 2 or raw.shape[-2:] != y.shape[-2:]:
            raise DataError(
                f"raw and y must both have shape (..., B, Q). Got {tuple(raw.shape)} and "
                f"{tuple(y.shape)}. Reshape a single target to (B, 1)."
            )

    def error(self, raw: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood of each row, in nats.

        Parameters
        ----------
        raw : Tensor of shape (..., B, Q)
            Raw outputs of the network, before any sigmoid, softmax or exponential.
        y : Tensor of shape (..., B, T), or (..., B) for `Categorical`
            Targets as `targets` returns them.

        Returns
        -------
        Tensor of shape (..., B)

        Raises
        ------
        DataError
            If the shapes do not belong together.
        """
        self._check(raw, y)
        return self._error(raw, y)

    def gradient(self, raw: Tensor, y: Tensor) -> Tensor:
        """Return the derivative of each row's error on its raw outputs, shape (..., B, Q)."""
        return self.error_and_gradient(raw, y)[1]

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return `error` and `gradient` together, without checks: the path of training.

        A head that knows its gradient in closed form overrides this; others get it by
        automatic differentiation over the raw outputs alone.
        """
        with torch.enable_grad():
            leaf = raw.detach().requires_grad_()
            error = self._error(leaf, y)
            (gradient,) = torch.autograd.grad(error.sum(), leaf)
        return error.detach(), gradient

    @abstractmethod
    def distribution(self, raw: Tensor) -> torch.distributions.Distribution:
        """Return the conditional distribution, one for each row of ``raw``.

        Its ``log_prob(y)`` has shape (..., B) and equals minus `error`.
        """

    @abstractmethod
    def mean(self, raw: Tensor) -> Tensor:
        """Return the conditional mean E[y | raw], shape (..., B, T).

        For `Bernoulli` and `Categorical` these are the probabilities.
        """

    @abstractmethod
    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return the head's metric, larger is better; NaN if a prediction is not finite.

        Parameters
        ----------
        raw : Tensor of shape (..., B, Q)
            Raw outputs.
        y : Tensor of shape (..., B, Q), or (..., B) for `Categorical`
            Targets.
        weight : Tensor of shape (..., B), optional
            Non-negative weights of the rows. A row of weight zero has no influence at all,
            whatever its raw outputs are.

        Returns
        -------
        Tensor of shape (...)
        """

    def _check_raw(self, raw: Tensor, y: Tensor) -> None:
        """Refuse raw outputs that are not `n_raw` for each row of ``y`` (..., B, T)."""
        apart = raw.ndim < 2 or y.ndim < 2 or raw.shape[-2] != y.shape[-2]
        if apart or raw.shape[-1] != self.n_raw(y.shape[-1]):
            wanted = f", here Q = {self.n_raw(y.shape[-1])}" if y.ndim >= 2 else ""
            raise DataError(
                f"raw must have shape (..., B, Q) with Q raw outputs for a row of y, whose shape "
                f"is (..., B, T){wanted}. Got {tuple(raw.shape)} and {tuple(y.shape)}."
            )

    def _to_config(self) -> dict[str, Any]:
        """Return name and parameters as JSON-able values."""
        return {"name": self.name}
