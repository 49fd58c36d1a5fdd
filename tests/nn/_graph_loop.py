"""The oracle of graph networks: one unit and one row at a time, and graphs of every kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

FUNCTIONS = {
    "identity": (lambda a: a, lambda a: 1.0),
    "tanh": (np.tanh, lambda a: 1.0 - np.tanh(a) ** 2),
    "relu": (lambda a: max(a, 0.0), lambda a: float(a > 0)),
    "sigmoid": (lambda a: 1 / (1 + np.exp(-a)), lambda a: np.exp(-a) / (1 + np.exp(-a)) ** 2),
    "softplus": (lambda a: np.log1p(np.exp(a)), lambda a: 1 / (1 + np.exp(-a))),
    "silu": (
        lambda a: a / (1 + np.exp(-a)),
        lambda a: (1 + np.exp(-a) + a * np.exp(-a)) / (1 + np.exp(-a)) ** 2,
    ),
}
"""Each activation and its derivative, as functions of one number."""


def loop_forward(graph, x):
    """Return values and pre-activations of all units for one row, by name."""
    h, a = dict(graph["values"] if "values" in graph else zip(graph["inputs"], x, strict=True)), {}
    waiting = list(graph["parents"])
    while waiting:
        unit = next(u for u in waiting if all(p in h for p in graph["parents"][u]))
        waiting.remove(unit)
        a[unit] = graph["biases"][unit]
        for parent, weight in zip(graph["parents"][unit], graph["weights"][unit], strict=True):
            a[unit] += weight * h[parent]
        h[unit] = _function(graph, unit)[0](a[unit])
    return h, a


def loop_gradients(graph, X, outer):
    """Return the derivatives of Σ outer·outputs on weights, biases, slopes and inputs."""
    to_weights = {unit: np.zeros(len(ps)) for unit, ps in graph["parents"].items()}
    to_biases = dict.fromkeys(graph["parents"], 0.0)
    to_slopes = dict.fromkeys(graph["slopes"], 0.0)
    to_inputs = np.zeros(X.shape)
    for row, (x, o) in enumerate(zip(X, outer, strict=True)):
        h, a = loop_forward(graph, x)
        d = dict.fromkeys(h, 0.0)
        for unit, value in zip(graph["outputs"], o, strict=True):
            d[unit] += value
        for unit in reversed(list(a)):  # the order in which the loop came to them
            delta = d[unit] * _function(graph, unit)[1](a[unit])
            if unit in to_slopes:
                to_slopes[unit] += d[unit] * min(a[unit], 0.0)
            to_biases[unit] += delta
            for i, parent in enumerate(graph["parents"][unit]):
                to_weights[unit][i] += delta * h[parent]
                d[parent] += delta * graph["weights"][unit][i]
        to_inputs[row] = [d[name] for name in graph["inputs"]]
    return to_weights, to_biases, to_slopes, to_inputs


def _function(graph, unit):
    if unit in graph["slopes"]:
        slope = graph["slopes"][unit]
        return (lambda a: a if a > 0 else slope * a), (lambda a: 1.0 if a > 0 else slope)
    return FUNCTIONS[graph["activation"][unit]]


@st.composite
def graphs(draw, most_units=12):
    """Any acyclic graph: skips, constants, dead ends, double edges, inputs as outputs."""
    inputs = [f"x{i}" for i in range(draw(st.integers(1, 4)))]
    n = draw(st.integers(1, most_units))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = [f"u{i}" for i in range(n)]
    parents, weights, biases, activation, slopes = {}, {}, {}, {}, {}
    for i, unit in enumerate(names):
        before = [*inputs, *names[:i]]
        count = draw(st.integers(0, min(6, len(before) + 1)))
        parents[unit] = tuple(str(p) for p in rng.choice(before, size=count))
        weights[unit] = rng.normal(size=count)
        biases[unit] = float(rng.normal())
        activation[unit] = draw(st.sampled_from([*FUNCTIONS, "prelu"]))
        if activation[unit] == "prelu":
            slopes[unit] = float(rng.normal())
            activation[unit] = f"prelu({slopes[unit]!r})"
    outputs = draw(st.lists(st.sampled_from([*inputs, *names]), min_size=1, unique=True))
    listed = list(draw(st.permutations(names)))
    return {
        "inputs": inputs,
        "outputs": outputs,
        "parents": {unit: parents[unit] for unit in listed},
        "weights": weights,
        "biases": biases,
        "activation": activation,
        "slopes": slopes,
    }


def layered_graph(sizes, seed, n_extra=6):
    """Return wide layers, which are matrix products, with some single edges past them."""
    rng = np.random.default_rng(seed)
    layers = [[f"l{i}.{j}" for j in range(size)] for i, size in enumerate(sizes)]
    inputs, parents = layers[0], {}
    for i, layer in enumerate(layers[1:], 1):
        above = list(layers[i - 1]) + (list(layers[i - 2][::2]) if i > 1 else [])
        parents |= dict.fromkeys(layer, tuple(above))
    for j in range(n_extra):
        unit = layers[-1][j % len(layers[-1])]
        parents[unit] = (*parents[unit], layers[1][j])
    return {
        "inputs": inputs,
        "outputs": layers[-1],
        "parents": parents,
        "weights": {u: rng.normal(size=len(p)) / len(p) ** 0.5 for u, p in parents.items()},
        "biases": {u: float(rng.normal()) for u in parents},
        "activation": {u: ["tanh", "softplus"][i % 2] for i, u in enumerate(parents)},
        "slopes": {},
    }
