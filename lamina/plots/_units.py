"""Pictures of units and gradients: heat map, strips of saturation, movement, sizes by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from lamina.inspection import gradients, units

from ._style import axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_units(
    net: Any,
    X: Any,
    *,
    kind: Literal["heat", "saturation", "moved"] = "heat",
    layer: int = 1,
    initial: Any = None,
    saturation: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw what the units of a network do on data.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    X : array-like of shape (n_samples, n_features)
        Rows to look at.
    kind : {"heat", "saturation", "moved"}, default="heat"
        "heat": the spread of each unit beside the largest of its layer, dead units crossed.
        "saturation": a strip for each layer with the share of rows on which its units are
        saturated. "moved": bars of how far each unit of a layer moved, dead ones in another
        colour.
    layer : int, default=1
        The layer of "moved", counted from 1.
    initial : Network or torch module, default=None
        The network before training. Only used for "moved".
    saturation : float, default=0.05
        See `lamina.inspection.units`.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.nn import Network
    >>> from lamina.plots import plot_units
    >>> ax = plot_units(Network((1, 5, 1), random_state=0), np.linspace(-1, 1, 9)[:, None])
    >>> ax.get_title()
    '0 of 5 hidden units are dead'
    """
    result = units(net, X, initial=initial, saturation=saturation)
    with style():
        return result.plot(kind, layer=layer, ax=axes_or_new(ax))


def plot_gradients(net: Any, X: Any, y: Any, head: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the size of signal and gradient in each layer, on a log scale.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    head : head of lamina.heads, or callable
        The error, see `lamina.inspection.gradients`.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the title says whether the gradient vanishes or explodes, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.heads import Normal
    >>> from lamina.nn import Network
    >>> from lamina.plots import plot_gradients
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> net = Network((1, *[8] * 9, 1), "sigmoid", random_state=0)
    >>> plot_gradients(net, X, X[:, 0], Normal()).get_title()
    'gradient: vanishes, by the slopes'
    """
    result = gradients(net, X, y, head)
    with style():
        return result.plot(ax=axes_or_new(ax))
