"""Which rows are held out: shares, rare classes, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from lamina._errors import DataError, ParameterError
from lamina.estimators import MLPClassifier
from lamina.estimators._validation_split import hold_out


def split(numbers, fraction, seed=0):
    numbers = np.asarray(numbers)
    rows = np.arange(len(numbers)) * 3  # rows need not be 0 to n - 1
    train, valid = hold_out(rows, fraction, np.random.RandomState(seed), numbers)
    return train // 3, valid // 3


@given(
    counts=st.lists(st.integers(1, 40), min_size=3, max_size=8),
    fraction=st.floats(0.05, 0.6),
    seed=st.integers(0, 100),
)
def test_every_class_keeps_a_row_and_gives_its_share(counts, fraction, seed):
    numbers = np.random.RandomState(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    n, n_valid = len(numbers), math.ceil(fraction * len(numbers))
    if n_valid < 2 or n_valid > n - len(counts):
        with pytest.raises(DataError, match="validation set is too"):
            split(numbers, fraction, seed)
        return
    train, valid = split(numbers, fraction, seed)
    assert sorted([*train, *valid]) == list(range(n))
    assert len(valid) == n_valid
    assert set(numbers[train]) == set(range(len(counts)))
    shares = np.bincount(numbers[valid], minlength=len(counts))
    ideal = np.array(counts) * n_valid / n
    assert (shares <= np.maximum(np.array(counts) - 1, 0)).all()
    # A class is off by a whole row or more only to make room for one that has to keep its last.
    if (ideal < np.array(counts) - 1).all():
        assert (np.abs(shares - ideal) < 1 + 1e-9).all()


def test_a_class_with_one_row_is_trained_on_and_never_held_out():
    numbers = [0] * 30 + [1] * 30 + [2]
    for seed in range(20):
        train, _ = split(numbers, 0.3, seed)
        assert 60 in train


def test_two_classes_are_split_as_scikit_learn_splits_them():
    numbers = np.array([0] * 30 + [1] * 12)
    train, valid = split(numbers, 0.25, seed=5)
    wanted = train_test_split(
        np.arange(42), test_size=0.25, random_state=np.random.RandomState(5), stratify=numbers
    )
    np.testing.assert_array_equal(train, wanted[0])
    np.testing.assert_array_equal(valid, wanted[1])


def test_of_two_classes_none_is_lost_to_the_held_out_rows():
    numbers = np.array([0] * 98 + [1] * 2)
    for seed in range(10):
        train, _ = split(numbers, 0.9, seed)
        assert set(numbers[train]) == {0, 1}


def test_without_classes_the_split_is_scikit_learns():
    train, valid = hold_out(np.arange(20), 0.3, np.random.RandomState(1))
    wanted = train_test_split(np.arange(20), test_size=0.3, random_state=np.random.RandomState(1))
    np.testing.assert_array_equal(train, wanted[0])
    np.testing.assert_array_equal(valid, wanted[1])


@pytest.mark.parametrize(
    ("numbers", "fraction", "kind", "sentence"),
    [
        ([0] * 9, 0.0, ParameterError, "validation_fraction must be above 0"),
        ([0] * 9, 0.1, DataError, r"validation set is too small.* Got 1 of 9 rows"),
        ([0, 1, 2] * 3, 0.1, DataError, "validation set is too small"),
        ([0, 1, 2] * 3, 0.7, DataError, "without a row to train on"),
        ([0] * 9, 0.95, DataError, "training set is empty"),
        ([0] * 9 + [1], 0.2, ValueError, "The least populated classes in y have only 1 member"),
    ],
)
def test_what_cannot_be_split_is_refused(numbers, fraction, kind, sentence):
    with pytest.raises(kind, match=sentence):
        split(numbers, fraction)


def test_rows_without_weight_are_never_held_out(monkeypatch):
    seen = []
    original = hold_out

    def spy(rows, *rest):
        seen.append(rows)
        return original(rows, *rest)

    monkeypatch.setattr("lamina.estimators._members.hold_out", spy)
    X = np.random.RandomState(0).normal(size=(40, 2))
    weight = np.repeat([1.0, 0.0], 20)
    model = MLPClassifier((3,), early_stopping=True, tol=1.0, n_iter_no_change=1, random_state=0)
    model.fit(X, np.arange(40) % 3, weight)
    np.testing.assert_array_equal(seen[0], np.arange(20))
    assert model.t_ == model.n_iter_ * 18
