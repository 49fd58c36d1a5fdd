"""Multilayer networks: forms of the forward pass, parameter counts, depth without curves."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from lamina.datasets import make_xor
from lamina.heads import Bernoulli
from lamina.nn import Network, forward_with_constant_unit, nested_sums
from lamina.stack import train

from ._registry import Values, experiment
from ._training import full_batch, largest_gap, mean_error, score

SIZES = [
    (3, 4, 2),
    (2, 8, 1),
    (784, 128, 10),
    (2, 100, 100, 100, 1),
    (784, 128, 64, 10),
    (2, 4, 2),
    (2, 16, 2),
    (2, 8, 8, 8, 2),
    (2, 64, 2),
]


@experiment("matrix-form-mlp")
def matrix_form() -> Values:
    """Compute a 3-4-2 tanh net by matrices, by nested sums and with constant units."""
    network = Network((3, 4, 2), "tanh", init="lecun", random_state=6)
    X = np.random.default_rng(6).standard_normal((5, 3))
    y = network.predict_raw(X)
    sums = np.array([nested_sums(network, x) for x in X])
    absorbed = forward_with_constant_unit(network, X)
    gap = max(largest_gap(y, sums), largest_gap(y, absorbed))
    return {
        "y": y[0],
        "forms_agree": gap <= 1e-12,
        "largest_gap": gap,
        "n_params_784_128_10": Network((784, 128, 10)).n_parameters,
    }


@experiment("torch-matches-numpy")
def torch_matches_numpy() -> Values:
    """Copy parameters into nn.Linear layers and compare with plain NumPy products."""
    network = Network((3, 4, 2), "tanh", init="lecun", random_state=6)
    X = np.random.default_rng(6).standard_normal((5, 3))
    (W1, b1), (W2, b2) = network.layers()
    by_hand = np.tanh(X @ W1.T + b1) @ W2.T + b2
    module = network.to_torch()
    with torch.no_grad():
        by_torch = module(torch.from_numpy(X)).numpy()
    return {
        "same": largest_gap(by_hand, by_torch) <= 1e-12,
        "n_params": sum(p.numel() for p in module.parameters()),
    }


@experiment("count-params-784")
def count_params_784() -> Values:
    """Count the parameters of 784-128-64-10 in the built torch module."""
    module = Network((784, 128, 64, 10), dtype="float32").to_torch()
    return {"n_params": sum(p.numel() for p in module.parameters())}


@experiment("parameter-counts")
def parameter_counts() -> Values:
    """Count the parameters of the networks of the texts."""
    return {"counts": [Network(sizes).n_parameters for sizes in SIZES]}


@cache
def trained_deep_linear() -> Network:
    """Return the net 2-100-100-100-1 without nonlinearity, trained on XOR."""
    X, y = make_xor(random_state=189)
    member = full_batch((100, 100, 100), "identity", Bernoulli(), n_rows=len(X), seed=189)
    return train([member], X, y).networks[0]


@cache
def logistic_regression_on_xor() -> Network:
    """Return unregularised logistic regression on XOR, converged."""
    from sklearn.linear_model import LogisticRegression

    X, y = make_xor(random_state=189)
    fit = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    return Network.from_arrays([(fit.coef_, fit.intercept_)])


@experiment("deep-linear")
def deep_linear() -> Values:
    """Train 20,601 parameters without a nonlinearity: no better than logistic regression."""
    X, y = make_xor(random_state=189)
    network, baseline, head = trained_deep_linear(), logistic_regression_on_xor(), Bernoulli()
    return {
        "n_params": network.n_parameters,
        "accuracy": score(network, head, X, y),
        "loss": mean_error(network, head, X, y),
        "logreg_accuracy": score(baseline, head, X, y),
        "logreg_loss": mean_error(baseline, head, X, y),
    }
