"""Labelled points in the plane, and what a classifier says between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import Array, FloatArray

from ._style import TRUTH, axes_or_new, colour, lightened, margins, marker, panels, style
from ._style import two_class_map as _two_class_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bounds: TypeAlias = tuple[tuple[float, float], tuple[float, float]]
Proba: TypeAlias = Callable[[FloatArray], Array]


def plot_classes(
    X: Any, y: Any, *, names: Sequence[str] = ("x₁", "x₂"), ax: Axes | None = None
) -> Axes:
    """Scatter labelled points: a colour and a marker per class, equal scales, a legend.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        The points.
    y : array-like of shape (n_samples,)
        Their classes.
    names : sequence of str, default=("x₁", "x₂")
        Labels of the two axes.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from lamina.plots import plot_classes
    >>> ax = plot_classes([[0, 0], [1, 1], [0, 1]], ["no", "no", "yes"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['no', 'yes']
    """
    points, labels = _check_points(X, y)
    with style():
        ax = axes_or_new(ax)
        for i, label in enumerate(np.unique(labels)):
            own = points[labels == label]
            ax.scatter(
                own[:, 0],
                own[:, 1],
                s=16,
                color=colour(i),
                marker=marker(i),
                edgecolors="white",
                linewidths=0.4,
                label=str(label),
                zorder=3,
            )
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1])
        ax.legend()
    return ax


def plot_decision(
    predict_proba: Proba,
    X: Any,
    y: Any,
    *,
    bounds: Bounds | None = None,
    resolution: int = 200,
    names: Sequence[str] = ("x₁", "x₂"),
    ax: Axes | None = None,
) -> Axes:
    r"""Shade the plane by what a classifier says there, with labelled points on top.

    Of two classes the probability of the second is shaded, white where it is ½, with the
    contour :math:`P(y = 1 \mid x) = ½`. Of more classes each point of the grid has the colour
    of the likeliest. The points are coloured in the order of ``numpy.unique(y)``, which has to
    be the order of the columns that ``predict_proba`` returns.

    Parameters
    ----------
    predict_proba : callable
        Takes points of shape (n, 2) and returns probabilities of shape (n, n_classes), or of
        shape (n,) for the second of two classes: ``model.predict_proba``.
    X : array-like of shape (n_samples, 2)
        The points.
    y : array-like of shape (n_samples,)
        Their classes.
    bounds : ((low, high), (low, high)), default=None
        What part of the plane to shade. None takes that of the points and a margin.
    resolution : int, default=200
        Points of the grid along each axis.
    names : sequence of str, default=("x₁", "x₂")
        Labels of the two axes.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.plots import plot_decision
    >>> X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1])
    >>> ax = plot_decision(lambda points: points[:, 0], X, y, resolution=50)
    >>> ax.collections[0].get_array().shape
    (50, 50)
    """
    points, labels = _check_points(X, y)
    check_integer("resolution", resolution, 2)
    across, up, shade = _grid_proba(predict_proba, points, bounds, resolution)
    with style():
        ax = axes_or_new(ax)
        if shade.shape[2] == 2:
            _shade_two(ax, across, up, shade[:, :, 1])
        else:
            _shade_many(ax, across, up, shade)
        plot_classes(points, labels, names=names, ax=ax)
        ax.set_xlim(across[0], across[-1])
        ax.set_ylim(up[0], up[-1])
        ax.grid(False)
    return ax


def plot_decision_panels(
    models: Mapping[str, Proba],
    X: Any,
    y: Any,
    *,
    bounds: Bounds | None = None,
    resolution: int = 200,
    n_columns: int = 3,
) -> Any:
    """Set the decisions of several classifiers beside one another, accuracies in the titles.

    Parameters
    ----------
    models : dict of str to callable
        Title and ``predict_proba`` of each, see `plot_decision`.
    X : array-like of shape (n_samples, 2)
        The points on which the accuracy is measured.
    y : array-like of shape (n_samples,)
        Their classes.
    bounds : ((low, high), (low, high)), default=None
        What part of the plane to shade.
    resolution : int, default=200
        Points of the grid along each axis.
    n_columns : int, default=3
        Panels beside one another.

    Returns
    -------
    ndarray of Axes of shape (n_rows, n_columns)
        The axes; those that no model needs are hidden.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.plots import plot_decision_panels
    >>> X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1])
    >>> axes = plot_decision_panels({"x": lambda x: x[:, 0], "1": lambda x: 0 * x[:, 0]}, X, y)
    >>> [ax.get_title() for ax in axes[0]]
    ['x: accuracy 1.000', '1: accuracy 0.500']
    """
    points, labels = _check_points(X, y)
    n_columns = min(check_integer("n_columns", n_columns, 1), max(len(models), 1))
    axes = panels(-(-len(models) // n_columns) or 1, n_columns)
    for ax, (title, predict_proba) in zip(axes.flat, models.items(), strict=False):
        plot_decision(predict_proba, points, labels, bounds=bounds, resolution=resolution, ax=ax)
        likeliest = np.argmax(_two_columns(predict_proba(points), len(points)), axis=1)
        accuracy = np.mean(np.unique(labels)[likeliest] == labels)
        with style():
            ax.set_title(f"{title}: accuracy {accuracy:.3f}")
    for ax in axes.flat[len(models) :]:
        ax.set_visible(False)
    return axes


def _check_points(X: Any, y: Any) -> tuple[FloatArray, Array]:
    """Return points in the plane and as many labels."""
    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2 or labels.shape != points.shape[:1]:
        raise DataError(
            "X must have shape (n_samples, 2) and y (n_samples,) to be drawn in the plane. "
            f"Got shapes {points.shape} and {labels.shape}."
        )
    return points, labels


def _grid_proba(
    predict_proba: Proba, points: FloatArray, bounds: Bounds | None, resolution: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the two axes of a grid and the probabilities on it, (up, across, class)."""
    ranges = bounds or (margins(points[:, 0]), margins(points[:, 1]))
    across, up = (np.linspace(low, high, resolution) for low, high in ranges)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    proba = _two_columns(predict_proba(grid), len(grid))
    return across, up, proba.reshape(resolution, resolution, -1)


def _two_columns(proba: Any, n: int) -> FloatArray:
    """Return probabilities with a column per class."""
    table = np.asarray(proba, dtype=np.float64)
    if table.shape[:1] != (n,) or table.ndim > 2:
        raise DataError(
            f"predict_proba must return shape ({n}, n_classes) or ({n},). Got {table.shape}."
        )
    if table.ndim == 1 or table.shape[1] == 1:
        second = table.reshape(n)
        return np.stack([1 - second, second], axis=1)
    return table


def _shade_two(ax: Axes, across: FloatArray, up: FloatArray, second: FloatArray) -> None:
    """Shade by the probability of the second class, with the contour ½."""
    mesh = ax.pcolormesh(
        across, up, second, cmap=_two_class_map(), vmin=0, vmax=1, alpha=0.75, shading="nearest",
        rasterized=True, zorder=0,
    )  # fmt: skip
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8)
    bar.set_label("probability of the second class")
    if second.min() < 0.5 < second.max():
        ax.contour(across, up, second, levels=[0.5], colors=TRUTH, linewidths=1.2, zorder=2)


def _shade_many(ax: Axes, across: FloatArray, up: FloatArray, proba: FloatArray) -> None:
    """Give each point of the grid the colour of its likeliest class."""
    from matplotlib.colors import ListedColormap

    n_classes = proba.shape[2]
    ax.pcolormesh(
        across, up, np.argmax(proba, axis=2), shading="nearest", rasterized=True, zorder=0,
        cmap=ListedColormap([lightened(i) for i in range(n_classes)]),
        vmin=-0.5, vmax=n_classes - 0.5,
    )  # fmt: skip
