"""Ensembles of any of lamina's estimators with weights: fitted as one stack, saved as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray
from lamina.distributions import Predictive, mixture_of
from lamina.tables import target_name

from ._ensemble_state import pack, unpack
from ._together import Begun, begin, groups, last_step, steps_before, train_together


class BaseEnsemble(BaseEstimator):  # type: ignore[misc]
    """What both ensembles do: fit the members, and weigh what they say."""

    estimators_: list[Any]
    weights_: FloatArray
    target_name_: str | None

    def __init__(self, estimators: Sequence[Any], weights: Sequence[float] | None = None) -> None:
        self.estimators = estimators
        self.weights = weights

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all members on the same data, as one stack where that can be.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            Inputs, in whatever form the members take.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        weights = self._checked_weights()
        models = [clone(estimator) for estimator in self.estimators]
        fits: list[Begun] = []
        for model in models:
            before = steps_before(model)
            inputs = X if before is None else before.fit_transform(X, y)
            if before is not None:
                model.steps[:-1] = before.steps
            begun = begin(last_step(model), inputs, y, sample_weight)
            fits += [] if begun is None else [begun]
        for places in groups(fits):
            results = train_together([fits[i] for i in places])
            for i, result in zip(places, results, strict=True):
                fits[i].finish(result)
        self.estimators_ = models
        self.weights_ = weights
        self.target_name_ = target_name(y)
        self._take_names(models[0])
        return self

    def _checked_weights(self) -> FloatArray:
        if isinstance(self.estimators, (str, bytes)) or not isinstance(self.estimators, Sequence):
            raise ParameterError(
                f"estimators must be a list of estimators. Got {shown(self.estimators)}."
            )
        n = len(self.estimators)
        if n == 0:
            raise ParameterError("estimators must hold at least one estimator. Got none.")
        weights = np.ones(n) if self.weights is None else np.asarray(self.weights, dtype=float)
        if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ParameterError(
                f"weights must be {n} finite numbers of at least 0, one for each estimator. "
                f"Got {shown(self.weights)}."
            )
        if weights.sum() == 0:
            raise ParameterError("weights must have a positive sum. Got zeros.")
        share: FloatArray = weights / weights.sum()
        return share

    def _take_names(self, model: Any) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            value = getattr(model, name, None)
            if value is not None:
                setattr(self, name, value)

    def _mean(self, parts: Sequence[Any]) -> FloatArray:
        """Return the weighted mean of what the members say."""
        total: FloatArray = np.tensordot(self.weights_, np.stack(parts), axes=1)
        return total

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the ensemble as JSON, and its arrays."""
        return pack(self.estimators_, self.weights_, self.target_name_)

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the ensemble that `_to_state` described."""
        models, weights = unpack(config, arrays)
        ensemble = cls([clone(model) for model in models], weights.tolist())
        ensemble.estimators_, ensemble.weights_ = models, weights
        ensemble.target_name_ = config.get("target_name")
        ensemble._take_names(models[0])
        return ensemble

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the first member, whose inputs the ensemble takes."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimators, Sequence) and len(self.estimators):
            tags.input_tags = self.estimators[0].__sklearn_tags__().input_tags
        return tags


class StackedEnsembleClassifier(ClassifierMixin, BaseEnsemble):  # type: ignore[misc]
    r"""A weighted mean of classifiers, fitted as one stack.

    .. math:: p(c \mid x) = \sum_k w_k \, p_k(c \mid x), \qquad \sum_k w_k = 1

    Parameters
    ----------
    estimators : list of estimators
        Classifiers, or pipelines that end in one; clones of them are fitted.
    weights : sequence of float, default=None
        How much each counts; None counts them alike.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    weights_ : ndarray of shape (n_members,)
        Their weights, with sum 1.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    target_name_ : str or None
        Name of the target, where it was a Series with one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had some.

    See Also
    --------
    StackedSearchCV : Chooses members and weights by out-of-fold predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lamina import MLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> narrow, wide = (MLPClassifier((n,), solver="lbfgs", random_state=0) for n in (4, 16))
    >>> ensemble = StackedEnsembleClassifier([narrow, wide], weights=[1, 3]).fit(X, y)
    >>> ensemble.weights_.tolist(), ensemble.score(X, y) > 0.95
    ([0.25, 0.75], True)
    """

    classes_: Array

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all members on the same data, as one stack where that can be.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            Inputs, in whatever form the members take.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : StackedEnsembleClassifier
            The fitted ensemble.
        """
        super().fit(X, y, sample_weight)
        self.classes_ = self.estimators_[0].classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        proba = self._mean([model.predict_proba(X) for model in self.estimators_])
        if self._is_multilabel():
            return proba
        normalised: FloatArray = proba / proba.sum(axis=1, keepdims=True)
        return normalised

    def _is_multilabel(self) -> bool:
        """Return whether a row may have several labels."""
        labels = getattr(last_step(self.estimators_[0]), "_labels", None)
        return labels is not None and bool(labels.multilabel)

    def predict(self, X: Any) -> Array:
        """Return the most probable class, or the labels that are more probable than not.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        proba = self.predict_proba(X)
        if self._is_multilabel():
            labels: Array = (proba > 0.5).astype(np.int64)
            return labels
        chosen: Array = self.classes_[proba.argmax(axis=1)]
        return chosen

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the ensemble that `_to_state` described."""
        ensemble = super()._from_state(config, arrays)
        ensemble.classes_ = ensemble.estimators_[0].classes_
        return ensemble


def _tells_distributions(ensemble: StackedEnsembleRegressor) -> bool:
    steps = [last_step(model) for model in ensemble.estimators]
    return all(getattr(step, "predict_dist", None) is not None for step in steps)


class StackedEnsembleRegressor(RegressorMixin, BaseEnsemble):  # type: ignore[misc]
    r"""A weighted mean of regressors, fitted as one stack.

    .. math:: \hat y(x) = \sum_k w_k \, \hat y_k(x), \qquad
              p(y \mid x) = \sum_k w_k \, p_k(y \mid x), \qquad \sum_k w_k = 1

    Parameters
    ----------
    estimators : list of estimators
        Regressors, or pipelines that end in one; clones of them are fitted.
    weights : sequence of float, default=None
        How much each counts; None counts them alike.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    weights_ : ndarray of shape (n_members,)
        Their weights, with sum 1.
    target_name_ : str or None
        Name of the target, where it was a Series with one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had some.

    See Also
    --------
    StackedSearchCV : Chooses members and weights by out-of-fold predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina import MLPRegressor
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> sizes = ((8,), (16,))
    >>> models = [
    ...     MLPRegressor(hidden_layer_sizes=size, solver="lbfgs", random_state=0) for size in sizes
    ... ]
    >>> ensemble = StackedEnsembleRegressor(models).fit(X, X[:, 0] ** 2)
    >>> ensemble.score(X, X[:, 0] ** 2) > 0.99
    True
    """

    def predict(self, X: Any) -> FloatArray:
        """Return the weighted mean of the members' predictions.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        return self._mean([model.predict(X) for model in self.estimators_])

    @available_if(_tells_distributions)  # type: ignore[untyped-decorator]
    def predict_dist(self, X: Any) -> Predictive:
        """Return the weighted mixture of the members' distributions.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Predictive
            A distribution for each row, in the units of y.

        Raises
        ------
        DataError
            If the members' distributions cannot be mixed.
        """
        check_is_fitted(self)
        parts = []
        for model in self.estimators_:
            before = steps_before(model)
            inputs = X if before is None else before.transform(X)
            parts.append(last_step(model).predict_dist(inputs))
        try:
            return mixture_of(parts, self.weights_)
        except ParameterError as error:
            raise DataError(f"The members' distributions cannot be mixed: {error}") from error
