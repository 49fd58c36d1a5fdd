"""L-BFGS: scikit-learn's own from the same first weights, least squares, and its statuses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from lamina._errors import DivergedWarning
from lamina.heads import Bernoulli, Categorical, Custom, Normal
from lamina.nn import initialise
from lamina.stack import LBFGS, Member, train

N_SAMPLES, N_FEATURES, SEED = 60, 4, 5
X = np.random.default_rng(1).standard_normal((N_SAMPLES, N_FEATURES))
REAL = np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2] + 0.05 * X[:, 3]
CLASSES = np.digitize(REAL, [-0.5, 0.5])
HALF_LOG_TWO_PI = 0.5 * np.log(2 * np.pi)


def as_scikit_learn_begins(sizes, activation):
    """Return scikit-learn's draws of the first weights for a seed."""
    activations = [activation] * (len(sizes) - 1)
    return initialise(sizes, "sklearn", activations, np.random.RandomState(SEED))


CASES = {
    "regression": (MLPRegressor, REAL, Normal(), 1, HALF_LOG_TWO_PI),
    "two classes": (MLPClassifier, CLASSES > 0, Bernoulli(), 1, 0.0),
    "three classes": (MLPClassifier, CLASSES, Categorical(), 3, 0.0),
}


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu", "identity"])
@pytest.mark.parametrize("hidden", [(6,), (5, 4)])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equals_scikit_learn_from_the_same_weights(case, hidden, activation, alpha):
    kind, y, head, n_raw, constant = CASES[case]
    n_iterations = 6
    theirs = kind(
        hidden_layer_sizes=hidden,
        activation=activation,
        solver="lbfgs",
        alpha=alpha,
        max_iter=n_iterations,
        random_state=SEED,
        tol=1e-9,
    ).fit(X, y)
    sizes = (N_FEATURES, *hidden, n_raw)
    member = Member(
        hidden,
        activation,
        head,
        as_scikit_learn_begins(sizes, activation),
        alpha=alpha,
        optimizer=LBFGS(gtol=1e-9),
        max_epochs=n_iterations,
    )
    result = train([member], X, y, dtype="float64")
    assert result.n_epochs == [theirs.n_iter_] == [n_iterations]
    for (W, b), V, c in zip(
        result.networks[0].layers(), theirs.coefs_, theirs.intercepts_, strict=True
    ):
        np.testing.assert_allclose(W, V.T, rtol=0, atol=1e-8)
        np.testing.assert_allclose(b, c, rtol=0, atol=1e-8)
    loss = result.history["train_loss"].iloc[-1] - constant
    assert loss == pytest.approx(theirs.loss_, abs=1e-9)


def test_a_linear_model_is_least_squares():
    member = Member((), optimizer=LBFGS(gtol=1e-12))
    result = train([member], X, REAL, dtype="float64")
    ((W, b),) = result.networks[0].layers()
    best, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(N_SAMPLES)]), REAL, rcond=None)
    np.testing.assert_allclose([*W[0], *b], best, rtol=0, atol=1e-6)
    assert result.status == ["converged"]
    assert "CONVERGENCE" in result.messages[0]


@pytest.mark.parametrize("penalty", ["alpha", "weight_decay"])
def test_a_penalised_linear_model_is_ridge_regression(penalty):
    # Minimise ½·mean(residual²) + λ/2·‖W‖²; α counts as α/n.
    decay = 0.2
    value = decay * N_SAMPLES if penalty == "alpha" else decay
    member = Member((), optimizer=LBFGS(gtol=1e-12), **{penalty: value})
    ((W, b),) = train([member], X, REAL, dtype="float64").networks[0].layers()
    centred, target = X - X.mean(0), REAL - REAL.mean()
    gram = centred.T @ centred / N_SAMPLES + decay * np.eye(N_FEATURES)
    best = np.linalg.solve(gram, centred.T @ target / N_SAMPLES)
    np.testing.assert_allclose(W[0], best, rtol=0, atol=1e-6)
    assert b[0] == pytest.approx(REAL.mean() - X.mean(0) @ best, abs=1e-6)


def test_weighted_rows_count_as_often_as_they_weigh():
    weight = np.arange(N_SAMPLES) % 4.0
    often = np.repeat(np.arange(N_SAMPLES), weight.astype(int))
    settings = {"optimizer": "lbfgs", "max_epochs": 8, "activation": "tanh", "alpha": 0.1}
    weighted = Member((4,), sample_weight=weight, **settings)
    repeated = Member((4,), rows=often, **settings)
    one, two = (train([m], X, REAL, dtype="float64").networks[0] for m in (weighted, repeated))
    for (W, b), (V, c) in zip(one.layers(), two.layers(), strict=True):
        np.testing.assert_allclose(W, V, rtol=0, atol=1e-9)
        np.testing.assert_allclose(b, c, rtol=0, atol=1e-9)


def test_it_computes_in_float64_also_for_float32_networks():
    member = Member((5,), "tanh", optimizer="lbfgs", max_epochs=20)
    one, two = (train([member], X, REAL, dtype=d) for d in ("float32", "float64"))
    np.testing.assert_array_equal(one.history["train_loss"], two.history["train_loss"])
    for a, b in zip(one.networks[0].layers(), two.networks[0].layers(), strict=True):
        assert a[0].dtype == np.float32
        np.testing.assert_array_equal(a[0], b[0].astype(np.float32))


def test_members_are_trained_each_for_itself():
    members = [
        Member((5,), "tanh", seed=i, optimizer="lbfgs", max_epochs=6 + i) for i in range(3)
    ] + [Member((5,), max_epochs=2)]
    together = train(members, X, REAL, dtype="float64")
    for i, member in enumerate(members):
        (alone,) = train([member], X, REAL, dtype="float64").networks
        for (W, b), (V, c) in zip(together.networks[i].layers(), alone.layers(), strict=True):
            np.testing.assert_array_equal(W, V)
            np.testing.assert_array_equal(b, c)
    assert together.n_epochs == [6, 7, 8, 2]
    assert together.messages[3] == ""


def test_statuses_say_why_it_ended():
    def status(**settings):
        return train([Member((5,), "tanh", **settings)], X, REAL, dtype="float64")

    few = status(optimizer="lbfgs", max_epochs=3)
    assert (few.status, few.n_epochs) == (["epochs"], [3])
    calls = status(optimizer=LBFGS(max_fun=4))
    assert calls.status == ["epochs"]
    assert "EVALUATIONS" in calls.messages[0]
    loose = status(optimizer=LBFGS(gtol=10.0))
    assert (loose.status, loose.n_epochs) == (["converged"], [0])
    stopped = train(
        [Member((5,), "tanh", optimizer="lbfgs")],
        X,
        REAL,
        callbacks=[lambda report: report.epoch == 4],
    )
    assert (stopped.status, stopped.n_epochs) == (["stopped"], [4])
    assert not stopped.interrupted


def test_held_out_rows_stop_it_and_the_best_are_kept():
    rows, held_out = np.arange(20), np.arange(20, 60)
    member = Member(
        (30,), "tanh", optimizer=LBFGS(gtol=1e-9), rows=rows, validation_rows=held_out, patience=5
    )
    result = train([member], X, REAL, dtype="float64")
    losses = result.history["valid_loss"]
    assert result.status == ["converged"]
    assert result.best_epoch == [losses.argmin() + 1]
    assert result.n_epochs == [len(losses)] == [result.best_epoch[0] + 6]
    residual = result.networks[0].predict_raw(X[held_out])[:, 0] - REAL[held_out]
    assert np.mean(residual**2) / 2 + HALF_LOG_TWO_PI == pytest.approx(losses.min(), rel=1e-12)


def test_a_loss_that_is_no_number_is_divergence():
    def broken(raw, y):
        return (raw - y).square().sum(-1) * float("nan")

    member = Member((3,), head=Custom(broken), optimizer="lbfgs")
    with pytest.warns(DivergedWarning):
        result = train([member], X, REAL, dtype="float64")
    assert result.status == ["diverged"]
    (first,) = train([Member((3,), head=Custom(broken), max_epochs=0)], X, REAL).networks
    np.testing.assert_allclose(result.networks[0].layers()[0][0], first.layers()[0][0], rtol=1e-6)


def test_scikit_learn_warns_where_we_say_epochs():
    with pytest.warns(ConvergenceWarning):
        MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=3, random_state=0).fit(
            X, REAL
        )
    result = train([Member((5,), optimizer="lbfgs", max_epochs=3)], X, REAL)
    assert result.status == ["epochs"]
