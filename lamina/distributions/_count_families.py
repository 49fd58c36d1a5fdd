"""Mixtures of Poisson, negative binomial and Bernoulli distributions for one target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import betainc, expit, gammainc, gammaincc, log_expit

from lamina._errors import ParameterError
from lamina._typing import Array, FloatArray, IntArray

from ._arguments import normalised_weights, parameter, refuse_parameter, row_numbers
from ._counts import CountMixture
from ._deviance import log_negative_binomial, log_poisson

_LARGEST_LOG = 690.0


class PoissonMixture(CountMixture):
    r"""A mixture of C Poisson distributions in each row.

    .. math:: P(k) = \sum_c \pi_c\, e^{-\lambda_c} \lambda_c^k / k!

    Parameters
    ----------
    log_rate : array-like of shape (N,) or (N, C)
        Logs of the rates, at most 690.
    log_weights : array-like of shape (N, C) or (C,), default=None
        Logs of the mixing weights, up to a constant of each row. None gives equal weights.
    rows : array-like of int of shape (N,), default=None
        Numbers of the rows, which their random streams belong to. None counts from 0.

    Examples
    --------
    >>> import numpy as np
    >>> dist = PoissonMixture(np.log([2.0, 50.0]))
    >>> dist.quantile([0.05, 0.95])
    array([[ 0.,  5.],
           [39., 62.]])
    """

    log_rate: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights", "log_rate")

    def __init__(self, log_rate: Any, log_weights: Any = None, *, rows: Any = None) -> None:
        self.log_rate = _logs("log_rate", log_rate)
        self.log_weights = normalised_weights(log_weights, self.log_rate.shape)
        self.rows = row_numbers(rows, len(self.log_rate))

    @property
    def _rate(self) -> FloatArray:
        rate: FloatArray = np.exp(self.log_rate)
        return rate

    def _log_pmf(self, k: FloatArray) -> FloatArray:
        return log_poisson(k, self._rate[:, None])

    def _count_tails(self, k: FloatArray, upper: Array) -> FloatArray:
        rate = self._rate[:, None]
        return _side(upper, lambda: gammainc(k + 1, rate), lambda: gammaincc(k + 1, rate))

    def _partial_means(self, k: FloatArray) -> FloatArray:
        rate = self._rate[:, None]
        partial: FloatArray = rate * np.where(k > 0, gammaincc(np.maximum(k, 1.0), rate), 0.0)
        return partial

    def _component_means(self) -> FloatArray:
        return self._rate

    def _component_stds(self) -> FloatArray:
        return np.sqrt(self._rate)


class NegativeBinomialMixture(CountMixture):
    r"""A mixture of C negative binomial distributions in each row.

    Each has mean :math:`\mu` and variance :math:`\mu + \alpha\mu^2`.

    Parameters
    ----------
    log_mean : array-like of shape (N,) or (N, C)
        Logs of the means, at most 690.
    log_dispersion : array-like of shape (N,) or (N, C)
        Logs of the dispersions α, at most 690.
    log_weights : array-like of shape (N, C) or (C,), default=None
        Logs of the mixing weights, up to a constant of each row. None gives equal weights.
    rows : array-like of int of shape (N,), default=None
        Numbers of the rows, which their random streams belong to. None counts from 0.

    Examples
    --------
    >>> import numpy as np
    >>> NegativeBinomialMixture(np.log([4.0]), np.log([0.5])).variance().round(6)
    array([12.])
    """

    log_mean: FloatArray
    log_dispersion: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights", "log_mean", "log_dispersion")

    def __init__(
        self, log_mean: Any, log_dispersion: Any, log_weights: Any = None, *, rows: Any = None
    ) -> None:
        means, dispersions = _logs("log_mean", log_mean), _logs("log_dispersion", log_dispersion)
        if means.shape != dispersions.shape:
            raise ParameterError(
                "log_mean and log_dispersion must have the same shape (N, C). "
                f"Got {means.shape} and {dispersions.shape}."
            )
        self.log_mean, self.log_dispersion = means, dispersions
        self.log_weights = normalised_weights(log_weights, means.shape)
        self.rows = row_numbers(rows, len(means))

    @property
    def _mean_and_size(self) -> tuple[FloatArray, FloatArray]:
        return np.exp(self.log_mean), np.exp(-self.log_dispersion)

    def _log_pmf(self, k: FloatArray) -> FloatArray:
        mean, size = self._mean_and_size
        return log_negative_binomial(k, mean[:, None], size[:, None])

    def _count_tails(self, k: FloatArray, upper: Array) -> FloatArray:
        return self._beta_tails(k, upper, 0.0)

    def _beta_tails(self, k: FloatArray, upper: Array, more: float) -> FloatArray:
        """Return tails of the distribution whose size is larger, the odds being the same."""
        mean, size = (values[:, None] for values in self._mean_and_size)
        # The share of success and its complement, each without cancellation.
        success, failure = expit(np.log(mean / size)), expit(np.log(size / mean))
        size = size + more
        return _side(
            upper,
            lambda: betainc(k + 1, size, success),
            lambda: betainc(size, k + 1, failure),
        )

    def _partial_means(self, k: FloatArray) -> FloatArray:
        mean = self._mean_and_size[0][:, None]
        below = self._beta_tails(np.maximum(k - 1, 0.0), np.zeros_like(k, dtype=bool), 1.0)
        partial: FloatArray = mean * np.where(k > 0, below, 0.0)
        return partial

    def _component_means(self) -> FloatArray:
        return self._mean_and_size[0]

    def _component_stds(self) -> FloatArray:
        mean, size = self._mean_and_size
        std: FloatArray = np.sqrt(mean) * np.sqrt(1 + mean / size)
        return std


class BernoulliMixture(CountMixture):
    r"""A mixture of C Bernoulli distributions in each row: a target that is 0 or 1.

    Parameters
    ----------
    logits : array-like of shape (N,) or (N, C)
        Log odds of 1.
    log_weights : array-like of shape (N, C) or (C,), default=None
        Logs of the mixing weights, up to a constant of each row. None gives equal weights.
    rows : array-like of int of shape (N,), default=None
        Numbers of the rows, which their random streams belong to. None counts from 0.

    Examples
    --------
    >>> BernoulliMixture([0.0, 2.0]).pdf(1.0).round(3)
    array([0.5  , 0.881])
    """

    logits: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights", "logits")

    def __init__(self, logits: Any, log_weights: Any = None, *, rows: Any = None) -> None:
        self.logits = parameter("logits", logits, 2)
        self.log_weights = normalised_weights(log_weights, self.logits.shape)
        self.rows = row_numbers(rows, len(self.logits))

    def _log_pmf(self, k: FloatArray) -> FloatArray:
        logs = log_expit(np.where(k > 0, self.logits[:, None], -self.logits[:, None]))
        return np.where(k > 1, -np.inf, logs)

    def _count_tails(self, k: FloatArray, upper: Array) -> FloatArray:
        one = expit(self.logits[:, None])
        zero = expit(-self.logits[:, None])
        return np.where(k >= 1, np.where(upper, 0.0, 1.0), np.where(upper, one, zero))

    def _partial_means(self, k: FloatArray) -> FloatArray:
        return np.where(k >= 1, expit(self.logits[:, None]), 0.0)

    def _component_means(self) -> FloatArray:
        mean: FloatArray = expit(self.logits)
        return mean

    def _component_stds(self) -> FloatArray:
        return np.sqrt(expit(self.logits) * expit(-self.logits))

    def _largest(self, rows: IntArray) -> FloatArray:
        return np.ones(len(rows))


def _logs(name: str, value: Any) -> FloatArray:
    """Return logs of which exp is finite and above 0."""
    values = parameter(name, value, 2)
    refuse_parameter(name, values, np.abs(values) <= _LARGEST_LOG, "between -690 and 690")
    return values


def _side(upper: Array, above: Any, below: Any) -> FloatArray:
    """Return ``above()`` where ``upper`` and ``below()`` elsewhere, working out what is needed."""
    if upper.all():
        return np.asarray(above())
    if not upper.any():
        return np.asarray(below())
    both: FloatArray = np.where(upper, above(), below())
    return both
