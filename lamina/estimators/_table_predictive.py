"""Whole distributions from a table: what a fitted table regressor answers beside its mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from lamina._errors import DataError
from lamina._typing import FloatArray
from lamina.distributions import Predictive
from lamina.tables import regression_target

from ._weights import check_weights


class TablePredictive(ABC):
    """Shortcuts to what the predicted distributions tell."""

    @abstractmethod
    def predict_dist(self, X: Any) -> Predictive:
        """Return the distribution of the target in each row, in units of y."""

    def predict_quantile(self, X: Any, q: Any) -> FloatArray:
        """Return the value below which the target falls with probability q.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.
        q : float or array-like of shape (m,)
            Probabilities from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), with several q a second axis of m
            Quantiles in units of y; those of one row never cross.
        """
        return self.predict_dist(X).quantile(q)

    def predict_interval(self, X: Any, level: float = 0.9) -> FloatArray:
        """Return the central interval that holds the target with a probability.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.
        level : float, default=0.9
            Probability inside, above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, 2, n_outputs)
            Lower and upper end in units of y.
        """
        return self.predict_dist(X).interval(level)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean log density of the targets, in nats of y; larger is better.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            What was observed.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        float
            The mean over the rows of the log density, or of the log probability of counts; of
            several targets the joint one.
        """
        dist = self.predict_dist(X)
        targets = regression_target(y)
        columns = targets.reshape(len(targets), -1)
        if columns.shape != (len(dist), dist.n_targets):
            raise DataError(
                f"y must have {dist.n_targets} target(s) for each of the {len(dist)} rows of X. "
                f"Got shape {targets.shape}."
            )
        logs = dist.log_prob(columns[:, 0] if dist.n_targets == 1 else columns)
        return float(np.average(logs, weights=check_weights(sample_weight, columns)))
