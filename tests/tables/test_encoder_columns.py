"""What each kind of column becomes; expectations are worked out by hand."""

import datetime
import decimal
import math

import numpy as np
import pandas as pd
import pytest

from lamina._errors import DataError
from lamina.tables import TableEncoder
from lamina.tables._number_embedding import quantile_edges


def encode(values, name="c", **parameters):
    """Return the matrix of one column by the names of its columns."""
    frame = pd.DataFrame({name: values})
    encoder = TableEncoder(dtype="float64", **({"n_bins": 0} | parameters))
    matrix = encoder.fit_transform(frame)
    np.testing.assert_array_equal(encoder.transform(frame), matrix)
    return dict(zip(encoder.get_feature_names_out(), matrix.T.tolist(), strict=True))


def kind(values):
    return TableEncoder().fit(pd.DataFrame({"c": values})).report().loc[0, "kind"]


def squashed(u):
    return u / math.sqrt(1 + (u / 3) ** 2)


# Numbers: the median of 1, 2, 3, 4, 9 is 3, the quartiles are 2 and 4.
FIVE = [1, 2, 3, 4, 9]
SCALED = [squashed(u) for u in (-1, -0.5, 0, 0.5, 3)]


@pytest.mark.parametrize(
    "values",
    [
        FIVE,
        [float(v) for v in FIVE],
        [str(v) for v in FIVE],
        [" 1", "2.0", "3e0", "+4", "9."],
        [decimal.Decimal(v) for v in FIVE],
        [1, "2", 3.0, decimal.Decimal(4), np.int8(9)],
        np.array(FIVE, dtype=np.int8),
        np.array(FIVE, dtype=np.uint64),
        np.array(FIVE, dtype=np.float16),
        np.array(FIVE, dtype=object),
        np.array(FIVE, dtype=">i4"),
        np.array(FIVE, dtype=np.longdouble),
        pd.array(FIVE, dtype="Int64"),
        pd.array(FIVE, dtype="Float32"),
        pd.to_timedelta(FIVE, unit="s"),
    ],
    ids=lambda values: str(getattr(values, "dtype", type(values[0]).__name__)),
)
def test_a_number_is_centred_scaled_and_clipped(values):
    columns = encode(values)
    assert list(columns) == ["c"]
    np.testing.assert_allclose(columns["c"], SCALED, rtol=1e-12)


@pytest.mark.parametrize("offset", [1e9, 1.7e9, -1e12])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_large_offset_loses_nothing(offset, scale):
    values = offset + scale * np.array(FIVE)
    np.testing.assert_allclose(encode(values)["c"], SCALED, atol=0.3 * abs(offset) * 1e-15 / scale)
    single = TableEncoder().fit_transform(pd.DataFrame({"c": values}))
    np.testing.assert_allclose(single[:, 0], SCALED, atol=1e-6 + abs(offset) * 1e-15 / scale)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e300, 1e307])
def test_extreme_scales_stay_finite(scale):
    np.testing.assert_allclose(encode(np.array(FIVE) * scale)["c"], SCALED, rtol=1e-6)


def test_integers_beyond_float64_keep_their_last_digits():
    nanoseconds = 1_700_000_000_000_000_000 + np.array(FIVE)
    np.testing.assert_allclose(encode(nanoseconds)["c"], SCALED, rtol=1e-12)
    np.testing.assert_allclose(encode(pd.array(nanoseconds, dtype="Int64"))["c"], SCALED)


def test_outliers_are_held_back():
    values = encode([*range(100), 1e12])["c"]
    assert max(values) == pytest.approx(3.0)
    assert min(values) == pytest.approx(squashed(-1))


def test_two_values_become_plus_and_minus_one():
    assert encode([0, 0, 0, 7])["c"] == pytest.approx([-1, -1, -1, 1])
    assert encode([0.0, 7.0, np.nan])["c"] == pytest.approx([-1, 1, 0])


def test_a_number_that_is_mostly_one_value_is_scaled_by_the_others():
    # Half of the rows are 0: the quartiles agree. The others lie 4, 5 and 8 away; median 5.
    np.testing.assert_allclose(
        encode([0] * 12 + [4, 5, 8])["c"], [0.0] * 12 + [squashed(u) for u in (0.8, 1.0, 1.6)]
    )


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, None, 4, 9],
        [1, 2, 3, math.nan, 4, 9],
        ["1", "2", "3", "?", "4", "9"],
        ["1", "2", "3", " NA ", "4", "9"],
        ["1", "2", "3", "", "4", "9"],
        [1, 2, 3, pd.NA, 4, 9],
        pd.array([1, 2, 3, None, 4, 9], dtype="Int64"),
    ],
    ids=repr,
)
def test_a_missing_number_is_the_centre_and_has_a_column(values):
    columns = encode(values)
    assert columns["c missing"] == [0, 0, 0, 1, 0, 0]
    np.testing.assert_allclose(columns["c"], [*SCALED[:3], 0, *SCALED[3:]], rtol=1e-12)


def test_a_missing_number_lies_in_the_bin_of_the_centre():
    columns = encode([0.5, 1.5, 2.5, 3.5, 4.5, np.nan], n_bins=2)
    assert columns["c"][5] == columns["c"][2] == 0
    assert columns["c part 1"][5] == columns["c part 1"][2] == 1
    assert columns["c part 2"][5] == columns["c part 2"][2] == 0


def test_codes_of_few_values_have_an_edge_each():
    # Between neighbouring edges only one level lies, so any function of the codes is linear.
    columns = encode([1, 1, 2, 2, 7, 7], n_bins=8)
    assert list(columns) == ["c", "c part 1", "c part 2"]
    assert columns["c part 1"] == [0, 0, 1, 1, 1, 1]
    assert columns["c part 2"] == [0, 0, 0, 0, 1, 1]


def test_frequent_values_of_a_number_that_is_mostly_zero_enter_one_by_one():
    values = [0] * 200 + [5] * 12 + [7] * 11 + [8] * 10 + [9] * 9
    columns = encode(values, max_codes=3)
    # 9 is too rare; the three most frequent ones of the others.
    assert [name for name in columns if "=" in name] == ["c=0", "c=5", "c=7"]
    assert columns["c=5"] == [0] * 200 + [1] * 12 + [0] * 30
    assert [name for name in encode(values) if "=" in name] == ["c=0", "c=5", "c=7", "c=8"]
    assert [name for name in encode(values, max_codes=0) if "=" in name] == []
    # Evenly spread numbers have their bins.
    assert list(encode([1, 2, 3] * 50)) == ["c"]


def test_quantile_bins_say_how_far_a_value_has_come():
    columns = encode([0.5, 1.5, 2.5, 3.5, 4.5], n_bins=2)
    # Edges at the minimum, median and maximum. Scaled values: the quartiles are 1.5 and 3.5.
    low, high = squashed(-1), squashed(-0.5)
    np.testing.assert_allclose(columns["c part 1"], [0, 1 - high / low, 1, 1, 1], atol=1e-12)
    np.testing.assert_allclose(columns["c part 2"], [0, 0, 0, high / low, 1], atol=1e-12)


def test_bins_are_where_values_are_dense_and_where_they_are_not():
    # 60 zeros and 1 to 40: quantiles of all values are 0 up to the 60th percent.
    values = np.array([0] * 60 + [*range(1, 41)], dtype=float)
    edges = quantile_edges(values, 4)
    # All values at 0, 50 and 100 %: 0, 0, 40. Distinct ones at 25 and 75 %: 10, 30.
    assert edges.tolist() == [0, 10, 30, 40]


def test_edges_that_float32_cannot_tell_apart_are_one():
    assert quantile_edges(np.array([0.0, 1e-300, 1e-9, 1.0]), 8).tolist() == []
    assert quantile_edges(np.array([0.0, 1e-300, 0.5, 1.0]), 8).tolist() == [0.0, 0.5, 1.0]


def test_automatic_bins_follow_rows_and_columns():
    def bins(n_rows, n_columns):
        X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
        names = TableEncoder().fit(X).get_feature_names_out()
        return (len(names) - n_columns) / n_columns

    assert bins(20, 1) == 2
    assert bins(256, 1) == bins(5000, 1) == 32
    assert bins(8000, 1) == 50
    assert bins(20_000, 1) == 96
    assert bins(256, 48) == 16
    assert bins(20, 400) == 0


@pytest.mark.parametrize(
    "values",
    [
        [True, False, True],
        np.array([True, False, True], dtype=object),
        pd.array([True, False, True], dtype="boolean"),
    ],
    ids=["bool", "object", "boolean"],
)
def test_truth_values(values):
    assert encode(values) == {"c": pytest.approx([1, -1, 1])}
    assert kind(values) == "boolean"


@pytest.mark.parametrize("absent", [None, math.nan, pd.NA])
def test_truth_values_with_missing_ones(absent):
    columns = encode(pd.Series([True, absent, False], dtype=object))
    assert columns == {"c": pytest.approx([1, 0, -1]), "c missing": [0, 1, 0]}


@pytest.mark.parametrize(
    "values",
    [
        list("abac"),
        pd.Categorical(list("abac")),
        pd.Categorical(list("abac"), categories=list("xcbay"), ordered=True),
        pd.array(list("abac"), dtype="string"),
        np.array(list("abac")),
        np.array(list("abac"), dtype=object),
    ],
    ids=["list", "category", "ordered", "string", "str_", "object"],
)
def test_levels_get_a_column_each(values):
    assert encode(values) == {"c=a": [1, 0, 1, 0], "c=b": [0, 1, 0, 0], "c=c": [0, 0, 0, 1]}


def test_two_levels_share_a_column():
    assert encode(list("abaa")) == {"c=a": [1, -1, 1, 1]}


@pytest.mark.parametrize("absent", [None, math.nan, pd.NA, "", "  "])
def test_missing_categories(absent):
    columns = encode(pd.Series(["a", "b", absent, "c"], dtype=object))
    assert columns["c missing"] == [0, 0, 1, 0]
    assert columns["c=b"] == [0, 1, 0, 0]


def test_one_level_and_missing_tell_only_what_is_missing():
    assert encode(["a", None, "a"]) == {"c missing": [0, 1, 0]}
    assert encode([5.0, None, 5.0]) == {"c missing": [0, 1, 0]}
    dates = pd.to_datetime(["2026-01-01", None])
    assert encode(dates) == {"c missing": [0, 1]}


def test_truth_and_one_are_two_levels():
    columns = encode(pd.Series([True, 1, 1, 0, 0, 0, None], dtype=object))
    assert columns == {
        "c=0": [0, 0, 0, 1, 1, 1, 0],
        "c=1": [0, 1, 1, 0, 0, 0, 0],
        "c=True": [1, 0, 0, 0, 0, 0, 0],
        "c missing": [0, 0, 0, 0, 0, 0, 1],
    }


def test_codes_with_leading_zeros_are_categories():
    assert list(encode(["02139", "90210", "02139", "10001"])) == ["c=02139", "c=10001", "c=90210"]


def test_numbers_can_be_called_categories():
    expected = {"c=1": [1, 0, 0, 1], "c=2.5": [0, 1, 0, 0], "c=7": [0, 0, 1, 0]}
    assert encode([1, 2.5, 7, 1], categorical_features=["c"]) == expected
    assert encode([1, 2.5, 7, 1], categorical_features=[0]) == expected
    assert encode(["1", "2.50", "7.0", 1.0], categorical_features=["c"])["c=1"] == [1, 0, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        ["2026-01-31", "2026-02-01", "2027-01-01"],
        [datetime.date(2026, 1, 31), datetime.date(2026, 2, 1), datetime.date(2027, 1, 1)],
        pd.to_datetime(["2026-01-31", "2026-02-01", "2027-01-01"]),
        pd.to_datetime(["2026-01-31", "2026-02-01", "2027-01-01"]).tz_localize("UTC"),
        pd.to_datetime(["2026-01-31", "2026-02-01", "2027-01-01"]).as_unit("ns"),
        pd.PeriodIndex(["2026-01-31", "2026-02-01", "2027-01-01"], freq="D"),
        pd.to_datetime(["2026-01-31", "2026-02-01", "2027-01-01"]).astype(object),
    ],
    ids=["text", "date", "datetime", "utc", "ns", "period", "timestamps"],
)
def test_dates_become_elapsed_time_and_cycles(values):
    columns = encode(values)
    # Days since the second date: -1, 0, 334. Quartiles -0.5 and 167.
    np.testing.assert_allclose(
        columns["c elapsed"], [squashed(u / 167.5) for u in (-1, 0, 334)], rtol=1e-9
    )
    turn = [2 * math.pi * day / 366 for day in (30, 31, 0)]
    np.testing.assert_allclose(columns["c day of year sine"], np.sin(turn), atol=1e-12)
    np.testing.assert_allclose(columns["c day of year cosine"], np.cos(turn), atol=1e-12)
    # Saturday, Sunday, Friday, counted from Monday.
    week = [2 * math.pi * day / 7 for day in (5, 6, 4)]
    np.testing.assert_allclose(columns["c weekday sine"], np.sin(week), atol=1e-12)
    assert "c time of day sine" not in columns


def test_time_of_day_and_time_zones():
    columns = encode(["2026-01-01T06:00:00+00:00", "2026-01-01T13:00:00+01:00"])
    assert list(columns) == ["c elapsed", "c time of day sine", "c time of day cosine"]
    np.testing.assert_allclose(columns["c time of day sine"], [1, 0], atol=1e-12)
    np.testing.assert_allclose(columns["c time of day cosine"], [0, -1], atol=1e-12)


def test_seconds_apart_in_this_century_stay_apart():
    moments = pd.to_datetime(["2026-11-30"] * 5) + pd.to_timedelta(FIVE, unit="s")
    np.testing.assert_allclose(encode(moments)["c elapsed"], SCALED, rtol=1e-9)


@pytest.mark.parametrize("absent", [None, pd.NaT, ""])
def test_missing_dates(absent):
    columns = encode(pd.Series(["2026-01-01", absent, "2026-01-03"], dtype=object))
    assert columns["c missing"] == [0, 1, 0]
    assert columns["c elapsed"] == pytest.approx([-1, 0, 1])
    assert columns["c weekday cosine"][1] == 0


def test_far_dates_are_dates_and_impossible_ones_are_not():
    assert kind(["1500-01-01", "9999-12-31", "2026-01-01"]) == "date"
    assert kind(["0000-00-00", "2026-01-01", "2026-01-01"]) == "category"


@pytest.mark.parametrize("word", ["inf", "-Infinity"])
def test_infinity_in_text_is_infinity(word):
    with pytest.raises(DataError, match=r"'c' must not contain infinity.* in row 1"):
        encode(["1", word, "2"])


@pytest.mark.parametrize("value", [math.inf, -math.inf, 10**400])
def test_infinity_names_column_and_row(value):
    with pytest.raises(DataError, match=r"'c' must not contain infinity.* in row 2"):
        encode(pd.Series([1.0, 2.0, value], dtype=object))


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, np.zeros(2)])
def test_containers_cannot_be_columns(value):
    with pytest.raises(DataError, match=r"'c' must hold numbers, text, .* in row 1"):
        encode(pd.Series(["a", value, "b"], dtype=object))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1_000", "2"], "category"),
        (["$5", "$6"], "category"),
        (["NA", "unknown"], "category"),
        (["?", "-"], "category"),
        ([1, "a"], "category"),
        ([True, "a"], "category"),
        ([True, 2], "category"),
        ([True, 1, 0], "category"),
        (["inf", "-inf"], "category"),
        (pd.interval_range(0, 3), "category"),
        (["2026-01-01", "soon"], "category"),
        ([None, 1], "number"),
        (["1e5", "-.5"], "number"),
    ],
)
def test_what_a_column_is_taken_for(values, expected):
    assert kind(pd.Series(values)) == expected
