"""The engines under test, and their oracle: one network trained the ordinary way.

Torch modules, autograd and rules that are written out for one tensor at a time. Only the order
of rows, the first weights and the dropout masks are the engine's own; each has its own tests.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from lamina._random import permutation
from lamina.heads import Normal, Poisson
from lamina.stack import Member, train
from lamina.stack._dropout import DropoutPlan
from lamina.stack._extension import native

BACKENDS = ["torch", "cpu"]


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    """Let the test module's ``train`` use one engine after another; return its name."""
    if request.param == "cpu" and native() is None:
        pytest.skip("lamina was installed without its compiled part")
    monkeypatch.setattr(request.module, "train", partial(train, backend=request.param))
    return request.param


def mixed_data():
    """Counts, so that a Gaussian and a Poisson head share one target."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((130, 5))
    return X, rng.poisson(np.exp(0.5 * X[:, 0] + 0.3)).astype(float)


def mix(n=24, max_epochs=17):
    """Return members that differ in everything: 3 steps an epoch and more, 50 steps in all."""
    rng = np.random.default_rng(1)
    depths = [0, 1, 2, 3, 4]
    widths = [1, 2, 7, 16, 33, 64, 120, 300]
    activations = ["tanh", "relu", "sigmoid", "gelu", "softplus", "leaky_relu"]
    optimizers = ["sgd", "adam", "adamw", "rmsprop"]
    members = []
    for k in range(n):
        sizes = tuple(int(rng.choice(widths)) for _ in range(depths[k % 5]))
        fold = rng.permutation(130)
        members.append(
            Member(
                hidden_layer_sizes=sizes,
                activation=activations[k % 6],
                head=[Normal(), Poisson()][(k // 6) % 2],
                seed=k,
                rows=np.sort(fold[: 90 + k % 7]),
                validation_rows=np.sort(fold[100:]) if k % 3 else None,
                sample_weight=rng.uniform(0.5, 2.0, 130) if k % 4 == 0 else None,
                batch_size=[32, 32, 40, 200][k % 4],
                optimizer=optimizers[(k // 5) % 4],
                learning_rate=float(10 ** rng.uniform(-4, -2.5)),
                schedule=[None, "cosine", "invscaling", "one_cycle"][k % 4],
                weight_decay=[0.0, 0.01][k % 2],
                alpha=[0.0, 1e-3, 0.1][k % 3],
                dropout=[0.0, 0.2, 0.5][k % 3],
                clip_norm=[None, 1.0][(k // 2) % 2],
                max_epochs=[max_epochs, 50][k % 4 == 3],
                keep_best=False,
            )
        )
    return members


@pytest.fixture(name="mix")
def _mix():
    """Return the function that makes members that differ in everything."""
    return mix


@pytest.fixture(name="mixed_data")
def _mixed_data():
    """Return inputs and targets for the mix."""
    return mixed_data()


class Abs(nn.Module):
    def forward(self, a):
        return a.abs()


class Step(nn.Module):
    def forward(self, a):
        return (a > 0).to(a.dtype) + 0 * a


MODULES = {
    "identity": lambda h, width: nn.Identity(),
    "sigmoid": lambda h, width: nn.Sigmoid(),
    "tanh": lambda h, width: nn.Tanh(),
    "hard_tanh": lambda h, width: nn.Hardtanh(),
    "relu": lambda h, width: nn.ReLU(),
    "leaky_relu": lambda h, width: nn.LeakyReLU(h.slope),
    "prelu": lambda h, width: nn.PReLU(width, init=h.init, dtype=torch.float64),
    "abs": lambda h, width: Abs(),
    "softplus": lambda h, width: nn.Softplus(threshold=50),
    "gelu": lambda h, width: nn.GELU(),
    "silu": lambda h, width: nn.SiLU(),
    "elu": lambda h, width: nn.ELU(h.alpha),
    "step": lambda h, width: Step(),
}
"""Torch's module for each activation and width."""


def normal(raw, y):
    return 0.5 * (raw - y).square().sum(1) + raw.shape[1] * 0.5 * math.log(2 * math.pi)


def bernoulli(raw, y):
    return functional.binary_cross_entropy_with_logits(raw, y, reduction="none").sum(1)


def poisson(raw, y):
    rows = functional.poisson_nll_loss(raw, y, log_input=True, full=False, reduction="none")
    return (rows + torch.lgamma(y + 1)).sum(1)


def log_cosh(raw, y):
    return torch.log(torch.cosh(raw - y)).sum(-1)


def categorical(raw, y, label_smoothing):
    number = y.reshape(-1).long()
    return functional.cross_entropy(raw, number, reduction="none", label_smoothing=label_smoothing)


def density(head):
    """Return minus the log density that torch's own distributions compute."""
    return lambda raw, y: -head.distribution(raw).log_prob(y)


def pinball(head):
    levels = torch.tensor(head.levels, dtype=torch.float64)

    def loss(raw, y):
        gap = y.unsqueeze(-1) - head.quantiles(raw)
        return torch.where(gap > 0, levels * gap, (levels - 1) * gap).mean(-1).sum(-1)

    return loss


LOSSES = {
    "normal": lambda head: normal if head.scale == "unit" else density(head),
    **dict.fromkeys(
        ("mixture", "multivariate_normal", "negative_binomial", "from_distribution"), density
    ),
    "quantiles": pinball,
    "bernoulli": lambda head: bernoulli,
    "categorical": lambda head: partial(categorical, label_smoothing=head.label_smoothing),
    "poisson": lambda head: poisson,
    "custom": lambda head: log_cosh,
}
"""Torch's own loss of each head, row by row."""


class Plain:
    """One member's network as torch modules, trained step by step.

    Parameters
    ----------
    member : Member
        What to train; the schedule must be constant.
    X, y : arrays
        All rows.
    """

    def __init__(self, member: Member, X, y):
        self.member = member
        self.X = torch.tensor(np.asarray(X), dtype=torch.float64)
        self.y = torch.tensor(np.asarray(y), dtype=torch.float64).reshape(len(X), -1)
        (start,) = train(
            [Member(**{**vars(member), "max_epochs": 0})], X, y, backend="torch", dtype="float64"
        ).networks
        self.linears, self.activations = [], []
        for i, (W, b) in enumerate(start.layers()):
            linear = nn.Linear(W.shape[1], W.shape[0], dtype=torch.float64)
            with torch.no_grad():
                linear.weight.copy_(torch.tensor(W))
                linear.bias.copy_(torch.tensor(b))
            self.linears.append(linear)
            if i < len(member.activations):
                activation = member.activations[i]
                self.activations.append(MODULES[activation.name](activation, W.shape[0]))
        self.weights = [linear.weight for linear in self.linears]
        slopes = [p for module in self.activations for p in module.parameters()]
        self.parameters = self.weights + [linear.bias for linear in self.linears] + slopes
        self.n_taken = 0
        self.losses = []
        self.loss = LOSSES[member.head.name](member.head)
        self.update = UPDATES[member.optimizer.name](self)

    def run(self):
        """Train for all epochs; return the parameters in the order of the engine's states."""
        for epoch in range(self.member.max_epochs):
            self.run_epoch(epoch)
        return [p.detach().numpy() for p in self.parameters]

    def run_epoch(self, epoch):
        member = self.member
        n_samples = len(self.X)
        rows = np.arange(n_samples) if member.rows is None else np.asarray(member.rows)
        weight = torch.ones(n_samples, dtype=torch.float64)
        if member.sample_weight is not None:
            weight = torch.tensor(member.sample_weight, dtype=torch.float64)
            rows = rows[np.asarray(member.sample_weight)[rows] > 0]
        if member.shuffle and member.batch_size < len(rows):
            rows = rows[permutation(member.seed, epoch, len(rows))]
        total = 0.0
        first = self.n_taken
        for start in range(0, len(rows), member.batch_size):
            part = rows[start : start + member.batch_size]
            total += len(part) / len(rows) * self.step(part, weight[part], first)
        self.losses.append(total)

    def step(self, part, weight, first):
        """Take one step on some rows; return the objective before it."""
        member = self.member
        masks = self.masks(len(part), first)
        h = self.X[part]
        for i, linear in enumerate(self.linears[:-1]):
            h = self.activations[i](linear(h))
            if member.dropout:
                h = h * masks[i]
        error = self.loss(self.linears[-1](h), self.y[part])
        squares = sum(W.square().sum() for W in self.weights)
        objective = (weight * error).sum() / weight.sum()
        objective = objective + member.alpha / (2 * weight.sum()) * squares
        for p in self.parameters:
            p.grad = None
        objective.backward()
        self.n_taken += 1
        with torch.no_grad():
            for p in self.parameters:
                p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            if not member.optimizer.decoupled:
                for W in self.weights:
                    W.grad += member.weight_decay * W
            if member.clip_norm is not None:
                norm = math.sqrt(sum(float(p.grad.square().sum()) for p in self.parameters))
                for p in self.parameters:
                    p.grad *= min(1.0, member.clip_norm / max(norm, 1e-300))
            self.update()
        return float(objective.detach())

    def masks(self, n_rows, first):
        """Return the dropout masks of the coming step, one for each hidden layer."""
        member = self.member
        like = torch.zeros(0, dtype=torch.float64)
        plan = DropoutPlan([member.seed], [member.dropout], like)
        plan.begin_epoch(np.array([first]))
        masks = [torch.zeros(1, n_rows, width, dtype=torch.float64) for width in member.sizes]
        for i, mask in enumerate(masks):
            plan.fill_mask(mask, self.n_taken - first, i)
        return [mask[0] for mask in masks]


def sgd(plain):
    """v ← μv − ηg; θ ← θ + v, or with Nesterov θ ← θ + μv − ηg."""
    rule, rate = plain.member.optimizer, plain.member.learning_rate
    velocity = [torch.zeros_like(p) for p in plain.parameters]

    def update():
        for p, v in zip(plain.parameters, velocity, strict=True):
            v.copy_(rule.momentum * v - rate * p.grad)
            p += rule.momentum * v - rate * p.grad if rule.nesterov else v

    return update


def adam_step(p, m, s, t, rate, rule):
    """m ← β₁m + (1−β₁)g; s ← β₂s + (1−β₂)g²; θ ← θ − η√(1−β₂ᵗ)/(1−β₁ᵗ) · m/(√s + ε)."""
    m.copy_(rule.beta_1 * m + (1 - rule.beta_1) * p.grad)
    s.copy_(rule.beta_2 * s + (1 - rule.beta_2) * p.grad**2)
    corrected = rate * math.sqrt(1 - rule.beta_2**t) / (1 - rule.beta_1**t)
    p -= corrected * m / (s.sqrt() + rule.epsilon)


def adam(plain):
    member = plain.member
    means = [torch.zeros_like(p) for p in plain.parameters]
    squares = [torch.zeros_like(p) for p in plain.parameters]

    def update():
        if member.optimizer.decoupled:
            for W in plain.weights:
                W *= 1 - member.learning_rate * member.weight_decay
        for p, m, s in zip(plain.parameters, means, squares, strict=True):
            adam_step(p, m, s, plain.n_taken, member.learning_rate, member.optimizer)

    return update


def rmsprop(plain):
    """Torch's own."""
    rule = plain.member.optimizer
    optimizer = torch.optim.RMSprop(
        plain.parameters,
        lr=plain.member.learning_rate,
        alpha=rule.rho,
        eps=rule.epsilon,
        momentum=rule.momentum,
    )
    return optimizer.step


def orthogonal(matrix, n_steps):
    """Newton–Schulz on one matrix, which is never turned."""
    x = matrix / matrix.norm().clamp_min(1e-300)
    for _ in range(n_steps):
        cube = x @ x.T @ x
        x = 3.4445 * x - 4.7750 * cube + 2.0315 * x @ x.T @ cube
    return x


def muon(plain):
    """Muon on all weight matrices but the last; AdamW on everything else."""
    member = plain.member
    rule, rate = member.optimizer, member.learning_rate
    hidden = plain.weights[:-1]
    rest = plain.parameters[len(hidden) :]
    momenta = [torch.zeros_like(W) for W in hidden]
    means = [torch.zeros_like(p) for p in rest]
    squares = [torch.zeros_like(p) for p in rest]

    def update():
        for W, m in zip(hidden, momenta, strict=True):
            W *= 1 - rate * member.weight_decay
            m.copy_(rule.momentum * m + W.grad)
            ahead = W.grad + rule.momentum * m if rule.nesterov else m
            n_out, n_in = W.shape
            W -= rate * math.sqrt(max(1.0, n_out / n_in)) * orthogonal(ahead, rule.n_steps)
        plain.weights[-1].mul_(1 - rate * rule.adamw_ratio * member.weight_decay)
        for p, m, s in zip(rest, means, squares, strict=True):
            adam_step(p, m, s, plain.n_taken, rate * rule.adamw_ratio, rule)

    return update


UPDATES = {"sgd": sgd, "adam": adam, "adamw": adam, "rmsprop": rmsprop, "muon": muon}
"""What makes the update of each optimiser, from its formula."""


@pytest.fixture
def plain():
    """Return the class that trains one member the ordinary way."""
    return Plain


@pytest.fixture
def covered():
    """Return the names of activations, heads and optimisers that it knows."""
    return set(MODULES), set(LOSSES), set(UPDATES)
