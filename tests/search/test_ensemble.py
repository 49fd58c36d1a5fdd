"""Ensembles: chosen greedily, fitted as one stack, weighed, saved."""

from __future__ import annotations

import warnings
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lamina import MLPClassifier, MLPRegressor, StackedSearchCV, load, save
from lamina._errors import LaminaWarning, ParameterError
from lamina.search import StackedEnsembleClassifier, StackedEnsembleRegressor
from lamina.search._selection import greedy_votes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SPACE = {"hidden_layer_sizes": [(4,), (6, 3), (8,)], "activation": ["relu", "tanh"]}


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 4))
def test_greedy_votes_are_those_of_a_plain_loop(seed, n, n_votes):
    rng = np.random.default_rng(seed)
    target = rng.standard_normal((6, 1))
    parts = [target + rng.standard_normal((6, 1)) for _ in range(n)]

    def score(prediction):
        return -float(((prediction - target) ** 2).mean())

    bag, best_bag, best = [], [], -np.inf
    for _ in range(n_votes):
        trials = [score(np.mean([parts[i] for i in [*bag, k]], axis=0)) for k in range(n)]
        bag.append(next(k for k in range(n) if trials[k] >= max(trials) * (1 + 1e-12)))
        if max(trials) > best + 1e-12 * abs(max(trials)):
            best, best_bag = max(trials), list(bag)
    assert greedy_votes(parts, score, n_votes) == [best_bag.count(k) for k in range(n)]
    # Never worse than the best alone, never better than the best of all bags.
    everything = [
        score(np.mean([parts[i] for i in some], axis=0))
        for size in range(1, n_votes + 1)
        for some in combinations_with_replacement(range(n), size)
    ]
    assert max(score(part) for part in parts) <= best + 1e-12 <= max(everything) + 2e-12


def test_nothing_is_gained_by_a_vote_for_what_scores_nan():
    parts = [np.zeros((2, 1)), np.ones((2, 1))]
    votes = greedy_votes(parts, lambda p: float("nan") if p[0, 0] == 0 else p[0, 0], 3)
    assert votes == [0, 1]


def test_the_ensemble_of_a_search_is_better_out_of_fold_than_its_best(classifier, classes):
    X, y = classes
    search = StackedSearchCV(
        classifier,
        SPACE,
        cv=3,
        factor=None,
        ensemble_size=6,
        scoring="neg_log_loss",
        random_state=0,
    ).fit(X, y)
    best = -log_loss(y, search.oof_predictions_)
    assert search.ensemble_score_ >= best
    assert 1 <= len(search.ensemble_.estimators_) <= 6
    assert search.ensemble_.weights_.sum() == pytest.approx(1.0)
    expected = sum(
        weight * clone(model).fit(X, y).predict_proba(X)
        for weight, model in zip(
            search.ensemble_.weights_, search.ensemble_.estimators, strict=True
        )
    )
    np.testing.assert_allclose(search.ensemble_.predict_proba(X), expected, rtol=1e-12)


def test_an_ensemble_of_a_halving_search_with_several_scores(regressor, numbers):
    X, y = numbers
    search = StackedSearchCV(
        regressor,
        {"alpha": [0.01, 0.1, 1.0, 3.0], "activation": ["relu", "tanh"]},
        cv=3,
        min_epochs=1,
        ensemble_size=2,
        scoring=["r2", "neg_mean_absolute_error"],
        refit="neg_mean_absolute_error",
    ).fit(X, y)
    assert (search.cv_results_["status"] == "finished").sum() >= 2
    best = -np.abs(search.oof_predictions_[:, 0] - y).mean()
    assert search.ensemble_score_ >= best - 1e-9


def test_no_ensemble_without_time(regressor, numbers):
    X, y = numbers
    search = StackedSearchCV(
        clone(regressor).set_params(max_iter=200),
        {"alpha": list(np.logspace(-5, 0, 60))},
        n_iter=60,
        cv=2,
        min_epochs=1,
        ensemble_size=2,
    )

    def stop(report):
        if report.rung == 2:
            raise KeyboardInterrupt

    search._listen = stop
    with pytest.warns(LaminaWarning, match="There is no ensemble"):
        search.fit(X, y)
    assert search.predict(X).shape == (80,)


@pytest.mark.parametrize("kind", ["classes", "several labels", "numbers", "two targets"])
def test_a_saved_ensemble_predicts_the_same(tmp_path, kind, classes, numbers):
    if kind in ("classes", "several labels"):
        X, y = classes
        y = np.array(["a", "b", "c"])[y]
        if kind == "several labels":
            X, y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
        models = [MLPClassifier((n,), max_iter=5, random_state=n) for n in (3, 5)]
        ensemble = StackedEnsembleClassifier(models, [1, 2]).fit(X, y)
    else:
        X, y = numbers
        y = np.column_stack([y, -y]) if kind == "two targets" else y
        models = [
            MLPRegressor("normal", hidden_layer_sizes=(n,), max_iter=5, random_state=n)
            for n in (3, 5)
        ]
        ensemble = StackedEnsembleRegressor(models, [1, 2]).fit(X, y)
    save(ensemble, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(ensemble.predict(X), again.predict(X))
    assert ensemble.predict(X).shape == np.shape(y)
    if hasattr(ensemble, "predict_proba"):
        np.testing.assert_array_equal(ensemble.predict_proba(X), again.predict_proba(X))
        np.testing.assert_array_equal(ensemble.classes_, again.classes_)


def test_the_distribution_of_an_ensemble_is_the_mixture(numbers):
    X, y = numbers
    models = [
        MLPRegressor("heteroscedastic", hidden_layer_sizes=(n,), max_iter=5, random_state=n)
        for n in (3, 5)
    ]
    ensemble = StackedEnsembleRegressor(models, [1, 3]).fit(X, y)
    parts = [clone(model).fit(X, y).predict_dist(X) for model in models]
    density = 0.25 * parts[0].pdf(y) + 0.75 * parts[1].pdf(y)
    np.testing.assert_allclose(ensemble.predict_dist(X).pdf(y), density, rtol=1e-10)
    np.testing.assert_allclose(ensemble.predict_dist(X).mean(), ensemble.predict(X), rtol=1e-10)
    plain = StackedEnsembleRegressor([StandardScaler()])
    assert not hasattr(plain, "predict_dist")


def test_pipelines_may_be_members_but_are_not_saved(tmp_path, classes):
    X, y = classes
    X = pd.DataFrame(X, columns=list("abcde"))
    pipes = [
        make_pipeline(StandardScaler(), MLPClassifier((n,), max_iter=5, random_state=0))
        for n in (3, 5)
    ]
    ensemble = StackedEnsembleClassifier(pipes).fit(X, y)
    expected = np.mean([clone(pipe).fit(X, y).predict_proba(X) for pipe in pipes], axis=0)
    np.testing.assert_allclose(ensemble.predict_proba(X), expected, rtol=1e-12)
    assert ensemble.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ParameterError, match="ensemble of pipelines cannot be saved"):
        save(ensemble, tmp_path / "model")


@pytest.mark.parametrize(
    ("estimators", "weights", "message"),
    [
        ([], None, "estimators must hold at least one"),
        ("ab", None, "estimators must be a list"),
        ([StandardScaler()], None, "estimator must fit and predict"),
        ([MLPClassifier()], [1, 2], "weights must be 1 finite numbers"),
        ([MLPClassifier()], [-1], "weights must be 1 finite numbers"),
        ([MLPClassifier()], [np.nan], "weights must be 1 finite numbers"),
        ([MLPClassifier()], [0], "weights must have a positive sum"),
    ],
)
def test_what_makes_no_ensemble_is_refused(classes, estimators, weights, message):
    with pytest.raises(ParameterError, match=message):
        StackedEnsembleClassifier(estimators, weights).fit(*classes)


def test_weights_of_rows_reach_the_members(numbers):
    X, y = numbers
    weight = np.arange(80) % 3
    model = MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, random_state=0)
    ensemble = StackedEnsembleRegressor([model]).fit(X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = clone(model).fit(X, y, weight)
    np.testing.assert_array_equal(ensemble.predict(X), alone.predict(X))


def test_probabilities_of_float32_networks_add_up_to_one_as_float64_does(classes):
    """A log loss warns where they do not, also while the ensemble is chosen."""
    X, y = np.asarray(classes[0], dtype=np.float32), classes[1]
    model = MLPClassifier((4,), max_iter=200, tol=0.1, random_state=0)
    search = StackedSearchCV(
        model,
        {"alpha": [0.01, 1.0]},
        cv=3,
        scoring="neg_log_loss",
        ensemble_size=3,
        random_state=0,
    ).fit(X, y)
    for proba in (search.oof_predictions_, search.ensemble_.predict_proba(X)):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
