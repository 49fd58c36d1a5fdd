"""From raw outputs to labels and probabilities: what a fitted classifier answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn.functional import logsigmoid

from lamina._typing import Array, FloatArray

from ._inputs import check_new_data
from ._labels import Labels
from ._mlp import BaseMLP
from ._prediction import raw_outputs


class Decisions(ClassifierMixin, BaseMLP):  # type: ignore[misc]
    """The part of a classifier that predicts.

    With several members probabilities are the mean of the members', and logits are those of
    the mean probabilities.
    """

    classes_: Array
    _labels: Labels

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
        decision = self._decision(self._raws(X))
        labels = self._labels
        if labels.multilabel:
            answer: Array = labels.decode_indicators(decision > 0)
            return answer
        if labels.kind == "one class":
            return labels.decode(np.zeros(len(decision), dtype=int))
        numbers = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return labels.decode(numbers)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

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
        return self._proba(self._raws(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class.

        Small ones are computed from the raw outputs, so that the logarithm is exact and finite
        where the probability itself is rounded to 0.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        raws = self._raws(X)
        proba = self._proba(raws)
        if self._labels.kind == "one class":
            return np.log(proba)
        log_proba = _log_mean([self._log_proba(raw) for raw in self._with_both(raws)])
        np.log(proba, out=log_proba, where=proba > 0.5)
        return log_proba

    def decision_function(self, X: Any) -> FloatArray:
        """Return the logits: positive, or largest, where ``predict`` says yes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One number a row for two classes, the log-odds of ``classes_[1]``.
        """
        return self._decision(self._raws(X))

    def _raws(self, X: Any) -> list[FloatArray]:
        """Return the raw outputs (N, Q) of each member."""
        check_is_fitted(self)
        X = check_new_data(self, X)
        n_logits = self._n_logits
        shared = self._head.shared_raw(n_logits)
        raws = [raw_outputs(network, X) for network in self.networks_]
        return [raw[:, : raw.shape[1] - shared] for raw in raws] if shared else raws

    @property
    def _n_logits(self) -> int:
        several = self._labels.multilabel or self.out_activation_ == "softmax"
        return len(self.classes_) if several else 1

    @property
    def label_noise_(self) -> float | FloatArray:
        """The probability of a wrong label that was given or learnt."""
        check_is_fitted(self)
        shared = self._head.shared_raw(self._n_logits)
        if not shared:
            noise = float(getattr(self._head, "label_noise", 0.0))
            return np.full(self._n_logits, noise) if self._labels.multilabel else noise
        # An evenly drawn label is wrong in K - 1 of K cases.
        n_classes = self._n_logits if self.out_activation_ == "softmax" else 2
        biases = [network.layers()[-1][1][-shared:] for network in self.networks_]
        even: FloatArray = expit(np.array(biases, dtype=np.float64)).mean(axis=0)
        share = even * (n_classes - 1) / n_classes
        return share if self._labels.multilabel else float(share[0])

    def _with_both(self, raws: list[FloatArray]) -> list[Tensor]:
        """Return the raw outputs, with −a beside a where one stands for two classes.

        σ(−a) and not 1 − σ(a), which is rounded to 0 long before the other class is sure.
        """
        tensors = [torch.from_numpy(raw) for raw in raws]
        if self._labels.kind == "binary" and self.out_activation_ == "logistic":
            return [torch.cat([-a, a], dim=1) for a in tensors]
        return tensors

    def _proba(self, raws: list[FloatArray]) -> FloatArray:
        if self._labels.kind == "one class":
            return np.ones_like(raws[0])
        softmax = self.out_activation_ == "softmax"
        probas = [a.softmax(-1) if softmax else a.sigmoid() for a in self._with_both(raws)]
        mean: FloatArray = (sum(probas[1:], probas[0]) / len(probas)).numpy()
        return mean

    def _log_proba(self, raw: Tensor) -> Tensor:
        return raw.log_softmax(-1) if self.out_activation_ == "softmax" else logsigmoid(raw)

    def _decision(self, raws: list[FloatArray]) -> FloatArray:
        logits = raws[0]
        if len(raws) > 1:
            tensors = [torch.from_numpy(raw) for raw in raws]
            logits = _log_mean([self._log_proba(a) for a in tensors])
            if self.out_activation_ == "logistic":
                logits = logits - _log_mean([self._log_proba(-a) for a in tensors])
        if self._labels.multilabel:
            return logits
        if logits.shape[1] == 1:
            return logits.ravel()
        return logits[:, 1] - logits[:, 0] if self._labels.kind == "binary" else logits

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: multilabel is fine."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _log_mean(log_probas: list[Tensor]) -> FloatArray:
    """Return the logarithm of the mean of what the logarithms are given of."""
    mean: FloatArray = (torch.stack(log_probas).logsumexp(0) - np.log(len(log_probas))).numpy()
    return mean
