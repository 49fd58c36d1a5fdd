"""What an inspection takes for a network: ours, or anybody's that ours can read."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._finite import all_finite
from lamina.nn import Network


def as_network(net: Any, name: str = "net") -> Network:
    """Return a float64 copy on the CPU, or a sentence on what ``net`` is instead."""
    if not isinstance(net, nn.Module):
        cure = " Pass model.networks_[0]." if getattr(net, "networks_", None) else ""
        raise ParameterError(
            f"{name} must be a Network or a torch module that Network.from_torch reads. "
            f"Got {shown(net) if not cure else type(net).__name__}.{cure}"
        )
    for part in net.parameters():
        if part.device.type == "meta" or part.is_complex():
            what = "complex ones" if part.is_complex() else "none: they are on the device 'meta'"
            raise ParameterError(f"{name} must have weights of real numbers. Got {what}.")
    network = Network.from_torch(net).to(device="cpu", dtype=torch.float64)
    slopes = network.slopes
    for i, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        slope = slopes[i]
        for values in (W, b) if slope is None else (W, b, slope):
            if all_finite(values):
                continue
            wrong = values[~torch.isfinite(values)][0].item()
            raise DataError(f"{name} must have finite weights. Got {wrong} in layer {i + 1}.")
    return network.requires_grad_(False)
