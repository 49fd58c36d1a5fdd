"""The inverse problem by least squares: where its curve turns, and the gap the mean falls in."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from lamina._typing import FloatArray
from lamina.datasets import make_inverse_problem
from lamina.heads import Normal
from lamina.nn import Network
from lamina.stack import train

from ._densities import rms
from ._registry import Values, experiment
from ._training import full_batch, raw_outputs


def height(x: FloatArray | float) -> FloatArray:
    """Return t = x - 1.5 tanh 2x, the forward problem without noise."""
    return np.asarray(x - 1.5 * np.tanh(2 * np.asarray(x)))


def solutions(t: float, n_cells: int = 1000) -> list[float]:
    """Return every x in [-2.5, 2.5] with height t, in rising order.

    Sign changes on a grid bracket the roots. A grid point that is itself a root has the sign
    zero and bounds no bracket, so that it counts once.
    """
    grid = np.linspace(-2.5, 2.5, n_cells + 1)
    sign = np.sign(height(grid) - t)
    roots = [float(x) for x in grid[sign == 0]]
    for i in np.flatnonzero(sign[:-1] * sign[1:] < 0):
        roots.append(float(brentq(lambda x: float(height(x)) - t, grid[i], grid[i + 1])))
    return sorted(roots)


def least_squares(X: FloatArray, y: FloatArray) -> Network:
    """Return a 1-16-1 tanh net fitted by least squares."""
    member = full_batch((16,), "tanh", Normal(), n_rows=len(X), seed=6, epochs=1500)
    return train([member], X, y).networks[0]


@experiment("inverse-problem-least-squares")
def inverse_problem_least_squares() -> Values:
    """Fit the same net forwards and backwards, and look at x near one height."""
    X, t = make_inverse_problem(random_state=16)
    T, x = make_inverse_problem(inverse=True, random_state=16)
    forward, inverse = least_squares(X, t), least_squares(T, x)
    at = 0.25
    return {
        "rms_forward": rms(raw_outputs(forward, X).numpy()[:, 0] - t),
        "rms_inverse": rms(raw_outputs(inverse, T).numpy()[:, 0] - x),
        "prediction_at_025": raw_outputs(inverse, np.array([[at]])).item(),
        "nearby_targets": np.sort(x[np.abs(t - at) < 0.01]),
        "solutions": solutions(at),
    }


@experiment("turning-points")
def turning_points() -> Values:
    """Find where the forward curve turns, and count the solutions at some heights."""

    def slope(x: float) -> float:
        return float(1 - 3 / np.cosh(2 * x) ** 2)

    x = brentq(slope, 0.0, 1.0)
    heights = [0.0, 0.25, 0.65, 0.66, 1.0, 2.0]
    return {
        "x": x,
        "t": abs(float(height(x))),
        "heights": heights,
        "n_solutions": [len(solutions(t)) for t in heights],
        "twice_the_same": min(np.diff(solutions(0.0))) < 1e-6,
    }
