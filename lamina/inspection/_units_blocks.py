"""Send data through a network in blocks of rows, so that wide networks fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lamina._errors import DataError
from lamina._typing import FloatArray
from lamina.nn import Network

from ._arrays import numbers

_ENTRIES = 2**22
"""Most numbers of a block in one layer: 32 MiB."""


@dataclass(frozen=True)
class Block:
    """What some rows are in each layer.

    Attributes
    ----------
    rows : slice
        Which rows.
    inputs : Tensor of shape (B, D)
        The rows.
    before, after, slopes : list of Tensor of shape (B, units)
        Pre-activations, activations, and the slopes of the activation there.
    """

    rows: slice
    inputs: Tensor
    before: list[Tensor]
    after: list[Tensor]
    slopes: list[Tensor]


def data_matrix(net: Network, X: Any, *, minimum: int = 1) -> FloatArray:
    """Return finite inputs (N, D) of a network, or say what is wrong with them."""
    array = numbers("X", X)
    n_inputs = net.sizes[0]
    if array.ndim != 2 or array.shape[1] != n_inputs:
        raise DataError(
            f"X must have shape (n_samples, {n_inputs}), as the network has {n_inputs} inputs. "
            f"Got shape {array.shape}."
        )
    if len(array) < minimum:
        raise DataError(f"X must have at least {minimum} rows. Got {len(array)}.")
    return array


def blocks(net: Network, X: FloatArray) -> Iterator[Block]:
    """Yield what a float64 network does with some rows after others.

    Raises
    ------
    DataError
        If a pre-activation is not finite, or its square is not.
    """
    height = max(1, _ENTRIES // max(net.sizes))
    for start in range(0, len(X), height):
        rows = slice(start, min(start + height, len(X)))
        yield _block(net, torch.tensor(X[rows]), rows)


def _block(net: Network, inputs: Tensor, rows: slice) -> Block:
    before: list[Tensor] = net.preactivations(inputs)
    after, slopes = [], []
    for i, (a, activation) in enumerate(zip(before, net.activations, strict=True)):
        if not torch.isfinite(torch.linalg.vector_norm(a)):
            what = "infinite or undefined ones"
            if torch.isfinite(a).all():
                what = f"ones as large as {a.abs().max().item():.3g}"
            raise DataError(
                f"X must give finite pre-activations, squared too. Got {what} in layer "
                f"{i + 1}. Scale X to a spread of about 1."
            )
        learned = net.slopes[i]
        after.append(activation.forward(a, learned))
        slopes.append(activation.derivative(a, learned))
    return Block(rows, inputs, before, after, slopes)
