"""A curve fitted to points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._errors import DataError
from lamina._typing import Array, FloatArray

from ._style import GREY, TRUTH, axes_or_new, colour, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_regression(
    x: Any,
    y: Any,
    predict: Callable[[FloatArray], Array],
    *,
    truth: Callable[[FloatArray], Array] | None = None,
    beyond: float = 0.25,
    resolution: int = 400,
    ax: Axes | None = None,
) -> Axes:
    """Draw data of one feature, the fitted function and the true one, also beyond the data.

    Two thin lines bound the range of the data: what the curve does outside is extrapolation.

    Parameters
    ----------
    x, y : array-like of shape (n_samples,)
        The data; ``x`` may have shape (n_samples, 1).
    predict : callable
        Takes ``X`` of shape (n, 1) and returns (n,) or (n, 1): ``model.predict``.
    truth : callable, default=None
        Takes ``x`` of shape (n,) and returns (n,): the function that the data come from.
    beyond : float, default=0.25
        How far the curves go on at each side, as a share of the range of the data.
    resolution : int, default=400
        Points of each curve.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.plots import plot_regression
    >>> x = np.linspace(0, 1, 5)
    >>> ax = plot_regression(x, x**2, lambda X: X[:, 0], truth=np.square, beyond=0.5)
    >>> ax.lines[-1].get_xdata()[[0, -1]].tolist()
    [-0.5, 1.5]
    """
    inputs, measured = _check_data(x, y)
    check_real("beyond", beyond, 0.0)
    low, high = float(inputs.min()), float(inputs.max())
    reach = beyond * (high - low)
    grid = np.linspace(low - reach, high + reach, check_integer("resolution", resolution, 2))
    with style():
        ax = axes_or_new(ax)
        if reach > 0:
            for edge in (low, high):
                ax.axvline(edge, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
        ax.plot(inputs, measured, "o", color=colour(0), alpha=0.5, markeredgewidth=0, label="data")
        if truth is not None:
            ax.plot(grid, np.asarray(truth(grid)), "--", color=TRUTH, label="true function")
        fitted = np.asarray(predict(grid[:, None]), dtype=np.float64).reshape(len(grid))
        ax.plot(grid, fitted, color=colour(5), label="network")
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.legend()
    return ax


def _check_data(x: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """Return the one feature and the target."""
    inputs, measured = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if inputs.ndim == 2 and inputs.shape[1] == 1:
        inputs = inputs[:, 0]
    if inputs.ndim != 1 or inputs.shape != measured.shape or not inputs.size:
        raise DataError(
            "x and y must hold one feature and one target of one length. "
            f"Got shapes {np.shape(x)} and {measured.shape}."
        )
    return inputs, measured
