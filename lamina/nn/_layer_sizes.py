"""Check the sizes of a network's layers and give each layer its activation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina._checks import check_sizes, shown
from lamina._errors import ParameterError

from ._activation import Activation
from ._activations import get_activation
from ._piecewise import Identity


def check_layer_sizes(sizes: Any) -> tuple[int, ...]:
    """Return the sizes from input to output, at least two of them."""
    checked = check_sizes("sizes", sizes)
    if len(checked) < 2:
        raise ParameterError(
            f"sizes must be at least two integers, inputs first and outputs last. "
            f"Got {shown(sizes)}."
        )
    return checked


def hidden_activations(
    activation: str | Activation | Sequence[str | Activation], n_hidden: int
) -> tuple[Activation, ...]:
    """Return one activation for each hidden layer, from one for all or one for each."""
    if isinstance(activation, str | Activation) or not isinstance(activation, Sequence):
        return (get_activation(activation),) * n_hidden
    if len(activation) != n_hidden:
        raise ParameterError(
            f"activation must be one activation or one for each of the {n_hidden} hidden layers. "
            f"Got {len(activation)} of them."
        )
    return tuple(
        get_activation(spec, parameter=f"activation[{i}]") for i, spec in enumerate(activation)
    )


def layer_activations(
    activations: str | Activation | Sequence[str | Activation], n_layers: int
) -> tuple[Activation, ...]:
    """Return one activation for each layer of weights; the last is the identity if not given."""
    if not isinstance(activations, str | Activation) and len(activations) == n_layers:
        return hidden_activations(activations, n_layers)
    return (*hidden_activations(activations, n_layers - 1), Identity())


def all_activations(
    activation: str | Activation | Sequence[str | Activation],
    output_activation: str | Activation,
    n_layers: int,
) -> tuple[Activation, ...]:
    """Return one activation for each layer of weights, the output's last."""
    hidden = hidden_activations(activation, n_layers - 1)
    return (*hidden, get_activation(output_activation, parameter="output_activation"))
