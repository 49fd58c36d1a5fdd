"""Turn a network into plain data for a file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from lamina._checks import shown
from lamina._errors import FileError, ParameterError
from lamina._typing import Array

from ._activation import Activation
from ._activations import get_activation
from ._arrays import as_numpy
from ._layer_sizes import check_layer_sizes


def state_of(
    layers: Sequence[tuple[Tensor, Tensor]],
    activations: Sequence[Activation],
    slopes: Sequence[Tensor | None],
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what describes the network as JSON, and its arrays by name."""
    for activation in activations:
        if get_activation(activation.spec) != activation:
            raise ParameterError(
                f"activation must be one of lamina.nn.ACTIVATIONS to be saved. "
                f"Got {shown(activation)}."
            )
    config = {
        "sizes": [layers[0][0].shape[1], *(W.shape[0] for W, _ in layers)],
        "activations": [activation.spec for activation in activations],
        "dtype": str(layers[0][0].dtype).removeprefix("torch."),
    }
    arrays: dict[str, Array] = {}
    for i, ((W, b), slope) in enumerate(zip(layers, slopes, strict=True)):
        arrays[f"weights.{i}"], arrays[f"biases.{i}"] = as_numpy(W), as_numpy(b)
        if slope is not None:
            arrays[f"slopes.{i}"] = as_numpy(slope)
    return config, arrays


def read_state(
    config: Mapping[str, Any], arrays: Mapping[str, Array]
) -> tuple[list[tuple[Array, Array]], list[Activation], list[Array | None], str]:
    """Return layers, activations, slopes and dtype, or say what the file lacks."""
    missing = {"sizes", "activations", "dtype"} - config.keys()
    if missing:
        raise FileError(f"The network must have {sorted(missing)[0]!r} in its description.")
    sizes = check_layer_sizes(config["sizes"])
    specs = config["activations"]
    if not isinstance(specs, list) or len(specs) != len(sizes) - 1:
        raise FileError(
            f"The network's activations must be {len(sizes) - 1} names. Got {shown(specs)}."
        )
    activations = [get_activation(spec) for spec in specs]
    layers, slopes = [], []
    for i, activation in enumerate(activations):
        names = [f"weights.{i}", f"biases.{i}", *([f"slopes.{i}"] if activation.learned else [])]
        shapes = [(sizes[i + 1], sizes[i]), (sizes[i + 1],), (sizes[i + 1],)]
        found = [_array(arrays, *pair) for pair in zip(names, shapes, strict=False)]
        layers.append((found[0], found[1]))
        slopes.append(found[2] if activation.learned else None)
    return layers, activations, slopes, config["dtype"]


def _array(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """Return one array, or say that it is not there or of another shape."""
    if name not in arrays or arrays[name].shape != shape:
        got = f"shape {arrays[name].shape}" if name in arrays else "no such array"
        raise FileError(f"The network's array {name!r} must have shape {shape}. Got {got}.")
    return arrays[name]
