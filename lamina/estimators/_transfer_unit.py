"""A standardised target, and the output layer that gives it back in its own units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lamina._typing import FloatArray
from lamina.nn import Network
from lamina.tables import TargetScaler

from ._transfer_top import given_layers


@dataclass(frozen=True, eq=False)
class TargetUnit:
    """Centre and scale (T,) of a target."""

    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, y: Any, weight: FloatArray | None) -> Self:
        """Return mean and deviation of the rows that have a weight; 1 for a constant target."""
        used = slice(None) if weight is None else weight > 0
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)[used]
        scaler = TargetScaler().fit(targets, None if weight is None else weight[used])
        return cls(scaler.mean_, np.where(scaler.scale_ > 0, scaler.scale_, 1.0))

    def transform(self, y: Any) -> FloatArray:
        """Return the standardised target in the shape of y."""
        targets = np.asarray(y, dtype=np.float64)
        standard: FloatArray = (targets.reshape(len(y), -1) - self.centre) / self.scale
        return standard.reshape(targets.shape)

    def undone(self, network: Network) -> Network:
        """Return the network with outputs in units of the target."""
        layers = given_layers(network)
        W, b, _ = layers[-1]
        units = [*layers[:-1], (W * self.scale[:, None], b * self.scale + self.centre, None)]
        return Network.from_arrays(
            [(W, b) for W, b, _ in units],
            network.activations[:-1] or "identity",
            slopes=[slope for _, _, slope in units],
            dtype=str(network.dtype).removeprefix("torch."),  # type: ignore[arg-type]
        )
