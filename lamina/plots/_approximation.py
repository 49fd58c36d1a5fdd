"""Interpolating networks, and how their error falls with the width."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lamina._typing import FloatArray
from lamina.inspection import interpolant_errors, relu_interpolant

from ._style import axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Function = Callable[[FloatArray], Any]


def plot_interpolant(
    function: Function,
    n_units: int,
    interval: tuple[float, float] = (0.0, 1.0),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw a function and the ReLU network through its values at even knots.

    Parameters
    ----------
    function : callable
        A function of an array of numbers.
    n_units : int
        Hidden units, one less than knots.
    interval : (float, float), default=(0.0, 1.0)
        Interval of the inputs.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the title has the largest error.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.plots import plot_interpolant
    >>> plot_interpolant(np.square, 4).get_title()
    '4 units: largest error 0.0156'
    """
    result = relu_interpolant(function, n_units, interval)
    with style():
        return result.plot(ax=axes_or_new(ax))


def plot_interpolant_errors(
    function: Function,
    widths: Any = (4, 8, 16, 32, 64, 128, 256, 512),
    interval: tuple[float, float] = (0.0, 1.0),
    *,
    max_curvature: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the largest error of interpolating ReLU networks against their width.

    Parameters
    ----------
    function : callable
        A function of an array of numbers.
    widths : sequence of int, default=(4, 8, 16, 32, 64, 128, 256, 512)
        Hidden units.
    interval : (float, float), default=(0.0, 1.0)
        Interval of the inputs.
    max_curvature : float, default=None
        The largest absolute second derivative; draws the bound too.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; both axes are logarithmic and the title has the slope.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.plots import plot_interpolant_errors
    >>> plot_interpolant_errors(np.square, [4, 8, 16]).get_title()
    'slope -2.000'
    """
    result = interpolant_errors(function, widths, interval, max_curvature=max_curvature)
    with style():
        return result.plot(ax=axes_or_new(ax))
