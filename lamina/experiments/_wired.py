"""Networks wired by hand: logic, XOR, its hidden space, and linear layers multiplied out."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray, IntArray
from lamina.datasets import make_xor
from lamina.nn import Network, and_neuron, best_neuron, or_neuron, truth_table, xor_network

from ._networks import trained_deep_linear
from ._registry import Values, experiment
from ._training import largest_gap

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR = np.array([0, 1, 1, 0])


@experiment("neuron-and-or")
def neuron_and_or() -> Values:
    """Build one step neuron for AND and one for OR, and read their truth tables."""
    return {
        "AND": truth_table(and_neuron())["y1"].tolist(),
        "OR": truth_table(or_neuron())["y1"].tolist(),
    }


@experiment("xor-hand-wired")
def xor_hand_wired() -> Values:
    """Solve XOR by two hidden step units with nine parameters, and test on noisy points."""
    network = xor_network()
    X, y = make_xor(random_state=189)
    table = truth_table(network)
    return {
        "z": table[["z1", "z2"]].to_numpy(),
        "y": table["y1"].tolist(),
        "n_weights": network.n_parameters,
        "accuracy": _accuracy(network.predict_raw(X)[:, 0], y),
    }


def _accuracy(fires: FloatArray, y: IntArray) -> float:
    return float(np.mean((fires > 0.5) == y))


@experiment("xor-best-line")
def xor_best_line() -> Values:
    """Search all lines through the corners, and a fine grid of lines through the clusters."""
    X, y = make_xor(random_state=189)
    corners = best_neuron(CORNERS, XOR).predict_raw(CORNERS)[:, 0]
    best = 0.0
    for angle in np.linspace(0, 2 * np.pi, 180, endpoint=False):
        along = X @ np.array([np.cos(angle), np.sin(angle)])
        labels = y[np.argsort(along)]
        # class 0 before the cut, class 1 after it, for every cut at once
        right = np.concatenate([[0], np.cumsum(1 - labels)]) + np.concatenate(
            [np.cumsum(labels[::-1])[::-1], [0]]
        )
        best = max(best, float(right.max()) / len(y))
    return {"corners": _accuracy(corners, XOR), "clusters": best}


@experiment("xor-hidden-space")
def xor_hidden_space() -> Values:
    """Replace the step by σ(5a) and separate the points in the plane of the hidden units."""
    from sklearn.linear_model import LogisticRegression

    X, y = make_xor(random_state=189)
    network = xor_network(steepness=5)
    (first, second) = network.hidden(X)[0].T
    pre = network.preactivations(X)[0]
    fit = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    hidden = np.column_stack([first, second])
    return {
        "line": _accuracy(first + second, y),
        "fitted": float(fit.fit(hidden, y).score(hidden, y)),
        "curve_gap": largest_gap(pre.sum(1), np.full(len(X), -1.0)),
    }


@experiment("collapse-to-one-matrix")
def collapse_to_one_matrix() -> Values:
    """Multiply the trained deep linear net out, and compare with its outputs."""
    X, _ = make_xor(random_state=189)
    network = trained_deep_linear()
    W, b = network.collapse()
    one = Network.from_arrays([(W, b)])
    X32 = X.astype(np.float32)
    return {
        "weights": np.asarray(W, dtype=float)[0],
        "bias": float(b[0]),
        "gap": largest_gap(network.predict_raw(X32), one.predict_raw(X32)),
    }
