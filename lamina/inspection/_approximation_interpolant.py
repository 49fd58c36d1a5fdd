"""A ReLU network that goes through given values, written down without training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._errors import DataError
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network

from ._approximation_arrays import Function, check_interval, outputs, values_of
from ._axes import axes_or_new

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_N_POINTS = 100_001
"""Points at which the error is looked for; the interpolant itself bends at its knots only."""


@dataclass(frozen=True, eq=False)
class InterpolantResult:
    """A network that interpolates a function, and how far it is from it in between.

    Attributes
    ----------
    network : Network
        The ReLU network, in float64.
    knots : ndarray of shape (n_knots, n_features)
        Points where network and function agree.
    values : ndarray of shape (n_knots,)
        The function there.
    knot_error : float
        Largest difference at the knots: rounding.
    max_error : float
        Largest difference found at all points that were looked at.
    bound : float or None
        What the error cannot exceed; None without the curvature.
    points, truth : ndarray of shape (n_points, n_features) and (n_points,)
        Where the error was looked for, and the function there.
    """

    network: Network
    knots: FloatArray
    values: FloatArray
    knot_error: float
    max_error: float
    bound: float | None
    points: FloatArray
    truth: FloatArray

    @property
    def exact_at_knots(self) -> bool:
        """Whether the differences at the knots are rounding."""
        scale = max(1.0, float(np.abs(self.values).max()))
        return self.knot_error <= 1e-10 * scale

    def summary(self) -> str:
        """Return size, errors and bound in one sentence."""
        bound = "" if self.bound is None else f", at most {self.bound:.4g} by theory"
        exact = "exact" if self.exact_at_knots else f"off by {self.knot_error:.3g}"
        return (
            f"ReLU network {'-'.join(map(str, self.network.sizes))} through {len(self.values)} "
            f"knots: {exact} there, largest error {self.max_error:.4g} in between{bound}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw function, network and knots; of several features, along the first one."""
        from ._approximation_pictures import draw_interpolant

        return draw_interpolant(self, axes_or_new(ax))


@dataclass(frozen=True, eq=False)
class InterpolantErrorsResult:
    """Errors of interpolants by their width.

    Attributes
    ----------
    widths : ndarray of int of shape (n_widths,)
        Hidden units.
    errors : ndarray of shape (n_widths,)
        Largest error of each.
    bounds : ndarray of shape (n_widths,) or None
        What they cannot exceed; None without the curvature.
    slope : float
        Slope of ln(error) against ln(width) by least squares, -2 for smooth functions.
    """

    widths: IntArray
    errors: FloatArray
    bounds: FloatArray | None
    slope: float

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for each width."""
        import pandas as pd

        table = pd.DataFrame({"width": self.widths, "max_error": self.errors})
        if self.bounds is not None:
            table["bound"] = self.bounds
        return table

    def summary(self) -> str:
        """Return the slope and the ends of the table."""
        return (
            f"Interpolants of {self.widths[0]} to {self.widths[-1]} ReLU units: largest error "
            f"{self.errors[0]:.3g} to {self.errors[-1]:.3g}, falling like width^{self.slope:.3f}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw error and bound against the width, both on logarithmic axes."""
        from ._approximation_pictures import draw_errors

        return draw_errors(self, axes_or_new(ax))


def relu_interpolant(
    function: Function,
    n_units: int,
    interval: tuple[float, float] = (0.0, 1.0),
    *,
    max_curvature: float | None = None,
    n_points: int = _N_POINTS,
) -> InterpolantResult:
    r"""Write down a one-hidden-layer ReLU network through N + 1 values of a function.

    With knots :math:`x_0 < \dots < x_N`, evenly spaced, and slopes :math:`s_k` between them

    .. math:: f(x) = g(x_0) + \sum_{k=0}^{N-1} (s_k - s_{k-1}) \max(0, x - x_k),
              \qquad s_{-1} = 0, \qquad
              |f - g| \le \frac{(b - a)^2}{8 N^2} \max |g''|

    on [a, b]: each unit adds one bend, its weight the change of slope.

    Parameters
    ----------
    function : callable
        The function g, of an array of numbers of shape (N,).
    n_units : int
        Hidden units N.
    interval : (float, float), default=(0.0, 1.0)
        The interval [a, b].
    max_curvature : float, default=None
        The largest value of abs(g'') on the interval, for the bound.
    n_points : int, default=100001
        Even grid on which the largest error is looked for; the knots are looked at besides.

    Returns
    -------
    InterpolantResult

    Raises
    ------
    DataError
        If the function does not return a finite number for each point.
    ParameterError
        If a size or the interval cannot be used.

    References
    ----------
    .. [1] C. de Boor, A Practical Guide to Splines, chapter 3,
       https://link.springer.com/book/9780387953663

    Examples
    --------
    >>> from lamina.inspection import relu_interpolant
    >>> result = relu_interpolant(np.square, 4, max_curvature=2.0)
    >>> result.exact_at_knots, round(result.max_error, 6), result.bound
    (True, 0.015625, 0.015625)
    >>> result.network.sizes
    (1, 4, 1)
    """
    n = check_integer("n_units", n_units, 1)
    low, high = check_interval("interval", interval)
    knots = np.linspace(low, high, n + 1)
    values = values_of(function, knots)
    network = _through(knots, values)
    bound = None
    if max_curvature is not None:
        bound = check_real("max_curvature", max_curvature, 0.0) * ((high - low) / n) ** 2 / 8
    points = np.linspace(low, high, check_integer("n_points", n_points, 2))
    return interpolant(network, knots[:, None], values, points[:, None], function, bound)


def interpolant_errors(
    function: Function,
    widths: Any,
    interval: tuple[float, float] = (0.0, 1.0),
    *,
    max_curvature: float | None = None,
) -> InterpolantErrorsResult:
    r"""Measure how the error of `relu_interpolant` falls with the width.

    .. math:: \ln \max |f_N - g| \approx \text{const} - 2 \ln N

    Parameters
    ----------
    function : callable
        The function g, of an array of numbers of shape (N,).
    widths : array-like of int of shape (n_widths,)
        Numbers of hidden units, at least two different ones.
    interval : (float, float), default=(0.0, 1.0)
        The interval.
    max_curvature : float, default=None
        The largest value of abs(g'') on the interval, for the bounds.

    Returns
    -------
    InterpolantErrorsResult

    Raises
    ------
    DataError
        If there are not two different widths.

    See Also
    --------
    relu_interpolant : one such network

    Examples
    --------
    >>> from lamina.inspection import interpolant_errors
    >>> result = interpolant_errors(np.exp, [4, 16, 64])
    >>> round(result.slope, 2)
    -1.96
    """
    sizes = [check_integer(f"widths[{i}]", n, 1) for i, n in enumerate(np.atleast_1d(widths))]
    if len(set(sizes)) < 2:
        raise DataError(f"widths must hold at least two different numbers. Got {sizes}.")
    found = [relu_interpolant(function, n, interval, max_curvature=max_curvature) for n in sizes]
    errors = np.array([one.max_error for one in found])
    bounds = None if max_curvature is None else np.array([one.bound for one in found], float)
    slope = math.nan  # a broken line is met exactly, and has no rate
    if (errors > 0).all():
        slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    return InterpolantErrorsResult(np.array(sizes), errors, bounds, slope)


def _through(knots: FloatArray, values: FloatArray) -> Network:
    """Return the network through values (N + 1,) at rising knots."""
    slopes = np.diff(values) / np.diff(knots)
    changes = np.diff(slopes, prepend=0.0)
    return Network.from_arrays(
        [(np.ones((len(slopes), 1)), -knots[:-1]), (changes[None], values[:1])], "relu"
    )


def interpolant(
    network: Network,
    knots: FloatArray,
    values: FloatArray,
    points: FloatArray,
    function: Function,
    bound: float | None,
) -> InterpolantResult:
    """Return the result after looking at the knots (K, D) and at points (N, D)."""
    at = points[:, 0] if points.shape[1] == 1 else points
    truth = values_of(function, at)
    gap = np.abs(outputs(network, points) - truth).max()
    at_knots = np.abs(outputs(network, knots) - values).max()
    return InterpolantResult(
        network=network,
        knots=knots,
        values=values,
        knot_error=float(at_knots),
        max_error=float(gap),
        bound=bound,
        points=points,
        truth=truth,
    )
