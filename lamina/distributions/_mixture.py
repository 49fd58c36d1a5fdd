"""Mixtures of components of one family, for one target."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from lamina._typing import FloatArray

from ._arguments import shares_of
from ._log_sum import exponential, log_sum
from ._roots import increasing_roots
from ._univariate import Univariate

_MARGIN = 1e-13


class ComponentMixture(Univariate):
    """A weighted sum of C densities in each row."""

    log_weights: FloatArray

    @property
    def weights(self) -> FloatArray:
        """Weights of the components, (N, C); each row sums to 1."""
        return exponential(self.log_weights)

    @property
    def n_components(self) -> int:
        """C, the number of components."""
        return int(self.log_weights.shape[1])

    @property
    def _n_parts(self) -> int:
        return self.n_components

    @abstractmethod
    def _terms(self, y: FloatArray) -> FloatArray:
        """Return the log density of each component, (N, m, C), without weights."""

    @abstractmethod
    def _tails(self, y: FloatArray, upper: Any) -> FloatArray:
        """Return P(Y ≤ y) of each component, (N, m, C), or P(Y > y) where ``upper``."""

    @abstractmethod
    def _component_means(self) -> FloatArray:
        """Return the mean of each component, (N, C)."""

    @abstractmethod
    def _component_stds(self) -> FloatArray:
        """Return the standard deviation of each component, (N, C)."""

    @abstractmethod
    def _component_quantiles(self, q: FloatArray) -> FloatArray:
        """Return the quantile of each component, (N, m, C), of probabilities (m,)."""

    @abstractmethod
    def _pick(self, component: Any, u: FloatArray) -> FloatArray:
        """Return quantiles u (N, n) of the components with the numbers (N, n)."""

    def _knots(self) -> FloatArray:
        """Return points (N, K) between which the cdf has no hidden steps."""
        return self._component_means()

    def _log_pdf(self, y: FloatArray) -> FloatArray:
        return log_sum(self._terms(y) + self.log_weights[:, None, :])

    def _tail(self, y: FloatArray, upper: Any) -> FloatArray:
        tails = self._tails(y, upper)
        tail: FloatArray = np.einsum("nmc,nc->nm", tails, self.weights)
        # The weights sum to 1 to rounding only.
        return np.where(tails.min(axis=2) == 1, 1.0, np.minimum(tail, 1.0))

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._tail(y, False)

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._tail(y, True)

    def mean(self) -> FloatArray:
        """Return the expected value, (N,): the weighted mean of the components' means."""
        mean: FloatArray = np.einsum("nc,nc->n", self.weights, self._component_means())
        return mean

    def std(self) -> FloatArray:
        """Return the standard deviation, (N,), within and between components."""
        away = self._component_means() - self.mean()[:, None]
        within = self._component_stds()
        # In units of the largest term, so that squares neither overflow nor vanish.
        unit = np.maximum(np.abs(away), within).max(axis=1)
        unit = np.where(unit > 0, unit, 1.0)
        squares = (away / unit[:, None]) ** 2 + (within / unit[:, None]) ** 2
        std: FloatArray = unit * np.sqrt(np.einsum("nc,nc->n", self.weights, squares))
        return std

    def n_effective(self) -> FloatArray:
        r"""Return the effective number of components of each row, (N,).

        .. math:: \exp\Bigl(-\sum_c \pi_c \ln \pi_c\Bigr)

        It is 1 where one component has all the weight, and C where all have the same.
        """
        finite = np.where(np.isfinite(self.log_weights), self.log_weights, 0.0)
        return exponential(-np.einsum("nc,nc->n", self.weights, finite))

    def responsibilities(self, y: Any) -> FloatArray:
        r"""Return how probable it is that y came from each component (Bayes' theorem).

        .. math:: \gamma_c = \frac{\pi_c\, p_c(y)}{\sum_k \pi_k\, p_k(y)}

        Parameters
        ----------
        y : float or array-like of shape (N,), (N, m) or (1, m)
            What was observed.

        Returns
        -------
        ndarray of shape (N, C) or (N, m, C)
            Each sums to 1 over the components.
        """
        return self._at(lambda dist, at: dist._responsibilities(at), y, finite=True)

    def _responsibilities(self, y: FloatArray) -> FloatArray:
        return shares_of(self._terms(y) + self.log_weights[:, None], self.weights[:, None])

    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        edges = np.cumsum(self.weights, axis=1)[:, None, :-1]
        component = (u[:, :, :1] >= edges).sum(axis=2)
        return self._pick(component, u[:, :, 1])

    def _quantile(self, q: FloatArray) -> FloatArray:
        each = self._component_quantiles(q)
        low: FloatArray = each.min(axis=2)
        high: FloatArray = each.max(axis=2)
        if self.n_components == 1:
            return low
        # Rounding must not put the root outside its bracket.
        inner = np.isfinite(low) & np.isfinite(high)
        size = np.maximum(np.abs(low), np.abs(high))
        pad = 8 * np.spacing(np.where(inner, size, 1.0))
        answer = np.where(q == 0, low, high)
        low, high, start = self._narrowed(q, low - pad, high + pad)
        answer[inner] = self._roots(q, low, high, start, inner)
        return answer

    def _narrowed(
        self, q: FloatArray, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return brackets (N, m) between neighbouring knots, and where to begin in them."""
        knots = self._knots()
        at = self._cdf(knots)
        low_at, high_at = np.zeros_like(low), np.ones_like(high)
        for place in range(knots.shape[1]):
            knot, below = knots[:, place, None], at[:, place, None]
            up = (below < q - _MARGIN) & (knot > low)
            low, low_at = np.where(up, knot, low), np.where(up, below, low_at)
            down = (below > q + _MARGIN) & (knot < high)
            high, high_at = np.where(down, knot, high), np.where(down, below, high_at)
        share = np.divide(q - low_at, high_at - low_at, where=high_at > low_at, out=low_at + 0.5)
        with np.errstate(invalid="ignore"):
            start = low + np.clip(share, 0.0, 1.0) * (high - low)
        return low, high, start

    def _roots(
        self, q: FloatArray, low: FloatArray, high: FloatArray, start: FloatArray, inner: Any
    ) -> FloatArray:
        """Return the roots of cdf - q (N, m) where ``inner``, as a flat array."""
        rows, columns = np.nonzero(inner)
        upper = q[columns] > 0.5
        sign = np.where(upper, -1.0, 1.0)
        target = np.where(upper, 1 - q[columns], q[columns])  # exact for q above a half

        def evaluate(places: Any, y: FloatArray) -> tuple[FloatArray, FloatArray]:
            dist = self._take(rows[places])
            tail = dist._tail(y[:, None], upper[places, None])[:, 0]
            slope = exponential(dist._log_pdf(y[:, None])[:, 0])
            return sign[places] * (tail - target[places]), slope

        return increasing_roots(evaluate, low[inner], high[inner], start[inner], 1e-14 * target)
