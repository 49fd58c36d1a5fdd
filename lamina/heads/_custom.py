"""A head made of the user's own torch loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from torch import Tensor

from lamina._checks import check_integer, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array

from ._head import Head
from ._metrics import weighted_mean
from ._targets import float_columns

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, init=False)
class Custom(Head):
    r"""Any differentiable loss of raw outputs and targets, row by row.

    The gradient :math:`\partial E / \partial a` comes from automatic differentiation over the
    raw outputs alone, so a step costs somewhat more than with a ready head.

    Parameters
    ----------
    loss : callable
        ``loss(raw, y)`` for tensors of shape (..., B, Q) and (..., B, T), which returns the
        error of each row, shape (..., B). Rows must not depend on one another.
    n_raw : int, optional
        Number of raw outputs Q. By default, as many as target columns T.
    name : str, default="custom"
        What messages and tables call it.

    Notes
    -----
    `mean` returns the raw outputs and `score` minus the mean loss. There is no distribution,
    and a model with this head cannot be saved, since a file holds no code.

    Examples
    --------
    >>> import torch
    >>> median = Custom(lambda raw, y: (raw - y).abs().sum(-1), name="absolute error")
    >>> raw, y = torch.tensor([[1.0], [3.0]]), torch.tensor([[1.5], [1.0]])
    >>> median.gradient(raw, y)
    tensor([[-1.],
            [ 1.]])
    """

    loss: Loss
    n_raw_outputs: int | None
    label: str

    name: ClassVar[str] = "custom"
    canonical: ClassVar[bool] = False
    metric_name: ClassVar[str] = "minus the loss"

    def __init__(self, loss: Loss, n_raw: int | None = None, name: str = "custom") -> None:
        if not callable(loss):
            raise ParameterError(f"loss must be a function of raw and y. Got {shown(loss)}.")
        if n_raw is not None:
            n_raw = check_integer("n_raw", n_raw, 1)
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "n_raw_outputs", n_raw)
        object.__setattr__(self, "label", name)

    def n_raw(self, n_targets: int) -> int:
        """Return the ``n_raw`` given at construction, else ``n_targets``."""
        return super().n_raw(n_targets) if self.n_raw_outputs is None else self.n_raw_outputs

    def targets(self, y: Array) -> Array:
        """Return ``y`` as finite float64 of shape (N, T)."""
        return float_columns(y)

    def _check(self, raw: Tensor, y: Tensor) -> None:
        if raw.ndim < 2 or y.ndim < 2 or raw.shape[-2] != y.shape[-2]:
            raise DataError(
                f"raw and y must have shapes (..., B, Q) and (..., B, T) with as many rows. "
                f"Got {tuple(raw.shape)} and {tuple(y.shape)}."
            )

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        error = self.loss(raw, y)
        if error.shape != raw.shape[:-1]:
            raise ParameterError(
                f"loss must return one error for each row, shape {tuple(raw.shape[:-1])}. Got "
                f"shape {tuple(error.shape)} from {self.label!r}. Sum over the last axis only."
            )
        return error

    def distribution(self, raw: Tensor) -> NoReturn:
        """Raise, since a bare loss is no distribution."""
        raise ParameterError(
            f"head must be one with a distribution. Got the loss {self.label!r}. Use a subclass "
            "of Head that defines one, or ask for mean only."
        )

    def mean(self, raw: Tensor) -> Tensor:
        """Return ``raw`` itself."""
        return raw

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return minus the mean loss."""
        return -weighted_mean(self._error(raw, y), weight)

    def _to_config(self) -> dict[str, Any]:
        raise ParameterError(
            f"head must be one of lamina's to be saved. Got the loss {self.label!r}, a Python "
            "function, and a saved model holds no code."
        )
