"""One member equals a plain PyTorch loop with autograd: every head, activation and option."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamina.heads import (
    HEADS,
    Bernoulli,
    Categorical,
    Custom,
    FromDistribution,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
)
from lamina.nn import ACTIVATIONS, LeakyReLU, PReLU
from lamina.stack import OPTIMIZERS, SGD, Adam, AdamW, Member, Muon, RMSprop, train

pytestmark = pytest.mark.usefixtures("backend")

N_SAMPLES, N_FEATURES, BATCH, N_EPOCHS = 37, 4, 8, 8
"""Five steps an epoch, the last of five rows; 40 steps."""


def numbers(*shape, seed=8):
    return np.random.default_rng(seed).standard_normal(shape)


X = numbers(N_SAMPLES, N_FEATURES)
REAL = np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2]
TWO_REALS = np.stack([REAL, X[:, 3] ** 2], axis=1)
COUNTS = np.floor(np.exp(0.5 * X[:, 0] + 0.5))
LABELS = (REAL > 0).astype(float)
TWO_LABELS = (TWO_REALS > 0.2).astype(float)
CLASSES = np.digitize(REAL, [-0.5, 0.5])
WEIGHTS = np.random.default_rng(9).uniform(0.2, 3.0, N_SAMPLES)
WEIGHTS_WITH_ZEROS = np.where(np.arange(N_SAMPLES) % 7 == 0, 0.0, WEIGHTS)
BOOTSTRAP = np.random.default_rng(9).integers(0, N_SAMPLES, 41)


def log_cosh(raw, y):
    """Return a loss that has no head; for small residuals half the square."""
    return torch.log(torch.cosh(raw - y)).sum(-1)


def laplace(raw):
    """Return a distribution that no head has."""
    loc, log_scale = raw.chunk(2, -1)
    return torch.distributions.Independent(torch.distributions.Laplace(loc, log_scale.exp()), 1)


def case(y=REAL, **settings):
    """Return a member's settings and its target."""
    return settings, y


OPTIMIZER_CASES = {
    "sgd": case(optimizer="sgd"),
    "sgd without momentum": case(optimizer=SGD(momentum=0.0, nesterov=False)),
    "sgd with momentum": case(optimizer=SGD(momentum=0.7, nesterov=False)),
    "adam": case(optimizer="adam"),
    "adam with a large epsilon": case(optimizer=Adam(0.8, 0.95, 1e-2)),
    "adamw": case(optimizer="adamw", weight_decay=0.1),
    "adamw with other rates": case(optimizer=AdamW(0.5, 0.9, 1e-4), weight_decay=1.0),
    "rmsprop": case(optimizer="rmsprop"),
    "rmsprop with momentum": case(optimizer=RMSprop(0.9, 0.8, 1e-3)),
    "muon": case(optimizer="muon", hidden_layer_sizes=(7, 5, 3)),
    "muon with weight decay": case(optimizer="muon", weight_decay=0.5, learning_rate=0.02),
    "muon without nesterov": case(optimizer=Muon(0.5, False, 3, 0.3)),
    "muon on a linear model": case(optimizer="muon", hidden_layer_sizes=(), learning_rate=0.1),
}
ACTIVATION_CASES = {name: case(activation=name, batch_size=10) for name in ACTIVATIONS}
HEAD_CASES = {
    "normal": case(head=Normal()),
    "normal, two targets": case(TWO_REALS, head=Normal()),
    "bernoulli": case(LABELS, head=Bernoulli()),
    "bernoulli, two labels": case(TWO_LABELS, head=Bernoulli()),
    "categorical": case(CLASSES, head=Categorical()),
    "categorical of two": case(LABELS, head=Categorical(2)),
    "categorical of 20": case(CLASSES, head=Categorical(20)),
    "categorical, smoothed": case(CLASSES, head=Categorical(3, label_smoothing=0.2)),
    "poisson": case(COUNTS, head=Poisson()),
    "custom": case(TWO_REALS, head=Custom(log_cosh)),
    "normal, a scale a row": case(TWO_REALS, head=Normal("per_row")),
    "mixture": case(head=Mixture(3)),
    "mixture, diagonal": case(TWO_REALS, head=Mixture(2, "diag")),
    "mixture, full": case(TWO_REALS, head=Mixture(2, "full")),
    "mixture of bits": case(TWO_LABELS, head=Mixture(2, component="bernoulli")),
    "multivariate normal": case(TWO_REALS, head=MultivariateNormal("per_row")),
    "negative binomial": case(COUNTS, head=NegativeBinomial(shared=False)),
    "quantiles": case(TWO_REALS, head=Quantiles((0.1, 0.5, 0.9))),
    "from a distribution": case(head=FromDistribution(laplace, 2)),
}
OPTION_CASES = {
    "linear model": case(hidden_layer_sizes=()),
    "depth 1": case(hidden_layer_sizes=(6,)),
    "depth 3": case(hidden_layer_sizes=(6, 1, 5)),
    "depth 4": case(hidden_layer_sizes=(6, 5, 4, 3)),
    "wide": case(hidden_layer_sizes=(300, 2), learning_rate=1e-3),
    "activations by layer": case(
        hidden_layer_sizes=(6, 5, 4, 3), activation=["gelu", "prelu", "abs", "softplus"]
    ),
    "prelu twice": case(activation=[PReLU(-0.3), PReLU(0.9)], optimizer="sgd"),
    "negative leak": case(activation=LeakyReLU(-0.7)),
    "weight decay": case(weight_decay=0.05, optimizer="sgd"),
    "alpha": case(alpha=0.5),
    "alpha and weights": case(alpha=0.5, sample_weight=WEIGHTS),
    "clipped": case(clip_norm=0.3, optimizer="sgd"),
    "hardly clipped": case(clip_norm=1e6, optimizer="sgd"),
    "decayed, penalised and clipped": case(
        clip_norm=0.2, optimizer="rmsprop", alpha=0.2, weight_decay=0.05, activation="prelu"
    ),
    "weights": case(sample_weight=WEIGHTS),
    "weights with zeros": case(sample_weight=WEIGHTS_WITH_ZEROS),
    "tiny and huge weights": case(sample_weight=WEIGHTS**20),
    "rows": case(rows=np.arange(30, 4, -1)),
    "rows twice": case(rows=BOOTSTRAP),
    "rows and weights": case(rows=BOOTSTRAP, sample_weight=WEIGHTS_WITH_ZEROS),
    "dropout": case(dropout=0.4, hidden_layer_sizes=(9, 8)),
    "dropout and curved": case(dropout=0.2, activation="softplus"),
    "dropout and prelu": case(dropout=0.5, activation="prelu", sample_weight=WEIGHTS),
    "in order": case(shuffle=False),
    "full batch": case(batch_size=500, max_epochs=30),
    "exactly full batch": case(batch_size=N_SAMPLES, max_epochs=30),
    "full batch and weights": case(batch_size=500, max_epochs=30, sample_weight=WEIGHTS),
    "all but one row": case(batch_size=36, max_epochs=15),
    "single rows": case(batch_size=1, max_epochs=1),
    "no partial batch": case(rows=np.arange(32)),
    "other seed": case(seed=2**63 + 5, dropout=0.1),
    "negative seed": case(seed=-3, dropout=0.1),
}
CASES = OPTIMIZER_CASES | ACTIVATION_CASES | HEAD_CASES | OPTION_CASES


def member_of(settings):
    common = {
        "hidden_layer_sizes": (6, 5),
        "activation": "tanh",
        "init": "torch",
        "seed": 3,
        "batch_size": BATCH,
        "learning_rate": 0.01,
        "max_epochs": N_EPOCHS,
    }
    return Member(**(common | settings))


@pytest.mark.parametrize("name", CASES)
def test_one_member_equals_a_plain_loop(name, plain):
    settings, y = CASES[name]
    member = member_of(settings)
    oracle = plain(member, X, y)
    expected = oracle.run()
    result = train([member], X, y, dtype="float64")

    assert oracle.n_taken >= 30
    (state,) = result.states
    assert state.step == oracle.n_taken
    for ours, theirs in zip(state.parameters, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.reshape(ours.shape), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(result.history["train_loss"], oracle.losses, rtol=1e-10)
    for layer, (W, b) in enumerate(result.networks[0].layers()):
        np.testing.assert_array_equal(W, state.parameters[layer])
        np.testing.assert_array_equal(b, state.parameters[len(member.sizes) + 1 + layer])


def test_every_kind_is_in_a_case(covered):
    activations, heads, optimizers = covered
    assert activations == set(ACTIVATIONS) == set(ACTIVATION_CASES)
    assert heads == {settings["head"].name for settings, _ in HEAD_CASES.values()} >= set(HEADS)
    ours = {member_of(settings).optimizer.name for settings, _ in OPTIMIZER_CASES.values()}
    assert optimizers == ours == set(OPTIMIZERS) - {"lbfgs"}


def test_weights_move_in_every_case_but_below_a_step(plain):
    # A case whose parameters stand still would agree with anything.
    for name, (settings, y) in CASES.items():
        member = member_of(settings)
        before, after = (
            train([member_of({**settings, "max_epochs": n})], X, y, dtype="float64").states[0]
            for n in (0, member.max_epochs)
        )
        moved = [
            float(np.abs(a - b).max())
            for a, b in zip(before.parameters, after.parameters, strict=True)
        ]
        still = [i for i, distance in enumerate(moved) if distance < 1e-4]
        below_a_step = [0, 1, 3, 4]
        assert still == (below_a_step if name == "step" else []), name


def test_float32_follows_float64():
    for name in ("sgd", "adam", "rmsprop", "muon"):
        settings, y = CASES[name]
        one, two = (train([member_of(settings)], X, y, dtype=d) for d in ("float32", "float64"))
        for a, b in zip(one.states[0].parameters, two.states[0].parameters, strict=True):
            assert a.dtype == np.float32
            assert b.dtype == np.float64
            # Thirty steps of rounding to 6e-8; Muon's iteration enlarges it.
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-3 if name == "muon" else 2e-5)
