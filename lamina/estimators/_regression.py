"""From raw outputs to numbers and whole distributions: what a fitted regressor answers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray
from lamina.distributions import Predictive
from lamina.heads import Custom, Head, Mixture, Normal, Poisson, Quantiles, get_head
from lamina.nn import Network
from lamina.tables import TargetScaler

from ._inputs import check_new_data, check_training_data, refuse_text_target
from ._losses import is_squared_error
from ._mlp import BaseMLP
from ._prediction import mean_over_members, noise_scale, predictive_distribution
from ._problem import Problem
from ._ties import warn_about_ties
from ._weights import check_weights

NAMED: dict[str, Head] = {
    "squared_error": Normal(),
    "normal": Normal("shared"),
    "heteroscedastic": Normal("per_row"),
    "mixture": Mixture(),
}
"""Heads by the name of the loss, where that is not the name of the head."""


class Regression(RegressorMixin, BaseMLP):  # type: ignore[misc]
    """The part of a regressor that knows its target and predicts.

    A head that can follow any shift and scale of the target is trained on the standardised
    target, and what it says is brought back. With several members a distribution is the
    mixture of theirs.
    """

    noise_scale_: FloatArray
    min_scale_: FloatArray

    _scaler: TargetScaler | None = None

    def _head_of_fit(self) -> Head:
        if isinstance(self.loss, Head):
            return self.loss
        return NAMED[self.loss] if self.loss in NAMED else get_head(self.loss)

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        X, y = check_training_data(self, X, y, dtype=self.dtype, reset=fresh, numeric_target=True)
        refuse_text_target(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        head = self._head_of_fit()
        targets = head.targets(y)
        weight = check_weights(sample_weight, X)
        X, learnt = self._learn_inputs(X, weight)
        used = slice(None) if weight is None else weight > 0
        if not incremental:
            warn_about_ties(head, targets[used])
        scaler = self._scaler_of(
            head, targets[used], None if weight is None else weight[used], fresh
        )
        attributes: dict[str, Any] = {"_scaler": scaler, **learnt}
        shift = 0.0
        if scaler is not None:
            targets = scaler.transform(targets)
            scale = self._unit(scaler)
            shift = 0.0 if isinstance(head, Quantiles) else float(np.log(scale).sum())
            floor: float | None = getattr(head, "min_scale", None)
            if floor is not None:
                attributes["min_scale_"] = floor * scale
        return Problem(
            X=X,
            y=targets,
            head=head,
            n_raw=head.n_raw(head.n_targets(targets)),
            out_activation="exp" if isinstance(head, Poisson) else "identity",
            weight=weight,
            attributes=attributes,
            loss_shift=shift,
            by_likelihood=not (head.canonical or isinstance(head, Custom)),
        )

    def _scaler_of(
        self, head: Head, targets: FloatArray, weight: FloatArray | None, fresh: bool
    ) -> TargetScaler | None:
        """Return how the target is standardised: by the first fit of a training that goes on."""
        if not head.location_scale:
            return None
        if fresh or self._scaler is None:
            return TargetScaler().fit(targets, weight)
        if len(self._scaler.mean_) != targets.shape[1]:
            raise ParameterError(
                f"y must have {len(self._scaler.mean_)} target(s) to go on from an earlier fit. "
                f"Got {targets.shape[1]}. Set warm_start=False to begin anew."
            )
        return self._scaler

    @staticmethod
    def _unit(scaler: TargetScaler) -> FloatArray:
        """Return what one unit of the standardised target is in y; 1 if the target is constant."""
        return np.where(scaler.scale_ > 0, scaler.scale_, 1.0)

    def _fitted_by_networks(
        self, networks: list[Network], problem: Problem, dtype: np.dtype[Any]
    ) -> dict[str, Any]:
        fitted = super()._fitted_by_networks(networks, problem, dtype)
        if is_squared_error(problem.head):
            rows = problem.rows
            fitted["noise_scale_"] = noise_scale(
                networks,
                problem.X if len(rows) == len(problem.y) else problem.X[rows],
                problem.y[rows],
                None if problem.weight is None else problem.weight[rows],
            )
        return fitted

    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the predicted targets: the mean of the head, and of the members.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return the standard deviation of the predicted distribution, too.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions in the precision of the network; float64 where the target was
            standardised.
        std : ndarray of float64 and the shape of mean
            Standard deviations in units of y. Only with ``return_std=True``.
        """
        check_is_fitted(self)
        inputs = self._inputs(check_new_data(self, X))
        mean = mean_over_members(self.networks_, self._head, inputs)
        if self._scaler is not None:
            mean = self._scaler.mean_ + self._unit(self._scaler) * mean.astype(np.float64)
        mean = mean.ravel() if mean.shape[1] == 1 else mean
        return (mean, self._distribution(inputs).std()) if return_std else mean

    def predict_dist(self, X: Any) -> Predictive:
        """Return the distribution of the target in each row, in units of y.

        With least squares it is normal around the prediction with standard deviation
        ``noise_scale_``; with any other loss it is what the loss describes. With several
        members it is the mixture of theirs.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Predictive
            Moments, quantiles, intervals, modes, densities, samples and scores of each row.

        Raises
        ------
        ParameterError
            If the loss is a bare function, which describes no distribution.
        """
        check_is_fitted(self)
        return self._distribution(self._inputs(check_new_data(self, X)))

    def _learn_inputs(self, X: Any, weight: FloatArray | None) -> tuple[Any, dict[str, Any]]:
        """Return the inputs as the networks take them, and the attributes that `_inputs` needs."""
        return X, {}

    def _inputs(self, X: Any) -> Any:
        """Return checked inputs as the networks take them."""
        return X

    def _distribution(self, inputs: Any) -> Predictive:
        """Return the distribution from checked inputs."""
        loc: Any = 0.0
        scale: Any = 1.0
        if self._scaler is not None:
            loc, scale = self._scaler.mean_, self._unit(self._scaler)
        noise = self.noise_scale_ if is_squared_error(self._head) else None
        return predictive_distribution(
            self.networks_, self._head, inputs, loc=loc, scale=scale, noise=noise
        )

    def predict_quantile(self, X: Any, q: Any) -> FloatArray:
        """Return the value below which the target falls with probability q.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        q : float or array-like of shape (m,)
            Probabilities from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets), with several q a second axis of m
            Quantiles in units of y; those of one row never cross.
        """
        return self.predict_dist(X).quantile(q)

    def predict_interval(self, X: Any, level: float = 0.9) -> FloatArray:
        """Return the central interval that holds the target with a probability.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        level : float, default=0.9
            Probability inside, above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, 2, n_targets)
            Lower and upper end in units of y.
        """
        return self.predict_dist(X).interval(level)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean log density of the targets, in nats of y; larger is better.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            What was observed.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.

        Returns
        -------
        float
            The mean over the rows of the log density, or of the log probability of counts; of
            several targets the joint one.
        """
        dist = self.predict_dist(X)
        targets = self._observed(y, len(dist), dist.n_targets)
        logs = dist.log_prob(targets[:, 0] if dist.n_targets == 1 else targets)
        return float(np.average(logs, weights=check_weights(sample_weight, targets)))

    def _observed(self, y: Any, n_rows: int, n_targets: int) -> FloatArray:
        """Return targets (N, T) that belong to the rows of a prediction."""
        targets: FloatArray = self._head.targets(np.asarray(y))
        if targets.shape != (n_rows, n_targets):
            raise DataError(
                f"y must have {n_targets} target(s) for each of the {n_rows} rows of X. "
                f"Got shape {np.shape(y)}."
            )
        return targets

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the fitted regressor as JSON, and its arrays."""
        config, arrays = super()._to_state()
        if self._scaler is not None:
            arrays |= {"target.mean": self._scaler.mean_, "target.scale": self._scaler.scale_}
        for name in ("noise_scale_", "min_scale_"):
            if name in vars(self):
                arrays[name] = getattr(self, name)
        return config, arrays

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the regressor that `_to_state` described."""
        model = super()._from_state(config, arrays)
        model._scaler = None
        if "target.mean" in arrays:
            pair = {"mean": arrays["target.mean"], "scale": arrays["target.scale"]}
            model._scaler = TargetScaler._from_state({}, pair)
        for name in ("noise_scale_", "min_scale_"):
            if name in arrays:
                setattr(model, name, arrays[name])
        return model

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: several targets are fine, counts are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.loss == "poisson" or isinstance(self.loss, Poisson)
        return tags
