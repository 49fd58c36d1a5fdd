"""A network as arrays that symmetries change, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from lamina._checks import check_integer
from lamina._errors import DataError, ParameterError
from lamina._finite import all_finite
from lamina._typing import FloatArray, IntArray
from lamina.nn import Activation, Network

from ._as_network import as_network
from ._symmetry_group import answer, values_of


@dataclass(eq=False)
class Layers:
    """Weights, biases, slopes (float64, changed in place) and activations of every layer."""

    weights: list[FloatArray]
    biases: list[FloatArray]
    slopes: list[FloatArray | None]
    activations: list[Activation]
    dtype: torch.dtype = field(default=torch.float64)

    @property
    def n_hidden(self) -> int:
        """The number of hidden layers, which are those of index 0 to n_hidden - 1."""
        return len(self.weights) - 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of units from inputs to outputs."""
        return (self.weights[0].shape[1], *(len(b) for b in self.biases))

    def copy(self) -> Layers:
        """Return a copy with its own memory."""
        slopes = [None if slope is None else slope.copy() for slope in self.slopes]
        return Layers(
            [W.copy() for W in self.weights],
            [b.copy() for b in self.biases],
            slopes,
            list(self.activations),
            self.dtype,
        )

    def parameters(self) -> FloatArray:
        """Return all parameters in one vector (P,)."""
        parts = [*self.weights, *self.biases, *(s for s in self.slopes if s is not None)]
        return np.concatenate([part.ravel() for part in parts])


def layers_of(net: Any, name: str = "net") -> Layers:
    """Return the arrays of a network, and the dtype it had."""
    network = as_network(net, name)
    first = next(net.parameters(), None)
    return Layers(
        [W.detach().numpy() for W in network.weights],
        [b.detach().numpy() for b in network.biases],
        [None if slope is None else slope.detach().numpy() for slope in network.slopes],
        list(network.activations),
        torch.float32 if first is not None and first.dtype != torch.float64 else torch.float64,
    )


def network_of(layers: Layers, dtype: torch.dtype | None = None) -> Network:
    """Return a network that may share the arrays' memory, in the dtype that the first one had."""
    pairs = list(zip(layers.weights, layers.biases, strict=True))
    network = Network.from_arrays(
        pairs,
        layers.activations[:-1],
        output_activation=layers.activations[-1],
        slopes=layers.slopes,
        copy=False,
    ).to(dtype or layers.dtype)
    if not all(all_finite(values) for values in network.parameters()):
        name = str(network.dtype).removeprefix("torch.")
        raise DataError(
            f"The new weights must be finite in {name}. Got one beyond its range, since weights "
            "or factors are too far from 1."
        )
    return network


def outputs_of(layers: Layers, X: FloatArray) -> FloatArray:
    """Return finite raw outputs (N, Q) in float64, without the cost of making a network."""
    h = X
    with np.errstate(over="ignore", invalid="ignore"):
        for i, activation in enumerate(layers.activations):
            slopes = layers.slopes[i]
            told = None if slopes is None else torch.from_numpy(slopes)
            h = values_of(activation, h @ layers.weights[i].T + layers.biases[i], told)
    return _finite(h)


def finite_outputs(network: Network, X: FloatArray) -> FloatArray:
    """Return raw outputs (N, Q), or say that they leave float64."""
    return _finite(network.predict_raw(X))


def _finite(outputs: FloatArray) -> FloatArray:
    """Return outputs (N, Q), or say which leave float64."""
    if not np.isfinite(outputs).all():
        wrong = int(np.flatnonzero(~np.isfinite(outputs).all(axis=1))[0])
        raise DataError(
            f"The outputs must be finite to be compared. Got {outputs[wrong].max()} for input "
            f"{wrong}, since the weights or the inputs are too large."
        )
    return outputs


def check_layer(layers: Layers, layer: Any) -> int:
    """Return the index from 0 of a hidden layer that is counted from 1."""
    if not layers.n_hidden:
        raise ParameterError(
            f"net must have a hidden layer. Got sizes {layers.sizes}, one affine map."
        )
    return check_integer("layer", layer, 1, layers.n_hidden) - 1


def apply_order(layers: Layers, i: int, order: IntArray) -> None:
    """Make unit k of hidden layer i what unit ``order[k]`` was."""
    slopes = layers.slopes[i]
    layers.weights[i] = layers.weights[i][order]
    layers.biases[i] = layers.biases[i][order]
    layers.slopes[i] = None if slopes is None else slopes[order]
    layers.weights[i + 1] = layers.weights[i + 1].take(order, axis=1)


def apply_factors(layers: Layers, i: int, factors: FloatArray) -> None:
    """Multiply the pre-activations of hidden layer i, and undo it in the layer above."""
    told = answer(layers.activations[i], factors, layers.slopes[i])
    # What leaves float64 is refused where a network is made of the arrays.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        layers.weights[i] = layers.weights[i] * factors[:, None]
        layers.biases[i] = layers.biases[i] * factors
        layers.slopes[i] = told.slopes
        above = layers.weights[i + 1] / told.p
        layers.weights[i + 1] = above
        if told.q.any():
            layers.biases[i + 1] = layers.biases[i + 1] - above @ told.q


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of rows that stay in a cache of some megabytes while they are worked on."""
    step = max(1, 2**17 // max(1, n_columns))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def apply_matrix(layers: Layers, i: int, matrix: FloatArray) -> None:
    """Multiply the pre-activations of a linear hidden layer by an invertible matrix."""
    # What leaves float64 is refused where a network is made of the arrays.
    with np.errstate(over="ignore", invalid="ignore"):
        layers.weights[i] = matrix @ layers.weights[i]
        layers.biases[i] = matrix @ layers.biases[i]
    layers.weights[i + 1] = np.linalg.solve(matrix.T, layers.weights[i + 1].T).T
