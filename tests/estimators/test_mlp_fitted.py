"""A fitted perceptron: what it holds, how it predicts, and how it is copied."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone

from lamina import load, save
from lamina.estimators import MLPClassifier, MLPRegressor, _prediction
from lamina.heads import Categorical
from lamina.nn import LeakyReLU

RNG = np.random.RandomState(0)
X = RNG.normal(size=(40, 5))
Y = np.digitize(X[:, 0], [-0.5, 0.5])
FEW = {"hidden_layer_sizes": (6, 4), "max_iter": 5, "random_state": 0}


def fitted(kind=MLPClassifier, y=Y, X=X, **parameters):
    with warnings.catch_warnings(action="ignore"):
        return kind(**(FEW | parameters)).fit(X, y)


def by_hand(model, X, hidden=np.tanh):
    """Return the raw outputs by plain NumPy."""
    h = X
    for i, (weights, biases) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        h = h @ weights + biases
        h = hidden(h) if i < len(model.coefs_) - 1 else h
    return h


@pytest.mark.parametrize("cells", [2**22, 50, 1])
@pytest.mark.parametrize("form", ["dense", "fortran", "csr", "csr array", "csc", "strided"])
def test_predictions_are_the_nested_products_in_any_form_and_piece(form, cells, monkeypatch):
    monkeypatch.setattr(_prediction, "CELLS", cells)
    model = fitted(activation="tanh")
    new = np.where(RNG.uniform(size=(70, 5)) < 0.5, RNG.normal(size=(70, 5)), 0.0)
    forms = {
        "dense": new,
        "fortran": np.asfortranarray(new),
        "csr": sp.csr_matrix(new),
        "csr array": sp.csr_array(new),
        "csc": sp.csc_matrix(new),
        "strided": np.repeat(new, 2, axis=0)[::-2][::-1],
    }
    np.testing.assert_allclose(model.decision_function(forms[form]), by_hand(model, new))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array])
def test_sparse_rows_train_as_dense_ones(form):
    sparse = np.where(np.abs(X) > 0.7, X, 0.0)
    dense = fitted(X=sparse, batch_size=16)
    # Dense rows may train in machine code, which rounds in another order.
    assert_same(fitted(X=form(sparse), batch_size=16), dense, tolerance=1e-12)


def assert_same(a, b, tolerance=0.0):
    for left, right in zip(a.coefs_ + a.intercepts_, b.coefs_ + b.intercepts_, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=tolerance)


def test_predicting_needs_memory_for_a_piece_only(monkeypatch):
    monkeypatch.setattr(_prediction, "CELLS", 2**16)
    model = fitted(MLPRegressor, X[:, 0], hidden_layer_sizes=(500,), max_iter=1)
    new = RNG.normal(size=(20_000, 5))
    model.predict(new[:10])
    tracemalloc.start()
    model.predict(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000  # the hidden layer of all rows would have 80 MB


def test_read_only_data_can_be_used():
    frozen, labels = X.copy(), Y.copy()
    frozen.flags.writeable = labels.flags.writeable = False
    model = fitted(X=frozen, y=labels)
    np.testing.assert_array_equal(model.predict(frozen), fitted().predict(X))


def test_predictions_have_the_precision_of_the_network():
    model = fitted(MLPRegressor, X[:, 0], X=X.astype(np.float32))
    assert model.predict(X).dtype == np.float32
    assert fitted(MLPRegressor, X[:, 0], dtype="float32").coefs_[0].dtype == np.float32
    double = fitted(MLPRegressor, X[:, 0], X=X.astype(np.float32), dtype="float64")
    assert double.predict(X.astype(np.float32)).dtype == np.float64


def test_weights_can_be_changed_in_place_and_replaced():
    model = fitted(activation="tanh")
    model.coefs_[0][...] = 0.0
    np.testing.assert_allclose(model.decision_function(X), by_hand(model, X))
    model.coefs_ = [np.ones_like(w) for w in model.coefs_]
    np.testing.assert_allclose(model.decision_function(X), by_hand(model, X))
    np.testing.assert_array_equal(model.networks_[0].layers()[0][0], 1.0)


def test_networks_are_the_coefs_turned():
    model = fitted()
    (network,) = model.networks_
    assert network.sizes == (5, 6, 4, 3)
    for (weights, biases), coef, intercept in zip(
        network.layers(), model.coefs_, model.intercepts_, strict=True
    ):
        np.testing.assert_array_equal(weights.T, coef)
        np.testing.assert_array_equal(biases, intercept)


def test_changed_parameters_count_from_the_next_fit_only():
    model = fitted(activation="tanh")
    before = model.predict_proba(X)
    model.set_params(activation="relu", hidden_layer_sizes=(3,), loss="categorical")
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_history_has_a_row_for_each_member_and_epoch():
    model = fitted(n_members=3, early_stopping=True)
    history = model.history_
    assert list(history.columns) == [
        "member", "epoch", "train_loss", "valid_loss", "valid_score", "learning_rate", "seconds",
    ]  # fmt: skip
    assert history.groupby("member").size().tolist() == [5, 5, 5]
    by_epoch = history.groupby("epoch")
    np.testing.assert_allclose(by_epoch["train_loss"].mean(), model.loss_curve_)
    np.testing.assert_allclose(by_epoch["valid_score"].mean(), model.validation_scores_)


def test_a_new_fit_leaves_nothing_of_the_old_one_behind():
    model = fitted(early_stopping=True)
    with warnings.catch_warnings(action="ignore"):
        model.set_params(solver="lbfgs", early_stopping=False).fit(X, Y)
    for name in ("loss_curve_", "validation_scores_", "best_loss_"):
        assert not hasattr(model, name)
    with warnings.catch_warnings(action="ignore"):
        model.set_params(solver="adam", n_members=2).fit(X, Y)
        assert "coefs_" not in vars(model)
        model.set_params(n_members=1).fit(X, Y)
    assert_same(model, fitted())


def test_solvers_may_take_turns():
    model = fitted(solver="lbfgs", warm_start=True)
    with warnings.catch_warnings(action="ignore"):
        for solver in ("adam", "sgd", "lbfgs", "adam"):
            model.set_params(solver=solver).fit(X, Y)
    assert model.history_["epoch"].tolist() == list(range(1, 26))
    assert len(model.loss_curve_) == 15


def test_an_lbfgs_ensemble_is_one_fit_for_each_member():
    model = fitted(MLPRegressor, X[:, 0], solver="lbfgs", n_members=2)
    alone = fitted(MLPRegressor, X[:, 0], solver="lbfgs")
    assert len(model.networks_) == 2
    np.testing.assert_allclose(model.networks_[0].predict_raw(X)[:, 0], alone.predict(X))


COPIES = {
    "clone and fit": lambda model: clone(model).fit(X, Y),
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"activation": "prelu"},
        {"activation": (LeakyReLU(0.2), "tanh"), "loss": Categorical(label_smoothing=0.1)},
        {"n_members": 2, "early_stopping": True},
        {"solver": "lbfgs", "class_weight": {0: 2.0, 2: 0.5}},
    ],
)
def test_a_copy_predicts_the_same(way, parameters):
    model = fitted(**parameters)
    with warnings.catch_warnings(action="ignore"):
        twin = COPIES[way](model)
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    assert twin.loss_ == model.loss_


def test_joblib_keeps_what_partial_fit_needs(tmp_path):
    model = MLPRegressor(random_state=0).partial_fit(X, X[:, 0])
    joblib.dump(model, tmp_path / "model")
    twin = joblib.load(tmp_path / "model")
    model.partial_fit(X, X[:, 0])
    twin.partial_fit(X, X[:, 0])
    assert_same(model, twin)


def test_a_pickle_holds_no_training_data():
    wide = RNG.normal(size=(3000, 50))
    model = fitted(MLPRegressor, wide[:, 0], X=wide, hidden_layer_sizes=(3,), max_iter=1)
    assert len(pickle.dumps(model)) < 60_000


SAVED = {
    "labels": {"y": np.array(["a", "b", "c"])[Y]},
    "object labels": {"y": np.array(["a", "b", "c"], dtype=object)[Y]},
    "float labels": {"y": Y + 0.0},
    "truth values": {"y": Y > 0},
    "one class": {"y": Y * 0},
    "multilabel": {"y": sp.csr_matrix(np.stack([Y > 0, Y > 1], axis=1).astype(int))},
    "slopes": {"activation": "prelu"},
    "objects": {
        "activation": (LeakyReLU(0.3), "tanh"),
        "loss": Categorical(label_smoothing=0.25),
        "class_weight": {0: 1.0, 1: 2.5},
    },
    "numpy parameters": {"hidden_layer_sizes": np.array([4, 3]), "alpha": np.float64(0.1)},
    "patience for ever": {"n_iter_no_change": np.inf},
    "ensemble": {"n_members": 3, "early_stopping": True},
    "used random state": {"random_state": np.random.RandomState(3)},
    "single precision": {"dtype": "float32"},
}


@pytest.mark.parametrize("case", SAVED)
def test_a_saved_classifier_comes_back_whole(case, tmp_path):
    model = fitted(**SAVED[case])
    save(model, tmp_path / "model")
    twin = load(tmp_path / "model")
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    predicted, wanted = twin.predict(X), model.predict(X)
    assert sp.issparse(predicted) == sp.issparse(wanted)
    if not sp.issparse(wanted):
        np.testing.assert_array_equal(predicted, wanted)
        assert predicted.dtype == wanted.dtype
    for name, value in model.get_params().items():
        if not isinstance(value, np.random.RandomState):
            np.testing.assert_array_equal(twin.get_params()[name], value)
            assert type(twin.get_params()[name]) is type(value) or np.isscalar(value)
    assert twin.loss_curve_ == model.loss_curve_
    assert twin.validation_scores_ == model.validation_scores_
    assert twin.history_.equals(model.history_)


def test_a_saved_regressor_goes_on_learning(tmp_path):
    model = MLPRegressor("poisson", solver="sgd", momentum=0.0, shuffle=False, random_state=0)
    model.partial_fit(X, Y)
    save(model, tmp_path / "model")
    twin = load(tmp_path / "model").partial_fit(X, Y)
    assert_same(twin, model.partial_fit(X, Y))
    assert len(twin.loss_curve_) == 2


@pytest.mark.parametrize("parameters", [{}, {"early_stopping": True, "dropout": 0.2}])
def test_the_global_random_states_are_left_alone(parameters):
    np.random.seed(1)
    torch.manual_seed(1)
    before = np.random.get_state()[1].copy(), torch.get_rng_state().clone()
    fitted(random_state=None, n_members=2, **parameters)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])


def test_a_seed_makes_a_fit_repeatable_and_none_does_not():
    assert_same(fitted(batch_size=8, dropout=0.1), fitted(batch_size=8, dropout=0.1))
    a, b = fitted(random_state=None), fitted(random_state=None)
    assert not np.array_equal(a.coefs_[0], b.coefs_[0])


def test_the_representation_in_a_notebook_works():
    assert "MLPClassifier" in fitted(activation=LeakyReLU(0.1))._repr_html_()
    assert "LeakyReLU" in repr(MLPClassifier(activation=LeakyReLU(0.1)))
