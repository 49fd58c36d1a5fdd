"""Mixtures of multivariate normal distributions: several targets that depend on one another."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri

from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._arguments import (
    affine_pair,
    joint_points,
    normalised_weights,
    parameter,
    positive,
    row_numbers,
    shares_of,
    targets_given,
    values_given,
)
from ._energy import mean_length
from ._joint import Joint
from ._log_sum import exponential, log_sum
from ._normal_mixture import NormalMixture
from ._predictive import Modes
from ._spread_points import spread_points
from ._summits import summits
from ._triangular import factor_of, solved

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_ROWS = 1000
_ROWS_OF_POINTS = 50
_N_POINTS = 512


class MultivariateNormalMixture(Joint):
    r"""A mixture of C normal distributions of T targets in each row.

    .. math:: p(y) = \sum_{c=1}^{C} \pi_c\, \mathcal N(y \mid \mu_c, L_c L_c^\top)

    Parameters
    ----------
    loc : array-like of shape (N, T) or (N, C, T)
        Means of the components, in units of y.
    scale_tril : array-like of shape (N, T, T) or (N, C, T, T)
        Cholesky factors L of the covariance matrices: lower triangles, diagonal above 0.
    log_weights : array-like of shape (N, C) or (C,), default=None
        Logs of the mixing weights, up to a constant of each row. None gives equal weights.
    rows : array-like of int of shape (N,), default=None
        Numbers of the rows, which their random streams belong to. None counts from 0.

    Raises
    ------
    ParameterError
        If a parameter is not finite, a factor is no Cholesky factor, or shapes differ.

    Examples
    --------
    >>> dist = MultivariateNormalMixture([[0.0, 0.0]], [[[1.0, 0.0], [0.6, 0.8]]])
    >>> dist.covariance()
    array([[[1. , 0.6],
            [0.6, 1. ]]])
    >>> dist.condition({0: 2.0}).mean()
    array([1.2])
    """

    loc: FloatArray
    scale_tril: FloatArray
    log_weights: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights", "loc", "scale_tril")

    def __init__(
        self, loc: Any, scale_tril: Any, log_weights: Any = None, *, rows: Any = None
    ) -> None:
        means, factors = parameter("loc", loc, 3), parameter("scale_tril", scale_tril, 4)
        if factors.shape != (*means.shape, means.shape[2]):
            raise ParameterError(
                "loc must have shape (N, C, T) and scale_tril (N, C, T, T). "
                f"Got {means.shape} and {factors.shape}."
            )
        positive("the diagonal of scale_tril", np.einsum("nctt->nct", factors))
        if np.triu(factors, 1).any():
            raise ParameterError(
                "scale_tril must be a lower triangle. Got a number other than 0 above the "
                "diagonal. Pass numpy.linalg.cholesky of the covariance."
            )
        self.loc, self.scale_tril = means, factors
        self.log_weights = normalised_weights(log_weights, means.shape)
        self.rows = row_numbers(rows, len(means))
        self.n_targets = int(means.shape[2])

    @property
    def weights(self) -> FloatArray:
        """Weights of the components, (N, C); each row sums to 1."""
        return exponential(self.log_weights)

    @property
    def n_components(self) -> int:
        """C, the number of components."""
        return int(self.log_weights.shape[1])

    def _terms(self, y: FloatArray) -> FloatArray:
        """Return the log density of each component, (N, m, C), without weights."""
        z = solved(self.scale_tril[:, None], y[:, :, None] - self.loc[:, None])
        with np.errstate(over="ignore"):
            squares = np.einsum("nmct,nmct->nmc", z, z)
        volume = np.log(np.einsum("nctt->nct", self.scale_tril)).sum(axis=2)
        terms: FloatArray = -0.5 * squares - (volume + self.n_targets * _HALF_LOG_TWO_PI)[:, None]
        return terms

    def _log_joint(self, y: FloatArray) -> FloatArray:
        return log_sum(self._terms(y) + self.log_weights[:, None])

    def _marginal(self, target: int) -> NormalMixture:
        scale = np.linalg.norm(self.scale_tril[:, :, target], axis=2)
        return NormalMixture(self.loc[:, :, target], scale, self.log_weights, rows=self.rows)

    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the targets, (N, T, T), total over components."""
        away = self.loc - self.mean()[:, None]
        within = self.scale_tril @ self.scale_tril.swapaxes(2, 3)
        each = within + away[..., :, None] * away[..., None, :]
        covariance: FloatArray = np.einsum("nc,ncst->nst", self.weights, each)
        return covariance

    def responsibilities(self, y: Any) -> FloatArray:
        """Return how probable it is that y (N, T) came from each component, (N, C).

        Parameters
        ----------
        y : array-like of shape (N, T) or (N, m, T)
            What was observed.

        Returns
        -------
        ndarray of shape (N, C) or (N, m, C)
            Each sums to 1 over the components.
        """
        values, single = joint_points(y, len(self), self.n_targets, finite=True)
        shares = shares_of(self._terms(values) + self.log_weights[:, None], self.weights[:, None])
        return shares[:, 0] if single else shares

    def n_effective(self) -> FloatArray:
        """Return the effective number of components, exp of the weights' entropy, (N,)."""
        finite = np.where(np.isfinite(self.log_weights), self.log_weights, 0.0)
        return exponential(-np.einsum("nc,nc->n", self.weights, finite))

    def condition(self, given: dict[int, Any]) -> NormalMixture | MultivariateNormalMixture:
        r"""Return the distribution of the other targets, some being known.

        Component c stays normal, and its weight becomes proportional to
        :math:`\pi_c\, p_c(\text{known})`.

        Parameters
        ----------
        given : dict of int to float or array-like of shape (N,)
            Values of the known targets, by their number.

        Returns
        -------
        NormalMixture or MultivariateNormalMixture
            Of the targets left, in their order.
        """
        known = list(targets_given(given, self.n_targets))
        free = [target for target in range(self.n_targets) if target not in known]
        values = np.stack([values_given(given, target, len(self)) for target in known], axis=-1)
        # Known targets first: the factor of the reordered covariance holds all that is asked.
        order = [*known, *free]
        factor = factor_of(self.scale_tril[:, :, order])
        k = len(known)
        first, cross, rest = factor[..., :k, :k], factor[..., k:, :k], factor[..., k:, k:]
        z = solved(first, values[:, None] - self.loc[:, :, known])
        loc = self.loc[:, :, free] + np.einsum("ncfk,nck->ncf", cross, z)
        with np.errstate(over="ignore"):
            fit = -0.5 * np.einsum("nck,nck->nc", z, z)
        fit -= np.log(np.einsum("nckk->nck", first)).sum(axis=2)
        weights = self.log_weights + fit
        lost = ~np.isfinite(weights.max(axis=1, keepdims=True))
        weights = np.where(lost, self.log_weights, weights)
        if len(free) == 1:
            return NormalMixture(loc[..., 0], rest[..., 0, 0], weights, rows=self.rows)
        return MultivariateNormalMixture(loc, rest, weights, rows=self.rows)

    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        edges = np.cumsum(self.weights, axis=1)[:, None, :-1]
        component = (u[:, :, :1] >= edges).sum(axis=2)
        row = np.arange(len(self))[:, None]
        factor = self.scale_tril[row, component]
        drawn: FloatArray = self.loc[row, component] + np.einsum(
            "nmst,nmt->nms", factor, ndtri(u[:, :, 1:])
        )
        return drawn

    def modes(self) -> Modes:
        """Return the local maxima (N, K, T) of the joint density with their heights (N, K).

        Climbs start at every component and wherever the ridges of two cross. With several
        targets a mixture may have more modes than components.
        """
        parts = [self._take(slice(start, start + _ROWS)) for start in range(0, len(self), _ROWS)]
        found = [summits(part.loc, part.scale_tril, part.log_weights) for part in parts]
        widest = max(heights.shape[1] for _, heights in found)
        locations = [_padded(places, widest) for places, _ in found]
        heights = np.concatenate([_padded(heights, widest) for _, heights in found])
        constant = self.n_targets * _HALF_LOG_TWO_PI
        return Modes(np.concatenate(locations), exponential(heights - constant))

    def entropy(self) -> FloatArray:
        """Return the joint entropy in nats, (N,): closed for C = 1, else to about 1e-3.

        Of mixtures it is the components' mean entropy, plus what is gained by not knowing the
        component: a mean over 512 evenly spread points of each.
        """
        volume = np.log(np.einsum("nctt->nct", self.scale_tril)).sum(axis=2)
        each = volume + self.n_targets * (_HALF_LOG_TWO_PI + 0.5)
        entropy: FloatArray = np.einsum("nc,nc->n", self.weights, each)
        if self.n_components > 1:
            parts = [
                slice(start, start + _ROWS_OF_POINTS)
                for start in range(0, len(self), _ROWS_OF_POINTS)
            ]
            entropy += np.concatenate([self._take(part)._hidden() for part in parts])
        return entropy

    def _hidden(self) -> FloatArray:
        """Return the mean of ln p_c(y) / p(y) over components c and their own points y."""
        z = ndtri(spread_points(_N_POINTS, self.n_targets))
        total = np.zeros(len(self))
        for c in range(self.n_components):
            factor = self.scale_tril[:, c]
            terms = self._terms(self.loc[:, c, None] + np.einsum("nst,mt->nms", factor, z))
            ratio = terms[:, :, c] - log_sum(terms + self.log_weights[:, None])
            total += self.weights[:, c] * ratio.mean(axis=1)
        return total

    def energy_score(self, y: Any) -> FloatArray:
        r"""Return the energy score of y, closed up to a one-dimensional integral.

        Parameters
        ----------
        y : array-like of shape (N, T) or (N, m, T)
            What was observed.

        Returns
        -------
        ndarray of shape (N,) or (N, m)
            The scores, in units of y; 0 is best.
        """
        values, single = joint_points(y, len(self), self.n_targets, finite=True)
        weights, within = self.weights, self.scale_tril @ self.scale_tril.swapaxes(2, 3)
        spread = np.zeros(len(self))
        for a in range(self.n_components):
            for b in range(a + 1):
                apart = mean_length(self.loc[:, a] - self.loc[:, b], within[:, a] + within[:, b])
                spread += (1 + (a != b)) * weights[:, a] * weights[:, b] * apart
        answer = np.empty(values.shape[:2])
        for place in range(values.shape[1]):
            own = [
                weights[:, c] * mean_length(values[:, place] - self.loc[:, c], within[:, c])
                for c in range(self.n_components)
            ]
            answer[:, place] = np.sum(own, axis=0) - 0.5 * spread
        return answer[:, 0] if single else answer

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution of loc + scale·y; log densities fall by Σ ln(scale)."""
        shift, factor = affine_pair(loc, scale, self.n_targets)
        moved = self._take(slice(None))
        moved.loc = shift + factor * self.loc
        moved.scale_tril = factor[:, None] * self.scale_tril
        return moved


def _padded(values: FloatArray, widest: int) -> FloatArray:
    """Return values (N, K, ...) filled up with NaN to (N, widest, ...)."""
    missing = [(0, 0)] * values.ndim
    missing[1] = (0, widest - values.shape[1])
    return np.pad(values, missing, constant_values=np.nan)
