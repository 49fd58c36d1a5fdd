"""Networks that interpolate a function, and Barron's rate."""

from __future__ import annotations

import math

import numpy as np

from lamina._typing import FloatArray
from lamina.inspection import (
    InterpolantResult,
    barron_rate,
    polynomial_exception,
    relu_grid_interpolant,
    relu_interpolant,
)

from ._registry import Values, experiment

_CURVATURE = 4 * math.pi**2


def _wave(x: FloatArray) -> FloatArray:
    return np.asarray(np.sin(2 * np.pi * x) + x / 2)


def _through(n_units: int) -> InterpolantResult:
    return relu_interpolant(_wave, n_units, max_curvature=_CURVATURE)


@experiment("relu-interpolant")
def relu_through_knots() -> Values:
    """Write a ReLU network through knots of sin 2πx + x/2, and look at the error between."""
    widths = (4, 16, 64, 256)
    found = [_through(n) for n in widths]
    return {
        "N": list(widths),
        "exact_at_knots": [one.exact_at_knots for one in found],
        "max_error": [one.max_error for one in found],
        "bound": [one.bound for one in found],
    }


@experiment("interpolant-figure")
def interpolant_figure() -> Values:
    """Read the ends of the error line: 4 and 512 units."""
    return {f"N{n}": _through(n).max_error for n in (4, 512)}


@experiment("barron-bound")
def barron_slopes() -> Values:
    """Draw networks of steps for a Gaussian in 1 to 20 dimensions: mean slope of the errors."""
    found = [barron_rate(d) for d in (1, 2, 5, 10, 20)]
    below = [bool((one.errors <= one.bounds).all()) for one in found]
    slopes = [one.slope for one in found]
    return {
        "exponent": float(np.mean(slopes)),
        "exponents": slopes,
        "all_below_bound": all(below),
    }


@experiment("grid-interpolant")
def through_grids() -> Values:
    """Write deep ReLU networks through a grid of |x|² in 1, 2 and 3 dimensions: bound met."""
    found = [
        relu_grid_interpolant(_square, D, 4, max_curvature=2.0, n_points=2000) for D in (1, 2, 3)
    ]
    return {
        "exact_at_knots": [one.exact_at_knots for one in found],
        "max_error": [one.max_error for one in found],
        "bound": [one.bound for one in found],
        "hidden_layers": [len(one.network.sizes) - 2 for one in found],
    }


def _square(X: FloatArray) -> FloatArray:
    return np.asarray(np.square(X).sum(axis=1) if X.ndim == 2 else np.square(X))


@experiment("polynomial-activation")
def polynomial_activation() -> Values:
    """Widen a layer of cubes and one of tanh units on sin 8x: the cubes stop at cubics."""
    found = polynomial_exception(lambda x: np.sin(8 * x), 3)
    return {
        "widths": found.widths,
        "ranks": found.ranks,
        "cubic_error": found.errors[-1],
        "floor": found.polynomial_error,
        "tanh_error": found.tanh_errors[-1],
    }
