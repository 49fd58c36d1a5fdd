"""Whether probabilities and intervals may be believed: reliability, PIT, coverage, sharpness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from lamina.inspection import calibration, coverage, pit

from ._style import axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def plot_reliability(
    y: Any,
    proba: Any,
    *,
    label: Any = None,
    n_bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    classes: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw observed frequencies against the probabilities of a classifier.

    Bars behind it show which share of the rows is in each bin, and thin lines the 95 %
    intervals of the frequencies.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    proba : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probability of each class; of shape (n_samples,) that of the second of two.
    label : object, default=None
        The class whose probabilities are drawn. None draws the second of two classes, and of
        more classes the highest probability.
    n_bins : int, default=15
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of one width, or bins that hold about as many rows.
    classes : array-like of shape (n_classes,), default=None
        The label of each column, see `lamina.inspection.calibration`.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the title has the expected calibration error.

    Examples
    --------
    >>> from lamina.plots import plot_reliability
    >>> plot_reliability([0, 0, 1, 1], [0.1, 0.4, 0.6, 1.0]).get_title()
    'class 1: ECE 0.225'
    """
    result = calibration(y, proba, n_bins=n_bins, strategy=strategy, classes=classes)
    with style():
        return result.plot(label, ax=axes_or_new(ax))


def plot_pit(
    dist: Any, y: Any, *, n_bins: int = 20, random_state: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw where the targets fall in their distributions: level, if these are right.

    Parameters
    ----------
    dist : Predictive
        Distribution of one target in each row: what ``predict_dist(X)`` returns.
    y : array-like of shape (n_samples,)
        What was observed.
    n_bins : int, default=20
        Bars.
    random_state : int, default=0
        Seed. Only used for discrete targets.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the title has the Kolmogorov-Smirnov distance.

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> from lamina.plots import plot_pit
    >>> plot_pit(NormalMixture([0.0, 0.0], [1.0, 1.0]), [0.0, 1.0], n_bins=4).get_ylabel()
    'rows'
    """
    result = pit(dist, y, n_bins=n_bins, random_state=random_state)
    with style():
        return result.plot(ax=axes_or_new(ax))


def plot_coverage(dist: Any, y: Any, levels: Any = _LEVELS, *, ax: Axes | None = None) -> Axes:
    """Draw how often intervals hold the target against how often they promise to.

    Parameters
    ----------
    dist : Predictive
        Distribution of one target in each row: what ``predict_dist(X)`` returns.
    y : array-like of shape (n_samples,)
        What was observed.
    levels : float or array-like of shape (n_levels,), default=(0.1, 0.2, ..., 0.9, 0.95)
        Probabilities that the intervals promise.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> from lamina.plots import plot_coverage
    >>> ax = plot_coverage(NormalMixture([0.0, 0.0], [1.0, 1.0]), [0.1, 1.0], [0.5, 0.9])
    >>> ax.lines[1].get_ydata().tolist()
    [0.5, 1.0]
    """
    result = coverage(dist, y, levels)
    with style():
        return result.plot(ax=axes_or_new(ax))


def plot_sharpness(dist: Any, y: Any, levels: Any = _LEVELS, *, ax: Axes | None = None) -> Axes:
    """Draw how wide intervals are by level: the mean, and the band of 80 % of the rows.

    Parameters
    ----------
    dist : Predictive
        Distribution of one target in each row: what ``predict_dist(X)`` returns.
    y : array-like of shape (n_samples,)
        What was observed.
    levels : float or array-like of shape (n_levels,), default=(0.1, 0.2, ..., 0.9, 0.95)
        Probabilities that the intervals promise.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> from lamina.plots import plot_sharpness
    >>> ax = plot_sharpness(NormalMixture([0.0, 0.0], [1.0, 3.0]), [0.1, 1.0], [0.5, 0.9])
    >>> ax.lines[0].get_ydata().round(3).tolist()
    [2.698, 6.579]
    """
    result = coverage(dist, y, levels)
    with style():
        return result.plot_sharpness(ax=axes_or_new(ax))
