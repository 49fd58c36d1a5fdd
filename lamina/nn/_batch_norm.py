"""Fold batch normalisation, which at prediction is a fixed affine map, into a linear layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lamina._errors import ParameterError


def batch_norm_map(place: str, norm: nn.BatchNorm1d, width: int | None) -> tuple[Tensor, Tensor]:
    r"""Return scale and shift of a batch normalisation in eval mode, in float64.

    .. math:: y = \gamma\,\frac{x - \mu}{\sqrt{v + \epsilon}} + \beta = s x + t

    Parameters
    ----------
    place : str
        Where the module stands, for messages.
    norm : nn.BatchNorm1d
        The module.
    width : int or None
        Units of the layer before it, where there is one.
    """
    if norm.training:
        raise ParameterError(
            f"{place} must be in eval mode to be folded into a Linear layer. Got BatchNorm1d in "
            "training mode, whose outputs depend on the batch. Call module.eval() first."
        )
    mean, variance = norm.running_mean, norm.running_var
    if mean is None or variance is None:
        raise ParameterError(
            f"{place} must have running statistics to be folded into a Linear layer. Got "
            "BatchNorm1d with track_running_stats=False, whose outputs depend on the batch."
        )
    if width is not None and width != norm.num_features:
        raise ParameterError(
            f"{place} must take the {width} outputs of the layer before it. Got BatchNorm1d with "
            f"num_features={norm.num_features}."
        )
    scale = torch.rsqrt(variance.detach().double() + norm.eps)
    if norm.affine:
        scale = scale * norm.weight.detach().double()
    shift = -mean.detach().double() * scale
    return scale, shift if not norm.affine else shift + norm.bias.detach().double()


def fold_after(W: Tensor, b: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
    """Return the layer that scales and shifts the outputs of another, in its dtype."""
    weights, biases = scale[:, None] * W.double(), scale * b.double() + shift
    return weights.to(W.dtype), biases.to(b.dtype)


def fold_before(W: Tensor, b: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
    """Return the layer that scales and shifts the inputs of another, in its dtype."""
    weights, biases = W.double() * scale, W.double() @ shift + b.double()
    return weights.to(W.dtype), biases.to(b.dtype)
