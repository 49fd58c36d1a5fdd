"""Small trained networks: XOR, a sine, moons and three spirals."""

from __future__ import annotations

import math

import numpy as np

from lamina.datasets import make_sine, make_spirals, make_xor
from lamina.heads import Bernoulli, Categorical, Normal
from lamina.stack import train

from ._networks import logistic_regression_on_xor
from ._registry import Values, experiment
from ._training import full_batch, mean_error, raw_outputs, score


@experiment("logreg-on-xor")
def logreg_on_xor() -> Values:
    """Fit unregularised logistic regression to XOR: probability about 1/2 everywhere."""
    X, y = make_xor(random_state=189)
    network, head = logistic_regression_on_xor(), Bernoulli()
    (W, b) = network.layers()[0]
    probability = head.mean(raw_outputs(network, X))
    return {
        "weights": W[0],
        "bias": b[0],
        "accuracy": score(network, head, X, y),
        "cross_entropy": mean_error(network, head, X, y),
        "ln2": math.log(2),
        "p_min": probability.min().item(),
        "p_max": probability.max().item(),
    }


@experiment("relu-on-xor")
def relu_on_xor() -> Values:
    """Train 2-8-1 ReLU units on XOR."""
    X, y = make_xor(random_state=189)
    head = Bernoulli()
    member = full_batch((8,), "relu", head, n_rows=len(X), seed=189, learning_rate=0.05)
    network = train([member], X, y).networks[0]
    return {
        "n_params": network.n_parameters,
        "accuracy": score(network, head, X, y),
        "loss": mean_error(network, head, X, y),
    }


@experiment("sine-regression")
def sine_regression() -> Values:
    """Fit a 1-32-32-1 tanh net to a noisy sine."""
    noise = 0.2
    X, y = make_sine(noise=noise, random_state=189)
    member = full_batch((32, 32), "tanh", Normal(), n_rows=len(X), seed=189, epochs=1000)
    network = train([member], X, y).networks[0]
    residual = raw_outputs(network, X).numpy()[:, 0] - y
    return {"mse": float(np.mean(residual**2)), "noise_variance": noise**2}


@experiment("fig-moons-width-depth")
def moons_width_depth() -> Values:
    """Train 1, 8, 64 and 32-32 ReLU units on moons, as one stack."""
    from sklearn.datasets import make_moons

    X, y = make_moons(400, noise=0.2, random_state=189)
    head = Bernoulli()
    shapes = {"w1": (1,), "w8": (8,), "w64": (64,), "w32_32": (32, 32)}
    members = [
        full_batch(hidden, "relu", head, n_rows=len(X), seed=189) for hidden in shapes.values()
    ]
    networks = train(members, X, y).networks
    return {
        name: score(network, head, X, y) for name, network in zip(shapes, networks, strict=True)
    }


@experiment("fig-spiral-multiclass")
def spiral_multiclass() -> Values:
    """Train softmax regression and a 2-32-32-3 ReLU net on three spirals."""
    X, y = make_spirals(random_state=189)
    head = Categorical()
    members = [
        full_batch((), "relu", head, n_rows=len(X), seed=189),
        full_batch((32, 32), "relu", head, n_rows=len(X), seed=189),
    ]
    linear, deep = train(members, X, y).networks
    return {
        "softmax_regression": score(linear, head, X, y),
        "mlp": score(deep, head, X, y),
    }
