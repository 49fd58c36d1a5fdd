"""Classifiers that know that some of their labels are wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lamina._errors import ParameterError
from lamina.estimators import MLPClassifier
from lamina.heads import Bernoulli, Categorical, Mixture, Poisson

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 2))
VALUE = np.sin(2 * X[:, 0]) + X[:, 1]
TRUE = {"two": (VALUE > 0).astype(int), "three": np.digitize(VALUE, [-0.6, 0.6])}
WRONG = RNG.random(N) < 0.3
SEEN = {
    name: np.where(WRONG, (y + RNG.integers(1, y.max() + 1, N)) % (y.max() + 1), y)
    for name, y in TRUE.items()
}
MANY = np.stack([SEEN["two"], SEEN["three"] > 0], axis=1).astype(int)
FEW = {
    "hidden_layer_sizes": (16,),
    "activation": "tanh",
    "learning_rate_init": 0.02,
    "max_iter": 60,
    "n_iter_no_change": 100,
    "random_state": 0,
}


def fitted(y, **parameters):
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return MLPClassifier(**(FEW | parameters)).fit(X, y)


@pytest.mark.parametrize("kind", TRUE)
@pytest.mark.parametrize("noise", [0.3, "learn"])
def test_true_labels_are_found_better_than_without(kind, noise):
    # One fixed draw: the gap is 2 to 6 points of accuracy on the rows' true labels.
    plain, aware = fitted(SEEN[kind]), fitted(SEEN[kind], label_noise=noise, max_iter=200)
    assert aware.score(X, TRUE[kind]) > plain.score(X, TRUE[kind])
    assert aware.label_noise_ == pytest.approx(0.3, abs=0.12)


@pytest.mark.parametrize("n_members", [1, 2])
@pytest.mark.parametrize("noise", [0.1, "learn"])
@pytest.mark.parametrize("y", [SEEN["two"], SEEN["three"], MANY], ids=["two", "three", "many"])
def test_shapes_are_scikit_learns(y, noise, n_members):
    model = fitted(y, label_noise=noise, n_members=n_members, max_iter=3)
    several = y.ndim > 1 or y.max() > 1
    n_classes = y.shape[1] if y.ndim > 1 else y.max() + 1
    decision, proba = model.decision_function(X), model.predict_proba(X)
    assert decision.shape == ((N, n_classes) if several else (N,))
    assert proba.shape == (N, n_classes)
    if n_members == 1:
        if several and y.ndim == 1:
            np.testing.assert_allclose(proba, softmax(decision, axis=1))
            logs = log_softmax(decision, axis=1)
            np.testing.assert_allclose(model.predict_log_proba(X), logs)
        else:
            np.testing.assert_allclose(proba if several else proba[:, 1], expit(decision))
    assert model.predict(X).shape == y.shape
    assert np.shape(model.label_noise_) == ((2,) if y.ndim > 1 else ())


def test_the_learnt_noise_is_read_from_the_last_bias():
    model = fitted(SEEN["three"], label_noise="learn", max_iter=3)
    assert model.n_outputs_ == 4
    assert model.label_noise_ == pytest.approx(2 / 3 * expit(model.intercepts_[-1][-1]))
    np.testing.assert_array_equal(model.coefs_[-1][:, -1], 0.0)
    two = fitted(SEEN["two"], label_noise="learn", max_iter=3)
    assert two.label_noise_ == pytest.approx(0.5 * expit(two.intercepts_[-1][-1]))


def test_no_noise_is_the_plain_classifier():
    plain, none = fitted(SEEN["two"]), fitted(SEEN["two"], label_noise=0.0)
    np.testing.assert_array_equal(plain.coefs_[0], none.coefs_[0])
    assert plain.label_noise_ == 0.0
    assert fitted(np.zeros(N), label_noise="learn").label_noise_ == 0.0


@pytest.mark.parametrize(
    ("kind", "head"), [("two", Bernoulli("learn")), ("three", Categorical(label_noise="learn"))]
)
def test_a_head_may_bring_its_own_noise(kind, head):
    a, b = fitted(SEEN[kind], loss=head), fitted(SEEN[kind], label_noise="learn")
    np.testing.assert_array_equal(a.coefs_[0], b.coefs_[0])
    with pytest.raises(ParameterError, match=r"label_noise must be 0\.0 with a head"):
        fitted(SEEN[kind], loss=head, label_noise=0.1)


@pytest.mark.parametrize("head", [Poisson(), Mixture()])
def test_heads_for_numbers_are_refused(head):
    with pytest.raises(ParameterError, match="loss must be 'log_loss' or 'bernoulli'"):
        fitted(SEEN["two"], loss=head)


@pytest.mark.parametrize(
    ("kind", "noise", "words"),
    [
        ("two", 0.5, r"label_noise must be .*0\.5"),
        ("three", 0.7, r"label_noise must be .*0\.66"),
        ("two", -0.1, "'label_noise' parameter"),
        ("two", "lern", r"Did you mean 'learn'\?"),
    ],
)
def test_impossible_noise_is_refused(kind, noise, words):
    with pytest.raises(ValueError, match=words):
        fitted(SEEN[kind], label_noise=noise)


def test_clone_and_partial_fit():
    model = clone(MLPClassifier(**FEW, label_noise="learn"))
    for _ in range(5):
        model.partial_fit(X, SEEN["three"], classes=[0, 1, 2])
    assert 0 < model.label_noise_ < 2 / 3
    assert model.predict_proba(X).shape == (N, 3)
