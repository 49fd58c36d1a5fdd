"""Bad input: one sentence that names the parameter, the row or the column, and the cure."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from lamina._errors import DataError, DivergedError, DivergedWarning, ParameterError
from lamina.estimators import MLPClassifier, MLPRegressor
from lamina.heads import Categorical

RNG = np.random.RandomState(0)
X = RNG.normal(size=(20, 3))
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["age", "size", "weight"])


def put(array, place, value):
    """Return a copy with one other value."""
    copy = np.array(array, dtype=object if isinstance(value, str) else float)
    copy[place] = value
    return copy


def frame_with(value):
    frame = FRAME.astype(object)
    frame.loc[4, "size"] = value
    return frame


classify, regress = MLPClassifier().fit, MLPRegressor().fit

DATA = {
    "NaN in X": (lambda: classify(put(X, (3, 1), np.nan), Y), "NaN in row 3, column 1. Fill"),
    "NaN in a frame": (lambda: classify(frame_with(np.nan), Y), "NaN in row 4, column 'size'"),
    "None in a frame": (lambda: classify(frame_with(None), Y), "NaN in row 4, column 'size'"),
    "infinity in X": (lambda: regress(put(X, (0, 2), -np.inf), Y), "infinity in row 0, column 2"),
    "NaN in sparse X": (
        lambda: classify(sp.csr_matrix(put(X, (5, 2), np.nan)), Y),
        "NaN in row 5, column 2",
    ),
    "NaN in y": (lambda: regress(X, put(Y, 6, np.nan)), "y contains NaN in row 6. Drop the rows"),
    "NaN in labels": (lambda: classify(X, put(Y, 6, np.nan)), "y contains NaN in row 6"),
    "infinity in y": (lambda: regress(X, put(X, (2, 1), np.inf)), "infinity in row 2, column 1"),
    "text in X": (
        lambda: classify(frame_with("red"), Y),
        "X must hold numbers. Got the text 'red' in row 4, column 'size'. Encode text first",
    ),
    "text in an array": (lambda: classify(put(X, (1, 0), "a"), Y), "'a' in row 1, column 0"),
    "text target": (
        lambda: regress(X, put(Y, 7, "low")),
        "y must hold numbers. Got the text 'low' in row 7. Use MLPClassifier",
    ),
    "all text target": (lambda: regress(X, np.array(["a"] * 20)), "Got the text 'a' in row 0"),
    "dates as target": (
        lambda: regress(X, np.array(["2020-01-01"] * 20, dtype="datetime64[D]")),
        "y must hold numbers",
    ),
    "negative counts": (
        lambda: MLPRegressor("poisson").fit(X, put(Y, 2, -1)),
        r"y must be non-negative. Got -1.0 in row 2",
    ),
    "too large for float32": (
        lambda: MLPRegressor(dtype="float32").fit(put(X, (8, 1), 1e300), Y),
        r"1e\+300, too large for float32, in row 8, column 1",
    ),
    "empty": (lambda: classify(np.empty((0, 3)), []), "Found array with 0 sample"),
    "no columns": (lambda: classify(np.empty((20, 0)), Y), "Found array with 0 feature"),
    "three axes": (lambda: classify(X[None], Y), "Found array with dim 3"),
    "one axis": (lambda: classify(X[:, 0], Y), "Reshape your data"),
    "complex": (lambda: regress(X + 1j, Y), "Complex data not supported"),
    "complex y": (lambda: regress(X, Y + 1j), "Complex data not supported"),
    "lengths": (lambda: regress(X, Y[:-1]), r"inconsistent numbers of samples: \[20, 19\]"),
    "no y": (lambda: regress(X, None), "requires y to be passed"),
}


@pytest.mark.parametrize("case", DATA)
def test_data_that_cannot_be_used_are_refused(case):
    call, sentence = DATA[case]
    with pytest.raises(ValueError, match=sentence):
        call()


PARAMETERS = {
    "activation": (MLPRegressor(activation="reluu"), "Got 'reluu' instead. Did you mean 'relu'?"),
    "slope": (MLPRegressor(activation="leaky_relu(x)"), "activation must have a number"),
    "activations": (MLPRegressor(activation=("relu", "tanh")), "each of the 1 hidden layers"),
    "solver": (MLPRegressor(solver="adamm"), "'adamm' instead. Did you mean 'adam'?"),
    "schedule": (MLPRegressor(learning_rate="cosin"), "Did you mean 'cosine'?"),
    "loss": (MLPRegressor("squared_eror"), "Did you mean 'squared_error'?"),
    "sizes": (MLPRegressor(hidden_layer_sizes=(3, 0)), r"must be > 0, got \[3, 0\]"),
    "fraction of a unit": (MLPRegressor(hidden_layer_sizes=(2.5,)), r"hidden_layer_sizes\[0\]"),
    "dropout": (MLPRegressor(dropout=1.0), r"range \[0.0, 1.0\)"),
    "clip_norm": (MLPRegressor(clip_norm=0), "'clip_norm' parameter"),
    "n_members": (MLPRegressor(n_members=0), "'n_members' parameter"),
    "dtype": (MLPRegressor(dtype="float16"), "Did you mean 'float"),
    "device": (MLPRegressor(device="gpu"), "device must be 'auto' or a device that torch"),
    "lbfgs and dropout": (MLPRegressor(solver="lbfgs", dropout=0.1), "dropout must be 0.0 with"),
    "lbfgs and clipping": (MLPRegressor(solver="lbfgs", clip_norm=1.0), "clip_norm must be None"),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters_that_are_not_allowed_are_refused(case):
    model, sentence = PARAMETERS[case]
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("loss", "y", "sentence"),
    [
        ("bernoulli", np.arange(20) % 3, "'log_loss' or 'categorical' for multiclass labels"),
        ("categorical", np.stack([Y, 1 - Y], 1), "'log_loss' or 'bernoulli' for multilabel"),
        (Categorical(4), np.arange(20) % 3, "n_classes must be the number of classes in y, 3"),
    ],
)
def test_a_head_must_fit_the_labels(loss, y, sentence):
    with pytest.raises(ParameterError, match=sentence):
        MLPClassifier(loss=loss).fit(X, y)


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings(action="ignore"):
        return MLPClassifier(max_iter=2).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (FRAME[["size", "age", "weight"]], "feature names should match"),
        (FRAME[["age", "size"]], "feature names should match"),
        (frame_with(np.nan), "NaN in row 4, column 'size'"),
        (frame_with("red"), "Got the text 'red' in row 4, column 'size'"),
        (FRAME.iloc[:0], "Found array with 0 sample"),
    ],
)
def test_new_data_must_be_like_the_old(fitted, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        fitted.predict(new)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_new_data_must_have_as_many_features(fitted):
    with pytest.raises(ValueError, match="X has 2 features, but MLPClassifier is expecting 3"):
        fitted.predict(X[:, :2])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "score"])
def test_an_unfitted_model_says_so(method):
    arguments = (X, Y) if method == "score" else (X,)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(MLPClassifier(), method)(*arguments)


@pytest.mark.parametrize("name", ["coefs_", "intercepts_"])
@pytest.mark.filterwarnings("ignore")
def test_an_ensemble_has_no_weights_of_one_network(name):
    model = MLPClassifier(n_members=2, max_iter=1).fit(X, Y)
    with pytest.raises(AttributeError, match=rf"{name} belongs to one network, and this .* has 2"):
        getattr(model, name)
    with pytest.raises(AttributeError, match=f"object has no attribute '{name}'"):
        getattr(MLPClassifier(n_members=2), name)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hidden_layer_sizes": (5,)}, r"layers have \(3, 4, 1\) units. Got \(3, 5, 1\)"),
        ({"n_members": 3}, "n_members must stay 1 to go on from an earlier fit. Got 3"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_warm_start_cannot_change_the_make_of_the_network(change, sentence):
    model = MLPRegressor(hidden_layer_sizes=(4,), max_iter=1, warm_start=True).fit(X, Y)
    with pytest.raises(ParameterError, match=sentence):
        model.set_params(**change).fit(X, Y)


def test_partial_fit_cannot_follow_a_schedule_with_an_end():
    with pytest.raises(ParameterError, match="learning_rate must not be 'one_cycle' with partial"):
        MLPRegressor(learning_rate="one_cycle").partial_fit(X, Y)


WILD = {"hidden_layer_sizes": (4,), "solver": "sgd", "learning_rate_init": 1e6, "random_state": 0}


@pytest.mark.parametrize("solver", ["sgd", "adam", "lbfgs"])
def test_weights_or_a_loss_that_are_not_finite_are_an_error(solver):
    y = Y * 1e200  # the loss alone is infinite after a step or before it
    with pytest.raises(DivergedError, match="non-finite parameter weights"):
        MLPRegressor(**(WILD | {"solver": solver})).fit(X, y)


def test_a_failed_fit_leaves_the_fitted_model_as_it_was():
    with warnings.catch_warnings(action="ignore"):
        model = MLPClassifier(hidden_layer_sizes=(4,), max_iter=2, random_state=0).fit(X, Y)
    before, classes = model.predict_proba(X), model.classes_
    model.set_params(solver="sgd", learning_rate_init=1e300)
    with pytest.raises(DivergedError):
        model.fit(X, np.arange(20) % 4)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    np.testing.assert_array_equal(model.classes_, classes)


def test_early_stopping_keeps_the_best_weights_of_a_member_that_diverges():
    model = MLPRegressor(**WILD, early_stopping=True, activation="identity")
    with pytest.warns(ConvergenceWarning, match="weights of the best epoch are kept"):
        model.fit(X, X[:, 0])
    assert all(np.isfinite(w).all() for w in model.coefs_)
    assert np.isnan(model.validation_scores_[-1])
    assert model.best_validation_score_ == max(model.validation_scores_[:-1])


def test_a_diverged_member_is_left_out_of_the_ensemble(monkeypatch):
    from lamina.estimators import _mlp

    original = _mlp.train

    def poisoned(members, *arguments, **named):
        import dataclasses

        wild = dataclasses.replace(members[1], learning_rate=1e300)
        return original([members[0], wild, members[2]], *arguments, **named)

    monkeypatch.setattr(_mlp, "train", poisoned)
    model = MLPRegressor(hidden_layer_sizes=(4,), solver="sgd", n_members=3, max_iter=3)
    with (
        pytest.warns(DivergedWarning, match="1 of 3 members diverged and are left out.*: 1"),
        pytest.warns(ConvergenceWarning, match="Maximum iterations"),
    ):
        model.fit(X, Y)
    assert len(model.networks_) == 2
    assert np.isfinite(model.loss_curve_).all()


def test_what_lbfgs_did_not_reach_is_told():
    with pytest.warns(ConvergenceWarning, match=r"(?s)lbfgs failed.*after 3 iter.*\(max_iter=3\)"):
        MLPRegressor(solver="lbfgs", max_iter=3).fit(X, X[:, 0])


def test_data_errors_are_value_errors_of_our_own():
    with pytest.raises(DataError):
        classify(put(X, (3, 1), np.nan), Y)
