"""Weights of rows: zero is absent, two is twice, and classes can be balanced."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from lamina._errors import DataError, ParameterError
from lamina.estimators import MLPClassifier, MLPRegressor
from lamina.estimators._weights import check_weights, with_class_weight

RNG = np.random.RandomState(0)
X = RNG.normal(size=(60, 3))
Y = RNG.randint(0, 3, 60)
WEIGHTS = RNG.randint(0, 4, 60).astype(float)
FEW = {"hidden_layer_sizes": (4,), "max_iter": 8, "random_state": 0}


def fitted(kind, X, y, weight=None, **parameters):
    with warnings.catch_warnings(action="ignore"):
        return kind(**(FEW | parameters)).fit(X, y, weight)


def assert_same(a, b, atol=0.0):
    for left, right in zip(a.coefs_ + a.intercepts_, b.coefs_ + b.intercepts_, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=atol)


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize(
    "parameters", [{}, {"batch_size": 7}, {"early_stopping": True}, {"solver": "lbfgs"}]
)
def test_a_row_of_weight_zero_is_as_good_as_absent(kind, parameters):
    kept = WEIGHTS > 0
    whole = fitted(kind, X, Y, WEIGHTS, **parameters)
    without = fitted(kind, X[kept], Y[kept], WEIGHTS[kept], **parameters)
    assert_same(whole, without, atol=1e-12)
    assert whole.loss_ == pytest.approx(without.loss_, rel=1e-12)


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_a_row_of_weight_two_counts_twice(kind, solver):
    repeated = np.repeat(np.arange(60), WEIGHTS.astype(int))
    once = fitted(kind, X, Y, WEIGHTS, solver=solver)
    twice = fitted(kind, X[repeated], Y[repeated], solver=solver)
    assert_same(once, twice, atol=1e-9)


def test_a_class_without_weight_stays_among_the_classes():
    model = fitted(MLPClassifier, X, Y, (Y != 1).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize("weight", [None, WEIGHTS + 0.5])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0, 2: 0.5}])
def test_class_weight_is_a_factor_of_the_row_weight(class_weight, weight):
    table = class_weight
    if class_weight == "balanced":
        factors = compute_class_weight("balanced", classes=np.arange(3), y=Y, sample_weight=weight)
        table = dict(enumerate(factors))
    by_hand = np.array([table.get(label, 1.0) for label in Y])
    by_hand = by_hand if weight is None else by_hand * weight
    by_class = fitted(MLPClassifier, X, Y, weight, class_weight=class_weight)
    assert_same(by_class, fitted(MLPClassifier, X, Y, by_hand), atol=1e-12)


def test_balanced_labels_of_a_multilabel_problem_multiply():
    labels = np.stack([Y > 0, Y > 1], axis=1).astype(int)
    by_class = fitted(MLPClassifier, X, labels, class_weight="balanced")
    weight = compute_sample_weight("balanced", labels)
    assert_same(by_class, fitted(MLPClassifier, X, labels, weight), atol=1e-12)


def test_balanced_classes_have_equal_weight_and_keep_the_total():
    numbers = np.array([0] * 6 + [1] * 3 + [2])
    weight = with_class_weight(np.full(10, 2.0), "balanced", np.arange(4), numbers)
    np.testing.assert_allclose(np.bincount(numbers, weight), 20 / 3)


def test_class_weight_finds_labels_of_any_kind():
    numbers = np.array([0, 1])
    for classes, key in [(["a", "b"], "b"), ([False, True], True), ([1.5, 2.5], 2.5)]:
        weight = with_class_weight(None, {key: 3.0}, np.array(classes), numbers)
        assert weight.tolist() == [1.0, 3.0]


def test_class_weight_moves_the_decision_towards_the_heavy_class():
    y = (X[:, 0] + RNG.normal(size=60) > 1).astype(int)
    parameters = {"max_iter": 300, "class_weight": None}
    plain = fitted(MLPClassifier, X, y, **parameters)
    heavy = fitted(MLPClassifier, X, y, **(parameters | {"class_weight": {1: 50.0}}))
    assert heavy.predict(X).sum() > plain.predict(X).sum()


@pytest.mark.parametrize(
    ("weight", "kind", "sentence"),
    [
        (np.where(np.arange(60) == 7, -1.5, 1.0), DataError, r"Got -1\.5 in row 7"),
        (
            np.where(np.arange(60) == 7, np.nan, 1.0),
            DataError,
            "sample_weight contains NaN in row 7",
        ),
        (np.where(np.arange(60) == 9, np.inf, 1.0), DataError, "contains infinity in row 9"),
        (np.zeros(60), ValueError, "at least one non-zero"),
        (np.ones(59), ValueError, r"sample_weight\.shape == \(59,\), expected \(60,\)"),
        (np.ones((60, 2)), ValueError, "1D array"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weight, kind, sentence):
    with pytest.raises(kind, match=sentence):
        check_weights(weight, X)


@pytest.mark.parametrize(
    ("class_weight", "sentence"),
    [
        ({5: 1.0}, r"class_weight must have keys that are classes of y, \[0, 1, 2\]\. Got 5\."),
        ({1: -1.0}, r"class_weight\[1\] must be a finite number of at least 0\. Got -1\.0\."),
        ({0: 0, 1: 0, 2: 0}, "at least one row with a weight above 0"),
    ],
)
def test_class_weights_that_cannot_be_used_are_refused(class_weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        fitted(MLPClassifier, X, Y, class_weight=class_weight)


def test_class_weight_of_a_multilabel_problem_cannot_name_classes():
    with pytest.raises(ParameterError, match="None or 'balanced' for a multilabel target"):
        fitted(MLPClassifier, X, np.stack([Y > 0, Y > 1], axis=1).astype(int), class_weight={1: 2})


def test_a_single_number_is_the_weight_of_every_row():
    assert_same(fitted(MLPRegressor, X, Y, 2.0, alpha=0.0), fitted(MLPRegressor, X, Y, alpha=0.0))
