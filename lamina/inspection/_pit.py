"""Where each target falls in its distribution: evenly, if the distributions are right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer
from lamina._typing import FloatArray, IntArray

from ._axes import axes_or_new
from ._distribution import Distribution, is_discrete, targets, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE = 2.0
"""Standard errors beyond which a departure is put into words."""


@dataclass(frozen=True, eq=False)
class PitResult:
    """The probability integral transform of each row, beside the uniform distribution.

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
        The probability of at most y in each row, from 0 to 1.
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins of the histogram.
    counts : ndarray of int of shape (n_bins,)
        Rows in each bin; about as many in each, if the distributions are right.
    ks_distance : float
        Kolmogorov-Smirnov distance: the largest one between the share of values up to u, and u.
    ks_pvalue : float
        How probable at least such a distance is, if the distributions are right.
    """

    values: FloatArray
    edges: FloatArray
    counts: IntArray
    ks_distance: float
    ks_pvalue: float

    def summary(self) -> str:
        """Return the numbers, and in words what they say."""
        return (
            f"PIT of {len(self.values)} rows: mean {self.values.mean():.3f} (right: 0.500), "
            f"standard deviation {self.values.std():.3f} (right: {math.sqrt(1 / 12):.3f}), "
            f"KS distance {self.ks_distance:.4f} with p = {self.ks_pvalue:.3g}. {self._verdict()}"
        )

    def _verdict(self) -> str:
        """Return in words how the values depart from the uniform distribution."""
        if self.ks_pvalue >= 0.05:
            return "Nothing speaks against these distributions."
        n = len(self.values)
        bias = (self.values.mean() - 0.5) * math.sqrt(12 * n)
        width = (((self.values - 0.5) ** 2).mean() - 1 / 12) * math.sqrt(180 * n)
        parts = []
        if abs(width) > _SURE:
            parts.append("too narrow" if width > 0 else "too wide")
        if abs(bias) > _SURE:
            parts.append("too low" if bias > 0 else "too high")
        if not parts:
            return "The distributions have a wrong shape."
        return f"The distributions are {' and '.join(parts)}."

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the histogram with the band in which 95 % of its bars belong."""
        from ._distribution_pictures import draw_pit

        return draw_pit(self, axes_or_new(ax))


def pit(dist: Distribution, y: Any, *, n_bins: int = 20, random_state: int = 0) -> PitResult:
    r"""Compute the probability integral transform of observed targets.

    .. math:: u_i = F_i(y_i)

    If each :math:`y_i` comes from its distribution :math:`F_i`, the :math:`u_i` are uniform on
    [0, 1] and independent. A histogram like a U tells of distributions that are too narrow, a
    hump of too wide ones, a slope of a bias [1]_. Take rows that the model was not trained on.

    Parameters
    ----------
    dist : Predictive
        Distribution of one target in each row: what ``predict_dist(X)`` returns.
    y : array-like of shape (n_samples,)
        What was observed.
    n_bins : int, default=20
        Bins of the histogram.
    random_state : int, default=0
        Seed. Only used for discrete targets.

    Returns
    -------
    PitResult
        The values, their histogram, and the Kolmogorov-Smirnov test against the uniform
        distribution.

    Raises
    ------
    DataError
        If ``y`` does not have a finite number for each row.
    ParameterError
        If ``dist`` is no distribution of one target.

    Notes
    -----
    For a discrete target u is drawn evenly between :math:`P(Y < y)` and :math:`P(Y \le y)`,
    which makes it uniform, too [1]_. The p-value is that of the exact distribution of the
    distance for few rows, and of its limit with corrections for many.

    References
    ----------
    .. [1] C. Czado, T. Gneiting, L. Held, Predictive model assessment for count data,
       Biometrics 2009, https://doi.org/10.1111/j.1541-0420.2009.01191.x

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> from lamina.inspection import pit
    >>> result = pit(NormalMixture([0.0, 0.0, 5.0], [1.0, 2.0, 1.0]), [0.0, 2.0, 4.0])
    >>> result.values.round(4)
    array([0.5   , 0.8413, 0.1587])
    >>> round(result.ks_distance, 4), round(result.ks_pvalue, 2)
    (0.1747, 1.0)
    """
    check_integer("n_bins", n_bins, 1)
    seed = check_integer("random_state", random_state, 0)
    observed = targets(dist, y, ("cdf",))
    n = len(observed)
    u = told("cdf", dist.cdf(observed), (n,))
    if is_discrete(dist, observed):
        below = told("cdf", dist.cdf(np.nextafter(observed, -np.inf)), (n,))
        u = below + np.random.default_rng(seed).random(n) * (u - below)
    u = np.clip(u, 0.0, 1.0)
    edges = np.arange(n_bins + 1) / n_bins
    counts = np.bincount(np.searchsorted(edges[1:-1], u, side="right"), minlength=n_bins)
    distance = _ks_distance(u)
    return PitResult(u, edges, counts, distance, _ks_pvalue(distance, n))


def _ks_distance(u: FloatArray) -> float:
    """Return the largest distance between the empirical and the uniform distribution."""
    ordered, n = np.sort(u), len(u)
    steps = np.arange(n + 1) / n
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


def _ks_pvalue(distance: float, n: int) -> float:
    """Return the probability of at least a distance under the uniform distribution."""
    from scipy.stats import kstwo  # slow to import, and only needed here

    return float(kstwo.sf(distance, n))
