"""The encoder on whole tables: what is dropped, learned of many levels, and checked."""

import json

import numpy as np
import pandas as pd
import pytest

from lamina import _json
from lamina._errors import DataError, DataWarning, ParameterError
from lamina.tables import TableEncoder


def mixed(n=40):
    """Return a table with a column of every kind."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "code": rng.integers(0, 3, n),
            "flag": rng.random(n) < 0.5,
            "kind": rng.choice(list("abc"), n),
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )


def notes(frame, **parameters):
    report = TableEncoder(**parameters).fit(frame).report()
    return dict(zip(report["column"], report["note"], strict=True))


def test_columns_that_cannot_help_are_dropped_and_named():
    frame = mixed().assign(
        one=1.0,
        level="x",
        same=pd.Timestamp("2026-01-01"),
        nothing=None,
        nan=np.nan,
        copy=mixed()["number"],
        kind2=mixed()["kind"].astype("category"),
        text_copy=mixed()["number"].map(repr),
        identifier=[f"id {i}" for i in range(40)],
    )
    found = notes(frame)
    for column, note in {
        "one": "dropped: constant",
        "level": "dropped: constant",
        "same": "dropped: constant",
        "nothing": "dropped: all values missing",
        "nan": "dropped: all values missing",
        "copy": "dropped: same as 'number'",
        "kind2": "dropped: same as 'kind'",
        "text_copy": "dropped: same as 'number'",
        "identifier": "dropped: identifier: every value is different",
    }.items():
        assert found[column] == note
    without = TableEncoder().fit_transform(mixed())
    np.testing.assert_array_equal(TableEncoder().fit_transform(frame), without)


def test_columns_that_are_nearly_copies_are_kept():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "twice": [2.0, 4.0, 8.0], "l": list("xyx")})
    frame["m"] = frame["l"].replace({"x": "u", "y": "v"})
    assert all(note == "" for note in notes(frame).values())


def test_report_counts_values_missing_ones_and_features():
    frame = mixed()
    frame.loc[[3, 5], "kind"] = None
    report = TableEncoder().fit(frame).report().set_index("column")
    assert report.loc["kind", ["kind", "distinct", "missing", "features"]].tolist() == [
        "category",
        3,
        2,
        4,
    ]
    assert report.loc["code", ["kind", "distinct", "features", "note"]].tolist() == [
        "number",
        3,
        3,
        "",
    ]
    assert report["features"].sum() == TableEncoder().fit_transform(frame).shape[1]


def test_a_table_without_use_gives_one_zero_column_and_says_why():
    frame = pd.DataFrame({"a": [1, 1], "b": [None, None]})
    with pytest.warns(DataWarning, match="a dropped: constant; b dropped: all values missing"):
        matrix = TableEncoder().fit_transform(frame)
    assert matrix.tolist() == [[0.0], [0.0]]


# Many levels.


def many_levels(n=4000, n_levels=300, seed=1):
    rng = np.random.default_rng(seed)
    level = np.minimum(rng.geometric(0.02, n) - 1, n_levels - 1)
    effect = rng.normal(size=n_levels)
    y = effect[level] + 0.1 * rng.normal(size=n)
    return pd.DataFrame({"c": [f"level {i}" for i in level]}), y


def test_many_levels_keep_the_frequent_ones_and_learn_the_mean_of_all():
    frame, y = many_levels()
    encoder = TableEncoder(max_levels=8, dtype="float64").fit(frame, y)
    names = encoder.get_feature_names_out().tolist()
    top = frame["c"].value_counts()
    assert len(names) == 8 + 2
    assert {name.removeprefix("c=") for name in names[:8]} == set(top.index[:8])
    assert names[8:] == ["c frequency", "c mean 0"]
    assert encoder.report().loc[0, "note"] == "the 8 most frequent levels by themselves"

    # The mean column is an affine map of the smoothed level means.
    matrix = encoder.transform(frame)
    means = pd.Series(y).groupby(frame["c"]).transform("mean")
    frequent = frame["c"].isin(top.index[top > 50]).to_numpy()
    assert np.corrcoef(matrix[frequent, -1], means[frequent])[0, 1] > 0.9999
    counts = frame["c"].map(top)
    np.testing.assert_allclose(np.corrcoef(matrix[:, -2], np.log1p(counts))[0, 1], 1)


def test_the_mean_of_fitted_rows_does_not_contain_their_own_target():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": [f"pair {i // 2}" for i in range(2000)]})
    y = rng.normal(size=2000)  # noise: a level tells nothing
    learned = TableEncoder(max_levels=8).fit_transform(frame, y)[:, -1]
    seen_again = TableEncoder(max_levels=8).fit(frame, y).transform(frame)[:, -1]
    # Standard error of a correlation of 2000 rows is 0.022.
    assert abs(np.corrcoef(learned, y)[0, 1]) < 0.09
    assert np.corrcoef(seen_again, y)[0, 1] > 0.3


def test_mean_targets_of_classes_have_a_column_each_up_to_a_limit():
    frame, y = many_levels()
    few, many = np.digitize(y, [-1, 0, 1]), np.digitize(y, np.linspace(-2, 2, 30))
    means = [
        sum(
            " mean " in name
            for name in TableEncoder(max_levels=8).fit(frame, t).get_feature_names_out()
        )
        for t in (y, y > 0, few, many)
    ]
    assert means == [1, 1, 4, 0]
    whole = TableEncoder(max_levels=8, target_type="continuous").fit(frame, many)
    assert "c mean 0" in whole.get_feature_names_out()


def test_without_target_there_are_no_means():
    frame, _ = many_levels()
    names = TableEncoder(max_levels=8).fit(frame).get_feature_names_out()
    assert names[-1] == "c frequency"


def test_a_hundred_thousand_levels():
    n = 150_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.integers(0, 100_000, n).astype(str) + rng.choice(["a"], n)})
    matrix = TableEncoder().fit_transform(frame, rng.normal(size=n))
    assert matrix.shape == (n, 34)
    assert np.isfinite(matrix).all()


def test_unseen_levels_get_no_column_and_the_overall_mean():
    frame, y = many_levels()
    encoder = TableEncoder(max_levels=8, dtype="float64").fit(frame, y)
    row = encoder.transform(pd.DataFrame({"c": ["never seen"]}))[0]
    assert row[:8].tolist() == [0] * 8
    # As many levels as rows average out to the mean of y, which is 0 after standardisation.
    learned = TableEncoder(max_levels=8, dtype="float64").fit_transform(frame, y)[:, -1]
    assert abs(row[9] - learned.mean()) < 0.05
    assert row[8] < encoder.transform(frame)[:, 8].min()


# New rows.


def test_unseen_and_newly_missing_values_become_zero():
    encoder = TableEncoder(n_bins=0).fit(mixed())
    new = mixed().iloc[:2].astype(object)
    new.loc[0] = [None, 7, None, "z", None]
    row = dict(zip(encoder.get_feature_names_out(), encoder.transform(new)[0], strict=True))
    assert row.pop("code") > 0
    assert all(value == 0 for value in row.values())


def test_columns_are_found_by_name_in_any_order():
    encoder = TableEncoder().fit(mixed())
    shuffled = mixed()[["when", "flag", "number", "kind", "code"]]
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(mixed()))


def test_missing_and_extra_columns():
    encoder = TableEncoder().fit(mixed().assign(one=1))
    encoder.transform(mixed())  # the dropped column isn't needed
    with pytest.raises(
        DataError, match=r"must have the column 'number', .* Did you mean 'numbr'?"
    ):
        encoder.transform(mixed().rename(columns={"number": "numbr"}))
    with pytest.warns(DataWarning, match=r"they are ignored: \['more'\]"):
        matrix = encoder.transform(mixed().assign(more=1))
    np.testing.assert_array_equal(matrix, encoder.transform(mixed()))


def test_a_number_may_come_back_as_text_but_not_as_a_word():
    encoder = TableEncoder(dtype="float64").fit(mixed())
    as_text = mixed().assign(
        number=mixed()["number"].map(repr),
        flag=mixed()["flag"].map({True: "true", False: "0"}),
        code=mixed()["code"].astype(float),
        when=mixed()["when"].astype(str),
    )
    np.testing.assert_array_equal(encoder.transform(as_text), encoder.transform(mixed()))
    for column, rule in {
        "number": "numbers",
        "flag": "true or false",
        "when": "dates",
    }.items():
        frame = mixed().astype({column: object})
        frame.loc[4, column] = "word"
        with pytest.raises(DataError, match=f"'{column}' must hold {rule}, .*'word' in row 4"):
            encoder.transform(frame)


def test_a_number_does_not_come_back_as_a_date():
    encoder = TableEncoder().fit(mixed())
    with pytest.raises(DataError, match="'number' must hold numbers"):
        encoder.transform(mixed().assign(number=mixed()["when"]))
    with pytest.raises(DataError, match="'when' must hold dates"):
        encoder.transform(mixed().assign(when=mixed()["number"]))


# Arrays and frames.


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, object])
def test_arrays_of_any_layout_give_the_same(dtype):
    X = np.random.default_rng(0).integers(-9, 9, (30, 3)).astype(dtype)
    expected = TableEncoder().fit_transform(X.astype(float).tolist())
    X.setflags(write=False)
    for same in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1]):
        np.testing.assert_array_equal(TableEncoder().fit_transform(same), expected)


def test_fitting_leaves_the_table_as_it_is():
    frame = mixed().set_index("number", drop=False)
    before = frame.copy(deep=True)
    TableEncoder().fit(frame).transform(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_tables_of_other_libraries():
    pyarrow = pytest.importorskip("pyarrow")
    expected = TableEncoder().fit_transform(mixed())
    np.testing.assert_array_equal(
        TableEncoder().fit_transform(pyarrow.Table.from_pandas(mixed())), expected
    )


def test_frame_and_array_may_be_exchanged_by_position():
    frame = mixed()[["number", "code"]]
    by_name = TableEncoder().fit(frame)
    with pytest.warns(DataWarning, match="X does not have valid feature names"):
        matrix = by_name.transform(frame.to_numpy())
    np.testing.assert_array_equal(matrix, by_name.transform(frame))
    by_place = TableEncoder().fit(frame.to_numpy())
    np.testing.assert_array_equal(by_place.transform(frame), by_place.transform(frame.to_numpy()))
    assert by_place.get_feature_names_out()[0] == "x0"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "Reshape your data"),
        (np.zeros((2, 2, 2)), "Got 3 dimensions"),
        (5, "Got 0 dimensions"),
        ([[1, 2], [3]], "rows have equal length"),
        (np.zeros((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\)"),
        (np.zeros((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        (pd.DataFrame({"a": [1j, 2]}), "column 'a' must be real"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Got 'a' more than once"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "Got '1' more than once"),
    ],
)
def test_bad_tables(X, message):
    with pytest.raises(DataError, match=message):
        TableEncoder().fit(X)


def test_sparse_matrices_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(DataError, match="sparse"):
        TableEncoder().fit(sparse.eye(3).tocsr())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_levels": 1}, "max_levels must be an integer of at least 2"),
        ({"max_codes": -1}, "max_codes"),
        ({"n_bins": 1.5}, "n_bins"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"target_type": "class"}, "target_type must be one of"),
        ({"random_state": -1}, "random_state"),
        ({"categorical_features": "kind"}, "must be a sequence of column names"),
        ({"categorical_features": ["knd"]}, "Got 'knd'. Did you mean 'kind'?"),
        ({"categorical_features": [9]}, "at most 4"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        TableEncoder(**parameters).fit(mixed())


def test_target_of_another_length():
    with pytest.raises(DataError, match=r"inconsistent numbers of samples: \[40, 3\]"):
        TableEncoder().fit(mixed(), [1, 2, 3])


def test_state_is_json_and_arrays():
    frame, y = many_levels()
    frame = frame.assign(**{name: np.resize(col, len(frame)) for name, col in mixed().items()})
    encoder = TableEncoder(max_levels=8, n_bins=4, categorical_features=["code"]).fit(frame, y)
    config, arrays = encoder._to_state()
    document = json.dumps(_json.encode(config))
    restored = TableEncoder._from_state(_json.decode(json.loads(document)), arrays)
    np.testing.assert_array_equal(restored.transform(frame), encoder.transform(frame))
    pd.testing.assert_frame_equal(restored.report(), encoder.report())
    assert restored.get_params() == encoder.get_params()
    assert restored.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
