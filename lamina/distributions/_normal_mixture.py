"""Mixtures of normal distributions for one target, in closed form."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri

from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._arguments import affine_pair, normalised_weights, parameter, positive, row_numbers
from ._continuous import Continuous
from ._extrema import extrema
from ._mixture import ComponentMixture

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_EDGES = np.linspace(-12.0, 12.0, 13)
_KNOTS = np.array([-9.0, -4.0, -1.5, 0.0, 1.5, 4.0, 9.0])


class NormalMixture(ComponentMixture, Continuous):
    r"""A mixture of C normal distributions in each row, for one target.

    .. math:: p(y) = \sum_{c=1}^{C} \pi_c\, \mathcal N(y \mid \mu_c, \sigma_c^2)

    With one component it is the normal distribution. Mean, variance, density, cdf and CRPS are
    closed forms; quantiles are roots of the cdf, bracketed by the components' quantiles.

    Parameters
    ----------
    loc : array-like of shape (N,) or (N, C)
        Means of the components, in units of y.
    scale : array-like of shape (N,) or (N, C)
        Standard deviations of the components, above 0, in units of y.
    log_weights : array-like of shape (N, C) or (C,), default=None
        Logs of the mixing weights, up to a constant of each row. None gives equal weights.
    rows : array-like of int of shape (N,), default=None
        Numbers of the rows, which their random streams belong to. None counts from 0.

    Raises
    ------
    ParameterError
        If a parameter is not finite, a scale is not above 0, or shapes differ.

    Examples
    --------
    >>> dist = NormalMixture([[-1.0, 1.0]], [[0.2, 0.5]])
    >>> dist.cdf(0.3).round(4)
    array([0.5404])
    >>> dist.crps(0.3).round(4)
    array([0.4196])
    """

    loc: FloatArray
    scale: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights", "loc", "scale")
    _plateau: ClassVar[float] = 0.0

    def __init__(self, loc: Any, scale: Any, log_weights: Any = None, *, rows: Any = None) -> None:
        means, scales = parameter("loc", loc, 2), parameter("scale", scale, 2)
        if means.shape != scales.shape:
            raise ParameterError(
                "loc and scale must have the same shape (N, C). "
                f"Got {means.shape} and {scales.shape}."
            )
        positive("scale", scales)
        self.loc, self.scale = means, scales
        self.log_weights = normalised_weights(log_weights, means.shape)
        self.rows = row_numbers(rows, len(means))

    def _standardised(self, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            z: FloatArray = (y[:, :, None] - self.loc[:, None]) / self.scale[:, None]
        return z

    def _terms(self, y: FloatArray) -> FloatArray:
        z = self._standardised(y)
        with np.errstate(over="ignore"):
            terms: FloatArray = -0.5 * z * z - (np.log(self.scale) + _HALF_LOG_TWO_PI)[:, None]
        return terms

    def _tails(self, y: FloatArray, upper: Any) -> FloatArray:
        sign = np.where(upper, -1.0, 1.0)
        tails: FloatArray = ndtr(self._standardised(y) * sign[..., None])
        return tails

    def _component_means(self) -> FloatArray:
        return self.loc

    def _component_stds(self) -> FloatArray:
        return self.scale

    def _component_quantiles(self, q: FloatArray) -> FloatArray:
        quantiles: FloatArray = self.loc[:, None] + self.scale[:, None] * ndtri(q)[:, None]
        return quantiles

    def _pick(self, component: Any, u: FloatArray) -> FloatArray:
        loc = np.take_along_axis(self.loc, component, axis=1)
        picked: FloatArray = loc + np.take_along_axis(self.scale, component, axis=1) * ndtri(u)
        return picked

    def _knots(self) -> FloatArray:
        knots: FloatArray = self.loc[:, :, None] + self.scale[:, :, None] * _KNOTS
        return knots.reshape(len(self), -1)

    def _crps(self, y: FloatArray) -> FloatArray:
        weights = self.weights
        away = _mean_distance(y[:, :, None] - self.loc[:, None], self.scale[:, None])
        own: FloatArray = np.einsum("nmc,nc->nm", away, weights)
        both = np.hypot(self.scale[:, :, None], self.scale[:, None, :])
        apart = _mean_distance(self.loc[:, :, None] - self.loc[:, None, :], both)
        spread = np.einsum("nab,na,nb->n", apart, weights, weights)
        score: FloatArray = own - 0.5 * spread[:, None]
        return score

    def _extrema(self) -> tuple[FloatArray, IntArray]:
        return extrema(self.loc, self.scale, self.log_weights)

    def _log_slope(self, y: FloatArray) -> FloatArray:
        shares = self._responsibilities(y)
        pulls = self._standardised(y) / self.scale[:, None]
        slope: FloatArray = -np.einsum("nmc,nmc->nm", shares, pulls)
        return slope

    def _reach(self, log_threshold: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Beyond these ends each component is below a C-th of the threshold.
        heights = self.log_weights - np.log(self.scale) - _HALF_LOG_TWO_PI
        room = heights + math.log(self.n_components) - log_threshold[:, None]
        away = self.scale * np.sqrt(2 * np.maximum(room, 0.0)) * (1 + 1e-9)
        return (self.loc - away).min(axis=1), (self.loc + away).max(axis=1)

    def _edges(self) -> FloatArray:
        edges = self.loc[:, :, None] + self.scale[:, :, None] * _EDGES
        return np.sort(edges.reshape(len(self), -1), axis=1)

    def entropy(self) -> FloatArray:
        """Return the differential entropy in nats, (N,): closed for C = 1, else by quadrature."""
        if self.n_components == 1:
            return np.log(self.scale[:, 0]) + _HALF_LOG_TWO_PI + 0.5
        return super().entropy()

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution of loc + scale·y; log densities fall by ln(scale)."""
        shift, factor = affine_pair(loc, scale, 1)
        moved = self._take(slice(None))
        moved.loc, moved.scale = shift + factor * self.loc, factor * self.scale
        return moved


def _mean_distance(away: FloatArray, scale: FloatArray) -> FloatArray:
    """Return E|Y| of normal distributions with means ``away``."""
    z = away / scale
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-0.5 * z * z) * (2 / math.sqrt(2 * math.pi))
    distance: FloatArray = away * (1 - 2 * ndtr(-z)) + scale * density
    return distance
