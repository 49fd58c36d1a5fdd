"""Multiply a network without a nonlinearity out to one affine map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamina._errors import ParameterError

from ._activation import Activation
from ._initialisation import Layer


def collapse(layers: Sequence[Layer], activations: Sequence[Activation]) -> Layer:
    """Return the one pair (W, b), in float64, that the layers amount to."""
    for i, activation in enumerate(activations, start=1):
        # No kink and not curved: the function is the identity.
        if activation.breakpoints != ():
            raise ParameterError(
                f"activation must be 'identity' in every layer to collapse a network. "
                f"Got {activation.spec!r} in layer {i}."
            )
    weights = np.eye(layers[0][0].shape[1])
    biases = np.zeros(layers[0][0].shape[1])
    for W, b in layers:
        # float32 factors are promoted to the float64 of the product.
        weights, biases = W @ weights, W @ biases + b
    return weights, biases
