"""Scores against scikit-learn's, and the properties of the rows held out."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from lamina.cli._scores import (
    baseline,
    class_scores,
    held_out,
    model_scores,
    regression_scores,
)


def test_regression_scores_are_those_of_scikit_learn(rng):
    y, predicted = rng.normal(size=50), rng.normal(size=50)
    assert regression_scores(y, predicted) == pytest.approx(
        {
            "rmse": metrics.root_mean_squared_error(y, predicted),
            "mae": metrics.mean_absolute_error(y, predicted),
            "r2": metrics.r2_score(y, predicted),
        }
    )


def test_r2_of_one_row_or_a_constant_is_undefined():
    assert math.isnan(regression_scores([2.0], [1.0])["r2"])
    assert math.isnan(regression_scores([2.0, 2.0], [1.0, 2.0])["r2"])


@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1, 2], [10.0, 20.0, 30.0]])
def test_class_scores_are_those_of_scikit_learn(rng, labels):
    classes = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    y = rng.choice(classes, 60, p=[0.6, 0.3, 0.1])
    proba = rng.dirichlet([1, 1, 1], size=60)
    predicted = classes[proba.argmax(axis=1)]
    assert class_scores(pd.Series(y), classes, proba) == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(y, predicted),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
            "log_loss": metrics.log_loss(y, proba, labels=classes),
        }
    )


def test_a_class_that_the_model_does_not_know_counts_as_an_error():
    proba = np.array([[1.0, 0.0], [0.5, 0.5]])
    scores = class_scores(["a", "z"], np.array(["a", "b"]), proba)
    assert scores["accuracy"] == 0.5
    assert scores["log_loss"] == pytest.approx(-np.log(np.finfo(float).eps) / 2)


def test_model_scores_ask_for_probabilities_or_numbers():
    class Model:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return X["x"]

        def predict_proba(self, X):
            return np.stack([1 - X["x"], X["x"]], axis=1)

    X = pd.DataFrame({"x": [0.2, 0.8]})
    assert model_scores(Model(), X, [0.2, 0.8], classes=False)["rmse"] == 0
    assert model_scores(Model(), X, [0, 1], classes=True)["log_loss"] == pytest.approx(
        -np.log(0.8)
    )


def test_baselines_know_only_the_target(rng):
    known, y = rng.normal(size=40), rng.normal(size=10)
    mean = baseline(known, y, classes=False)
    assert mean.name == "mean"
    assert mean.scores["rmse"] == pytest.approx(np.sqrt(np.mean((y - known.mean()) ** 2)))
    most = baseline(["a", "a", "a", "b"], ["a", "b"], classes=True)
    assert most.name == "most frequent class"
    assert most.scores == pytest.approx(
        {
            "accuracy": 0.5,
            "balanced_accuracy": 0.5,
            "log_loss": -(np.log(0.75) + np.log(0.25)) / 2,
        }
    )


@pytest.mark.parametrize("n", [2, 9, 100, 1001])
@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.5])
def test_as_many_rows_are_held_out_as_asked_for(n, fraction):
    mask = held_out(np.arange(n), fraction, 0, classes=False)
    assert abs(mask.sum() - n * fraction) <= 1


def test_classes_are_held_out_in_proportion_and_none_as_a_whole(rng):
    y = np.repeat(["a", "b", "c", "rare"], [500, 300, 47, 1])
    for seed in range(30):
        mask = held_out(y, 0.2, seed, classes=True)
        for label, count in {"a": 500, "b": 300, "c": 47}.items():
            assert abs(mask[y == label].sum() - 0.2 * count) <= 1
        assert not mask[y == "rare"].any()


def test_rows_held_out_are_fixed_by_the_seed_and_fair():
    y = np.zeros(50)
    masks = np.array([held_out(y, 0.2, seed, classes=False) for seed in range(2000)])
    np.testing.assert_array_equal(masks[3], held_out(y, 0.2, 3, classes=False))
    # Each row is out with probability .2: its share of 2,000 draws has standard error .009,
    # and the largest of 50 is beyond 4.5 of them once in 3,000 choices of seeds.
    np.testing.assert_allclose(masks.mean(axis=0), 0.2, atol=4.5 * 0.009)


def test_nothing_is_held_out_on_request():
    assert not held_out(np.arange(10), 0.0, 0, classes=False).any()
