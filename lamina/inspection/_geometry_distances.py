"""Whether some rows are near: distances to the nearest, the mean and the farthest row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import FloatArray

from ._axes import axes_or_new
from ._geometry_rows import centred, distinct, drawn, enough, generator, matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class DistancesResult:
    """Nearest, mean and farthest distance of some queries to the rows of data.

    Attributes
    ----------
    nearest, mean, farthest : ndarray of shape (n_queries,)
        Distances of each query to the rows, in units of ``X``.
    nearest_to_mean : float
        Median of the ratios of nearest and mean distance.
    nearest_to_farthest : float
        Median of the ratios of nearest and farthest distance; close to 1, "near" says little.
    n_used : int
        Rows that the distances go to, a query's own among them.
    n_duplicates : int
        Rows that equal an earlier one and were left out.
    """

    nearest: FloatArray
    mean: FloatArray
    farthest: FloatArray
    nearest_to_mean: float
    nearest_to_farthest: float
    n_used: int
    n_duplicates: int

    def summary(self) -> str:
        """Return the two ratios and what they say."""
        copies = f", {self.n_duplicates} duplicates left out" if self.n_duplicates else ""
        return (
            f"Distances of {len(self.nearest)} queries to {self.n_used} rows{copies}: the nearest "
            f"is {self.nearest_to_mean:.3f} of the mean and {self.nearest_to_farthest:.3f} of the "
            "farthest (medians). Close to 1, all rows are about equally far."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw nearest, mean and farthest distance of each query, sorted by the nearest."""
        from ._geometry_pictures import draw_distances

        return draw_distances(self, axes_or_new(ax))


def distance_concentration(
    X: Any, queries: Any = None, *, n_queries: int = 300, random_state: int | None = 0
) -> DistancesResult:
    r"""Compare the distances to the nearest, the average and the farthest row.

    .. math:: \operatorname{median}_q \frac{\min_n |x_q - x_n|}{\frac1N \sum_n |x_q - x_n|},
              \qquad \operatorname{median}_q \frac{\min_n |x_q - x_n|}{\max_n |x_q - x_n|}

    Of independent random coordinates both ratios grow to 1 with their number [1]_; data near a
    manifold of few dimensions keep near neighbours in any number of features.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of data. Equal rows count once.
    queries : array-like of shape (n_queries, n_features), default=None
        Points to measure from. None draws rows of ``X``. A row that equals its query is left out.
    n_queries : int, default=300
        How many rows to draw. Only used without ``queries``.
    random_state : int or None, default=0
        Seed of the draw. Only used without ``queries``.

    Returns
    -------
    DistancesResult

    Raises
    ------
    DataError
        If fewer than two rows differ, or ``queries`` have other columns.

    Notes
    -----
    Distances are sums of squared differences in float64, so that none is a root of a negative
    number.

    References
    ----------
    .. [1] K. Beyer, J. Goldstein, R. Ramakrishnan, U. Shaft, When is "nearest neighbor"
       meaningful?, ICDT 1999, https://doi.org/10.1007/3-540-49257-7_15

    Examples
    --------
    >>> from lamina.inspection import distance_concentration
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> result = distance_concentration(X, [[0.0, 0.5]])
    >>> result.nearest.tolist(), result.farthest.round(3).tolist()
    ([0.5], [4.61])
    """
    given = matrix(X)
    rows = given[distinct(given)]
    if queries is None:
        enough(len(rows), len(given), 2)
        n_wanted = check_integer("n_queries", n_queries, 1)
        own = drawn(len(rows), n_wanted, generator(random_state))
        everything, scale = centred(rows)
        three = _of_rows(everything, everything[own])
    else:
        asked = matrix(queries, name="queries")
        if asked.shape[1] != given.shape[1]:
            raise DataError(
                f"queries must have {given.shape[1]} columns, as X. Got {asked.shape[1]}."
            )
        everything, scale = centred(np.concatenate([asked, rows]))
        three = _of_rows(everything[len(asked) :], everything[: len(asked)])
    nearest, mean, farthest = (column * scale for column in three)
    return DistancesResult(
        nearest=nearest,
        mean=mean,
        farthest=farthest,
        nearest_to_mean=float(np.median(three[0] / three[1])),
        nearest_to_farthest=float(np.median(three[0] / three[2])),
        n_used=len(rows),
        n_duplicates=len(given) - len(rows),
    )


def _of_rows(rows: FloatArray, queries: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return smallest, mean and largest distance (Q,) of each query to the rows unlike it."""
    from scipy.spatial.distance import cdist  # slow to import, and only needed here

    smallest, average, largest = np.empty((3, len(queries)))
    step = max(1, _BLOCK // len(rows))
    for start in range(0, len(queries), step):
        block = slice(start, min(start + step, len(queries)))
        distances = cdist(queries[block], rows)  # (B, N)
        same = distances == 0
        n_others = len(rows) - same.sum(axis=1)
        if not n_others.all():
            raise DataError("X must have a row that differs from each query. Got none for one.")
        average[block] = distances.sum(axis=1) / n_others
        largest[block] = distances.max(axis=1)
        distances[same] = np.inf
        smallest[block] = distances.min(axis=1)
    return smallest, average, largest
