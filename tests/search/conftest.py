"""What the tests of the search share: small data and a small network."""

from __future__ import annotations

import pytest
from sklearn.datasets import make_classification, make_regression

from lamina import MLPClassifier, MLPRegressor
from lamina.search._ledger import open_ledger


@pytest.fixture
def classes():
    """Return 90 rows of three classes."""
    return make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)


@pytest.fixture
def numbers():
    """Return 80 rows and a number."""
    return make_regression(80, 4, noise=5.0, random_state=0)


@pytest.fixture
def classifier():
    """Return a network that trains for nine epochs."""
    return MLPClassifier((6,), max_iter=9, batch_size=16, random_state=0, n_iter_no_change=50)


@pytest.fixture
def regressor():
    """Return a network for numbers."""
    return MLPRegressor(
        hidden_layer_sizes=(6,), max_iter=9, batch_size=16, random_state=0, n_iter_no_change=50
    )


@pytest.fixture
def open_file(tmp_path):
    """Return a function that opens a ledger of one search in one file, closed at the end."""
    for package in ("sqlalchemy", "optuna"):
        pytest.importorskip(package, reason="the extra lamina[search] is not installed")
    opened = []

    def open_again(name="search.db", fingerprint="f" * 40, seed=7, lease=30.0, spec=None):
        ledger = open_ledger(tmp_path / name, fingerprint, seed, spec or {}, lease=lease)
        opened.append(ledger)
        return ledger

    yield open_again
    for ledger in opened:
        ledger.close()
