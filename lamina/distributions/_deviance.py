r"""Log probabilities of large counts without cancellation.

.. math:: \ln k! = \tfrac12 \ln 2\pi k + k \ln k - k + \delta(k), \qquad
          D(k, \mu) = k \ln (k / \mu) + \mu - k

so that the large terms of a Poisson or binomial probability meet in D, which is summed as a
series where k is near its mean [1]_.

References
----------
.. [1] C. Loader, Fast and Accurate Computation of Binomial Probabilities, 2000,
   https://www.r-project.org/doc/reports/CLoader-dbinom-2002.pdf
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, xlogy

from lamina._typing import FloatArray

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def stirling_error(k: FloatArray) -> FloatArray:
    """Return ln k! minus Stirling's formula, for k > 0."""
    large = np.maximum(k, 16.0)
    inverse = 1 / large
    series = np.zeros_like(large)
    for factor in reversed(_SERIES):
        series = series * inverse * inverse + factor
    small = np.where(k < 16, np.maximum(k, 1e-300), 1.0)
    direct = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - _HALF_LOG_TWO_PI
    return np.where(k < 16, direct, series * inverse)


def deviance(k: FloatArray, mean: FloatArray) -> FloatArray:
    """Return k ln(k/μ) + μ - k, precise where k is near μ."""
    k, mean = np.broadcast_arrays(k, mean)
    gap = k - mean
    v = gap / (k + mean)
    near = np.abs(v) < 0.1
    square = np.where(near, v * v, 0.0)
    series = np.zeros_like(square)
    for order in range(21, 1, -2):
        series = (series + 1 / order) * square
    # k ln(k/μ) = 2k atanh v, of which the first term meets μ - k.
    close = gap * v + 2 * k * v * series
    with np.errstate(divide="ignore"):
        far = xlogy(k, k / mean) - gap
    return np.where(near, close, far)


def log_poisson(k: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the log probability of k events at a rate."""
    some = np.maximum(k, 1.0)
    logs = -0.5 * np.log(some) - _HALF_LOG_TWO_PI - stirling_error(some) - deviance(some, rate)
    return np.where(k > 0, logs, -rate)


def log_negative_binomial(k: FloatArray, mean: FloatArray, size: FloatArray) -> FloatArray:
    """Return the log probability of k with variance μ + μ²/size."""
    some = np.maximum(k, 1.0)
    total = some + size
    share = mean / (mean + size)
    logs = stirling_error(total) - stirling_error(some) - stirling_error(size)
    logs = logs - deviance(some, total * share) - deviance(size, total * (size / (mean + size)))
    logs = logs - _HALF_LOG_TWO_PI - 0.5 * (np.log(some) + np.log(total) - np.log(size))
    return np.where(k > 0, logs, -size * np.log1p(mean / size))
