"""What the perceptrons can do beyond scikit-learn: each option does what it says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from lamina.estimators import MLPClassifier, MLPRegressor
from lamina.heads import Bernoulli, Categorical, Custom, Mixture, Normal, Poisson
from lamina.nn import ACTIVATIONS, LeakyReLU, Sigmoid
from lamina.stack import Member, train

RNG = np.random.RandomState(0)
X = RNG.normal(size=(80, 4))
TARGET = np.sin(2 * X[:, 0]) + X[:, 1]
CLASSES = np.digitize(TARGET, [-0.7, 0.7])
FEW = {"hidden_layer_sizes": (6,), "max_iter": 10, "random_state": 0, "batch_size": 20}


def fitted(kind=MLPRegressor, y=TARGET, weight=None, **parameters):
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return kind(**(FEW | parameters)).fit(X, y, weight)


def differ(a, b):
    return not np.allclose(a.coefs_[0], b.coefs_[0])


def member_of(model, network, **changes):
    """Return the member of the stack that a fit of ``model`` on all rows is."""
    parameters = {
        "hidden_layer_sizes": model.hidden_layer_sizes,
        "activation": model.activation,
        "init": network,
        "batch_size": model.batch_size,
        "alpha": model.alpha,
        "max_epochs": model.max_iter,
        "patience": 10,
        "tol": 1e-4,
    }
    return Member(**(parameters | changes))


@pytest.mark.parametrize("name", [*ACTIVATIONS, "leaky_relu(0.2)", "swish", Sigmoid(5.0)])
def test_every_activation_trains_and_gives_its_own_network(name):
    model = fitted(activation=name, hidden_layer_sizes=(6, 3))
    relu = fitted(activation="relu", hidden_layer_sizes=(6, 3))
    assert np.isfinite(model.predict(X)).all()
    assert name == "relu" or not np.allclose(model.predict(X), relu.predict(X))
    if name != "step":  # whose gradient is 0, so that only the output layer learns
        assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_each_layer_may_have_its_own_activation():
    model = fitted(activation=["tanh", LeakyReLU(0.3)], hidden_layer_sizes=(6, 3))
    assert [a.name for a in model.networks_[0].activations] == ["tanh", "leaky_relu", "identity"]


def test_learned_slopes_are_kept_and_learned_on():
    model = fitted(activation="prelu", warm_start=True)
    slopes = model.networks_[0].slopes[0].detach().numpy().copy()
    assert not np.allclose(slopes, 0.25)
    with warnings.catch_warnings(action="ignore"):
        model.fit(X, TARGET)
    assert not np.allclose(model.networks_[0].slopes[0].detach().numpy(), slopes)
    assert model.loss_curve_[10] < model.loss_curve_[0]


SOLVERS = {
    "sgd": {"learning_rate_init": 0.01},
    "adam": {"learning_rate_init": 0.01},
    "adamw": {"learning_rate_init": 0.01, "weight_decay": 0.01},
    "rmsprop": {"learning_rate_init": 0.005},
    "muon": {"learning_rate_init": 0.05},
    "lbfgs": {},
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_learns(solver):
    model = fitted(solver=solver, max_iter=60, hidden_layer_sizes=(16,), **SOLVERS[solver])
    assert model.score(X, TARGET) > 0.75


@pytest.mark.parametrize("schedule", ["cosine", "one_cycle"])
def test_a_schedule_ends_with_a_small_rate(schedule):
    model = fitted(learning_rate=schedule)
    rates = model.history_["learning_rate"].to_numpy()
    assert rates[-1] < 0.05 * rates.max()
    assert differ(model, fitted())


def test_only_sgd_follows_scikit_learns_own_schedules():
    assert not differ(fitted(learning_rate="invscaling"), fitted())
    assert differ(fitted(solver="sgd", learning_rate="invscaling"), fitted(solver="sgd"))


@pytest.mark.parametrize(
    "option", [{"dropout": 0.3}, {"weight_decay": 0.1}, {"clip_norm": 0.01}, {"alpha": 10.0}]
)
@pytest.mark.parametrize("solver", ["sgd", "adamw"])
def test_an_option_changes_the_fit_and_nothing_else(option, solver):
    parameters = {"solver": solver, "learning_rate_init": 0.01}
    assert differ(fitted(**parameters, **option), fitted(**parameters))


def test_clipping_bounds_the_first_step():
    steps = {"solver": "sgd", "momentum": 0.0, "max_iter": 1, "batch_size": 80, "alpha": 0.0}
    steps |= {"learning_rate_init": 0.5}
    start = fitted(**(steps | {"learning_rate_init": 1e-300}))
    end = fitted(**steps, clip_norm=0.01)
    pairs = zip(start.coefs_ + start.intercepts_, end.coefs_ + end.intercepts_, strict=True)
    moved = np.sqrt(sum(((a - b) ** 2).sum() for a, b in pairs))
    assert moved == pytest.approx(0.5 * 0.01, rel=1e-9)


def test_weight_decay_adds_its_share_to_the_gradient():
    steps = {"solver": "sgd", "momentum": 0.0, "max_iter": 1, "batch_size": 80, "alpha": 0.0}
    steps |= {"learning_rate_init": 0.1}
    start = fitted(**(steps | {"learning_rate_init": 1e-300}))
    plain, decayed = fitted(**steps), fitted(**steps, weight_decay=0.5)
    for first, a, b in zip(start.coefs_, plain.coefs_, decayed.coefs_, strict=True):
        np.testing.assert_allclose(b, a - 0.1 * 0.5 * first, atol=1e-12)
    for a, b in zip(plain.intercepts_, decayed.intercepts_, strict=True):
        np.testing.assert_allclose(b, a, atol=1e-12)


@pytest.mark.parametrize("y", [TARGET, np.stack([TARGET, X[:, 0]], axis=1)])
def test_weight_decay_is_a_penalty_of_lbfgs(y):
    # λ/2 · ‖W‖² is scikit-learn's α/(2 Σw) · ‖W‖² with α = λ Σw
    decayed = fitted(y=y, solver="lbfgs", alpha=0.0, weight_decay=0.1)
    penalised = fitted(y=y, solver="lbfgs", alpha=0.1 * len(X))
    np.testing.assert_allclose(decayed.predict(X), penalised.predict(X), rtol=1e-6)
    assert decayed.loss_ == pytest.approx(penalised.loss_, rel=1e-9)


def test_dropout_is_off_when_predicting():
    model = fitted(dropout=0.5)
    np.testing.assert_array_equal(model.predict(X), model.predict(X))
    np.testing.assert_allclose(model.predict(X), model.networks_[0].predict_raw(X)[:, 0])


HEADS = [
    (MLPRegressor, TARGET, "squared_error", Normal()),
    (MLPRegressor, TARGET, "normal", Normal("shared")),
    (MLPRegressor, TARGET, "heteroscedastic", Normal("per_row")),
    (MLPRegressor, TARGET, "mixture", Mixture(3)),
    (MLPRegressor, np.abs(TARGET), "poisson", Poisson()),
    (MLPClassifier, CLASSES, "log_loss", Categorical()),
    (MLPClassifier, CLASSES, "log_loss", "categorical"),
    (MLPClassifier, CLASSES > 0, "log_loss", Bernoulli()),
    (MLPClassifier, np.stack([CLASSES > 0, CLASSES > 1], 1).astype(int), "log_loss", "bernoulli"),
]


@pytest.mark.parametrize(("kind", "y", "name", "head"), HEADS)
def test_a_head_is_what_the_name_stands_for(kind, y, name, head):
    a, b = fitted(kind, y, loss=name), fitted(kind, y, loss=head)
    np.testing.assert_array_equal(a.coefs_[0], b.coefs_[0])
    assert a.loss_curve_ == b.loss_curve_
    assert a.out_activation_ == b.out_activation_


def test_a_loss_of_ones_own_is_minimised():
    def absolute(raw, y):
        return (raw - y).abs().sum(-1)

    model = fitted(loss=Custom(absolute), max_iter=200, learning_rate_init=0.02)
    squared = fitted(max_iter=200, learning_rate_init=0.02)
    assert np.abs(model.predict(X) - TARGET).mean() < np.abs(squared.predict(X) - TARGET).mean()


def test_a_loss_of_ones_own_gets_one_hot_rows_of_classes():
    def cross_entropy(raw, y):
        return -(y * torch.log_softmax(raw, -1)).sum(-1)

    own = fitted(MLPClassifier, CLASSES, loss=Custom(cross_entropy))
    ready = fitted(MLPClassifier, CLASSES)
    np.testing.assert_allclose(own.predict_proba(X), ready.predict_proba(X), atol=1e-12)
    assert own.loss_curve_ == pytest.approx(ready.loss_curve_)


def test_two_classes_may_have_a_softmax_of_two_outputs():
    model = fitted(MLPClassifier, CLASSES > 0, loss="categorical")
    (network,) = model.networks_
    raw = network.predict_raw(X)
    assert raw.shape == (80, 2)
    np.testing.assert_allclose(model.predict_log_proba(X), log_softmax(raw, axis=1), atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), raw[:, 1] - raw[:, 0])
    np.testing.assert_array_equal(model.predict(X), raw[:, 1] > raw[:, 0])


def test_smoothed_labels_keep_probabilities_from_certainty():
    long = {"max_iter": 300, "learning_rate_init": 0.05}
    smooth = fitted(MLPClassifier, CLASSES, loss=Categorical(label_smoothing=0.3), **long)
    sharp = fitted(MLPClassifier, CLASSES, **long)
    assert smooth.predict_proba(X).max() < 0.95 < sharp.predict_proba(X).max()


@pytest.mark.parametrize("kind", [MLPRegressor, MLPClassifier])
def test_an_ensemble_predicts_the_mean_of_its_members(kind):
    y = TARGET if kind is MLPRegressor else CLASSES
    model = fitted(kind, y, n_members=4)
    raws = np.stack([network.predict_raw(X) for network in model.networks_])
    assert raws.shape[0] == 4
    assert np.std(raws, axis=0).min() > 0
    if kind is MLPRegressor:
        np.testing.assert_allclose(model.predict(X), raws.mean(axis=0)[:, 0])
    else:
        proba = np.exp(log_softmax(raws, axis=-1)).mean(axis=0)
        np.testing.assert_allclose(model.predict_proba(X), proba)
        np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1))


def test_the_first_member_of_an_ensemble_is_the_single_network():
    alone, together = fitted(), fitted(n_members=3)
    np.testing.assert_allclose(
        together.networks_[0].predict_raw(X), alone.networks_[0].predict_raw(X), rtol=1e-10
    )


def test_an_ensemble_goes_on_learning():
    model = MLPClassifier(n_members=2, random_state=0, shuffle=False)
    single = MLPClassifier(random_state=0, shuffle=False)
    for _ in range(3):
        model.partial_fit(X, CLASSES, classes=[0, 1, 2])
        single.partial_fit(X, CLASSES, classes=[0, 1, 2])
    np.testing.assert_allclose(
        model.networks_[0].predict_raw(X), single.networks_[0].predict_raw(X), rtol=1e-10
    )


def test_a_fit_is_a_stack_of_one():
    model = fitted(alpha=0.1, tol=1e-4, shuffle=False)
    first = fitted(learning_rate_init=1e-300, max_iter=1, shuffle=False).networks_[0]
    result = train(
        [member_of(model, first, shuffle=False)], X, TARGET, dtype="float64", device="cpu"
    )
    np.testing.assert_allclose(
        result.networks[0].predict_raw(X)[:, 0], model.predict(X), rtol=1e-12
    )
    assert result.history["train_loss"].to_numpy() - 0.5 * np.log(2 * np.pi) == pytest.approx(
        model.loss_curve_
    )


def test_training_runs_where_it_is_told():
    np.testing.assert_array_equal(fitted(device="cpu").predict(X), fitted().predict(X))
