"""The multilayer perceptron as a classifier."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted, column_or_1d
from torch.nn.functional import logsigmoid

from lamina._errors import ParameterError
from lamina._typing import Array, DtypeName, FloatArray
from lamina.heads import Bernoulli, Categorical, Head, Normal, Poisson, get_head
from lamina.nn import Activation

from ._inputs import check_new_data, check_training_data
from ._labels import Labels, is_multilabel, learn_labels, refuse_other_classes, refuse_unknown
from ._mlp import BaseMLP
from ._parameters import CLASSIFIER_CONSTRAINTS
from ._prediction import raw_outputs
from ._problem import Problem
from ._weights import ClassWeight, check_weights, with_class_weight


class MLPClassifier(ClassifierMixin, BaseMLP):  # type: ignore[misc]
    """Doc."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CLASSIFIER_CONSTRAINTS

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str | Activation | list[Any] | tuple[Any, ...] = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        tol: float = 1e-4,
        verbose: bool | int = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float = 10,
        max_fun: int = 15000,
        loss: str | Head = "log_loss",
        class_weight: ClassWeight = None,
        dropout: float = 0.0,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        n_members: int = 1,
        device: str = "auto",
        dtype: DtypeName | None = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes=hidden_layer_sizes,
            activation=activation,
            solver=solver,
            alpha=alpha,
            batch_size=batch_size,
            learning_rate=learning_rate,
            learning_rate_init=learning_rate_init,
            power_t=power_t,
            max_iter=max_iter,
            loss=loss,
            shuffle=shuffle,
            random_state=random_state,
            tol=tol,
            verbose=verbose,
            warm_start=warm_start,
            momentum=momentum,
            nesterovs_momentum=nesterovs_momentum,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            n_iter_no_change=n_iter_no_change,
            max_fun=max_fun,
            dropout=dropout,
            weight_decay=weight_decay,
            clip_norm=clip_norm,
            n_members=n_members,
            device=device,
            dtype=dtype,
        )
        self.class_weight = class_weight

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network to data and class labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a matrix of zeros and ones for a multilabel problem.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0. A row of weight 0 is as good as absent, though a class that
            only such rows have stays in ``classes_``.

        Returns
        -------
        self : MLPClassifier
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight, incremental=False)

    @available_if(lambda self: self._check_solver())
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """Train for one epoch over the given data, from where the last call ended.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Class labels. Not all classes need to occur.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.
        classes : array of shape (n_classes,), optional
            All classes that any call will see; required in the first call unless ``y`` is
            multilabel.

        Returns
        -------
        self : MLPClassifier
            The classifier after one more epoch.
        """
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight must be None or a dict for partial_fit, which never sees all rows. "
                f"Got {self.class_weight!r}. Compute the weights beforehand with "
                "sklearn.utils.class_weight.compute_class_weight."
            )
        return self._fit(X, y, sample_weight, incremental=True, classes=classes)

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        if incremental:
            self._first_labels(y, classes)
        X, y = check_training_data(
            self, X, y, dtype=self.dtype, reset=fresh, numeric_target=False
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        labels = self._known_labels(y, incremental)
        weight = check_weights(sample_weight, X)
        numbers = None if labels.multilabel else labels.numbers(y)
        if numbers is not None:
            weight = with_class_weight(weight, self.class_weight, labels.classes, numbers)
        elif self.class_weight is not None:
            raise ParameterError(
                "class_weight must be None for a multilabel target, whose rows have no one class. "
                "Use sample_weight."
            )
        head, n_raw, out_activation = self._choose_head(labels)
        targets = _targets(head, labels, y, numbers)
        known = {"_labels": labels, "classes_": labels.classes}
        return Problem(X, targets, head, n_raw, out_activation, weight, numbers, known)

    def _first_labels(self, y: Any, classes: Any) -> None:
        """Learn the labels of the first partial_fit from ``classes`` or the columns of ``y``."""
        first = getattr(self, "classes_", None) is None
        multilabel = self._labels.multilabel if not first else is_multilabel(y)
        if multilabel and classes is None:
            if first:
                self._labels = learn_labels(y)
                self.classes_ = self._labels.classes
            return
        if _check_partial_fit_first_call(self, classes):
            self._labels = Labels(self.classes_, multilabel)

    def _known_labels(self, y: Any, incremental: bool) -> Labels:
        """Return the labels of this call, checked against those of earlier calls."""
        known: Labels | None = getattr(self, "_labels", None)
        if known is None or not (self.warm_start or incremental):
            return learn_labels(y)
        if known.multilabel:
            return known
        if self.warm_start and not incremental:
            learned = learn_labels(y)
            refuse_other_classes(y, known)
            return known if not learned.multilabel else learned
        refuse_unknown(y, known)
        return known

    def _choose_head(self, labels: Labels) -> tuple[Head, int, str]:
        """Return the head, its raw outputs, and scikit-learn's name of the output activation."""
        n_classes = len(labels.classes)
        exclusive = labels.kind == "multiclass"
        head: Head = Categorical(n_classes) if exclusive else Bernoulli()
        if self.loss != "log_loss" and labels.kind != "one class":
            head = get_head(self.loss)
        if isinstance(head, Categorical) and not labels.multilabel:
            given = head.n_classes or n_classes
            head = Categorical(given, label_smoothing=head.label_smoothing)
            return head, head.n_raw(n_classes), "softmax"
        fits = not isinstance(head, Normal | Poisson | Categorical) and (
            not exclusive or not isinstance(head, Bernoulli)
        )
        if not fits:
            raise ParameterError(
                f"loss must be 'log_loss' or a head for {labels.kind} labels. Got {self.loss!r}."
            )
        n_raw = head.n_raw(n_classes if exclusive or labels.multilabel else 1)
        return head, n_raw, "softmax" if exclusive else "logistic"

    def _raw(self, X: Any) -> list[FloatArray]:
        """Return the raw outputs (N, Q) of each member."""
        check_is_fitted(self)
        X = check_new_data(self, X)
        return [raw_outputs(network, X) for network in self.networks_]

    def predict(self, X: Any) -> Array:
        """Return the most probable labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels of the kind that ``fit`` saw.
        """
        decision = self._decision(self._raw(X))
        if self._labels.multilabel:
            return self._labels.decode_indicators(decision > 0)
        if self._labels.kind == "one class":
            return self._labels.decode(np.zeros(len(decision), dtype=int))
        numbers = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self._labels.decode(numbers)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class; for an ensemble the mean of its members'.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``. Rows add up to 1, except in a multilabel
            problem, where each column is the probability of that label.
        """
        raws = self._raw(X)
        if self._labels.kind == "one class":
            return np.ones((len(raws[0]), 1), dtype=raws[0].dtype)
        proba = sum(self._proba(raw) for raw in raws) / len(raws)
        return np.hstack([1 - proba, proba]) if self._one_logit else proba

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probabilities, computed from the raw outputs.

        It stays finite where the probability itself is rounded to 0.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        raws = self._raw(X)
        if self._labels.kind == "one class":
            return np.zeros((len(raws[0]), 1), dtype=raws[0].dtype)
        if self._one_logit:
            return np.hstack([self._log_proba([-raw for raw in raws]), self._log_proba(raws)])
        return self._log_proba(raws)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the logits: positive, or largest, where ``predict`` says yes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One number a row for two classes, the log-odds of ``classes_[1]``. For an ensemble
            they are the logits of its mean probabilities.
        """
        return self._decision(self._raw(X))

    @property
    def _one_logit(self) -> bool:
        """Whether one raw output stands for two exclusive classes."""
        return self._labels.kind == "binary" and self.out_activation_ == "logistic"

    def _proba(self, raw: FloatArray) -> FloatArray:
        tensor = torch.from_numpy(raw)
        softmax = self.out_activation_ == "softmax"
        proba: FloatArray = (tensor.softmax(-1) if softmax else tensor.sigmoid()).numpy()
        return proba

    def _log_proba(self, raws: list[FloatArray]) -> FloatArray:
        """Return the logarithm of the mean of the members' probabilities, column by column."""
        raw = torch.from_numpy(np.stack(raws))  # (K, N, Q)
        softmax = self.out_activation_ == "softmax"
        log_proba = raw.log_softmax(-1) if softmax else logsigmoid(raw)
        mean: FloatArray = (log_proba.logsumexp(0) - np.log(len(raws))).numpy()
        return mean

    def _decision(self, raws: list[FloatArray]) -> FloatArray:
        logits = raws[0]
        if len(raws) > 1:
            logits = self._log_proba(raws)
            if self.out_activation_ == "logistic":
                logits = logits - self._log_proba([-raw for raw in raws])
        if self._labels.multilabel:
            return logits
        if logits.shape[1] == 1:
            return logits.ravel()
        return logits[:, 1] - logits[:, 0] if self._labels.kind == "binary" else logits

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: also multilabel."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _targets(head: Head, labels: Labels, y: Any, numbers: Array | None) -> Array:
    """Return the target in the form that the head takes; a loss of one's own gets one-hot rows."""
    if numbers is None:
        return labels.indicators(y)
    if labels.kind == "one class":
        return np.ones(len(numbers))
    if labels.kind == "binary" or isinstance(head, Categorical):
        return numbers
    return np.eye(len(labels.classes))[numbers]
