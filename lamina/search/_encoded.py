"""A network behind a table encoder as one estimator, which saves and loads as one."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import lamina.estimators
from lamina._checks import shown
from lamina._errors import FileError, ParameterError
from lamina._typing import Array, FloatArray
from lamina.distributions import Predictive
from lamina.nn import Network
from lamina.tables import TableEncoder, target_name


class BaseEncoded(BaseEstimator):  # type: ignore[misc]
    """What both do: encode the table, and let the network learn and speak."""

    encoder_: TableEncoder
    estimator_: Any
    target_name_: str | None
    n_features_in_: int
    feature_names_in_: Array

    _target_type: Any

    def __init__(self, estimator: Any, encoder: TableEncoder | None = None) -> None:
        self.estimator = estimator
        self.encoder = encoder

    @classmethod
    def from_pipeline(cls, pipeline: Pipeline, target_name: str | None = None) -> Self:
        """Return the same model as a fitted pipeline of two steps, in a form that saves.

        Parameters
        ----------
        pipeline : Pipeline
            A fitted `TableEncoder`, and a fitted network of lamina.
        target_name : str, default=None
            Name of the column that it predicts.

        Returns
        -------
        self : object
            The model; it shares the two steps with the pipeline.

        Raises
        ------
        ParameterError
            If the pipeline has other steps.
        """
        steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else []
        if len(steps) != 2 or type(steps[0]) is not TableEncoder:
            raise ParameterError(
                "pipeline must be a Pipeline of a TableEncoder and a network of lamina. "
                f"Got {shown(pipeline)}."
            )
        encoder, estimator = steps
        check_is_fitted(encoder)
        check_is_fitted(estimator)
        model = cls(clone(estimator), clone(encoder))
        model._check_estimator()
        model._set(encoder, estimator, target_name)
        return model

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the encoder, and the network to what it gives.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The table as it comes.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts for the network.

        Returns
        -------
        self : object
            The fitted model.
        """
        self._check_estimator()
        given = self.encoder
        encoder = TableEncoder(target_type=self._target_type) if given is None else clone(given)
        matrix = encoder.fit_transform(X, y)
        estimator = clone(self.estimator)
        if sample_weight is None:
            estimator.fit(matrix, y)
        else:
            estimator.fit(matrix, y, sample_weight=sample_weight)
        self._set(encoder, estimator, target_name(y))
        return self

    def _check_estimator(self) -> None:
        """Raise unless the estimator is one of lamina, of the right kind."""
        name = type(self.estimator).__name__
        classes = isinstance(self, ClassifierMixin)
        if name not in _kinds() or is_classifier(self.estimator) != classes:
            what = "classifier" if classes else "regressor"
            raise ParameterError(
                f"estimator must be a {what} of lamina.estimators. Got {shown(self.estimator)}."
            )

    def _set(self, encoder: TableEncoder, estimator: Any, target_name: str | None) -> None:
        """Take fitted parts."""
        self.encoder_, self.estimator_, self.target_name_ = encoder, estimator, target_name
        self.n_features_in_ = encoder.n_features_in_
        if "feature_names_in_" in vars(encoder):
            self.feature_names_in_ = encoder.feature_names_in_

    @property
    def networks_(self) -> list[Network]:
        """The fitted networks."""
        return list(self.estimator_.networks_)

    def _matrix(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self.encoder_.transform(X)

    def predict(self, X: Any) -> Array:
        """Return what the network predicts of each row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        matrix = self._matrix(X)
        predictions: Array = self.estimator_.predict(matrix)
        return predictions

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return encoder and network as JSON can hold them, and the arrays."""
        encoder, arrays = self.encoder_._to_state()
        state, own = self.estimator_._to_state()
        arrays = {f"encoder.{name}": array for name, array in arrays.items()}
        arrays |= {f"estimator.{name}": array for name, array in own.items()}
        config = {
            "kind": type(self.estimator_).__name__,
            "state": state,
            "encoder": encoder,
            "target_name": self.target_name_,
        }
        return config, arrays

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the model that `_to_state` described."""
        parts: dict[str, dict[str, Array]] = {"encoder": {}, "estimator": {}}
        for name, array in arrays.items():
            part, _, own = name.partition(".")
            parts[part][own] = array
        if config["kind"] not in _kinds():
            raise FileError(f"A network must be an estimator of lamina. Got {config['kind']!r}.")
        kind = getattr(lamina.estimators, config["kind"])
        estimator = kind._from_state(config["state"], parts["estimator"])
        encoder = TableEncoder._from_state(config["encoder"], parts["encoder"])
        model = cls(clone(estimator), clone(encoder))
        model._check_estimator()
        model._set(encoder, estimator, config["target_name"])
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a table: holes and text are fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _kinds() -> set[str]:
    """Return the names of lamina's estimators that predict."""
    every = lamina.estimators
    return {name for name in every.__all__ if name.endswith(("Classifier", "Regressor"))}


class EncodedClassifier(ClassifierMixin, BaseEncoded):  # type: ignore[misc]
    """A table encoder and a classifier as one estimator, which `lamina.save` takes.

    A search fits a `Pipeline` of the two, whose encoder candidates share; this is what is kept
    of the best one. `TableClassifier` chooses its networks itself.

    Parameters
    ----------
    estimator : estimator
        A classifier of lamina; a clone of it is fitted.
    encoder : TableEncoder, default=None
        How the table becomes a matrix; None is `TableEncoder` with its defaults.

    Attributes
    ----------
    encoder_, estimator_ : TableEncoder, estimator
        The fitted parts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    networks_ : list of Network
        The fitted networks.
    target_name_ : str or None
        Name of the target, where it had one.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had some.

    See Also
    --------
    StackedSearchCV : Finds the parameters of such a pipeline.

    Examples
    --------
    >>> import pandas as pd
    >>> from lamina import MLPClassifier
    >>> table = pd.DataFrame({"colour": ["red", "green"] * 20, "size": range(40)})
    >>> network = MLPClassifier((8,), solver="lbfgs", random_state=0)
    >>> EncodedClassifier(network).fit(table, table["colour"]).predict(table[:2]).tolist()
    ['red', 'green']
    """

    _target_type = "classes"

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        classes: Array = self.estimator_.classes_
        return classes

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        matrix = self._matrix(X)
        proba: FloatArray = self.estimator_.predict_proba(matrix)
        return proba


class EncodedRegressor(RegressorMixin, BaseEncoded):  # type: ignore[misc]
    """A table encoder and a regressor as one estimator, which `lamina.save` takes.

    A search fits a `Pipeline` of the two, whose encoder candidates share; this is what is kept
    of the best one. `TableRegressor` chooses its networks itself.

    Parameters
    ----------
    estimator : estimator
        A regressor of lamina; a clone of it is fitted.
    encoder : TableEncoder, default=None
        How the table becomes a matrix; None is `TableEncoder` with its defaults.

    Attributes
    ----------
    encoder_, estimator_ : TableEncoder, estimator
        The fitted parts.
    networks_ : list of Network
        The fitted networks.
    target_name_ : str or None
        Name of the target, where it had one.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had some.

    See Also
    --------
    StackedSearchCV : Finds the parameters of such a pipeline.

    Examples
    --------
    >>> import pandas as pd
    >>> from lamina import MLPRegressor
    >>> table = pd.DataFrame({"colour": ["red", "green"] * 20, "size": range(40)})
    >>> price = table["size"] + 10.0 * (table["colour"] == "red")
    >>> network = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", tol=0.01)
    >>> EncodedRegressor(network).fit(table, price).score(table, price) > 0.99
    True
    """

    _target_type = "continuous"

    def predict_dist(self, X: Any) -> Predictive:
        """Return the distribution of the target in each row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.

        Returns
        -------
        Predictive
            A distribution for each row, in the units of y.
        """
        matrix = self._matrix(X)
        dist: Predictive = self.estimator_.predict_dist(matrix)
        return dist

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
        ndarray of shape (n_samples, 2)
            Lower and upper end in units of y.
        """
        return self.predict_dist(X).interval(level)
