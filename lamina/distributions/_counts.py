"""Targets that are whole numbers: quantiles, modes, regions and scores from the probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from lamina._errors import ParameterError
from lamina._typing import Array, FloatArray, IntArray

from ._arguments import affine_pair, inner_level
from ._integers import bracketed, first_integers
from ._log_sum import exponential
from ._mixture import ComponentMixture
from ._predictive import Modes

_MOST_NODES = 4096
_ROWS = 256
_SPREAD = np.linspace(-12.0, 12.0, 513)
_SMALL = np.unique(np.concatenate([np.arange(256), np.floor(np.geomspace(256, 1e18, 3600))]))
_TIE = 1e-11
"""Log probabilities that differ by less are equal: rounding must not make a mode."""


class CountMixture(ComponentMixture):
    """A mixture of discrete distributions on the whole numbers from 0."""

    is_discrete = True

    @abstractmethod
    def _log_pmf(self, k: FloatArray) -> FloatArray:
        """Return the log probability of each component, (N, m, C), at integers (N, m, 1)."""

    @abstractmethod
    def _count_tails(self, k: FloatArray, upper: Array) -> FloatArray:
        """Return P(Y ≤ k), or P(Y > k) where ``upper``, of each component at k ≥ 0."""

    @abstractmethod
    def _partial_means(self, k: FloatArray) -> FloatArray:
        """Return E[Y; Y ≤ k] of each component, (N, m, C), at integers k ≥ 0 (N, m, 1)."""

    def _components(self, rows: IntArray, component: IntArray) -> Self:
        """Return single components (K,) as a distribution of K rows."""
        picked = self._take(rows)
        for name in self._per_row:
            setattr(picked, name, getattr(self, name)[rows, component][:, None])
        picked.log_weights = np.zeros((len(rows), 1))
        return picked

    def _terms(self, y: FloatArray) -> FloatArray:
        k = y[:, :, None]
        whole = (k >= 0) & (np.floor(k) == k) & np.isfinite(k)
        return np.where(whole, self._log_pmf(np.where(whole, k, 0.0)), -np.inf)

    def _tails(self, y: FloatArray, upper: Any) -> FloatArray:
        k = np.floor(y)[:, :, None]
        above = np.broadcast_to(upper, y.shape)[:, :, None]
        inside = (k >= 0) & np.isfinite(k)
        tails = self._count_tails(np.where(inside, k, 0.0), above)
        beyond = (k < 0) == above  # all of the probability lies on that side
        return np.where(inside, tails, np.where(beyond, 1.0, 0.0))

    def _component_quantiles(self, q: FloatArray) -> FloatArray:
        n_rows, n_components = self.log_weights.shape
        rows, component = np.divmod(np.arange(n_rows * n_components), n_components)
        each = self._components(rows, component)._quantile(q)
        return each.reshape(n_rows, n_components, len(q)).swapaxes(1, 2)

    def _pick(self, component: Any, u: FloatArray) -> FloatArray:
        rows = np.broadcast_to(np.arange(len(u))[:, None], u.shape).ravel()
        picked = self._components(rows, component.ravel())
        return picked._first(np.arange(u.size), u.ravel()).reshape(u.shape)

    def _quantile(self, q: FloatArray) -> FloatArray:
        rows = np.repeat(np.arange(len(self)), len(q))
        return self._first(rows, np.tile(q, len(self))).reshape(len(self), len(q))

    def _first(self, rows: IntArray, q: FloatArray) -> FloatArray:
        """Return the smallest integer with cdf ≥ q, for rows (K,) and probabilities (K,)."""
        upper = q > 0.5

        def holds(places: IntArray, k: FloatArray) -> Array:
            above = upper[places]
            tail = self._take(rows[places])._tail(k[:, None], above[:, None])[:, 0]
            return np.where(above, tail <= 1 - q[places], tail >= q[places])

        std = self.std()[rows]
        guess = self.mean()[rows] + std * np.clip(ndtri(q), -30.0, 30.0)
        answer = np.where(q == 1, self._largest(rows), 0.0)
        inner = np.flatnonzero((q > 0) & (q < 1))
        rows, q, upper = rows[inner], q[inner], upper[inner]
        low, high = bracketed(holds, guess[inner], std[inner] / 8)
        answer[inner] = first_integers(holds, low, high)
        return answer

    def _largest(self, rows: IntArray) -> FloatArray:
        """Return the largest possible value of rows (K,)."""
        return np.full(len(rows), np.inf)

    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        """Return integers (N, G) in order, and weights that make a sum over all integers.

        They are all integers of any probability where these are few. Else they are the small
        ones, and further on so close to one another that probabilities change little from one
        to the next; the weights are then those of the trapezoidal rule.
        """
        ends = self._quantile(np.array([1e-16, 1 - 1e-16]))
        low, high = np.maximum(ends[:, :1] - 1, 0.0), ends[:, 1:] + 1
        most = int((high - low).max()) + 1
        if most <= _MOST_NODES:
            nodes: FloatArray = low + np.arange(float(most))
            return nodes, np.ones_like(nodes)
        spread = self._component_means()[:, :, None] + self._component_stds()[:, :, None] * _SPREAD
        inner = np.clip(np.round(spread).reshape(len(self), -1), low, high)
        small = np.clip(np.broadcast_to(_SMALL, (len(self), len(_SMALL))), low, high)
        nodes = np.sort(np.column_stack([low, small, inner, high]), axis=1)
        gaps = np.diff(nodes, axis=1)
        ahead, behind = np.zeros_like(nodes), np.zeros_like(nodes)
        ahead[:, :-1] = np.where(gaps > 0, (gaps + 1) / 2, 0.0)
        behind[:, 1:] = np.where(gaps > 0, (gaps - 1) / 2, 0.0)
        behind[:, -1] += 1
        return np.asarray(nodes, dtype=np.float64), ahead + behind

    def _pieces(self) -> list[tuple[IntArray, Self]]:
        """Return blocks of rows that are about as wide, with their numbers."""
        order = np.argsort(self.std(), kind="stable")
        blocks = [order[at : at + _ROWS] for at in range(0, len(self), _ROWS)]
        return [(block, self._take(block)) for block in blocks]

    def _told(self, tell: Callable[[Self], FloatArray]) -> FloatArray:
        """Return what each block tells of its rows, (N,), in their order."""
        told = np.empty(len(self))
        for block, part in self._pieces():
            told[block] = tell(part)
        return told

    def entropy(self) -> FloatArray:
        """Return the entropy in nats, (N,): a sum over the integers."""
        return self._told(lambda part: part._entropy())

    def _entropy(self) -> FloatArray:
        nodes, counts = self._nodes()
        logs = self._log_pdf(nodes)
        terms = np.exp(logs) * np.where(np.isfinite(logs), logs, 0.0)
        entropy: FloatArray = -np.einsum("ng,ng->n", terms, counts)
        return entropy

    def _crps(self, y: FloatArray) -> FloatArray:
        k = np.floor(y)[:, :, None]
        inside = k >= 0
        below = y[:, :, None] * self._tails(y, False)
        below -= np.where(inside, self._partial_means(np.where(inside, k, 0.0)), 0.0)
        short = np.einsum("nmc,nc->nm", below, self.weights)  # E[y - Y; Y ≤ y]
        spread = self._told(lambda part: part._half_difference())
        score: FloatArray = 2 * short + self.mean()[:, None] - y - spread[:, None]
        return score

    def _half_difference(self) -> FloatArray:
        """Return E|Y - Y'| / 2 as the sum of F (1 - F)."""
        nodes, counts = self._nodes()
        spread: FloatArray = np.einsum("ng,ng,ng->n", self._cdf(nodes), self._sf(nodes), counts)
        return spread

    def modes(self) -> Modes:
        """Return all local maxima (N, K) of the probability, the highest first.

        Of neighbours with the same probability the smallest counts.
        """
        found = [(block, part._modes()) for block, part in self._pieces()]
        widest = max(modes.shape[1] for _, modes in found)
        locations = np.full((len(self), widest), np.nan)
        for block, modes in found:
            locations[block, : modes.shape[1]] = modes
        known = ~np.isnan(locations)
        heights = np.where(known, self.pdf(np.where(known, locations, 0.0)), np.nan)
        order = np.argsort(np.where(known, -heights, np.inf), axis=1, kind="stable")
        return Modes(
            np.take_along_axis(locations, order, axis=1),
            np.take_along_axis(heights, order, axis=1),
        )

    def _modes(self) -> FloatArray:
        nodes, _ = self._nodes()
        logs = self._log_pdf(nodes)
        with np.errstate(invalid="ignore"):
            change = np.nan_to_num(np.diff(logs, axis=1), nan=0.0)
        signs = np.where(np.abs(change) <= _TIE, 0.0, np.sign(change))
        edge = np.ones((len(nodes), 1))
        signs = _filled_from_right(np.column_stack([edge, signs, -edge]))
        rows, at = np.nonzero((signs[:, :-1] > 0) & (signs[:, 1:] < 0))
        own = self._take(rows)
        left = np.where(at > 0, nodes[rows, at - 1], nodes[rows, 0] - 1)
        right = nodes[rows, np.minimum(at + 1, nodes.shape[1] - 1)]

        def falls(places: IntArray, k: FloatArray) -> Array:
            part = own._take(places)
            pair = part._log_pdf(np.column_stack([k, k + 1]))
            return pair[:, 1] - pair[:, 0] <= _TIE

        counts = np.bincount(rows, minlength=len(nodes))
        modes = np.full((len(nodes), int(counts.max())), np.nan)
        first = np.cumsum(counts) - counts
        modes[rows, np.arange(len(rows)) - first[rows]] = first_integers(
            falls, left, np.maximum(right, left + 1)
        )
        return modes

    def highest_density(self, level: float = 0.9) -> list[FloatArray]:
        """Return the smallest set with at least a probability, as runs of integers.

        Of each row the runs (pieces, 2) from left to right, both ends included.
        """
        inner_level(level)
        found: dict[int, FloatArray] = {}
        for block, part in self._pieces():
            found.update(zip(block.tolist(), part._highest(level), strict=True))
        return [found[row] for row in range(len(self))]

    def _highest(self, level: float) -> list[FloatArray]:
        nodes, counts = self._nodes()
        logs = self._log_pdf(nodes)
        order = np.argsort(-logs, axis=1, kind="stable")
        mass = np.take_along_axis(exponential(logs) * counts, order, axis=1).cumsum(axis=1)
        last = np.minimum((mass < level * (1 - 1e-14)).sum(axis=1), nodes.shape[1] - 1)
        threshold = np.take_along_axis(logs, order[np.arange(len(nodes)), last][:, None], axis=1)
        inside = np.pad(logs >= threshold - _TIE, ((0, 0), (1, 1)))
        pieces = []
        for row in range(len(nodes)):
            step = np.diff(inside[row].astype(np.int8))
            first, end = np.flatnonzero(step == 1), np.flatnonzero(step == -1) - 1
            pieces.append(np.column_stack([nodes[row, first], nodes[row, end]]))
        return pieces

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution itself: counts are neither shifted nor scaled."""
        shift, factor = affine_pair(loc, scale, 1)
        if shift[0] != 0 or factor[0] != 1:
            raise ParameterError(
                "a count has no scale, so loc must be 0 and scale 1. "
                f"Got {float(shift[0])!r} and {float(factor[0])!r}."
            )
        return self


def _filled_from_right(signs: FloatArray) -> FloatArray:
    """Return signs in which each 0 is the next sign to its right that is none."""
    n = signs.shape[1]
    place = np.where(signs != 0, np.arange(n), n - 1)
    place = np.minimum.accumulate(place[:, ::-1], axis=1)[:, ::-1]
    return np.take_along_axis(signs, place, axis=1)
