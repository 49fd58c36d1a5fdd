"""The `cpu` backend gives the results of `torch` to rounding, whatever a member is."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from lamina.estimators import MLPRegressor
from lamina.estimators._losses import HalfDeviance, HalfMeanSquare
from lamina.heads import Bernoulli, Categorical, Normal, Poisson
from lamina.nn import ACTIVATIONS, ELU, LeakyReLU, PReLU, Sigmoid, SiLU
from lamina.stack import (
    OPTIMIZERS,
    SCHEDULES,
    SGD,
    Adaptive,
    Cosine,
    InverseScaling,
    Member,
    Muon,
    RMSprop,
    train,
)
from lamina.stack._extension import VARIABLE, instruction_sets, native

pytestmark = pytest.mark.skipif(
    native() is None, reason="lamina was installed without its compiled part"
)

N_SAMPLES, N_FEATURES = 70, 5
COLUMNS = ["member", "epoch", "train_loss", "valid_loss", "valid_score", "learning_rate"]
STEPWISE = [name for name in OPTIMIZERS if name != "lbfgs"]


@pytest.fixture(params=instruction_sets())
def instruction_set(request, monkeypatch):
    """Let the extension use one instruction set after another."""
    monkeypatch.setenv(VARIABLE, request.param)
    return request.param


def inputs(n=N_SAMPLES, d=N_FEATURES):
    return np.random.default_rng(7).standard_normal((n, d))


X = inputs()
REAL = np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2]
TWO_REALS = np.stack([REAL, X[:, 3] ** 2], axis=1)
COUNTS = np.floor(np.exp(0.5 * X[:, 0] + 0.5))
LABELS = (REAL > 0).astype(float)
TWO_LABELS = (TWO_REALS > 0.2).astype(float)
CLASSES = np.digitize(REAL, [-0.5, 0.5])
WEIGHTS = np.random.default_rng(9).uniform(0.2, 3.0, N_SAMPLES)


def close(one, two, tolerance):
    """Compare parameters, moments, counters, history and all else of two results."""
    assert one.status == two.status
    assert one.n_epochs == two.n_epochs
    assert one.best_epoch == two.best_epoch
    for k, (a, b) in enumerate(zip(one.states, two.states, strict=True)):
        assert (a.epoch, a.step, a.seen, a.lr_scale) == (b.epoch, b.step, b.seen, b.lr_scale)
        for p, q in zip([a.parameters, *a.moments], [b.parameters, *b.moments], strict=True):
            assert_near(p, q, tolerance, k)
    for k, (a, b) in enumerate(zip(one.networks, two.networks, strict=True)):
        assert_near(numbers(a), numbers(b), tolerance, k)
    for name in COLUMNS:
        a, b = one.columns[name], two.columns[name]
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=name)


def numbers(net):
    return [p.detach().numpy() for p in net.parameters()]


def assert_near(one, two, tolerance, k):
    for a, b in zip(one, two, strict=True):
        scale = max(1.0, float(np.abs(b).max(initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=f"member {k}")


def both(members, y, X=X, dtype="float64", **arguments):
    """Return the results of the two backends."""
    results = [
        train(members, X, y, backend=backend, dtype=dtype, **arguments)
        for backend in ("cpu", "torch")
    ]
    assert results[0].backend == ["cpu"] * len(members)
    assert results[1].backend == ["torch"] * len(members)
    return results


# The mix of the promises, and everything with everything


@cache
def mix_of_torch(dtype, mix, max_epochs):
    X, y = mix.__globals__["mixed_data"]()
    return train(mix(24, max_epochs), X, y, backend="torch", dtype=dtype)


def test_the_mix_of_24_members_is_that_of_torch(instruction_set, mix, mixed_data):
    X, y = mixed_data
    ours = train(mix(24, 17), X, y, backend="cpu", dtype="float64")
    assert ours.backend == ["cpu"] * 24
    assert min(ours.n_epochs) * 3 >= 50
    close(ours, mix_of_torch("float64", mix, 17), 1e-10)


def test_the_first_twenty_steps_in_float32_are_those_of_torch(instruction_set, mix, mixed_data):
    X, y = mixed_data
    ours = train(mix(24, 7), X, y, backend="cpu", dtype="float32").history
    theirs = mix_of_torch("float32", mix, 7).history
    # The members take 1 to 5 steps an epoch.
    first = ours["epoch"] <= 4
    for name in ("train_loss", "valid_loss"):
        np.testing.assert_allclose(ours[first][name], theirs[first][name], rtol=1e-4)


HEADS = {
    "normal": (Normal(), REAL),
    "two targets": (Normal(), TWO_REALS),
    "half mean square": (HalfMeanSquare(), TWO_REALS),
    "bernoulli": (Bernoulli(), LABELS),
    "two labels": (Bernoulli(), TWO_LABELS),
    "categorical": (Categorical(), CLASSES),
    "categorical of 40": (Categorical(40), CLASSES),
    "smoothed": (Categorical(3, label_smoothing=0.2), CLASSES),
    "poisson": (Poisson(), COUNTS),
    "half deviance": (HalfDeviance(), COUNTS),
}


def one_of_each(head, **settings):
    """Return a member for each activation with each optimiser: 50 steps, the last of 6 rows."""
    common = {"batch_size": 16, "learning_rate": 0.003, "weight_decay": 0.01, "max_epochs": 10}
    return [
        Member((9, 6), activation, head, seed=i, optimizer=optimizer, **(common | settings))
        for i, (activation, optimizer) in enumerate(itertools.product(ACTIVATIONS, STEPWISE))
    ]


@cache
def each_of_torch(name):
    head, y = HEADS[name]
    return train(one_of_each(head), X, y, backend="torch", dtype="float64")


@pytest.mark.parametrize("name", HEADS)
def test_every_activation_optimiser_and_head(name, instruction_set):
    head, y = HEADS[name]
    ours = train(one_of_each(head), X, y, backend="cpu", dtype="float64")
    assert ours.backend == ["cpu"] * len(ACTIVATIONS) * len(STEPWISE)
    close(ours, each_of_torch(name), 1e-10)


@pytest.mark.parametrize("name", HEADS)
def test_twenty_steps_in_float32(name):
    # One step an epoch, so that the history is the curve of the steps.
    head, y = HEADS[name]
    members = one_of_each(head, batch_size=N_SAMPLES, max_epochs=20)
    ours, theirs = (r.history for r in both(members, y, dtype="float32"))
    np.testing.assert_allclose(ours["train_loss"], theirs["train_loss"], rtol=1e-4, atol=1e-6)


# Option by option

FOLD = {"rows": np.arange(3, 60), "validation_rows": np.r_[60:70, 0:3]}
BOOTSTRAP = np.random.default_rng(1).integers(0, N_SAMPLES, 75)
OPTIONS = {
    "linear": {"hidden_layer_sizes": ()},
    "one unit": {"hidden_layer_sizes": (1,)},
    "deep": {"hidden_layer_sizes": (5, 4, 3, 2, 3, 4, 5)},
    "wide": {"hidden_layer_sizes": (300, 33), "learning_rate": 1e-3},
    "by layer": {"activation": ["gelu", "prelu", "abs"], "hidden_layer_sizes": (9, 33, 5)},
    "parameters of activations": {
        "activation": [Sigmoid(2.0), LeakyReLU(-0.4), PReLU(0.9), SiLU(0.5), ELU(2.0)],
        "hidden_layer_sizes": (9, 8, 7, 6, 5),
    },
    "dropout": {"dropout": 0.3},
    "input noise": {"input_noise": 0.3},
    "much dropout": {"dropout": 0.95, "activation": "softplus"},
    "dropout of prelu": {"dropout": 0.3, "activation": "prelu"},
    "weights": {"sample_weight": WEIGHTS},
    "weights of zero": {"sample_weight": np.where(np.arange(N_SAMPLES) % 3, WEIGHTS, 0.0)},
    "alpha": {"alpha": 0.5},
    "alpha and weights": {"alpha": 0.5, "sample_weight": WEIGHTS},
    "decay": {"weight_decay": 0.1},
    "clipped": {"clip_norm": 0.05},
    "hardly clipped": {"clip_norm": 1e9},
    "fold": FOLD,
    "fold and weights": FOLD | {"sample_weight": WEIGHTS},
    "best of all epochs": FOLD | {"keep_best": True, "monitor": "valid_score"},
    "best on training rows": {"keep_best": True},
    "patience": FOLD | {"patience": 2, "tol": 0.01, "max_epochs": 60},
    "bootstrap": {"rows": BOOTSTRAP},
    "bootstrap backwards": {"rows": BOOTSTRAP[::-1], "shuffle": False},
    "in order": {"shuffle": False},
    "full batch": {"batch_size": 1000, "max_epochs": 50},
    "exactly a full batch": {"batch_size": N_SAMPLES, "max_epochs": 50},
    "last batch of one row": {"batch_size": 23},
    "single rows": {"batch_size": 1, "max_epochs": 1},
    "no partial batch": {"batch_size": 10},
    "seed": {"seed": 2**63 + 5, "dropout": 0.1},
    "negative seed": {"seed": -3, "dropout": 0.1},
    "nesterov off": {"optimizer": SGD(0.8, nesterov=False)},
    "no momentum": {"optimizer": SGD(0.0, nesterov=False)},
    "momentum of rmsprop": {"optimizer": RMSprop(0.9, 0.7, 1e-4)},
    "muon": {"optimizer": Muon(0.8, nesterov=False, n_steps=3), "hidden_layer_sizes": (5, 9, 2)},
    "wide muon": {"optimizer": "muon", "hidden_layer_sizes": (33, 70)},
    "muon of a linear model": {"optimizer": "muon", "hidden_layer_sizes": ()},
    "muon, clipped and decayed": {"optimizer": "muon", "clip_norm": 0.1, "weight_decay": 0.3},
    **{name: {"schedule": name} for name in SCHEDULES},
    "warm cosine": {"schedule": Cosine(0.3, 0.1)},
    "slow scaling": {"schedule": InverseScaling(0.1)},
    "divided": FOLD | {"schedule": Adaptive(2.0, 1e-3), "patience": 1, "tol": 0.05,
                       "max_epochs": 80, "learning_rate": 0.03},
}  # fmt: skip


def member_of(settings):
    common = {"hidden_layer_sizes": (9, 6), "activation": "tanh", "batch_size": 16, "seed": 3,
              "learning_rate": 0.01, "max_epochs": 12}  # fmt: skip
    return Member(**(common | settings))


@cache
def option_of_torch(name):
    return train([member_of(OPTIONS[name])], X, REAL, backend="torch", dtype="float64")


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option(name, instruction_set):
    ours = train([member_of(OPTIONS[name])], X, REAL, backend="cpu", dtype="float64")
    assert ours.backend == ["cpu"]
    close(ours, option_of_torch(name), 1e-10)


@pytest.mark.parametrize("n_features", [1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 100, 257, 600])
@pytest.mark.parametrize("batch_size", [1, 7, 33])
def test_every_width_of_the_input(n_features, batch_size, instruction_set):
    X = inputs(40, n_features)
    members = [
        Member(sizes, "relu", batch_size=batch_size, learning_rate=1e-3, max_epochs=2)
        for sizes in ((), (n_features,), (17, 33))
    ]
    close(*both(members, X[:, 0], X), 1e-11)


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65, 130])
def test_every_width_of_layers_and_outputs(width, instruction_set):
    y = inputs(40, width)
    members = [
        Member((width, other), "tanh", dropout=0.1, batch_size=12, max_epochs=3, clip_norm=1.0)
        for other in (1, 16, 33)
    ]
    close(*both(members, y, X[:40]), 1e-11)
    n_classes = max(width, 2)
    classes = np.arange(40) % n_classes
    members = [Member((9,), head=Categorical(n_classes), batch_size=12, max_epochs=3)] * 2
    close(*both(members, classes, X[:40]), 1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", STEPWISE)
def test_a_state_of_one_backend_goes_on_in_the_other(optimizer, dtype):
    members = [
        Member((9, 6), "prelu", optimizer=optimizer, seed=i, batch_size=16, dropout=0.2)
        for i in range(2)
    ]

    def run(n, backend, states=None):
        stack = [Member(**{**vars(m), "max_epochs": n}) for m in members]
        return train(stack, X, REAL, backend=backend, dtype=dtype, states=states)

    whole = run(9, "torch")
    there = run(3, "torch")
    back = run(3, "cpu", there.states)
    end = run(3, "torch", back.states)
    # Muon's iteration enlarges roundings.
    tolerance = 1e-11 if dtype == "float64" else 2e-3 if optimizer == "muon" else 2e-5
    for a, b in zip(end.states, whole.states, strict=True):
        assert (a.epoch, a.step, a.seen) == (b.epoch, b.step, b.seen)
        assert_near(a.parameters, b.parameters, tolerance, 0)


def test_extreme_raw_outputs_have_the_same_errors():
    # Weights so large that every class but one has a probability of zero.
    start = [(np.array([[400.0], [-300.0], [0.0]]), np.zeros(3))]
    X = np.array([[-2.0], [-0.1], [0.0], [0.1], [2.0], [3.0]])
    for head, y, init in (
        (Categorical(), np.array([0, 1, 2, 0, 1, 2]), start),
        (Categorical(3, label_smoothing=0.1), np.array([0, 1, 2, 0, 1, 2]), start),
        (Bernoulli(), np.array([0.0, 1, 0, 1, 0, 1]), [(np.array([[500.0]]), np.zeros(1))]),
        (Poisson(), np.array([0.0, 1, 3, 0, 9, 1]), [(np.array([[8.0]]), np.zeros(1))]),
    ):
        members = [
            Member((), head=head, init=init, optimizer="sgd", learning_rate=1e-6, max_epochs=1)
        ]
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
            ours, theirs = both(members, y, X, dtype)
            np.testing.assert_allclose(
                ours.columns["train_loss"], theirs.columns["train_loss"], rtol=tolerance
            )
            assert_near(numbers(ours.networks[0]), numbers(theirs.networks[0]), tolerance, 0)


def test_an_estimator_is_the_same_on_both(monkeypatch):
    from lamina.estimators import _mlp

    def predicted(backend):
        monkeypatch.setattr(
            _mlp, "train", lambda *given, **named: train(*given, backend=backend, **named)
        )
        model = MLPRegressor(hidden_layer_sizes=(20, 10), n_members=3, random_state=0, max_iter=30)
        with pytest.warns(ConvergenceWarning):
            return model.fit(X, REAL).predict(X)

    np.testing.assert_allclose(predicted("cpu"), predicted("torch"), rtol=0, atol=1e-9)


def test_only_what_is_trained_changes():
    given, target = X.copy(), REAL.copy()
    tensor = torch.from_numpy(X.copy())
    weights = WEIGHTS.copy()
    for x in (given, tensor):
        train([Member((4,), sample_weight=weights, max_epochs=2)], x, target, dtype="float64")
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(tensor.numpy(), X)
    np.testing.assert_array_equal(target, REAL)
    np.testing.assert_array_equal(weights, WEIGHTS)
