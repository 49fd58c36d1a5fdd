"""Inputs of mean 0 and unit variance, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from lamina._typing import FloatArray
from lamina.tables import TargetScaler


def centre_and_scale(X: Any, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (D,) of the columns that `standardised` takes.

    A sparse matrix keeps its zeros, so its centre is 0. A constant column has scale 1.

    Parameters
    ----------
    X : ndarray or CSR of shape (N, D)
        Inputs of the rows that have a weight.
    weight : ndarray of shape (N,) or None
        Their weights.
    """
    matrix: Any = X
    if issparse(X):
        scale = np.sqrt(mean_variance_axis(matrix.astype(np.float64), axis=0, weights=weight)[1])
        return np.zeros(matrix.shape[1]), np.where(scale > 0, scale, 1.0)
    scaler = TargetScaler().fit(X, weight)
    return scaler.mean_, np.where(scaler.scale_ > 0, scaler.scale_, 1.0)


def standardised(X: Any, centre: FloatArray, scale: FloatArray) -> Any:
    """Return (X - centre)/scale in the precision of X, computed in float64."""
    matrix: Any = X
    if issparse(X) and not centre.any():
        return matrix.astype(np.float64).multiply(1.0 / scale).tocsr().astype(matrix.dtype)
    dense = matrix.toarray() if issparse(X) else X
    exact = (np.asarray(dense, dtype=np.float64) - centre) / scale
    return exact.astype(X.dtype) if X.dtype.kind == "f" else exact
