"""The value of a loss with its gradients in closed form, for autograd too."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lamina._checks import check_real
from lamina._errors import DataWarning, ParameterError


@dataclass(frozen=True)
class ContrastiveLoss:
    """A contrastive loss, its gradients, and what to compare it with.

    Attributes
    ----------
    value : Tensor, a scalar
        In nats, the mean over the anchors that count. Where an input requires a gradient, the
        value can be differentiated by autograd, which then uses the closed form. Second
        derivatives are refused.
    gradients : tuple of Tensor
        Derivatives on the inputs, each of the shape of its input, in the precision of the value.
    n_anchors : int
        Anchors in the mean: those with a positive and with a negative or a second positive.
    n_skipped : int
        Anchors left out, since no value of theirs depends on the embeddings.
    n_zero_rows : int
        Rows without a direction; their cosines are 0 and so are their gradients.
    collapse : float
        The loss if all embeddings were one point, which is also that of guessing.
    floor : float
        What no embedding can fall below.
    """

    value: Tensor
    gradients: tuple[Tensor, ...]
    n_anchors: int
    n_skipped: int
    n_zero_rows: int
    collapse: float
    floor: float

    def __float__(self) -> float:
        return self.value.item()


class _Attached(torch.autograd.Function):
    """A number whose derivatives are known already."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, n: int, *tensors: Tensor) -> Tensor:
        """Keep the derivatives (the first n) of the inputs (the last n)."""
        ctx.save_for_backward(*tensors)
        ctx.n = n
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        """Multiply them by what comes from above."""
        gradients, inputs = ctx.saved_tensors[: ctx.n], ctx.saved_tensors[ctx.n :]
        found = [
            (gradient * outer[0]).to(x.dtype)
            for gradient, x in zip(gradients, inputs, strict=True)
        ]
        if torch.is_grad_enabled():  # they will be differentiated again
            found = [_Once.apply(gradient, *inputs) for gradient in found]  # type: ignore[no-untyped-call]
        return (None, None, *(None for _ in found), *found)


class _Once(torch.autograd.Function):
    """A derivative that depends on the inputs in a way that is not known.

    Torch's ``once_differentiable`` would not do: it has no path to the inputs, so that
    ``torch.autograd.grad`` passes it by.
    """

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *inputs: Tensor) -> Tensor:
        """Return the derivative."""
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        """Refuse."""
        raise RuntimeError(
            "A loss of lamina.represent must be differentiated once. Got a second derivative. "
            "Write the loss in operations of torch to have those."
        )


def attach(value: Tensor, gradients: Sequence[Tensor], inputs: Sequence[Any]) -> Tensor:
    """Return the value, differentiable where one of the inputs is."""
    tensors = [x if isinstance(x, Tensor) else torch.zeros(()) for x in inputs]
    if not any(tensor.requires_grad for tensor in tensors):
        return value
    attached: Tensor = _Attached.apply(value, len(tensors), *gradients, *tensors)  # type: ignore[no-untyped-call]
    return attached


LEAST_TEMPERATURE = 1e-30
"""Below it 1/τ and what it multiplies do not fit into float32."""


def check_temperature(temperature: Any) -> float:
    """Return a temperature above 0."""
    tau = check_real("temperature", temperature, 0.0, open_minimum=True)
    if tau < LEAST_TEMPERATURE:
        raise ParameterError(
            f"temperature must be at least {LEAST_TEMPERATURE:g}, so that 1/temperature fits "
            f"into float32. Got {tau:g}."
        )
    return tau


def warn_of_skipped(n_skipped: int, n_all: int, what: str) -> None:
    """Say how many anchors a loss left out, and why."""
    if n_skipped:
        warnings.warn(
            f"{n_skipped} of {n_all} anchors are left out of the loss: {what}.",
            DataWarning,
            stacklevel=3,
        )


def warn_of_zeros(n_zero_rows: int) -> None:
    """Say how many rows have no direction."""
    if n_zero_rows:
        warnings.warn(
            f"{n_zero_rows} rows of embeddings are zero and have no direction; their cosines and "
            "gradients are 0.",
            DataWarning,
            stacklevel=3,
        )
