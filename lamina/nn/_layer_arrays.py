"""Check a list of weights and biases and make tensors of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import check_choice, shown
from lamina._errors import ParameterError
from lamina._typing import DTYPES

from ._activation import Activation
from ._arrays import numeric_array
from ._piecewise import PReLU


def torch_dtype(dtype: str) -> torch.dtype:
    """Return torch's dtype of the name ``"float32"`` or ``"float64"``."""
    return torch.float32 if check_choice("dtype", dtype, DTYPES) == "float32" else torch.float64


def _tensor(name: str, values: Any) -> Tensor:
    """Return a tensor that shares the memory of ``values`` where that can be."""
    if isinstance(values, Tensor):
        return values.detach()
    array = numeric_array(name, values)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    writable = array.flags.writeable and array.dtype.isnative
    return torch.from_numpy(array if writable else array.astype(array.dtype.newbyteorder("=")))


def layer_tensors(layers: Any) -> list[tuple[Tensor, Tensor]]:
    """Return the layers as pairs of tensors whose shapes fit one another."""
    if not isinstance(layers, Sequence) or isinstance(layers, str) or not layers:
        raise ParameterError(
            f"layers must be a list of pairs (weights, biases). Got {shown(layers)}."
        )
    pairs: list[tuple[Tensor, Tensor]] = []
    for i, layer in enumerate(layers):
        if not isinstance(layer, Sequence) or isinstance(layer, str) or len(layer) != 2:
            raise ParameterError(
                f"layers[{i}] must be a pair (weights, biases). Got {shown(layer)}."
            )
        weights = _tensor(f"layers[{i}] weights", layer[0])
        biases = _tensor(f"layers[{i}] biases", layer[1])
        _check_shapes(i, weights, biases, pairs[-1][0].shape[0] if pairs else None)
        pairs.append((weights, biases))
    return pairs


def _check_shapes(i: int, weights: Tensor, biases: Tensor, fan_in: int | None) -> None:
    """Refuse a layer that does not follow the one before it."""
    got = tuple(weights.shape)
    if weights.ndim != 2 or (fan_in is not None and got[1] != fan_in) or 0 in got:
        wanted = "(out, in)" if fan_in is None else f"(out, {fan_in})"
        turned = fan_in is not None and weights.ndim == 2 and got[0] == fan_in
        cure = " Weights are stored (out, in): transpose them." if turned else ""
        raise ParameterError(f"layers[{i}] weights must have shape {wanted}. Got {got}.{cure}")
    if tuple(biases.shape) != (got[0],):
        raise ParameterError(
            f"layers[{i}] biases must have shape ({got[0]},). Got {tuple(biases.shape)}."
        )


def common_dtype(tensors: Sequence[Tensor]) -> torch.dtype:
    """Return float32 if all tensors are, else float64 if any is, and float32 for smaller ones."""
    dtypes = {tensor.dtype for tensor in tensors}
    small = dtypes <= {torch.float32, torch.float16, torch.bfloat16}
    return torch.float32 if small else torch.float64


def slope_tensors(
    slopes: Sequence[Any] | None, activations: Sequence[Activation], sizes: Sequence[int]
) -> list[Tensor | None]:
    """Return the learned slopes of each layer, ``None`` where its activation has none."""
    n_layers = len(activations)
    given = [None] * n_layers if slopes is None else list(slopes)
    if len(given) != n_layers:
        raise ParameterError(
            f"slopes must have one entry for each of the {n_layers} layers, None where the "
            f"activation learns none. Got {len(given)}."
        )
    tensors: list[Tensor | None] = []
    for i, (value, activation, size) in enumerate(zip(given, activations, sizes[1:], strict=True)):
        if not activation.learned:
            if value is not None:
                raise ParameterError(
                    f"slopes[{i}] must be None, since {activation.spec!r} has no learned slope. "
                    f"Got {shown(value)}."
                )
            tensors.append(None)
            continue
        start = activation.init if isinstance(activation, PReLU) else 0.0
        fresh = torch.full((size,), start, dtype=torch.float64)
        slope = fresh if value is None else _tensor(f"slopes[{i}]", value)
        if tuple(slope.shape) != (size,):
            raise ParameterError(
                f"slopes[{i}] must have shape ({size},). Got {tuple(slope.shape)}."
            )
        tensors.append(slope)
    return tensors
