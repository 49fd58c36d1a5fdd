"""The geometry of data: variance by components, curves, lengths of Gaussian vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lamina._checks import check_sizes
from lamina.inspection import (
    GaussianRadius,
    curve_geometry,
    gaussian_surrogate,
    principal_components,
    shuffled_surrogate,
)

from ._style import axes_or_new, colour, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_components(
    X: Any,
    shares: float | Iterable[float] = (0.9, 0.95, 0.99),
    *,
    surrogates: bool = True,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of the variance against the number of components, beside surrogates.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    shares : float or iterable of float, default=(0.9, 0.95, 0.99)
        Shares whose number of components is marked.
    surrogates : bool, default=True
        Whether to draw a Gaussian and a shuffled surrogate too.
    random_state : int, default=0
        Seed of the surrogates.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.plots import plot_components
    >>> ax = plot_components(np.random.default_rng(0).random((50, 5)))
    >>> [line.get_label() for line in ax.lines if line.get_label()[0] != "_"]
    ['data', 'gaussian', 'shuffled']
    """
    wanted = [shares] if isinstance(shares, (int, float)) else list(shares)
    found = principal_components(X, wanted)
    with style():
        ax = found.plot(ax=axes_or_new(ax))
        if surrogates:
            made = {
                "gaussian": gaussian_surrogate(X, random_state=random_state),
                "shuffled": shuffled_surrogate(X, random_state=random_state + 1),
            }
            for i, (name, rows) in enumerate(made.items()):
                share = principal_components(rows, wanted).cumulative
                ax.plot(range(1, len(share) + 1), share, color=colour(1 + i), label=name)
        ax.legend(loc="lower right")
    return ax


def plot_curve(curve: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a curve of data, such as a digit turned, in its first two principal components.

    The plane is a shadow: the title says how much of the variance it holds, and the rest of the
    curve bends out of it.

    Parameters
    ----------
    curve : array-like of shape (n_points, n_features)
        Points in the order of the one parameter.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.plots import plot_curve
    >>> t = np.linspace(0, 3, 30)
    >>> plot_curve(np.column_stack([np.cos(t), np.sin(t)])).get_title()
    '100% of the variance is in this plane'
    """
    result = curve_geometry(curve)
    with style():
        return result.plot(ax=axes_or_new(ax))


def plot_radii(n_features: Any = (1, 2, 10, 100, 784), *, ax: Axes | None = None) -> Axes:
    """Draw the density of the length of standard Gaussian vectors in several dimensions.

    Parameters
    ----------
    n_features : int or sequence of int, default=(1, 2, 10, 100, 784)
        Dimensions.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from lamina.plots import plot_radii
    >>> [line.get_label() for line in plot_radii([1, 784]).lines]
    ['D = 1', 'D = 784']
    """
    dimensions = check_sizes("n_features", n_features)
    with style():
        ax = axes_or_new(ax)
        for i, D in enumerate(dimensions):
            GaussianRadius(D).plot(ax=ax)
            ax.lines[-1].set_color(colour(i))
        ax.set_ylim(bottom=0)
        ax.legend(loc="upper center")
    return ax
