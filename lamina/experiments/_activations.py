"""Activation functions: exact derivatives, differences, extremes and equivalents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional as F

from lamina.nn import Activation, Network, get_activation, tanh_to_logistic

from ._registry import Values, experiment
from ._training import largest_gap

POINTS = [-5.0, 0.5, 5.0]

# name in the table, our spec, torch's own function
AGAINST_TORCH: list[tuple[str, str, Callable[[torch.Tensor], torch.Tensor]]] = [
    ("logistic", "sigmoid", torch.sigmoid),
    ("tanh", "tanh", torch.tanh),
    ("hard_tanh", "hard_tanh", F.hardtanh),
    ("relu", "relu", F.relu),
    ("leaky_relu", "leaky_relu(0.1)", lambda a: F.leaky_relu(a, 0.1)),
    ("softplus", "softplus", F.softplus),
    ("gelu", "gelu", F.gelu),
    ("silu", "silu", F.silu),
]


@experiment("activation-derivatives")
def activation_derivatives() -> Values:
    """Compare eight activations and derivatives with torch's on a grid that avoids the kinks."""
    grid = torch.linspace(-6, 6, 1201, dtype=torch.float64) + 1e-3
    points = torch.tensor(POINTS, dtype=torch.float64)
    values: dict[str, object] = {"points": [-5, 0.5, 5]}
    value_gap, slope_gap = 0.0, 0.0
    for name, spec, reference in AGAINST_TORCH:
        activation = get_activation(spec)
        leaf = grid.clone().requires_grad_()
        expected = reference(leaf)
        (slope,) = torch.autograd.grad(expected.sum(), leaf)
        value_gap = max(value_gap, largest_gap(activation(grid), expected.detach()))
        slope_gap = max(slope_gap, largest_gap(activation.derivative(grid), slope))
        values[name] = activation.derivative(points).numpy()
    return {**values, "max_value_error": value_gap, "max_derivative_error": slope_gap}


@experiment("finite-difference-derivatives")
def finite_differences() -> Values:
    """Take central differences in single precision, with their noise of 2e-4."""
    points = [-5.0, -1.0, 1.0, 5.0]
    step = 1e-3
    values: dict[str, object] = {"points": [-5, -1, 1, 5]}
    for name in ("sigmoid", "tanh", "relu", "gelu"):
        activation = get_activation(name)
        above, below = (torch.tensor(points) + sign * step for sign in (1, -1))
        difference = (activation(above) - activation(below)) / (2 * step)
        values[name] = difference.double().numpy()
    return values


@experiment("sigmoid-max-slope")
def sigmoid_max_slope() -> Values:
    """Find the largest slope of the sigmoid, and the slopes of ReLUs left of zero."""
    grid = torch.linspace(-6, 6, 1201, dtype=torch.float64)
    left = torch.tensor([-1.0], dtype=torch.float64)
    return {
        "max_slope": get_activation("sigmoid").derivative(grid).max().item(),
        "leaky_slope": get_activation("leaky_relu(0.1)").derivative(left).item(),
        "relu_negative_slope": get_activation("relu").derivative(left).item(),
    }


@experiment("activation-minima")
def activation_minima() -> Values:
    """Find where GELU and SiLU, and their slopes, are lowest, and where the slopes are highest."""
    values = {}
    for name in ("gelu", "silu"):
        activation = get_activation(name)
        argmin, dip = _lowest(activation, -3, 0)
        slope_argmin, slope_dip = _lowest(activation.derivative, -5, -0.5)
        _, top = _lowest(_negative_slope(activation), 0.5, 5)
        values[f"{name}_min"], values[f"{name}_argmin"] = dip, argmin
        values[f"{name}_slope_min"], values[f"{name}_slope_argmin"] = slope_dip, slope_argmin
        values[f"{name}_slope_max"] = -top
    return values


def _lowest(
    function: Callable[[torch.Tensor], torch.Tensor], low: float, high: float
) -> tuple[float, float]:
    """Return place and value of the minimum of a function on an interval."""
    from scipy.optimize import minimize_scalar

    def at(a: float) -> float:
        return function(torch.tensor([a], dtype=torch.float64)).item()

    found = minimize_scalar(at, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return float(found.x), float(found.fun)


def _negative_slope(activation: Activation) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda a: -activation.derivative(a)


@experiment("tanh-to-logistic-network")
def tanh_as_logistic() -> Values:
    """Rewrite a tanh net with logistic units by tanh(a) = 2σ(2a) - 1."""
    grid = torch.linspace(-6, 6, 1201, dtype=torch.float64)
    tanh, sigmoid = get_activation("tanh"), get_activation("sigmoid")
    network = Network((3, 5, 5, 2), "tanh", random_state=0)
    X = np.random.default_rng(0).standard_normal((50, 3))
    twin = tanh_to_logistic(network)
    return {
        "identity_gap": largest_gap(tanh(grid), 2 * sigmoid(2 * grid) - 1),
        "network_gap": largest_gap(network.predict_raw(X), twin.predict_raw(X)),
    }
