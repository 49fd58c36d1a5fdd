"""A table encoder and a network as one estimator: equal to the pipeline, and saved."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from lamina import (
    FileError,
    MLPClassifier,
    MLPRegressor,
    ParameterError,
    StackedSearchCV,
    load,
    save,
)
from lamina.search import EncodedClassifier, EncodedRegressor, StackedEnsembleClassifier
from lamina.tables import TableEncoder

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "size": np.where(RNG.random(80) < 0.1, np.nan, RNG.normal(size=80)),
        "colour": RNG.choice(["red", "green", "blue"], 80),
    }
)
KIND = pd.Series(np.where(TABLE["colour"] == "red", "warm", "cold"), name="kind")
PRICE = pd.Series(TABLE["size"].fillna(0) + 2.0 * (KIND == "warm"), name="price")

CASES = {
    "classes": (EncodedClassifier, MLPClassifier((6,), max_iter=20, random_state=0), KIND),
    "numbers": (
        EncodedRegressor,
        MLPRegressor("normal", (6,), max_iter=20, random_state=0),
        PRICE,
    ),
}
each_case = pytest.mark.parametrize("case", CASES)


def pipeline(case):
    _, network, _ = CASES[case]
    target_type = "classes" if case == "classes" else "continuous"
    return Pipeline([("table", TableEncoder(target_type=target_type)), ("net", clone(network))])


def said(model):
    """What a model says of all rows."""
    answers = [np.asarray(model.predict(TABLE))]
    if isinstance(model, (EncodedClassifier, StackedEnsembleClassifier)):
        answers.append(model.predict_proba(TABLE))
    return answers


def assert_same(one, two):
    for a, b in zip(said(one), said(two), strict=True):
        np.testing.assert_array_equal(a, b)


@each_case
def test_it_is_the_pipeline(case):
    kind, network, y = CASES[case]
    expected = pipeline(case).fit(TABLE, y)
    model = kind(network).fit(TABLE, y)
    np.testing.assert_array_equal(model.predict(TABLE), expected.predict(TABLE))
    assert model.score(TABLE, y) == expected.score(TABLE, y)
    assert model.target_name_ == y.name
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["size", "colour"]
    assert_same(kind.from_pipeline(expected), model)


@each_case
def test_it_saves_and_loads_bit_for_bit(case, tmp_path):
    kind, _, y = CASES[case]
    model = kind.from_pipeline(pipeline(case).fit(TABLE, y), "answer")
    save(model, tmp_path / "model")
    same = load(tmp_path / "model")
    assert type(same) is kind
    assert same.target_name_ == "answer"
    assert_same(same, model)
    assert [n.sizes for n in same.networks_] == [n.sizes for n in model.networks_]
    refitted = clone(same).fit(TABLE, y)
    assert_same(refitted, model)


def test_a_regressor_tells_distributions():
    expected = pipeline("numbers").fit(TABLE, PRICE)
    model = EncodedRegressor.from_pipeline(expected)
    dist = expected[-1].predict_dist(expected[:-1].transform(TABLE))
    np.testing.assert_array_equal(model.predict_dist(TABLE).std(), dist.std())
    np.testing.assert_array_equal(model.predict_interval(TABLE, 0.5), dist.interval(0.5))


def test_weights_go_to_the_network():
    weight = RNG.uniform(0.1, 2.0, 80)
    expected = pipeline("numbers").fit(TABLE, PRICE, net__sample_weight=weight)
    model = EncodedRegressor(CASES["numbers"][1]).fit(TABLE, PRICE, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(TABLE), expected.predict(TABLE))


@each_case
def test_the_ensemble_of_a_search_over_encoders_saves(case, tmp_path):
    space = {"table__numeric_embedding": ["none", "periodic"], "net__alpha": [1e-4, 1.0]}
    model = pipeline(case)
    y = CASES[case][2]
    search = StackedSearchCV(model, space, cv=3, ensemble_size=3, random_state=0).fit(TABLE, y)
    save(search.ensemble_, tmp_path / "model")
    same = load(tmp_path / "model")
    assert same.target_name_ == y.name
    assert same.weights_.tolist() == search.ensemble_.weights_.tolist()
    assert_same(same, search.ensemble_)
    save(same, tmp_path / "again")
    assert_same(load(tmp_path / "again"), search.ensemble_)


def fitted(*steps):
    return make_pipeline(*steps).fit(TABLE[["size"]].fillna(0), PRICE)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MLPRegressor(), "pipeline must be a Pipeline of a TableEncoder and a network"),
        (
            lambda: fitted(StandardScaler(), MLPRegressor("normal", (2,), max_iter=2)),
            "pipeline must be a Pipeline of a TableEncoder",
        ),
        (
            lambda: fitted(
                TableEncoder(), StandardScaler(), MLPRegressor("normal", (2,), max_iter=2)
            ),
            "pipeline must be a Pipeline of a TableEncoder",
        ),
        (lambda: pipeline("classes").fit(TABLE, KIND), "a regressor of lamina.estimators"),
    ],
)
def test_other_pipelines_are_refused(make, sentence):
    with pytest.raises(ParameterError, match=sentence):
        EncodedRegressor.from_pipeline(make())


def test_a_pipeline_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        EncodedRegressor.from_pipeline(pipeline("numbers"))
    with pytest.raises(NotFittedError):
        EncodedRegressor(MLPRegressor()).predict(TABLE)
    with pytest.raises(NotFittedError):
        save(EncodedRegressor(MLPRegressor()), "nowhere")


def test_an_estimator_of_another_kind_is_refused():
    with pytest.raises(ParameterError, match="estimator must be a classifier"):
        EncodedClassifier(MLPRegressor()).fit(TABLE, KIND)
    with pytest.raises(ParameterError, match="estimator must be a regressor"):
        EncodedRegressor(StandardScaler()).fit(TABLE, PRICE)


def test_a_file_names_no_class_that_is_not_ours(tmp_path):
    save(EncodedRegressor(CASES["numbers"][1]).fit(TABLE, PRICE), tmp_path / "model")
    from lamina._files import read_model, write_model

    config, arrays = read_model(tmp_path / "model")
    config["state"]["kind"] = "StackedEnsembleRegressor"
    write_model(tmp_path / "other", json.loads(json.dumps(config)), arrays)
    with pytest.raises(FileError, match="must be an estimator of lamina"):
        load(tmp_path / "other")
