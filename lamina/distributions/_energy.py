r"""The mean length of a normal vector, which the energy score is made of.

.. math:: \mathrm E\lVert Z\rVert = \frac{1}{\sqrt\pi} \int_0^\infty
          \frac{1 - \mathrm E\,e^{-s^2 \lVert Z\rVert^2}}{s^2}\,ds

The expectation inside is a product over the eigenvalues of the covariance matrix. With
s = eᵘ the integrand falls off like :math:`e^{-|u|}`, and the trapezoidal rule on it converges
exponentially.
"""

from __future__ import annotations

import math

import numpy as np

from lamina._typing import FloatArray

_END, _STEP = 18.0, 0.2
_SQUARES = np.exp(2 * np.arange(-_END, _END + _STEP / 2, _STEP))
_BLOCK = 4096


def mean_length(loc: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return E‖Z‖ (K,) of normal vectors with means (K, T) and covariances (K, T, T)."""
    blocks = [
        _mean_length(loc[start : start + _BLOCK], covariance[start : start + _BLOCK])
        for start in range(0, len(loc), _BLOCK)
    ]
    return np.concatenate(blocks)


def _mean_length(loc: FloatArray, covariance: FloatArray) -> FloatArray:
    # In units of the root mean square length, about which the integrand is centred.
    unit = np.sqrt(np.einsum("kt,kt->k", loc, loc) + np.einsum("ktt->k", covariance))
    variances, axes = np.linalg.eigh(covariance / (unit * unit)[:, None, None])
    along = np.einsum("ktj,kt->kj", axes, loc / unit[:, None]) ** 2
    exponent = np.zeros((len(loc), len(_SQUARES)))
    for j in range(loc.shape[1]):
        stretched = 2 * np.maximum(variances[:, j, None], 0.0) * _SQUARES
        exponent += 0.5 * np.log1p(stretched)
        exponent += along[:, j, None] * _SQUARES / (1 + stretched)
    # Beyond both ends the integrand is exp(-|u|) to rounding.
    inner = -np.expm1(-exponent) @ (_SQUARES**-0.5)
    length: FloatArray = (
        unit * (inner * _STEP + 2 * math.exp(-_END - _STEP / 2)) / math.sqrt(math.pi)
    )
    return length
