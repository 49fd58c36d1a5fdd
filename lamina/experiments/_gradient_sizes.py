"""What passes back through units and layers, and what a batch keeps for it."""

from __future__ import annotations

import numpy as np

from lamina.heads import Normal
from lamina.inspection import gradients, lipschitz, memory, regions_on_line
from lamina.nn import Network

from ._registry import Values, experiment
from ._training import largest_gap


@experiment("slope-at-each-unit")
def slope_at_each_unit() -> Values:
    """Compare the gradient that reaches a tanh unit's weights with the same at slope 1."""
    network = Network((4, 6, 1), "tanh", random_state=0)
    x, y = np.random.default_rng(0).standard_normal((1, 4)), np.array([0.5])
    layer = gradients(network, x, y, Normal()).layers[0]
    a = network.preactivations(x)[0][0]
    residual = float(network.predict_raw(x)[0, 0] - y[0])
    at_slope_1 = np.abs(network.layers()[1][0][0] * residual) * np.sqrt(np.square(x).sum() + 1)
    return {
        "factor": layer.unit_norm / at_slope_1,
        "slope": 1 - np.tanh(a) ** 2,
        "largest_gap": largest_gap(layer.unit_norm / at_slope_1, 1 - np.tanh(a) ** 2),
    }


@experiment("why-gradients-vanish")
def why_gradients_vanish() -> Values:
    """Split the signal's way through nine layers into what weights and what slopes did."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((128, 16)), rng.standard_normal(128)
    values: dict[str, object] = {}
    for name, activation, scale in (
        ("sigmoid", "sigmoid", 1.0),
        ("small_weights", "relu", 0.2),
        ("large_weights", "relu", 5.0),
        ("he", "relu", 1.0),
    ):
        layers = Network((16, *[16] * 8, 1), activation, random_state=0).layers()
        scaled = [(scale * W if 0 < i < 8 else W, b) for i, (W, b) in enumerate(layers)]
        result = gradients(Network.from_arrays(scaled, activation), X, y, Normal())
        values[name] = [result.verdict, result.cause]
        values[f"{name}_ratio"] = result.ratio
    return values


@experiment("memory-of-a-batch")
def memory_of_a_batch() -> Values:
    """Count the bytes of pre-activations and activations by depth and batch, in float32."""
    depths, batches = [1, 2, 4, 8], [1, 32, 1024]
    networks = [Network((784, *[256] * depth, 10), dtype="float32") for depth in depths]
    return {
        "by_depth": [memory(network, 128).activations for network in networks],
        "by_batch": [memory(networks[0], batch).activations for batch in batches],
    }


@experiment("lipschitz-of-the-tent")
def lipschitz_of_the_tent() -> Values:
    """Bound the slope of the tent map composed three times: exactly 8 on [0, 1]."""
    inner = (np.array([[2.0, -4.0], [2.0, -4.0]]), np.array([0.0, -0.5]))
    first = (np.array([[1.0], [1.0]]), np.array([0.0, -0.5]))
    network = Network.from_arrays([first, inner, inner, ([[2.0, -4.0]], [0.0])])
    grid = np.linspace(0, 1, 11)[:, None]
    result = lipschitz(network, grid, regions=regions_on_line(network, [0.0], [1.0]))
    return {"lower": result.lower, "exact": result.on_slice, "upper": result.upper}
