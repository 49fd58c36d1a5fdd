"""One target with a density: modes, regions, entropy and CRPS from cdf, density and quantiles."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from lamina._typing import FloatArray, IntArray

from ._arguments import inner_level
from ._log_sum import exponential
from ._panels import integral
from ._predictive import Modes
from ._regions import highest_density
from ._search import searched_extrema
from ._univariate import Univariate

_TAIL = 10.0 ** np.arange(-13, -1.5, 0.5)
_LEVELS = np.concatenate([_TAIL, np.linspace(0.05, 0.95, 19), 1 - _TAIL[::-1]])
_ROWS = 1000
"""Extrema are looked for in so many rows at once, which stay in cache."""


class Continuous(Univariate):
    """A predictive distribution of one target that has a density."""

    _plateau: ClassVar[float] = 1e-9
    """Log densities that differ by less are one height, so that a plateau is inside as a whole."""

    def _extrema(self) -> tuple[FloatArray, IntArray]:
        """Return maxima and minima in turn (N, E), filled up with NaN, and their number (N,)."""
        return searched_extrema(self)

    def _log_slope(self, y: FloatArray) -> FloatArray:
        """Return the derivative of the log density; 0 where it is not known: no step is taken."""
        return np.zeros_like(y)

    def _reach(self, log_threshold: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends (N,) beyond which the density is below a threshold, or has no weight."""
        ends = self._quantile(np.array([1e-13, 1 - 1e-13]))
        return ends[:, 0], ends[:, 1]

    def _edges(self) -> FloatArray:
        """Return the edges of panels (N, K), sorted, on each of which the density is smooth."""
        return np.maximum.accumulate(self._quantile(_LEVELS), axis=1)

    def _all_extrema(self) -> tuple[FloatArray, IntArray]:
        """Return the extrema of all rows, found in blocks of rows."""
        blocks = [
            self._take(slice(start, start + _ROWS))._extrema()
            for start in range(0, len(self), _ROWS)
        ]
        widest = max(places.shape[1] for places, _ in blocks)
        padded = [
            np.pad(places, ((0, 0), (0, widest - places.shape[1])), constant_values=np.nan)
            for places, _ in blocks
        ]
        return np.concatenate(padded), np.concatenate([counts for _, counts in blocks])

    def modes(self) -> Modes:
        """Return all local maxima (N, K) of the density with their heights, the highest first."""
        locations = self._all_extrema()[0][:, ::2]
        known = ~np.isnan(locations)
        heights = self.pdf(np.where(known, locations, locations[:, :1]))
        heights = np.where(known, heights, np.nan)
        order = np.argsort(np.where(known, -heights, np.inf), axis=1, kind="stable")
        return Modes(
            np.take_along_axis(locations, order, axis=1),
            np.take_along_axis(heights, order, axis=1),
        )

    def highest_density(self, level: float = 0.9) -> list[FloatArray]:
        """Return the smallest region with a probability: of each row its pieces, (pieces, 2)."""
        return highest_density(self, inner_level(level), *self._all_extrema())

    def _entropy(self) -> FloatArray:
        def surprise(y: FloatArray) -> FloatArray:
            log_pdf = self._log_pdf(y)
            # p ln p is 0 where p is, and single points of infinite density have no length.
            finite = np.isfinite(log_pdf)
            log_pdf = np.where(finite, log_pdf, 0.0)
            return np.where(finite, -exponential(log_pdf) * log_pdf, 0.0)

        return integral(surprise, self._edges())

    def entropy(self) -> FloatArray:
        """Return the differential entropy in nats, (N,), by quadrature."""
        empty = np.broadcast_to(0.0, (len(self), 400))
        return self._in_blocks(lambda dist, _: dist._entropy(), empty)

    def _crps(self, y: FloatArray) -> FloatArray:
        return np.stack([self._crps_at(column) for column in y.T], axis=1)

    def _crps_at(self, y: FloatArray) -> FloatArray:
        """Return the CRPS by quadrature of (F - [x ≥ y])²; y is the edge of two panels."""
        edges = self._edges()
        edges = np.column_stack([np.minimum(edges[:, 0], y), edges, np.maximum(edges[:, -1], y)])

        def left(x: FloatArray) -> FloatArray:
            return self._cdf(x) ** 2

        def right(x: FloatArray) -> FloatArray:
            return self._sf(x) ** 2

        below = integral(left, np.minimum(edges, y[:, None]))
        return below + integral(right, np.maximum(edges, y[:, None]))
