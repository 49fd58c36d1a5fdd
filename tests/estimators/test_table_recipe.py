"""Which rows each member holds out, and how presets scale with a table."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.estimators._table_recipe import PRESETS, folds, make_members
from lamina.heads import Normal
from lamina.nn import initialise


@given(st.lists(st.integers(0, 4), min_size=10, max_size=80), st.integers(2, 8), st.integers(0, 9))
def test_every_row_is_held_out_once_and_classes_are_spread(codes, n_folds, seed):
    codes = np.array(codes)
    fold = folds(len(codes), n_folds, seed, codes)
    counts = np.bincount(codes)
    assert ((fold == -1) == (counts[codes] == 1)).all()
    sizes = np.bincount(fold[fold >= 0], minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    for code in np.flatnonzero(counts > 1):
        held = np.bincount(fold[codes == code], minlength=n_folds)
        assert held.max() - held.min() <= 1
        assert held.max() < counts[code]


def test_folds_of_a_regression_hold_every_row_out_once():
    fold = folds(43, 8, seed=0, codes=None)
    assert sorted(np.bincount(fold).tolist()) == [5] * 5 + [6] * 3
    assert not np.array_equal(fold, folds(43, 8, seed=1, codes=None))


def members(n_members, n_samples, preset="default", codes=None, start=None):
    return make_members(
        PRESETS[preset],
        Normal(),
        n_members=n_members,
        seed=0,
        n_samples=n_samples,
        codes=codes,
        start=start,
        weights=None,
        monitor="valid_loss",
    )


def test_members_of_a_classification_hold_out_other_rows_until_all_were():
    made = members(16, 80, codes=np.arange(80) % 2)
    for first in (0, 8):
        held = np.concatenate([member.validation_rows for member in made[first : first + 8]])
        assert sorted(held.tolist()) == list(range(80))
    assert not np.array_equal(made[0].validation_rows, made[8].validation_rows)
    assert len({member.seed for member in made}) == 16


def test_neighbours_of_a_regression_share_half_of_what_they_hold_out():
    made = members(17, 160)
    held = [member.validation_rows for member in made]
    assert [len(rows) for rows in held] == [20] * 17
    shared = [len(np.intersect1d(*pair)) for pair in pairwise(held[:16])]
    assert shared == [10] * 15
    assert not set(held[0]) & set(held[2])
    assert (np.bincount(np.concatenate(held[:16])) == 2).all()  # a ring: each row twice
    assert not np.array_equal(held[0], held[16])


@pytest.mark.parametrize("codes", [None, np.arange(80) % 2])
def test_members_train_on_what_they_do_not_hold_out(codes):
    for member in members(3, 80, codes=codes):
        together = np.concatenate([member.rows, member.validation_rows])
        assert sorted(together.tolist()) == list(range(80))


def test_raw_outputs_begin_where_they_are_told_to():
    (member,) = members(1, 80, start=np.array([2.0, -1.0]))
    layers = initialise((3, 8, 2), member.init, rng=np.random.default_rng(0))
    plain = initialise((3, 8, 2), "he", rng=np.random.default_rng(0))
    np.testing.assert_array_equal(layers[0][0], plain[0][0])
    np.testing.assert_allclose(layers[1][0], 0.1 * plain[1][0])
    assert layers[1][1].tolist() == [2.0, -1.0]
    assert members(1, 80)[0].init == "he"


def test_tiny_tables_hold_nothing_out():
    assert all(member.validation_rows is None for member in members(2, 9))
    assert [len(member.validation_rows) for member in members(2, 10)] == [2, 2]


@pytest.mark.parametrize(("n_samples", "epochs", "n_members"), [(100, 80, 8), (36_000, 13, 4)])
def test_large_tables_get_fewer_epochs_and_members(n_samples, epochs, n_members):
    recipe = PRESETS["default"]
    assert recipe.epochs_for(n_samples) == epochs
    assert recipe.members_for(n_samples) == n_members


def test_members_take_turns_with_all_combinations():
    def pairs(n_samples):
        made = members(8, n_samples)
        return sorted((member.learning_rate, member.dropout) for member in made)

    assert pairs(80) == [(1e-3, 0.0)] * 4 + [(1e-3, 0.15)] * 4
    both = [(rate, dropout) for rate in (1e-3, 3e-3) for dropout in (0.0, 0.15)]
    assert pairs(10_000) == sorted(both * 2)
    assert {member.learning_rate for member in members(4, 80, "fast")} == {2e-3}
