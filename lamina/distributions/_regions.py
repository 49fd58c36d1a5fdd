"""Smallest regions of a density that rises and falls between known extrema."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._log_sum import exponential
from ._roots import increasing_roots

if TYPE_CHECKING:
    from ._continuous import Continuous


def highest_density(
    dist: Continuous, level: float, extrema: FloatArray, counts: IntArray
) -> list[FloatArray]:
    r"""Return the pieces of :math:`\{y : p(y) \ge t\}` that hold a probability.

    The threshold t of each row is the root of an increasing function: the probability inside
    as a function of -ln t. Each piece starts where a rising stretch of the density crosses t,
    and ends where a falling one does.

    Parameters
    ----------
    dist : Continuous
        The distribution.
    level : float
        Probability inside.
    extrema : ndarray of shape (N, E)
        Maxima and minima in turn, from left to right, filled up with NaN.
    counts : ndarray of shape (N,)
        How many there are, an odd number.
    """
    outside = 1 - level
    ends = dist._quantile(np.array([outside / 4, outside / 2, 1 - outside / 2, 1 - outside / 4]))
    heights = dist._log_pdf(np.where(np.isnan(extrema), extrema[:, :1], extrema))
    highest = heights.max(axis=1)
    # Where p < t there is at most t times the length, and less than outside / 2 beyond the ends.
    lowest = np.log(outside / 2) - np.log(ends[:, 3] - ends[:, 0])
    lowest = np.minimum(lowest, highest)
    shape = _shape(*dist._reach(lowest), extrema, counts, heights)

    def inside(places: IntArray, depth: FloatArray) -> tuple[FloatArray, FloatArray]:
        part = dist._take(places)
        rows, falls, y = _crossings(part, -depth, shape.of(places))
        sign = np.where(falls, 1.0, -1.0)
        # Each crossing stands on its own row of a second axis of length one.
        at = part._take(rows)
        mass = np.bincount(rows, sign * at._cdf(y[:, None])[:, 0], minlength=len(places))
        with np.errstate(divide="ignore"):
            speed = exponential(-depth[rows]) / np.abs(at._log_slope(y[:, None])[:, 0])
        rate: FloatArray = np.bincount(rows, speed, minlength=len(places)).astype(np.float64)
        return mass - level, rate

    start = -np.clip(dist._log_pdf(ends[:, 1:3]).min(axis=1), lowest, highest)
    tolerance = np.full(len(dist), 1e-13)
    depth = increasing_roots(inside, -highest, -lowest, start, tolerance)
    rows, _, y = _crossings(dist, -depth - dist._plateau, shape)
    return [
        piece.reshape(-1, 2) for piece in np.split(y, np.searchsorted(rows, range(1, len(dist))))
    ]


class _Shape(NamedTuple):
    """Ends and extrema from left to right (N, E + 2), padded with NaN, and log heights there."""

    places: FloatArray
    heights: FloatArray

    def of(self, rows: IntArray) -> _Shape:
        return _Shape(self.places[rows], self.heights[rows])


def _shape(
    low: FloatArray, high: FloatArray, extrema: FloatArray, counts: IntArray, heights: FloatArray
) -> _Shape:
    n_rows = len(extrema)
    nothing = np.full((n_rows, 1), -np.inf)
    places = np.column_stack([low, extrema, np.full(n_rows, np.nan)])
    values = np.column_stack([nothing, heights, nothing])
    last = np.arange(n_rows), counts + 1
    places[last], values[last] = high, -np.inf
    return _Shape(places, values)


def _crossings(
    dist: Continuous, log_threshold: FloatArray, shape: _Shape
) -> tuple[IntArray, Array, FloatArray]:
    """Return row, whether the density falls, and place of each crossing, from left to right."""
    above = shape.heights >= log_threshold[:, None]
    known = ~np.isnan(shape.places[:, 1:])
    rows, stretch = np.nonzero((above[:, 1:] != above[:, :-1]) & known)
    left, right = shape.places[rows, stretch], shape.places[rows, stretch + 1]
    falls = above[rows, stretch]
    sign = np.where(falls, -1.0, 1.0)
    own, target = dist._take(rows), log_threshold[rows]

    def evaluate(places: IntArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        part = own._take(places)
        gap = part._log_pdf(y[:, None])[:, 0] - target[places]
        return sign[places] * gap, sign[places] * part._log_slope(y[:, None])[:, 0]

    middle = left + 0.5 * (right - left)
    tolerance = np.full(len(rows), 1e-14)
    y = increasing_roots(evaluate, np.minimum(left, right), right, middle, tolerance)
    return rows, falls, y
