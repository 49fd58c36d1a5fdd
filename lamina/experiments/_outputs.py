"""Output layers and losses: stable in log space, one gradient for all, softmax once."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from lamina.datasets import make_spirals
from lamina.heads import Bernoulli, Categorical, Custom, Head, Normal, floor_of_double_softmax
from lamina.stack import train

from ._registry import Values, experiment
from ._training import full_batch, head_targets, largest_gap, raw_outputs


@experiment("stable-bce")
def stable_bce() -> Values:
    """Compute binary cross-entropy at extreme logits naively and from the logits."""
    logits, targets = [-800, -30, 0, 30, 800], [1, 1, 1, 0, 0]
    a, t = torch.tensor(logits).float()[:, None], torch.tensor(targets).float()[:, None]
    probability = a.sigmoid()
    naive = -torch.where(t > 0, probability.log(), (1 - probability).log())
    return {
        "logits": logits,
        "targets": targets,
        "stable": Bernoulli().error(a, t).double().numpy(),
        "naive_float32": naive.flatten().double().numpy(),
    }


@experiment("one-gradient-three-losses")
def one_gradient() -> Values:
    """Compare mean minus target with automatic differentiation for three heads."""
    rng = np.random.default_rng(6)
    raw = torch.from_numpy(rng.standard_normal((8, 4)).astype(np.float32))
    labels = torch.from_numpy(rng.integers(0, 4, 8))
    cases: dict[str, tuple[Head, torch.Tensor, torch.Tensor]] = {
        "identity": (Normal(), raw.flip(0), raw.flip(0)),
        "sigmoid": (Bernoulli(), (raw.flip(0) > 0).float(), (raw.flip(0) > 0).float()),
        "softmax": (Categorical(), labels, F.one_hot(labels, 4).float()),
    }
    values = {}
    for name, (head, y, target) in cases.items():
        leaf = raw.clone().requires_grad_()
        (expected,) = torch.autograd.grad(head.error(leaf, y).sum(), leaf)
        values[name] = largest_gap(head.mean(raw) - target, expected)
    return values


@experiment("softmax-overflow")
def softmax_overflow() -> Values:
    """Compute softmax of logits near 1000 naively and with the maximum subtracted."""
    logits = [1000, 1001, 1002]
    a = torch.tensor([logits]).float()
    naive = a.exp() / a.exp().sum()
    return {
        "logits": logits,
        "naive": naive[0].double().numpy(),
        "shifted": Categorical().mean(a)[0].double().numpy(),
    }


@experiment("cross-entropy-logits")
def cross_entropy_logits() -> Values:
    """Compute the cross-entropy of the same logits, where the last class is right."""
    a = torch.tensor([[1000.0, 1001.0, 1002.0]], dtype=torch.float64)
    return {"value": Categorical().error(a, torch.tensor([2])).item()}


@experiment("double-softmax-bug")
def double_softmax_bug() -> Values:
    """Give probabilities where logits belong: the error of a sure answer becomes large."""
    a, y = torch.tensor([[10.0, 0.0, 0.0]], dtype=torch.float64), torch.tensor([0])
    head = Categorical()
    # the loss is torch's here, since our head warns of exactly this mistake
    return {
        "logits_in": head.error(a, y).item(),
        "probabilities_in": F.cross_entropy(head.mean(a), y).item(),
    }


@experiment("double-softmax-floor")
def double_softmax_floor() -> Values:
    """Train three spirals with softmax applied twice: a good accuracy hides a stuck loss."""

    def twice(raw: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        log_p = raw.softmax(-1).log_softmax(-1)
        return -log_p.gather(-1, y.long()).squeeze(-1)

    X, y = make_spirals(random_state=189)
    head = Custom(twice, n_raw=3, name="softmax twice")
    member = full_batch((32, 32), "relu", head, n_rows=len(X), seed=189)
    raw = raw_outputs(train([member], X, y).networks[0], X)
    return {
        "floor": floor_of_double_softmax(3),
        "trained": head.error(raw, head_targets(head, y)).mean().item(),
        "accuracy": Categorical().score(raw, torch.from_numpy(y)).item(),
    }


@experiment("softmax-identities")
def softmax_identities() -> Values:
    """Add a constant to all logits, and write two classes as one sigmoid."""
    rng = np.random.default_rng(6)
    a = torch.from_numpy(rng.standard_normal((50, 4)))
    head, pair = Categorical(), a[:, :2]
    one = Bernoulli().mean(pair[:, :1] - pair[:, 1:])
    return {
        "shift_gap": largest_gap(head.mean(a), head.mean(a + 3.7)),
        "two_class_gap": largest_gap(head.mean(pair)[:, :1], one),
    }


@experiment("multilabel-sum")
def multilabel_sum() -> Values:
    """Add up the binary cross-entropies of five labels in single precision."""
    rng = np.random.default_rng(6)
    raw = torch.from_numpy(rng.standard_normal((40, 5)).astype(np.float32))
    y = torch.from_numpy(rng.integers(0, 2, (40, 5)).astype(np.float32))
    together = Bernoulli().error(raw, y)
    apart = torch.stack([Bernoulli().error(raw[:, [k]], y[:, [k]]) for k in range(5)]).sum(0)
    return {"gap": largest_gap(together, apart)}
