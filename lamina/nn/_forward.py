"""The forward pass of a layered network, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor
from torch.nn import functional

from ._activation import Activation


def trace(
    X: Tensor,
    weights: Iterable[Tensor],
    biases: Iterable[Tensor],
    activations: Iterable[Activation],
    slopes: Iterable[Tensor | None],
) -> tuple[list[Tensor], list[Tensor]]:
    """Return pre-activations and activations of every layer, each (..., out).

    For the rows of a data matrix each layer is ``H @ W.T + b``, biases broadcast over rows.
    """
    before: list[Tensor] = []
    after: list[Tensor] = []
    h = X
    for W, b, activation, slope in zip(weights, biases, activations, slopes, strict=True):
        a = functional.linear(h, W, b)
        h = activation.forward(a, slope)
        before.append(a)
        after.append(h)
    return before, after
