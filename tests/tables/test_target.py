"""The target: told apart, taken out of the table, scaled and scaled back."""

import decimal

import numpy as np
import pandas as pd
import pytest

from lamina._errors import DataError, DataWarning
from lamina.tables import TargetScaler, class_target, infer_task, regression_target, split_target


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["no", "yes", "no"], "classification"),
        ([True, False], "classification"),
        (pd.Categorical([3, 1, 3]), "classification"),
        ([0, 1, 2, 1], "classification"),
        ([1, 2, 3, 4, 5], "classification"),
        ([-1, 1, 1], "classification"),
        ([10, 20, 20], "classification"),
        ([0.0, 1.0, np.nan], "classification"),
        ([3, 4, 5, 6, 7, 8, 9], "regression"),
        ([0, 1, 3], "regression"),
        (list(range(11)), "regression"),
        ([0.5, 1.0, 2.0], "regression"),
        (["1.5", "2.5", "9"], "regression"),
    ],
)
def test_task_is_read_off_the_target(y, task):
    assert infer_task(y) == task


def table():
    return pd.DataFrame({"a": [1, 2, 3, 4], "price": [1.5, np.nan, 2.5, 0.5]})


def test_split_drops_rows_without_target_and_counts_them():
    with pytest.warns(DataWarning, match="1 of 4 rows were dropped, because the target 'price'"):
        X, y = split_target(table(), "price")
    assert X.to_dict("list") == {"a": [1, 3, 4]}
    assert y.tolist() == [1.5, 2.5, 0.5]


def test_split_keeps_labels_as_they_are():
    frame = pd.DataFrame({"a": [1, 2, 3], "kind": ["x", "y", "x"]})
    X, y = split_target(frame, "kind")
    assert y.tolist() == ["x", "y", "x"]
    assert list(X.columns) == ["a"]


def test_split_takes_blank_labels_for_missing():
    frame = pd.DataFrame({"a": [1, 2, 3], "kind": ["x", " ", "y"]})
    with pytest.warns(DataWarning, match="1 of 3 rows"):
        _, y = split_target(frame, "kind")
    assert y.tolist() == ["x", "y"]


def test_split_reads_numbers_from_text():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "price": ["1e3", " 2.5 ", "?", "7"]})
    with pytest.warns(DataWarning):
        _, y = split_target(frame, "price")
    assert y.tolist() == [1000.0, 2.5, 7.0]


@pytest.mark.parametrize(
    ("frame", "target", "task", "message"),
    [
        (table(), "prize", "auto", "Got 'prize'. Did you mean 'price'?"),
        (table().assign(price=np.nan), "price", "auto", "'price' must hold the target. Got only"),
        (table().assign(price=None), "price", "classification", "Got only missing values"),
        (table()[["price"]], "price", "auto", "must have columns besides the target 'price'"),
        (
            pd.DataFrame({"a": [1, 2], "t": ["x", "y"]}),
            "t",
            "regression",
            "t must hold numbers for a regression. Got a category, for example 'x'",
        ),
        (pd.DataFrame({"a": [1, 2], "t": ["x", "x"]}), "t", "auto", "at least two classes"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["a", "t", "t"]),
            "t",
            "auto",
            "must have one column 't'. Got 2",
        ),
    ],
)
def test_split_says_what_is_wrong(frame, target, task, message):
    with pytest.raises(DataError) as caught:
        split_target(frame, target, task)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "y",
    [
        [1, 2],
        np.array([1, 2], dtype=np.int8),
        np.array([1, 2], dtype=np.float16),
        np.array([1, 9, 2, 9], dtype=np.float64)[::2],
        [decimal.Decimal("1"), decimal.Decimal("2")],
        np.array([1, 2], dtype=object),
        pd.Series([1, 2], dtype="Int64"),
        ["1", "2.0"],
        [[1], [2]],
    ],
    ids=repr,
)
def test_regression_target_takes_numbers_of_any_type(y):
    values = regression_target(y)
    assert values.dtype == np.float64
    assert values.ravel().tolist() == [1.0, 2.0]
    assert values.ndim == np.ndim(y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1.0, np.nan, np.nan], r"Got NaN in row 1 and 1 more"),
        ([1.0, np.inf], "infinity"),
        ([1j, 2], "Complex data not supported"),
        (np.zeros((2, 2, 2)), "one or two dimensions"),
        (["a", "b"], "must hold numbers for a regression. Got a category, for example 'a'"),
        (
            [[1.0, 2.0], [1.0, np.nan]],
            r"y\[:, 1\] must not contain missing values. Got NaN in row 1",
        ),
    ],
)
def test_regression_target_says_what_is_wrong(y, message):
    with pytest.raises(DataError, match=message):
        regression_target(y)


def test_classes_are_sorted_and_numbered():
    classes, codes = class_target(pd.Series(["b", "a", "c", "a"], dtype="category"))
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 0, 2, 0]


def test_unused_categories_are_no_classes():
    classes, _ = class_target(pd.Categorical(["a", "b"], categories=["a", "b", "never"]))
    assert classes.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        (["a", None, "b"], "Got NaN in row 1"),
        (["a", "a"], "at least two classes. Got one class, 'a'"),
        ([0.5, 1.7, 2.2], "Unknown label type: continuous"),
        (np.array([1, "a", 2], dtype=object), "labels of one type|Unknown label type"),
    ],
)
def test_class_target_says_what_is_wrong(y, message):
    with pytest.raises(DataError, match=message):
        class_target(y)


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_target_scaler_standardises_at_every_scale(scale, offset):
    base = np.array([1.0, 2.0, 4.0, 9.0]) + offset
    y = base * scale
    scaler = TargetScaler().fit(y)
    z = scaler.transform(y)
    # By hand on the small numbers: mean 4, variance (9 + 4 + 0 + 25) / 4 = 9.5.
    np.testing.assert_allclose(z, (np.array([1, 2, 4, 9]) - 4) / np.sqrt(9.5), atol=1e-9)
    np.testing.assert_allclose(scaler.inverse_transform(z), y, rtol=1e-15)


def test_target_scaler_weighs_rows_as_if_they_were_repeated():
    weighted = TargetScaler().fit([1.0, 5.0], sample_weight=[3, 1])
    repeated = TargetScaler().fit([1.0, 1.0, 1.0, 5.0])
    np.testing.assert_allclose(weighted.mean_, repeated.mean_)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_)


def test_target_scaler_gives_a_constant_back_exactly():
    y = np.full(7, 0.1)
    scaler = TargetScaler().fit(y)
    assert scaler.transform(y).tolist() == [0.0] * 7
    assert scaler.inverse_transform(np.zeros(2)).tolist() == [0.1, 0.1]


def test_target_scaler_treats_columns_apart():
    y = np.array([[1.0, 1e9], [3.0, 3e9]])
    scaler = TargetScaler().fit(y)
    assert scaler.transform(y).tolist() == [[-1, -1], [1, 1]]
    restored = TargetScaler._from_state(*scaler._to_state())
    assert restored.inverse_transform([[0, 0.5]]).tolist() == [[2.0, 2.5e9]]
