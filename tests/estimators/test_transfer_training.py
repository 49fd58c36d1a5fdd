"""How a transfer trains: when it stops, what it says of bad ends, what a failed fit leaves."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

from lamina import (
    DataError,
    DenoisingEncoder,
    MLPClassifier,
    ParameterError,
    TransferClassifier,
    TransferRegressor,
)
from lamina._errors import DataWarning
from lamina.estimators import Trunk

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def source():
    return MLPClassifier((12, 6), solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def wide():
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return MLPClassifier((32,), max_iter=200, random_state=0).fit(X, Y)


@pytest.mark.parametrize("seed", range(4))
def test_early_stopping_waits_while_the_held_out_loss_falls(wide, seed):
    # Of 15 rows the accuracy stands still for ten epochs at a time while the loss still falls.
    model = TransferClassifier(wide, early_stopping=True, random_state=seed).fit(X, Y)
    assert model.score(X, Y) > 0.95
    losses = model.history_["valid_loss"].to_numpy()
    best = losses.argmin()
    patience = 30  # a tenth of 300 epochs
    assert len(losses) in (300, best + 1 + patience, best + 2 + patience)


def test_early_stopping_keeps_the_weights_of_the_smallest_held_out_loss(source):
    rows = np.arange(0, 150, 5)
    noisy = np.where(np.arange(30) % 3 == 0, (Y[rows] + 1) % 3, Y[rows])
    settings = {"hidden_layer_sizes": (64,), "alpha": 0.0, "learning_rate_init": 0.05}
    model = TransferClassifier(source, early_stopping=True, random_state=0, **settings)
    model.fit(X[rows], noisy)
    losses = model.history_["valid_loss"].to_numpy()
    best = int(losses.argmin()) + 1
    assert best < len(losses)
    short = TransferClassifier(
        source, early_stopping=True, random_state=0, max_iter=best, **settings
    ).fit(X[rows], noisy)
    assert np.allclose(model.predict_proba(X), short.predict_proba(X))


def test_a_class_of_one_row_cannot_be_held_out(source):
    with pytest.raises(DataError, match="two rows of each of two classes"):
        TransferClassifier(source, early_stopping=True).fit(X[[0, 1, 149]], Y[[0, 1, 149]])


@pytest.mark.parametrize("strategy", ["last", "fine_tune"])
@pytest.mark.parametrize("kind", [TransferClassifier, TransferRegressor])
def test_steps_that_only_made_things_worse_are_told(source, strategy, kind):
    wild = kind(source, strategy, learning_rate_init=1e3, max_iter=10)
    with pytest.warns(ConvergenceWarning, match="Lower learning_rate_init, which is 1000") as told:
        wild.fit(X, Y)
    assert told[0].filename == __file__
    kind(source, strategy).fit(X, Y)  # says nothing


def test_a_fit_that_fails_leaves_the_one_before(source):
    frame = pd.DataFrame(X, columns=list("abcd"))
    for model in (TransferClassifier(source), TransferClassifier()):
        before = model.fit(X, Y).predict_proba(X)
        with pytest.raises(ValueError, match=r"features|entry for each"):
            model.fit(frame[["a", "b"]], Y[: len(Y) if model.pretrained else 9])
        assert np.array_equal(model.predict_proba(X), before)
        assert not hasattr(model, "feature_names_in_")


def test_a_fitted_source_has_no_parameters_to_search():
    encoder = DenoisingEncoder(hidden_layer_sizes=(8,), max_steps=5, strength=0.3).fit(X)
    grid = GridSearchCV(TransferClassifier(encoder), {"pretrained__strength": [0.2, 0.9]}, cv=2)
    with pytest.raises(ParameterError, match="pretrained__strength must belong to a source that"):
        grid.fit(X, Y)
    assert encoder.strength == 0.3
    with pytest.raises(ParameterError, match="Got none"):
        TransferClassifier().set_params(pretrained__strength=0.5)
    model = TransferClassifier(encoder)
    model.set_params(pretrained=DenoisingEncoder(), pretrained__strength=0.5, alpha=1.0)
    assert (model.pretrained.strength, model.alpha, encoder.strength) == (0.5, 1.0, 0.3)


def test_a_grid_of_sources_keeps_wrapped_ones_fitted(source):
    with pytest.raises(ValueError, match=r"clones the values of a grid.*FrozenEstimator"):
        GridSearchCV(TransferClassifier(), {"pretrained": [source]}, cv=2).fit(X, Y)
    for wrapped in (FrozenEstimator(source), Trunk.of(source)):
        grid = GridSearchCV(TransferClassifier(), {"pretrained": [None, wrapped]}, cv=2)
        means = grid.fit(X, Y).cv_results_["mean_test_score"]
        alone = GridSearchCV(TransferClassifier(source), {"n_members": [1]}, cv=2).fit(X, Y)
        assert means[1] == alone.cv_results_["mean_test_score"][0]


@pytest.mark.parametrize(
    "given",
    [
        {"dropout": 0.5},
        {"dropout": 0.5, "pretrained": None},
        {"early_stopping": True, "solver": "lbfgs"},
    ],
)
def test_parameters_that_would_do_nothing_are_refused(source, given):
    with pytest.raises(ParameterError, match="must be"):
        TransferClassifier(**({"pretrained": source} | given)).fit(X, Y)


def test_unlabelled_rows_of_another_scale_are_told(source):
    encoder = DenoisingEncoder(hidden_layer_sizes=(8,), max_steps=5, random_state=0)
    for model in (None, source, encoder):
        with pytest.warns(DataWarning, match="Bring both to the same units") as told:
            TransferClassifier(model).fit(X, Y, X_unlabelled=1e6 * X)
        assert told[0].filename == __file__
    TransferClassifier(source).fit(X, Y, X_unlabelled=np.r_[X, 5 * X])  # says nothing
