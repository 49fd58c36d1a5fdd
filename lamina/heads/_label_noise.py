r"""Labels that are wrong with some probability ε: what is seen is not the class itself.

A label of K classes is another one with probability ε, each of the K - 1 others alike. That is
the same as a label drawn evenly from all K classes with probability g = ε K/(K-1), and the true
one otherwise:

.. math:: \tilde p_k = (1 - \varepsilon) p_k + \frac{\varepsilon}{K-1} \sum_{j \ne k} p_j
                     = \frac{g}{K} + (1 - g) p_k

A learnt g is the sigmoid of a raw output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from lamina._checks import check_real
from lamina._errors import ParameterError

from ._floats import logaddexp, logistic, softplus

Noise = float | Literal["learn"]

START = math.log(3.0)
"""Raw output at which a learnt g begins: 0.75. From above, logits may grow while it falls; from
below, logits that are still small keep it small."""


def check_noise(noise: Noise, below: float) -> Noise:
    """Return a label noise that is "learn" or a number in [0, ``below``)."""
    if isinstance(noise, str):
        if noise == "learn":
            return noise
        raise ParameterError(
            f"label_noise must be 'learn' or a number in [0, {below:g}). Got {noise!r}."
        )
    return check_real("label_noise", noise, 0.0, below, open_maximum=True)


@dataclass(frozen=True)
class Gate:
    """The probabilities of an evenly drawn and of a true label, in logs."""

    log_even: Tensor  # ln g/K
    log_true: Tensor  # ln 1 - g
    share: Tensor | None  # g, where it is learnt

    @classmethod
    def fixed(cls, noise: float, n_classes: int, like: Tensor) -> Gate:
        """Return the gate of a known probability ε > 0."""
        even = noise / (n_classes - 1)
        log_true = math.log1p(-even * n_classes)
        return cls(like.new_tensor(math.log(even)), like.new_tensor(log_true), None)

    @classmethod
    def learnt(cls, raw: Tensor, n_classes: int) -> Gate:
        """Return the gate of raw outputs a, with g = σ(a)."""
        log_even = -softplus(-raw) - math.log(n_classes)
        return cls(log_even, -softplus(raw), logistic(raw))

    def log_seen(self, log_p: Tensor) -> Tensor:
        """Return ln p̃ from ln p."""
        return logaddexp(self.log_even, self.log_true + log_p)

    def true(self, log_p: Tensor, log_seen: Tensor) -> Tensor:
        """Return the posterior probability that the label seen is a true one."""
        return (self.log_true + log_p - log_seen).exp()

    def gradient(self, log_seen: Tensor) -> Tensor:
        """Return the derivative of −ln p̃ on the raw output a of a learnt gate."""
        assert self.share is not None
        return self.share - (self.log_even - log_seen).exp()


def binary_error(gate: Gate, logit: Tensor, y: Tensor) -> Tensor:
    """Return −ln p̃ of labels 0 or 1."""
    return -gate.log_seen(-softplus(torch.where(y > 0.5, -logit, logit)))


def binary_error_and_gradients(
    gate: Gate, logit: Tensor, y: Tensor
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return −ln p̃, its derivative on the logit, and that on the raw output if g is learnt."""
    away = torch.where(y > 0.5, -logit, logit)  # the logit of the other label
    log_p = -softplus(away)
    log_seen = gate.log_seen(log_p)
    pull = gate.true(log_p, log_seen) * logistic(away)
    rest = [] if gate.share is None else [gate.gradient(log_seen)]
    return -log_seen, torch.where(y > 0.5, -pull, pull), rest


def class_error(gate: Gate, logits: Tensor, target: Tensor) -> Tensor:
    """Return −Σ t_k ln p̃_k for logits and probabilities t, both (..., K, B)."""
    return -(target * gate.log_seen(logits.log_softmax(-2))).sum(-2)


def class_error_and_gradients(
    gate: Gate, logits: Tensor, target: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Return the error (..., B), and its gradients on the logits and on a learnt gate."""
    log_p = logits.log_softmax(-2)
    log_seen = gate.log_seen(log_p)
    share = target * gate.true(log_p, log_seen)
    # p Σ share − share, with p − 1 of a sure class kept to all its digits
    others = share.sum(-2, keepdim=True) - share
    gradient = [log_p.exp() * others + share * log_p.expm1()]
    if gate.share is not None:
        gradient.append((target * gate.gradient(log_seen)).sum(-2, keepdim=True))
    return -(target * log_seen).sum(-2), gradient
