"""Labels of every kind: numbered, put back, learned piece by piece, and probabilities of them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.neural_network as sk
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.metrics import accuracy_score

from lamina._errors import DataError
from lamina.estimators import MLPClassifier
from lamina.estimators._labels import Labels
from lamina.estimators._state import _pack_labels

RNG = np.random.RandomState(0)
X = RNG.normal(size=(50, 3))
NUMBERS = np.digitize(X[:, 0], [-0.5, 0.5])
FEW = {"hidden_layer_sizes": (6,), "max_iter": 15, "random_state": 0}

KINDS = {
    "texts": np.array(["blue", "green", "red"]),
    "objects": np.array(["blue", "green", "red"], dtype=object),
    "gaps": np.array([3, 7, 20]),
    "negative": np.array([-5, 0, 5]),
    "small": np.array([1, 2, 3], dtype=np.int8),
    "floats": np.array([1.0, 2.0, 4.0]),
    "truth": np.array([False, True, True]),
}


def fitted(y, **parameters):
    with warnings.catch_warnings(action="ignore"):
        return MLPClassifier(**(FEW | parameters)).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_labels_come_back_as_they_were(kind, early_stopping):
    y = KINDS[kind][NUMBERS]
    model = fitted(y, early_stopping=early_stopping)
    assert model.classes_.tolist() == np.unique(y).tolist()
    predicted = model.predict(X)
    assert predicted.dtype == model.classes_.dtype
    assert predicted.dtype == y.dtype or y.dtype.kind == "O"  # texts, as scikit-learn has it
    assert set(predicted) <= set(y)
    assert model.score(X, y) == accuracy_score(y, predicted)


def test_labels_are_only_names():
    a, b = fitted(KINDS["texts"][NUMBERS]), fitted(KINDS["gaps"][NUMBERS])
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


@pytest.mark.parametrize("wrap", [list, pd.Series, lambda y: pd.Series(y, dtype="category")])
def test_labels_may_come_in_any_container(wrap):
    y = KINDS["texts"][NUMBERS]
    np.testing.assert_array_equal(fitted(wrap(y)).predict(X), fitted(y).predict(X))


def test_integers_held_as_objects_are_integers():
    model = fitted(NUMBERS.astype(object))
    assert model.classes_.dtype == np.int64


def test_one_class_is_certain():
    model = fitted(np.array(["only"] * 50))
    assert model.classes_.tolist() == ["only"]
    assert model.predict(X).tolist() == ["only"] * 50
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((50, 1)))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.zeros((50, 1)))
    assert model.decision_function(X).shape == (50,)
    assert (model.n_outputs_, model.out_activation_) == (1, "logistic")
    assert np.isfinite(model.loss_curve_).all()


@pytest.mark.parametrize("members", [1, 3])
def test_probabilities_follow_from_the_raw_outputs(members):
    cases = {
        "multiclass": (NUMBERS, softmax, log_softmax),
        "multilabel": (np.stack([NUMBERS > 0, NUMBERS > 1], 1).astype(int), expit, log_expit),
    }
    for y, link, log_link in cases.values():
        model = fitted(y, n_members=members)
        raws = [network.predict_raw(X) for network in model.networks_]
        over = {} if link is expit else {"axis": 1}
        proba = np.mean([link(raw, **over) for raw in raws], axis=0)
        np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-12)
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba), rtol=1e-9)
        if members == 1:
            np.testing.assert_allclose(model.predict_log_proba(X), log_link(raws[0], **over))
            np.testing.assert_array_equal(model.decision_function(X), raws[0])


@pytest.mark.parametrize("members", [1, 3])
def test_two_classes_have_one_logit(members):
    model = fitted(NUMBERS > 0, n_members=members)
    raws = [network.predict_raw(X)[:, 0] for network in model.networks_]
    proba = np.mean([expit(raw) for raw in raws], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), np.stack([1 - proba, proba], 1), rtol=1e-12)
    decision = model.decision_function(X)
    np.testing.assert_allclose(expit(decision), proba, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), decision > 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_probabilities_stay_finite_where_scikit_learns_are_infinite(dtype):
    far = np.array([[3e3], [-3e3]], dtype=dtype)
    two = MLPClassifier((), max_iter=1, dtype=dtype)
    three = MLPClassifier((), max_iter=1, dtype=dtype)
    with warnings.catch_warnings(action="ignore"):
        two.fit([[0.0], [1.0]], [0, 1])
        three.fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    for model, n in ((two, 1), (three, 3)):
        model.coefs_ = [np.arange(1, n + 1, dtype=dtype)[None]]
        model.intercepts_ = [np.zeros(n, dtype=dtype)]
        log_proba = model.predict_log_proba(far)
        assert np.isfinite(log_proba).all()
        assert log_proba.min() < -2000
    np.testing.assert_allclose(two.predict_log_proba(far), [[-3e3, 0], [0, -3e3]])
    theirs = sk.MLPClassifier((), max_iter=1)
    with warnings.catch_warnings(action="ignore"):
        theirs.fit([[0.0], [1.0]], [0, 1])
        theirs.coefs_, theirs.intercepts_ = [np.array([[1.0]])], [np.zeros(1)]
        assert np.isinf(theirs.predict_log_proba(far)).any()


def test_the_unlikely_of_two_classes_keeps_its_probability():
    model = fitted(NUMBERS > 0, hidden_layer_sizes=())
    model.coefs_, model.intercepts_ = [np.array([[40.0], [0.0], [0.0]])], [np.zeros(1)]
    proba = model.predict_proba([[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(proba[0, 0], np.exp(-40), rtol=1e-12)


@pytest.mark.parametrize("container", [np.array, sp.csr_matrix, sp.csr_array])
def test_a_multilabel_prediction_has_the_form_of_the_target(container):
    y = container(np.stack([NUMBERS > 0, NUMBERS > 1, NUMBERS > 5], 1).astype(int))
    model = fitted(y)
    predicted = model.predict(X)
    assert sp.issparse(predicted) == sp.issparse(y)
    assert predicted.shape == (50, 3)
    assert model.out_activation_ == "logistic"
    assert model.classes_.tolist() == [0, 1, 2]


def test_multilabel_partial_fit_needs_no_classes_and_takes_any_batch():
    y = np.stack([NUMBERS > 0, NUMBERS > 1], axis=1).astype(int)
    model = MLPClassifier(solver="sgd", shuffle=False, random_state=0)
    named = MLPClassifier(solver="sgd", shuffle=False, random_state=0)
    for part in (slice(0, 20), slice(20, 21), slice(21, 50)):  # one row is a batch too
        model.partial_fit(X[part], y[part])
        named.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_array_equal(model.predict_proba(X), named.predict_proba(X))
    assert model.predict_proba(X).shape == (50, 2)
    with pytest.raises(DataError, match="y must have 2 columns of 0 and 1"):
        model.partial_fit(X, np.c_[y, y])


def test_partial_fit_learns_classes_that_come_late():
    model = MLPClassifier(random_state=0, learning_rate_init=0.05)
    for number in (0, 1, 2):
        rows = number == NUMBERS
        model.partial_fit(X[rows], NUMBERS[rows], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (50, 3)


def test_a_column_of_labels_is_flattened_with_a_warning():
    with (
        pytest.warns(DataConversionWarning, match="column-vector y"),
        warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
    ):
        model = MLPClassifier(**FEW).fit(X, NUMBERS[:, None])
    np.testing.assert_array_equal(model.predict(X), fitted(NUMBERS).predict(X))


def test_labels_that_json_does_not_hold_cannot_be_saved():
    labels = Labels(np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"))
    with pytest.raises(DataError, match="classes_ must be texts, numbers or truth values"):
        _pack_labels(labels, {})


MISTAKES = {
    "unknown label": (
        lambda: (
            MLPClassifier()
            .partial_fit(X, NUMBERS, classes=[0, 1, 2])
            .partial_fit(X, np.where(np.arange(50) == 4, 9, NUMBERS))
        ),
        r"classes not in `self.classes_`.*first unknown one is in row 4",
    ),
    "no classes": (lambda: MLPClassifier().partial_fit(X, NUMBERS), "classes must be passed"),
    "other classes": (
        lambda: (
            MLPClassifier()
            .partial_fit(X, NUMBERS, classes=[0, 1, 2])
            .partial_fit(X, NUMBERS, classes=[0, 1, 2, 3])
        ),
        "is not the same as on last call to partial_fit",
    ),
    "other classes with warm_start": (
        lambda: MLPClassifier(warm_start=True, max_iter=1).fit(X, NUMBERS).fit(X, NUMBERS * 2),
        r"Previously got \[0 1 2\], `y` has \[0 2 4\]",
    ),
    "multilabel after one label": (
        lambda: (
            MLPClassifier()
            .partial_fit(X, NUMBERS, classes=[0, 1, 2])
            .partial_fit(X, np.stack([NUMBERS > 0, NUMBERS > 1], axis=1).astype(int))
        ),
        "was not fitted with multilabel input",
    ),
    "another number than 0 and 1": (
        lambda: (
            MLPClassifier()
            .partial_fit(X, np.stack([NUMBERS > 0, NUMBERS > 1], axis=1).astype(int))
            .partial_fit(X[:2], [[0, 1], [1, 2]])
        ),
        r"y must be 0 or 1\. Got 2 in row 1, column 1",
    ),
    "several columns of classes": (
        lambda: MLPClassifier().fit(X, np.stack([NUMBERS, NUMBERS], axis=1)),
        "Multioutput target data is not supported",
    ),
    "numbers": (lambda: MLPClassifier().fit(X, X[:, 0]), "Unknown label type: continuous"),
    "missing label": (
        lambda: MLPClassifier().fit(X, np.where(np.arange(50) == 3, None, "a")),
        "y must have a label in every row. Got None in row 3",
    ),
    "mixed labels": (
        lambda: MLPClassifier().fit(X, np.array(["a"] * 49 + [1], dtype=object)),
        "y must have labels of one type. Got a text and int",
    ),
    "early stopping": (
        lambda: MLPClassifier(early_stopping=True).partial_fit(X, NUMBERS, classes=[0, 1, 2]),
        "partial_fit does not support early_stopping=True",
    ),
    "balanced": (
        lambda: MLPClassifier(class_weight="balanced").partial_fit(X, NUMBERS, classes=[0, 1, 2]),
        "class_weight must be None or a dict for partial_fit",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_that_do_not_fit_are_refused(mistake):
    call, sentence = MISTAKES[mistake]
    with pytest.raises(ValueError, match=sentence):
        call()
