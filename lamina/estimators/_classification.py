"""Which head fits which kind of labels, and the target in the form that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lamina._checks import shown
from lamina._errors import ParameterError
from lamina._typing import Array
from lamina.heads import (
    Bernoulli,
    Categorical,
    FromDistribution,
    Head,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    get_head,
)

from ._labels import Labels

Noise: TypeAlias = "float | Literal['learn']"


@dataclass(frozen=True)
class ClassificationHead:
    """A head with the number of raw outputs and scikit-learn's name of what follows them."""

    head: Head
    n_raw: int
    out_activation: str


NOT_FOR_LABELS = (
    *(Normal, MultivariateNormal, Mixture, Quantiles, Poisson, NegativeBinomial),
    FromDistribution,
)
"""Heads whose raw outputs are no logits."""


def classification_head(
    loss: str | Head, labels: Labels, label_noise: Noise = 0.0
) -> ClassificationHead:
    """Return the head for ``labels``.

    Two classes and multilabel problems have one logit each and the logistic sigmoid, three and
    more exclusive classes have softmax. A single class is one logit that is always right.
    """
    n_classes = len(labels.classes)
    exclusive = labels.kind == "multiclass"
    head: Head = Categorical(n_classes) if exclusive else Bernoulli()
    if loss != "log_loss" and labels.kind != "one class":
        head = get_head(loss)
    if label_noise != 0.0 and isinstance(loss, Head):
        raise ParameterError(
            f"label_noise must be 0.0 with a head, which may have its own. Got {label_noise!r} "
            f"with loss={shown(loss)}."
        )
    if isinstance(head, Categorical) and not labels.multilabel:
        head = Categorical(
            head.n_classes or n_classes,
            label_smoothing=head.label_smoothing,
            label_noise=label_noise or head.label_noise,
        )
        return ClassificationHead(head, head.n_raw(n_classes), "softmax")
    if isinstance(head, Bernoulli) and label_noise and labels.kind != "one class":
        head = Bernoulli(label_noise)
    if isinstance(head, (*NOT_FOR_LABELS, Categorical)) or (
        exclusive and isinstance(head, Bernoulli)
    ):
        fitting = "'log_loss' or 'categorical'" if exclusive else "'log_loss' or 'bernoulli'"
        raise ParameterError(
            f"loss must be {fitting} for {labels.kind} labels. Got {shown(loss)}."
        )
    n_raw = head.n_raw(n_classes if exclusive or labels.multilabel else 1)
    return ClassificationHead(head, n_raw, "softmax" if exclusive else "logistic")


def head_targets(head: Head, labels: Labels, codes: Array) -> Array:
    """Return the target for a head; with several classes a loss of one's own gets one-hot rows.

    ``codes`` are class numbers (N,) or, for a multilabel problem, zeros and ones (N, L).
    """
    if labels.kind == "one class":
        return np.ones(len(codes))
    if labels.kind == "multiclass" and not isinstance(head, Categorical):
        return np.eye(len(labels.classes))[codes]
    return codes
