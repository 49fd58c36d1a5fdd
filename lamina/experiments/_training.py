"""What the training experiments share: full batches, torch's initialisation, and scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lamina._typing import Array, FloatArray
from lamina.heads import Head
from lamina.nn import Network
from lamina.stack import Member


def full_batch(
    hidden: Sequence[int],
    activation: str,
    head: Head,
    *,
    n_rows: int,
    seed: int,
    learning_rate: float = 0.01,
    epochs: int = 500,
    rows: Array | None = None,
    init: str | Network = "torch",
) -> Member:
    """Return a member that Adam trains on all its rows at once, by default from nn.Linear."""
    return Member(
        tuple(hidden),
        activation,
        head,
        init=init,
        seed=seed,
        rows=rows,
        batch_size=n_rows,
        learning_rate=learning_rate,
        max_epochs=epochs,
        shuffle=False,
    )


def raw_outputs(network: Network, X: FloatArray) -> torch.Tensor:
    """Return raw outputs (N, Q) in the network's own precision."""
    with torch.no_grad():
        return network.forward(torch.as_tensor(X, dtype=network.dtype))


def head_targets(head: Head, y: Array, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return targets as the head takes them."""
    targets = torch.as_tensor(head.targets(y))
    return targets.to(dtype) if targets.is_floating_point() else targets


def score(network: Network, head: Head, X: FloatArray, y: Array) -> float:
    """Return the head's metric of a network."""
    return head.score(raw_outputs(network, X), head_targets(head, y)).item()


def mean_error(network: Network, head: Head, X: FloatArray, y: Array) -> float:
    """Return the mean error in nats per row."""
    raw = raw_outputs(network, X).double()
    return head.error(raw, head_targets(head, y, torch.float64)).mean().item()


def backward(
    network: Network, X: torch.Tensor, delta: torch.Tensor
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    r"""Return the gradient of each layer's (W, b) by the recursion over the layers.

    .. math:: \delta^{(l)} = f'(a^{(l)}) \odot W^{(l+1)\top} \delta^{(l+1)}, \qquad
              \nabla W^{(l)} = \sum_n \delta_n^{(l)} h_n^{(l-1)\top}
    """
    with torch.no_grad():
        before, hidden = network.preactivations(X), network.hidden(X)
        entering = [X, *hidden]
        gradients = []
        for i in reversed(range(len(entering))):
            gradients.append((delta.mT @ entering[i], delta.sum(0)))
            if i:
                slope = network.activations[i - 1].derivative(before[i - 1])
                delta = (delta @ network.weights[i]) * slope
    return gradients[::-1]


def largest_gap(a: Array | torch.Tensor, b: Array | torch.Tensor) -> float:
    """Return the largest absolute difference."""
    return float(np.max(np.abs(np.asarray(a) - np.asarray(b))))
