"""One target: shapes at the door, and what follows from cdf, density and quantile alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from lamina._checks import check_integer, shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._arguments import levels, points, target_number
from ._predictive import Predictive
from ._streams import seed_of, uniforms

_BLOCK = 1 << 18
"""Rows are worked on in blocks of about so many numbers, which stay in cache."""


class Univariate(Predictive):
    """A predictive distribution of one target; its arrays have shape (N, m)."""

    n_targets = 1

    @property
    def _n_parts(self) -> int:
        return 1

    @abstractmethod
    def _log_pdf(self, y: FloatArray) -> FloatArray:
        """Return the log density (N, m) at (N, m)."""

    @abstractmethod
    def _cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Y ≤ y), (N, m), precise where it is small."""

    @abstractmethod
    def _sf(self, y: FloatArray) -> FloatArray:
        """Return P(Y > y), (N, m), precise where it is small."""

    @abstractmethod
    def _quantile(self, q: FloatArray) -> FloatArray:
        """Return quantiles (N, m) of probabilities (m,)."""

    @abstractmethod
    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        """Return draws (N, n) from uniform numbers (N, n, 2)."""

    @abstractmethod
    def _crps(self, y: FloatArray) -> FloatArray:
        """Return the CRPS (N, m) at (N, m)."""

    def _in_blocks(
        self, work: Callable[[Self, FloatArray], FloatArray], y: FloatArray
    ) -> FloatArray:
        """Return ``work`` of the rows, done in blocks of rows."""
        rows = max(1, _BLOCK // max(1, y.shape[1] * self._n_parts))
        if rows >= len(self):
            return work(self, y)
        pieces = [slice(start, start + rows) for start in range(0, len(self), rows)]
        return np.concatenate([work(self._take(piece), y[piece]) for piece in pieces])

    def _at(
        self, work: Callable[[Self, FloatArray], FloatArray], y: Any, finite: bool = False
    ) -> FloatArray:
        """Return ``work`` at the user's y, in the shape of y."""
        values, single = points(y, len(self), finite=finite)
        answer = self._in_blocks(work, values)
        return answer[:, 0] if single else answer

    def cdf(self, y: Any) -> FloatArray:
        """Return the probability of at most y, in the shape of y."""
        return self._at(lambda dist, at: dist._cdf(at), y)

    def log_prob(self, y: Any) -> FloatArray:
        """Return the log density (or log probability) at y in nats, in the shape of y."""
        return self._at(lambda dist, at: dist._log_pdf(at), y)

    def log_marginal(self, y: Any) -> FloatArray:
        """Return the log density at y in nats: there is one target."""
        return self.log_prob(y)

    def crps(self, y: Any) -> FloatArray:
        """Return the continuous ranked probability score at y, in the shape and unit of y."""
        return self._at(lambda dist, at: dist._crps(at), y, finite=True)

    def energy_score(self, y: Any) -> FloatArray:
        """Return the energy score at y: with one target it is the CRPS."""
        return self.crps(y)

    def covariance(self) -> FloatArray:
        """Return the variance as a matrix, (N, 1, 1)."""
        return self.variance()[:, None, None]

    def quantile(self, q: Any) -> FloatArray:
        """Return the quantile of a probability, (N,), or of m probabilities, (N, m)."""
        probabilities, single = levels("q", q)
        empty = np.broadcast_to(probabilities, (len(self), len(probabilities)))
        answer = self._in_blocks(lambda dist, _: dist._quantile(probabilities), empty)
        return answer[:, 0] if single else answer

    def sample(self, n: int = 1, random_state: Any = None) -> FloatArray:
        """Draw n values a row, (N, n), each row from its own random stream."""
        count = check_integer("n", n, 1)
        return self._from_uniforms(uniforms(seed_of(random_state), self.rows, count, 2))

    def marginal(self, target: int = 0) -> Self:
        """Return the distribution itself: there is one target, number 0."""
        if target_number(target, 1) is None:
            raise ParameterError(f"target must be 0, the only one. Got {shown(target)}.")
        return self

    def condition(self, given: dict[int, Any]) -> Predictive:
        """Raise a sentence: with one target nothing is left to condition on another."""
        raise ParameterError(
            "condition needs several targets. This distribution has one, so nothing would be "
            f"left. Got given={shown(given)}."
        )
