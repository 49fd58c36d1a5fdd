"""Sparse rows of a transfer: the same answers as from dense ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from lamina import MLPClassifier, Network, TransferClassifier, TransferRegressor
from lamina.estimators import Trunk

X, Y = load_iris(return_X_y=True)
SPARSE = sp.csr_matrix(X)


@pytest.fixture(scope="module")
def source():
    return MLPClassifier((12, 6, 5), solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0).fit(X, Y)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("activation", ["relu", "prelu"])
def test_features_of_sparse_rows_are_those_of_dense_ones(n_layers, activation):
    network = Network((4, 12, 6, 5, 3), activation, random_state=0)
    for slope in network._slopes.values():
        slope.data[:] = slope.data + 0.3
    features = network.hidden(X)[n_layers - 1]
    trunk = Trunk.of(network, n_layers)
    assert np.allclose(trunk.transform(X), features)
    assert np.allclose(trunk.transform(SPARSE), features)


@pytest.mark.parametrize("strategy", ["frozen", "last", "fine_tune"])
@pytest.mark.parametrize("kind", [TransferClassifier, TransferRegressor])
def test_a_transfer_learns_the_same_from_sparse_rows(source, strategy, kind):
    model = kind(source, strategy, random_state=0)
    answer = "predict_proba" if kind is TransferClassifier else "predict"
    dense = getattr(model.fit(X, Y), answer)(X)
    assert np.allclose(getattr(model.fit(SPARSE, Y), answer)(SPARSE), dense, atol=1e-4)
    assert np.allclose(getattr(model.fit(X, Y, X_unlabelled=SPARSE), answer)(X), dense, atol=1e-4)
    assert np.allclose(getattr(model.fit(SPARSE, Y, X_unlabelled=X), answer)(X), dense, atol=1e-4)
