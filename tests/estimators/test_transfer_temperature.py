"""How sure a transfer is: probabilities of rows that it has not seen are honest."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss

from lamina import TransferClassifier, load, save
from lamina.estimators._transfer_temperature import N_FOLDS, fold_numbers
from lamina.nn import Network


@pytest.fixture(scope="module")
def source():
    return Network((20, 32, 3), random_state=0)


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(1000, 20, n_informative=8, n_classes=3, flip_y=0.2, random_state=0)
    return X[:60], y[:60], X[60:], y[60:]


STRATEGIES = ["frozen", "last", "fine_tune"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_log_loss_of_new_rows_is_smaller_and_no_class_changes(source, rows, strategy):
    X, y, new, truth = rows
    sure = TransferClassifier(source, strategy, calibrate=False, random_state=0).fit(X, y)
    honest = TransferClassifier(source, strategy, random_state=0).fit(X, y)
    assert sure.temperature_ == 1.0 < honest.temperature_
    assert np.array_equal(sure.predict(new), honest.predict(new))
    assert log_loss(truth, honest.predict_proba(new)) < log_loss(truth, sure.predict_proba(new))
    logits = sure.decision_function(new) / honest.temperature_
    assert np.allclose(honest.decision_function(new), logits)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_temperature_is_that_of_a_plain_cross_validation(source, rows, strategy):
    X, y, _, _ = rows
    model = TransferClassifier(source, strategy, random_state=0).fit(X, y)
    folds = fold_numbers(X, y, None)
    logits = np.empty((len(X), 3))
    for fold in range(N_FOLDS):
        part = TransferClassifier(source, strategy, calibrate=False, random_state=0)
        part.fit(X[folds != fold], y[folds != fold])
        logits[folds == fold] = part.decision_function(X[folds == fold])

    def loss(t):
        return 0.5 * t**2 - log_softmax(logits * np.exp(-t), axis=1)[range(len(y)), y].sum()

    found = np.exp(minimize_scalar(loss, bounds=(0, np.log(10)), options={"xatol": 1e-8}).x)
    assert model.temperature_ == pytest.approx(found, rel=1e-5)


def test_frozen_layers_stay_as_they_are(source, rows):
    model = TransferClassifier(source).fit(*rows[:2])
    assert model.temperature_ > 1
    assert np.array_equal(model.network_.weights[0].detach(), source.weights[0].detach())


def test_a_network_that_is_not_too_sure_keeps_its_logits():
    X, y = load_digits(return_X_y=True)
    model = TransferClassifier(None, alpha=1e4).fit(X[:500], y[:500])  # far from sure
    assert model.temperature_ == 1.0


class TestFolds:
    """Which rows are held out together."""

    def test_classes_are_spread_and_equal_rows_stay_together(self, rows):
        X, y, _, _ = rows
        folds = fold_numbers(X, y, None)
        for label in range(3):
            counts = np.bincount(folds[y == label], minlength=N_FOLDS)
            assert counts.max() - counts.min() <= 1
        order = np.random.default_rng(0).permutation(2 * len(X))
        twice = fold_numbers(np.tile(X, (2, 1))[order], np.tile(y, 2)[order], None)
        assert np.array_equal(twice, np.tile(folds, 2)[order])

    def test_layout_does_not_matter(self, rows):
        X, y, _, _ = rows
        X = X * (np.abs(X) > 1)
        expected = fold_numbers(X, y, None)
        assert np.array_equal(fold_numbers(np.asfortranarray(X), y, None), expected)
        sparse = fold_numbers(sp.csr_matrix(X), y, None)
        assert np.array_equal(fold_numbers(sp.coo_matrix(X), y, None), sparse)

    def test_rows_without_weight_and_single_rows_are_never_held_out(self, rows):
        X, y, _, _ = rows
        weight = (np.arange(len(y)) % 3 > 0).astype(float)
        y = np.where(np.arange(len(y)) == 1, 7, y)
        folds = fold_numbers(X, y, weight)
        assert (folds[weight == 0] == -1).all()
        assert folds[1] == -1
        used = weight > 0
        assert np.array_equal(folds[used], fold_numbers(X[used], y[used], None))


def test_a_weight_of_two_is_two_rows(source, rows):
    X, y, new, _ = rows
    weight = np.arange(len(y)) % 3
    weighted = TransferClassifier(source).fit(X, y, weight)
    repeated = TransferClassifier(source).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert weighted.temperature_ == pytest.approx(repeated.temperature_, rel=1e-3)
    assert np.allclose(weighted.predict_proba(new), repeated.predict_proba(new), atol=1e-3)


def test_rows_that_are_too_few_say_nothing(source):
    X = np.random.default_rng(0).normal(size=(3, 20))
    assert TransferClassifier(source).fit(X, ["a", "b", "c"]).temperature_ == 1.0


@pytest.mark.parametrize("kind", ["binary", "multilabel", "members"])
def test_other_kinds_of_answers(rows, kind):
    X, y, new, truth = rows
    options = {"n_members": 3} if kind == "members" else {}
    if kind == "binary":
        y, truth = y > 0, truth > 0
    if kind == "multilabel":
        y, truth = np.c_[y > 0, y > 1].astype(int), np.c_[truth > 0, truth > 1].astype(int)
    made = [
        TransferClassifier(hidden_layer_sizes=32, calibrate=c, random_state=0, **options).fit(X, y)
        for c in (False, True)
    ]
    assert made[1].temperature_ > 1
    losses = []
    for model in made:
        proba = model.predict_proba(new)
        if kind == "multilabel":
            losses.append(-np.mean(np.log(np.where(truth, proba, 1 - proba))))
        else:
            losses.append(log_loss(truth, proba))
    assert losses[1] < losses[0]
    assert np.array_equal(made[0].predict(new), made[1].predict(new)) or kind == "members"


def test_it_is_saved(source, rows, tmp_path):
    model = TransferClassifier(source).fit(*rows[:2])
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.temperature_ == model.temperature_
    assert np.array_equal(loaded.predict_proba(rows[2]), model.predict_proba(rows[2]))
