"""How often intervals hold what they promise, and how wide they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_real
from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._axes import axes_or_new
from ._distribution import Distribution, targets, told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CoverageResult:
    """Promised and observed coverage of central intervals, and their widths.

    Attributes
    ----------
    n_samples : int
        Rows.
    levels : ndarray of shape (n_levels,)
        Probability that each interval promises.
    observed : ndarray of shape (n_levels,)
        Share of the rows whose target was inside, both ends included.
    standard_error : ndarray of shape (n_levels,)
        How much `observed` varies by chance where the promise is true.
    widths : ndarray of shape (n_samples, n_levels)
        Width of each interval, in units of y.
    mean_width : ndarray of shape (n_levels,)
        Sharpness: the mean width, in units of y. Of two that keep their promise the one with
        the smaller width is better.
    """

    n_samples: int
    levels: FloatArray
    observed: FloatArray
    standard_error: FloatArray
    widths: FloatArray

    @property
    def mean_width(self) -> FloatArray:
        """Mean width of the intervals of each level, (n_levels,), in units of y."""
        mean: FloatArray = self.widths.mean(axis=0)
        return mean

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for each level."""
        import pandas as pd

        return pd.DataFrame(
            {
                "level": self.levels,
                "observed": self.observed,
                "standard_error": self.standard_error,
                "mean_width": self.mean_width,
                "median_width": np.median(self.widths, axis=0),
            }
        )

    def summary(self) -> str:
        """Return a line for each level."""
        head = f"Coverage of central intervals on {self.n_samples} rows"
        rows = zip(self.levels, self.observed, self.standard_error, self.mean_width, strict=True)
        lines = [
            f"level {level:6.1%}  observed {seen:6.1%} (± {error:.1%})  mean width {width:.4g}"
            for level, seen, error, width in rows
        ]
        return "\n".join([head, *lines])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the observed against the promised coverage, with a band of two errors."""
        from ._distribution_pictures import draw_coverage

        return draw_coverage(self, axes_or_new(ax))

    def plot_sharpness(self, ax: Axes | None = None) -> Axes:
        """Draw the mean width by level, with the band that holds 80 % of the rows."""
        from ._distribution_pictures import draw_sharpness

        return draw_sharpness(self, axes_or_new(ax))


def coverage(dist: Distribution, y: Any, levels: Any = (0.5, 0.8, 0.9, 0.95)) -> CoverageResult:
    """Count how often central intervals hold the target, on rows not trained on.

    Parameters
    ----------
    dist : Predictive
        Distribution of one target in each row: what ``predict_dist(X)`` returns.
    y : array-like of shape (n_samples,)
        What was observed.
    levels : float or array-like of shape (n_levels,), default=(0.5, 0.8, 0.9, 0.95)
        Probabilities that the intervals promise, above 0 and below 1.

    Returns
    -------
    CoverageResult
        Observed coverage and widths by level.

    Raises
    ------
    DataError
        If ``y`` does not have a finite number for each row.
    ParameterError
        If a level is outside (0, 1), or ``dist`` is no distribution of one target.

    Notes
    -----
    Intervals of a discrete target hold at least their level, and may hold much more.

    References
    ----------
    .. [1] T. Gneiting, F. Balabdaoui, A. E. Raftery, Probabilistic forecasts, calibration and
       sharpness, JRSS B 2007, https://doi.org/10.1111/j.1467-9868.2007.00587.x

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> from lamina.inspection import coverage
    >>> result = coverage(NormalMixture([0.0, 0.0, 0.0, 0.0], [1.0] * 4), [0, 1, 2, 3], 0.9)
    >>> result.observed, result.mean_width.round(4)
    (array([0.5]), array([3.2897]))
    """
    promised = _levels(levels)
    observed = targets(dist, y, ("interval",))
    n = len(observed)
    inside, widths = np.empty((n, len(promised)), dtype=bool), np.empty((n, len(promised)))
    for i, level in enumerate(promised):
        low, high = told("interval", dist.interval(float(level)), (n, 2)).T
        inside[:, i] = (low <= observed) & (observed <= high)
        widths[:, i] = high - low
    return CoverageResult(
        n_samples=n,
        levels=promised,
        observed=inside.mean(axis=0),
        standard_error=np.sqrt(promised * (1 - promised) / n),
        widths=widths,
    )


def _levels(levels: Any) -> FloatArray:
    """Return levels (m,), each above 0 and below 1."""
    given = list(np.atleast_1d(np.asarray(levels, dtype=object)).ravel())
    if not given:
        raise ParameterError("levels must have at least one level. Got none.")
    return np.array(
        [check_real("levels", x, 0.0, 1.0, open_minimum=True, open_maximum=True) for x in given]
    )
