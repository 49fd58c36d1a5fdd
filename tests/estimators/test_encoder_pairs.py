"""The other side of pairs: its names, its kind, and what the pairs show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lamina._errors import DataError, DataWarning
from lamina.estimators import CrossModalEncoder, load, save

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(40, 3)), RNG.normal(size=(40, 2))
NAMED = pd.DataFrame(Y, columns=["c", "d"])


def encoder(**more):
    small = {"hidden_layer_sizes": (8,), "max_steps": 3, "batch_size": 20, "random_state": 0}
    return CrossModalEncoder(3, **small | more)


@pytest.mark.parametrize(
    "call",
    [
        lambda e, y: e.transform_partner(y),
        lambda e, y: e.similarity(X, y),
        lambda e, y: e.retrieve(X, y),
        lambda e, y: e.score(X, y),
        lambda e, y: e.partial_fit(X, y),
    ],
)
def test_columns_of_the_other_side_go_by_name(call, tmp_path):
    fitted = encoder().fit(X, NAMED)
    assert list(fitted.partner_feature_names_in_) == ["c", "d"]
    save(fitted, tmp_path / "e")
    for one in (fitted, load(tmp_path / "e")):
        call(one, NAMED)
        call(one, Y)  # without names nothing can be told
        with pytest.raises(DataError, match=r"y must have the columns of the fit.* Got 'd' .*'c'"):
            call(one, NAMED[["d", "c"]])
    assert "partner_feature_names_in_" not in vars(fitted.fit(X, Y))


@pytest.mark.parametrize(
    ("y", "where"),
    [
        (np.array(["a"] * 40), "row 0"),
        (np.array([1.5] * 39 + ["a"], dtype=object), "row 39"),
        (NAMED.assign(d=["1"] * 39 + ["a"]), "row 39, column 'd'"),
    ],
)
def test_texts_on_the_other_side_get_one_sentence(y, where):
    sentence = f"y must hold numbers, as the other side of the pairs. Got the text 'a' in {where}"
    with pytest.raises(DataError) as caught:
        encoder().fit(X, y)
    assert sentence in str(caught.value)
    with pytest.raises(DataError, match=r"y must hold numbers"):
        encoder().fit(X, NAMED).transform_partner(y)


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([None] * 20 + ["a"] * 20, "ids must have one entry for each pair. Got None in row 0"),
        ([1.0] * 20 + [np.nan] * 20, "ids must have one entry for each pair. Got nan in row 20"),
        (np.array([1, "a"] * 20, dtype=object), "ids must have labels of one type"),
        (np.zeros(40), "Got 40 pairs that all have one id"),
    ],
)
def test_ids_that_tell_nothing_apart_get_one_sentence(ids, sentence):
    with pytest.raises(DataError) as caught:
        encoder().fit(X, Y, ids=ids)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("shape", [(40, 2, 1), (40, 0), (0, 2)])
def test_the_other_side_is_a_table(shape):
    with pytest.raises(DataError, match="y must have a row of numbers for each pair") as caught:
        encoder().fit(X, Y).transform_partner(np.zeros(shape))
    assert str(shape) in str(caught.value)


def test_pairs_that_are_one_thing_are_refused():
    one, other = np.arange(40.0)[:, None], np.arange(1.0, 41.0)
    with pytest.raises(DataError, match="40 pairs that all are linked by sides they share"):
        encoder().fit(np.zeros((40, 1)), other)
    with pytest.raises(DataError, match="40 pairs that all are linked by sides they share"):
        encoder().fit(one // 2, other // 2)  # a chain: every second link on either side
    other[20:] += 1000  # which cuts the chain in two
    with pytest.warns(DataWarning, match="38 of 40 pairs share a side"):
        assert encoder().fit(one // 2, other // 2).loss_ > 0


def test_a_thing_that_most_pairs_show_is_told():
    ids = np.r_[np.zeros(25), np.arange(15)]
    with pytest.warns(DataWarning, match=r"26 of 40 pairs have one id.*little can be learned"):
        encoder().fit(X, Y, ids=ids)
    shared = X.copy()
    shared[:30] = 1.0
    with pytest.warns(DataWarning, match=r"30 of 40 pairs are linked by sides they share"):
        encoder().fit(shared, Y)
    few = np.arange(40) // 2
    encoder().fit(X, Y, ids=few)  # and no word about ids that are as they should be
