"""Laws that hold for any table that hypothesis can think of."""

import json
import warnings

import hypothesis.extra.pandas as pdst
import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import _json
from lamina._errors import DataWarning
from lamina.tables import TableEncoder

NUMBERS = st.floats(allow_nan=True, allow_infinity=False)
TEXT = st.text(max_size=6).filter(lambda text: "inf" not in text.lower())
DATES = st.datetimes(min_value=pd.Timestamp("1700-01-01"), max_value=pd.Timestamp("2250-01-01"))
ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), NUMBERS, TEXT, DATES)

COLUMNS = [
    pdst.column("float", elements=NUMBERS, dtype=float),
    pdst.column("integer", dtype="int64", elements=st.integers(-(2**63), 2**63 - 1)),
    pdst.column("code", dtype="int8", elements=st.integers(0, 3)),
    pdst.column("text", elements=TEXT, dtype=object),
    pdst.column("level", elements=st.sampled_from(["a", "b", None, "?"]), dtype=object),
    pdst.column("truth", elements=st.sampled_from([True, False, None]), dtype=object),
    pdst.column("date", elements=st.one_of(st.none(), DATES), dtype=object),
    pdst.column("number text", elements=st.one_of(NUMBERS.map(repr), st.just("")), dtype=object),
    pdst.column("anything", elements=ANYTHING, dtype=object),
]
FRAMES = pdst.data_frames(COLUMNS, index=pdst.range_indexes(min_size=1, max_size=30))


def fitted(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return TableEncoder(max_levels=4, n_bins=3).fit(frame)


@settings(max_examples=30)
@given(FRAMES)
def test_the_matrix_is_finite_and_as_wide_as_its_names(frame):
    encoder = fitted(frame)
    matrix = encoder.transform(frame)
    assert matrix.dtype == np.float32
    assert matrix.shape == (len(frame), len(encoder.get_feature_names_out()))
    assert np.isfinite(matrix).all()
    assert len(set(encoder.get_feature_names_out())) == matrix.shape[1]


@settings(max_examples=30)
@given(FRAMES, st.data())
def test_a_row_is_encoded_alike_in_any_company(frame, data):
    encoder = fitted(frame)
    rows = data.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=6))
    np.testing.assert_array_equal(
        encoder.transform(frame.iloc[rows]), encoder.transform(frame)[rows]
    )


@settings(max_examples=30)
@given(FRAMES)
def test_saving_and_fitting_again_change_nothing(frame):
    encoder = fitted(frame)
    config, arrays = encoder._to_state()
    document = json.dumps(_json.encode(config), allow_nan=False)
    restored = TableEncoder._from_state(_json.decode(json.loads(document)), arrays)
    expected = encoder.transform(frame)
    np.testing.assert_array_equal(restored.transform(frame), expected)
    np.testing.assert_array_equal(fitted(frame).transform(frame), expected)


@settings(max_examples=30)
@given(FRAMES, FRAMES)
def test_new_rows_of_the_same_kinds_are_always_encoded(frame, new):
    encoder = fitted(frame)
    kinds = encoder.report().set_index("column")["kind"]
    for column in ("text", "anything"):
        if kinds[column] != "category":
            new[column] = None  # what fits numbers, dates or truth values isn't just anything
    matrix = encoder.transform(new)
    assert matrix.shape == (len(new), len(encoder.get_feature_names_out()))
    assert np.isfinite(matrix).all()


@settings(max_examples=30)
@given(FRAMES, st.randoms(use_true_random=False))
def test_the_order_of_fitted_rows_is_no_matter(frame, random):
    order = list(range(len(frame)))
    random.shuffle(order)
    np.testing.assert_allclose(
        fitted(frame.iloc[order]).transform(frame), fitted(frame).transform(frame), rtol=1e-6
    )
