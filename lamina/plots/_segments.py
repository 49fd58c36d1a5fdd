"""The error on the straight line between two networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamina.inspection import segment

from ._style import axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_segment(
    a: Any, b: Any, X: Any, y: Any, head: Any, *, n_points: int = 25, ax: Axes | None = None
) -> Axes:
    """Draw the mean error between two networks, as they are and with units matched.

    Parameters
    ----------
    a, b : Network or torch module
        Two networks of equal sizes and activations.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    head : head of lamina.heads, or callable
        What the error is, see `lamina.inspection.segment`.
    n_points : int, default=25
        Points on the line, its ends included.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the title has the barriers before and after matching.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.heads import Normal
    >>> from lamina.inspection import permute
    >>> from lamina.nn import Network
    >>> from lamina.plots import plot_segment
    >>> net, X = Network((2, 3, 1), "tanh", random_state=0), np.eye(2)
    >>> ax = plot_segment(net, permute(net, [2, 0, 1]), X, net.predict_raw(X), Normal())
    >>> [line.get_label() for line in ax.lines]
    ['line between the ends', 'as they are', 'units matched']
    """
    result = segment(a, b, X, y, head, n_points=n_points)
    with style():
        ax = result.plot(ax=axes_or_new(ax))
        ax.set_title(f"barrier {result.barrier:.3g}, matched {result.matched_barrier:.3g}")
    return ax
