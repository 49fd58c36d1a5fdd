"""Columns that a transfer reads: found by name or refused by name, never taken for others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from lamina import (
    CrossModalEncoder,
    DataError,
    DenoisingEncoder,
    MLPClassifier,
    ParameterError,
    TransferClassifier,
)
from lamina._errors import DataWarning
from lamina.estimators import Trunk
from lamina.tables import TableEncoder

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"))
SWAPPED = FRAME[list("dcba")]
RENAMED = FRAME.rename(columns=str.upper)


def encoder():
    return DenoisingEncoder(hidden_layer_sizes=(8,), max_steps=20, random_state=0)


def pipelines():
    return [
        make_pipeline(StandardScaler(), encoder()),
        make_pipeline("passthrough", encoder()),
        make_pipeline("passthrough", StandardScaler(), encoder()),
        make_pipeline(StandardScaler(), MinMaxScaler(), encoder()),
        make_pipeline(FunctionTransformer(np.log1p), encoder()),
    ]


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("fitted", [False, True])
def test_a_pipeline_takes_frames_and_lists_as_it_takes_arrays(place, fitted):
    def model(rows):
        source = pipelines()[place]
        return TransferClassifier(source.fit(rows) if fitted else source).fit(rows, Y)

    expected = model(X).predict_proba(X)
    by_frame = model(FRAME)
    assert np.allclose(by_frame.predict_proba(FRAME), expected)
    rows = X.tolist()
    assert np.allclose(model(rows).predict_proba(rows), expected)
    with pytest.raises(ValueError, match=r"columns|feature names"):
        by_frame.predict(SWAPPED)
    with pytest.raises(ValueError, match="features"):
        model(X).predict(X[:, :2].tolist())


def test_a_step_after_a_scaling_may_fill_what_is_missing():
    holes = FRAME.mask(FRAME > 6.5)
    source = make_pipeline(StandardScaler(), SimpleImputer(), encoder())
    model = TransferClassifier(source).fit(holes, Y)
    assert np.isfinite(model.predict_proba(holes)).all()


@pytest.mark.parametrize(
    "source",
    [
        None,
        encoder(),
        make_pipeline(StandardScaler(), encoder()),
        MLPClassifier((8,), solver="lbfgs", alpha=1.0, tol=1e-1).fit(FRAME, Y),
    ],
    ids=["none", "encoder", "pipeline", "classifier"],
)
def test_unlabelled_rows_of_other_columns_are_refused_by_name(source):
    model = TransferClassifier(source)
    for more, wrong in ((SWAPPED, "'d' in place 0, where 'a'"), (RENAMED, "'A' in place 0")):
        with pytest.raises(DataError, match=rf"X_unlabelled must have the columns of X.*{wrong}"):
            model.fit(FRAME, Y, X_unlabelled=more)
    assert model.fit(FRAME, Y, X_unlabelled=FRAME[:40]).transfer_.n_unlabelled == 40
    assert model.fit(FRAME, Y, X_unlabelled=X[:40]).transfer_.n_unlabelled == 40


@pytest.mark.parametrize(
    "first",
    [
        MinMaxScaler(),
        TableEncoder(n_bins=0),
        make_column_transformer((MinMaxScaler(), list("abcd"))),
    ],
)
@pytest.mark.parametrize("fitted", [False, True])
def test_columns_that_are_read_by_name_may_come_in_any_order(first, fitted):
    source = make_pipeline(first, encoder())
    model = TransferClassifier(source.fit(FRAME) if fitted else source)
    expected = model.fit(FRAME, Y, X_unlabelled=FRAME).predict_proba(FRAME)
    assert np.array_equal(model.fit(FRAME, Y, X_unlabelled=SWAPPED).predict_proba(FRAME), expected)
    with pytest.raises(DataError, match=r"must have the columns of X. Got none of the name 'a'"):
        model.fit(FRAME, Y, X_unlabelled=RENAMED)
    with pytest.warns(DataWarning, match=r"that X has not; they are ignored: \['z'\]"):
        model.fit(FRAME, Y, X_unlabelled=FRAME.assign(z=1.0))
    assert np.array_equal(model.predict_proba(FRAME), expected)


def test_a_trunk_knows_its_columns():
    network = MLPClassifier((8,), solver="lbfgs", alpha=1.0, tol=1e-1).fit(FRAME, Y)
    scaled = make_pipeline(StandardScaler(), encoder()).fit(FRAME)
    for model in (
        network,
        encoder().fit(FRAME),
        scaled,
        TransferClassifier(network).fit(FRAME, Y),
    ):
        trunk = Trunk.of(model)
        features = trunk.transform(FRAME)
        for same in (X, X.tolist(), X.astype(object), X.astype(str), sp.csc_array(X)):
            assert np.allclose(trunk.transform(same), features)
        with pytest.raises(DataError, match="'d' in place 0, where 'a' belongs"):
            trunk.transform(SWAPPED)
        with pytest.raises(DataError, match="X must have 4 features"):
            trunk.transform(X[:, :2])
        with pytest.raises(DataError, match="Expected 2D array"):
            trunk.transform(X[0])
        with pytest.raises(DataError, match=r"the text 'u' in row 0, column 1"):
            trunk.transform([[1.0, "u", 1.0, 1.0]])


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (FRAME.mask(FRAME["a"] > 7.5), "X_unlabelled contains NaN in row 105, column 'a'"),
        (np.where(X > 7.5, np.inf, X), "X_unlabelled contains infinity in row 105, column 0"),
        (FRAME[:0], "X_unlabelled must have at least one row"),
        (
            FRAME.astype(object).replace(7.9, "X"),
            "X_unlabelled must hold numbers. Got the text 'X'",
        ),
        (X[0], "Expected 2D array"),
    ],
)
def test_unlabelled_rows_that_cannot_be_used_are_told(more, sentence):
    with pytest.raises(DataError, match=sentence):
        TransferClassifier().fit(FRAME, Y, X_unlabelled=more)


def test_tables_of_no_table_are_told():
    model = TransferClassifier(make_pipeline(TableEncoder(n_bins=0), encoder())).fit(FRAME, Y)
    with pytest.raises(DataError, match=r"X must be a table of rows and columns"):
        model.predict({"a": 1})
    with pytest.raises(DataError, match=r"one entry for each of the 150 rows of X. Got 3"):
        model.fit(FRAME, 3)
    with pytest.raises(DataError, match="X_unlabelled must have at least one row"):
        model.fit(FRAME, Y, X_unlabelled=FRAME[:0])


def test_an_encoder_of_pairs_is_not_fitted_here():
    with pytest.raises(ParameterError, match="must be fitted to its pairs before"):
        TransferClassifier(CrossModalEncoder()).fit(X, Y)


@pytest.mark.parametrize("kind", ["array", "list", "series"])
def test_missing_targets_are_told_where_to_go(kind):
    labels = [None if i == 3 else "ab"[i % 2] for i in range(len(FRAME))]
    y = {"array": np.array(labels, dtype=object), "list": labels, "series": pd.Series(labels)}[
        kind
    ]
    with pytest.raises(DataError, match=r"Got none in row 3.*Give rows without a target as X_unl"):
        TransferClassifier().fit(FRAME, y)


def test_a_path_and_a_class_are_no_models():
    with pytest.raises(ValueError, match=r"Load a saved one first: lamina.load\('encoder'\)"):
        TransferClassifier("encoder").fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"Make one of the class: DenoisingEncoder\(\)"):
        TransferClassifier(DenoisingEncoder).fit(FRAME, Y)
