"""Data of a wrong shape or kind end in one sentence with the cure."""

from __future__ import annotations

import numpy as np
import pytest

from lamina import DataError, MLPRegressor, TableClassifier, TableRegressor

X, Y = np.eye(6), np.arange(6.0)

CASES = {
    "no rows": (X[:0], Y[:0], None, "X must have at least one row"),
    "three dimensions": (X[None], Y, None, "X must be 2-D; flatten each sample to one row"),
    "another length": (X, Y[:4], None, r"y must have one entry for each row of X\."),
    "complex": (X * 1j, Y, None, "^Complex data not supported. X and y must hold real numbers"),
    "no weight": (X, Y, np.zeros(6), "sample_weight is 0 in every row. Leave it out"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_perceptron_says_what_to_do(case):
    x, y, weight, sentence = CASES[case]
    with pytest.raises(DataError, match=sentence) as caught:
        MLPRegressor().fit(x, y, sample_weight=weight)
    assert "\n" not in str(caught.value)


def test_a_table_of_three_dimensions_is_no_table():
    with pytest.raises(DataError, match=r"X must be two-dimensional.*shape \(1, 6, 6\)"):
        TableRegressor("fast").fit(X[None], Y)


def test_a_table_of_another_length_than_its_target():
    with pytest.raises(DataError, match="y must have one entry for each row of X"):
        TableRegressor("fast").fit(X, Y[:4])


def test_values_are_shown_as_plain_numbers():
    with pytest.raises(DataError, match=r"Got one class, 0\."):
        TableClassifier("fast").fit(X, np.zeros(6, dtype=int))
