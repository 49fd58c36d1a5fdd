"""Rows of weight 0 in a transfer whose source is fitted to its rows: as good as absent."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from lamina import ContrastiveEncoder, DenoisingEncoder, TransferClassifier, TransferRegressor

X, Y = load_iris(return_X_y=True)
KEPT = np.arange(150) % 3 > 0
SETTINGS = {"hidden_layer_sizes": (8,), "max_steps": 10, "random_state": 0}


@pytest.mark.parametrize("more", [None, X[::2] + 0.1], ids=["alone", "unlabelled"])
@pytest.mark.parametrize(
    "source",
    [
        ContrastiveEncoder(pairs="class", **SETTINGS),
        ContrastiveEncoder(pairs="instance", **SETTINGS),
        DenoisingEncoder(**SETTINGS),
    ],
    ids=["class", "instance", "denoising"],
)
@pytest.mark.filterwarnings("ignore:.*equal to another row")
def test_rows_without_weight_are_absent_from_an_encoder_too(source, more):
    model = TransferClassifier(source)
    weighted = model.fit(X, Y, KEPT.astype(float), X_unlabelled=more).predict_proba(X)
    alone = model.fit(X[KEPT], Y[KEPT], X_unlabelled=more).predict_proba(X)
    assert np.allclose(weighted, alone, atol=1e-6)


def test_labels_stay_with_their_rows_where_some_have_no_weight():
    # With labels in the wrong rows the two halves would be one class each.
    source = ContrastiveEncoder(pairs="class", **SETTINGS)
    order = np.argsort(np.arange(150) % 2, kind="stable")
    rows, labels, weight = X[order], Y[order], np.repeat([0.0, 1.0], 75)
    model = TransferClassifier(source).fit(rows, labels, weight, X_unlabelled=X[:100] + 5)
    given = np.r_[labels[75:].astype(object), np.full(100, None)]
    by_hand = ContrastiveEncoder(pairs="class", **SETTINGS)
    by_hand.fit(np.concatenate([rows[75:], X[:100] + 5]), given)
    first = model.source_.networks[0].layers()[0][0]
    assert np.array_equal(first, by_hand.network_.layers()[0][0])


def test_sparse_rows_without_weight_reach_the_encoder():
    class Dense(DenoisingEncoder):
        def fit(self, X, y=None):
            assert sp.issparse(X)
            assert X.shape == (100, 4)
            return super().fit(X.toarray())

    model = TransferRegressor(Dense(**SETTINGS))
    sparse = model.fit(sp.csr_matrix(X), Y, KEPT.astype(float)).predict(X)
    assert np.allclose(sparse, model.fit(sp.csr_matrix(X[KEPT]), Y[KEPT]).predict(X), atol=1e-5)
