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
    log_weights,
    numbers,
    parameter,
    positive,
    refuse_nan,
    row_numbers,
    targets_given,
)
from ._joint import Joint
from ._log_sum import exponential, log_sum
from ._normal_mixture import NormalMixture
from ._triangular import factor_of, solved

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


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
        self.log_weights = _checked_weights(log_weights, means.shape)
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
        terms = self._terms(values) + self.log_weights[:, None]
        total = log_sum(terms)[..., None]
        known = np.isfinite(total)
        shares = exponential(terms - np.where(known, total, 0.0))
        shares = np.where(known, shares, self.weights[:, None])
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
        values = np.stack([self._given(given, target) for target in known], axis=-1)
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

    def _given(self, given: dict[int, Any], target: int) -> FloatArray:
        values = numbers(f"given[{target}]", given[target])
        if values.ndim and values.shape != (len(self),):
            raise ParameterError(
                f"given[{target}] must be a number or have shape ({len(self)},). "
                f"Got shape {values.shape}."
            )
        refuse_nan(f"given[{target}]", values, infinite_too=True)
        return np.broadcast_to(values, (len(self),))

    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        edges = np.cumsum(self.weights, axis=1)[:, None, :-1]
        component = (u[:, :, :1] >= edges).sum(axis=2)
        row = np.arange(len(self))[:, None]
        factor = self.scale_tril[row, component]
        drawn: FloatArray = self.loc[row, component] + np.einsum(
            "nmst,nmt->nms", factor, ndtri(u[:, :, 1:])
        )
        return drawn

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution of loc + scale·y; log densities fall by Σ ln(scale)."""
        shift, factor = affine_pair(loc, scale, self.n_targets)
        moved = self._take(slice(None))
        moved.loc = shift + factor * self.loc
        moved.scale_tril = factor[:, None] * self.scale_tril
        return moved


def _checked_weights(value: Any, shape: tuple[int, ...]) -> FloatArray:
    return log_weights(value, (shape[0], shape[1]))
