"""Gradients and steps: one written out, the recursion, and members together or apart."""

from __future__ import annotations

import numpy as np
import torch

from lamina._typing import FloatArray, IntArray
from lamina.datasets import TARGETS, make_approximation, make_xor
from lamina.heads import Bernoulli, Categorical, Normal
from lamina.nn import Network, Uniform
from lamina.stack import Member, train

from ._registry import Values, experiment
from ._training import backward, head_targets, largest_gap


@experiment("one-training-step")
def one_training_step() -> Values:
    """Write one Adam step of a 2-8-1 ReLU net out: forward, loss, backward, update."""
    X, y = make_xor(random_state=189)
    network = Network((2, 8, 1), "relu", init="torch", random_state=189)
    loss, gradients = _loss_and_gradients(network, X, y)
    (W1, b1), (W2, b2) = network.layers()
    gradient = gradients[0][0].numpy()

    # after bias correction Adam's first moments are g and g²; the engine adds epsilon to the
    # uncorrected root, as scikit-learn does
    rate, epsilon = 0.05, 1e-8 / np.sqrt(1 - 0.999)
    by_hand = W1 - rate * gradient / (np.abs(gradient) + epsilon)
    member = Member((8,), "relu", Bernoulli(), init=network, batch_size=len(X),
                    learning_rate=rate, max_epochs=1, shuffle=False)  # fmt: skip
    stepped = train([member], X, y, dtype="float64").networks[0].layers()[0][0]

    dead = Network.from_arrays([(W1, np.where(np.arange(8) == 0, -10.0, b1)), (W2, b2)])
    dead_row = _loss_and_gradients(dead, X, y)[1][0][0][0]
    return {
        "loss": loss,
        "gradient_W1": gradient,
        "zero_rows": np.flatnonzero((gradient == 0).all(1)),
        "gradient_gap": largest_gap(gradient, _central_differences(network, X, y)),
        "update_gap": largest_gap(stepped, by_hand),
        "dead_rows_zero": bool((dead_row == 0).all()),
    }


def _loss_and_gradients(
    network: Network, X: FloatArray, y: IntArray
) -> tuple[float, list[tuple[torch.Tensor, torch.Tensor]]]:
    """Return the mean error and its gradient in each layer."""
    inputs = torch.from_numpy(X)
    with torch.no_grad():
        raw = network(inputs)
    head = Bernoulli()
    error, delta = head.error_and_gradient(raw, head_targets(head, y, torch.float64))
    return error.mean().item(), backward(network, inputs, delta / len(X))


def _central_differences(network: Network, X: FloatArray, y: IntArray) -> FloatArray:
    """Return the gradient of the first weight matrix by central differences."""
    (W, b), *rest = network.layers()
    gradient, step = np.empty_like(W), 1e-6
    for place in np.ndindex(W.shape):
        change = np.zeros_like(W)
        change[place] = step
        up, down = (
            _loss_and_gradients(Network.from_arrays([(W + sign * change, b), *rest]), X, y)[0]
            for sign in (1, -1)
        )
        gradient[place] = (up - down) / (2 * step)
    return gradient


@experiment("backprop-recursion")
def backprop_recursion() -> Values:
    """Compare the recursion over four layers with autograd, for one example and a batch."""
    rng = np.random.default_rng(0)
    network = Network((5, 7, 6, 4, 3), ["tanh", "gelu", "softplus"], random_state=0)
    head, gap = Categorical(), 0.0
    for n_rows in (1, 20):
        X = torch.from_numpy(rng.standard_normal((n_rows, 5)))
        y = torch.from_numpy(rng.integers(0, 3, n_rows))
        parameters = [*network.weights, *network.biases]
        expected = torch.autograd.grad(head.error(network(X), y).sum(), parameters)
        with torch.no_grad():
            delta = head.gradient(network(X), y)
        layers = backward(network, X, delta)
        got = [*(W for W, _ in layers), *(b for _, b in layers)]
        gap = max(gap, *(largest_gap(g, e) for g, e in zip(got, expected, strict=True)))
    return {"largest_gap": gap, "layers": len(network.weights)}


@experiment("stacked-training-equals-separate")
def stacked_equals_separate() -> Values:
    """Train three targets by six widths as one stack, and each net alone."""
    grids = [make_approximation(name) for name in TARGETS]
    X = np.concatenate([x for x, _ in grids])
    y = np.concatenate([t for _, t in grids])
    start = Uniform(-3, 3, "1/sqrt(width)")
    members = [
        Member(
            (width,),
            "tanh",
            Normal(),
            init=start,
            seed=10 * i + width,
            rows=np.arange(200 * i, 200 * (i + 1)),
            learning_rate=0.01,
            max_epochs=50,
        )
        for i in range(len(grids))
        for width in (1, 2, 4, 8, 16, 32)
    ]
    together = train(members, X, y, dtype="float64").networks
    alone = [train([member], X, y, dtype="float64").networks[0] for member in members]
    gap = max(
        largest_gap(a, b)
        for one, other in zip(together, alone, strict=True)
        for layer, twin in zip(one.layers(), other.layers(), strict=True)
        for a, b in zip(layer, twin, strict=True)
    )
    return {"max_difference": gap}
