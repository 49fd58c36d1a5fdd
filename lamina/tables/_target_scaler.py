"""Bring a regression target to mean 0 and unit variance, and predictions back."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lamina._typing import Array, FloatArray

from ._target import regression_target


class TargetScaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Standardise the columns of a regression target in float64.

    .. math:: z = \frac{y - \bar y}{s}, \qquad y = \bar y + s z

    with the (weighted) mean :math:`\bar y` and standard deviation :math:`s` of the fitted rows.
    Scales from 1e-300 to 1e300 are safe. A constant column has :math:`s = 0`: it becomes 0, and
    whatever is predicted for it comes back as the constant.

    Attributes
    ----------
    mean_ : ndarray of shape (n_outputs,)
        Mean of each column, in units of y.
    scale_ : ndarray of shape (n_outputs,)
        Standard deviation of each column, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.tables import TargetScaler
    >>> scaler = TargetScaler().fit(np.array([1e12, 3e12]))
    >>> scaler.transform(np.array([1e12, 2e12])).tolist()
    [-1.0, 0.0]
    >>> scaler.inverse_transform(np.array([0.5])).tolist()
    [2500000000000.0]
    """

    mean_: FloatArray
    scale_: FloatArray

    def fit(self, y: Any, sample_weight: Any = None) -> Self:
        """Measure mean and standard deviation.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self : TargetScaler
        """
        values = regression_target(y)
        columns = values.reshape(len(values), -1)
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        # In units of a power of two near the largest value, so that squares neither overflow
        # nor vanish.
        exponent = np.frexp(np.abs(columns).max(axis=0))[1]
        scaled = np.ldexp(columns, -exponent)
        mean = np.average(scaled, axis=0, weights=weights)
        spread = np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=weights))
        constant = columns.min(axis=0) == columns.max(axis=0)
        self.mean_ = np.where(constant, columns[0], np.ldexp(mean, exponent))
        self.scale_ = np.where(constant, 0.0, np.ldexp(spread, exponent))
        return self

    def transform(self, y: Any) -> FloatArray:
        """Return the standardised target.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.

        Returns
        -------
        z : ndarray of the same shape
        """
        check_is_fitted(self)
        values = regression_target(y)
        columns = values.reshape(len(values), -1)
        scale = np.where(self.scale_ == 0, 1.0, self.scale_)
        z: FloatArray = ((columns - self.mean_) / scale).reshape(values.shape)
        return z

    def inverse_transform(self, z: Any) -> FloatArray:
        """Return predictions in units of y.

        Parameters
        ----------
        z : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Standardised values.

        Returns
        -------
        y : ndarray of float64 and the same shape
        """
        check_is_fitted(self)
        values = np.asarray(z, dtype=np.float64)
        columns = values.reshape(len(values), -1)
        y: FloatArray = (self.mean_ + self.scale_ * columns).reshape(values.shape)
        return y

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the numbers as arrays."""
        return {}, {"mean": self.mean_, "scale": self.scale_}

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Restore a scaler."""
        scaler = cls()
        scaler.mean_, scaler.scale_ = arrays["mean"], arrays["scale"]
        return scaler
