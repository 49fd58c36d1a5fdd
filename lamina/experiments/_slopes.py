"""What slopes do to signals in deep networks, and what narrow linear layers can hold."""

from __future__ import annotations

import numpy as np
import torch

from lamina.heads import Normal
from lamina.nn import Network, get_activation
from lamina.stack import Member, train

from ._registry import Values, experiment
from ._training import backward


@experiment("logistic-slope-bound")
def logistic_slope_bound() -> Values:
    """Find the largest derivative of the logistic sigmoid on a wide grid."""
    grid = torch.linspace(-20, 20, 4001, dtype=torch.float64)
    return {"max": get_activation("sigmoid").derivative(grid).max().item()}


@experiment("logistic-gradient-decay")
def logistic_gradient_decay() -> Values:
    """Send a signal back through L logistic units in a row: at most 4^-L arrives."""
    depths, scaled = [1, 2, 4, 8], []
    for depth in depths:
        units = [(np.ones((1, 1)), np.zeros(1))] * depth
        network = Network.from_arrays(units, "sigmoid", output_activation="sigmoid")
        X = torch.zeros(1, 1, dtype=torch.float64)
        X.requires_grad_()
        (slope,) = torch.autograd.grad(network(X).sum(), X)
        scaled.append(slope.item() * 4.0**depth)
    return {"depths": depths, "scaled": scaled}


@experiment("gradient-size-per-layer")
def gradient_size_per_layer() -> Values:
    """Compare the first hidden layer's gradient with the last's before training."""
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.standard_normal((256, 32)))
    y = torch.from_numpy(rng.standard_normal((256, 1)))
    values: dict[str, object] = {}
    for name in ("sigmoid", "relu"):
        network = Network((32, *[32] * 7, 1), name, random_state=0)
        with torch.no_grad():
            delta = Normal().gradient(network(X), y) / len(X)
        norms = [W.norm().item() for W, _ in backward(network, X, delta)]
        values[f"{name}_norms"] = norms
        values[f"{name}_ratio"] = norms[0] / norms[-2]
    return {**values, "n_layers": 8}


@experiment("linear-bottleneck")
def linear_bottleneck() -> Values:
    """Multiply two linear layers with 2 units between 6 inputs and 5 outputs."""
    network = Network((6, 2, 5), "identity", init="lecun", random_state=6)
    W, _ = network.collapse()
    return {
        "shape": list(W.shape),
        "rank": int(np.linalg.matrix_rank(W)),
        "params_bottleneck": int(sum(W.size for W, _ in network.layers())),
        "params_full": int(W.size),
    }


@experiment("bottleneck-count")
def bottleneck_count() -> Values:
    """Count weights with and without a bottleneck: M(D + K) against DK."""
    n_inputs, n_hidden, n_outputs = 6, 2, 5
    through = Network((n_inputs, n_hidden, n_outputs), "identity").layers()
    direct = Network((n_inputs, n_outputs)).layers()
    bottleneck, full = (sum(W.size for W, _ in layers) for layers in (through, direct))
    return {
        "bottleneck": int(bottleneck),
        "full": int(full),
        "saves": bool(bottleneck < full),
        "break_even": [n_inputs * n_outputs / (n_inputs + n_outputs)],
    }


@experiment("linear-bottleneck-is-pca")
def linear_bottleneck_is_pca() -> Values:
    """Train 6-2-6 without a nonlinearity to copy its input, and compare with two components."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6))
    X -= X.mean(0)
    member = Member((2,), "identity", Normal(), optimizer="lbfgs", max_epochs=2000, seed=0)
    network = train([member], X, X, dtype="float64").networks[0]
    trained = float(np.square(network.predict_raw(X) - X).sum() / len(X))
    spectrum = np.linalg.svd(X, compute_uv=False)
    pca = float(np.square(spectrum[2:]).sum() / len(X))
    return {"trained": trained, "pca": pca, "relative_gap": abs(trained - pca) / pca}
