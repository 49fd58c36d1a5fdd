"""Which rows each member holds out, and how presets scale with a table."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.estimators._table_recipe import PRESETS, Task, adapted, folds, make_members
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


def members(n_members, n_samples, preset="default", codes=None, start=None, family=0):
    recipe = PRESETS[preset]
    task = Task(Normal(), 0, n_samples, codes, None, "valid_loss", start)
    return make_members(recipe, recipe.families[family], task, range(n_members), 10)


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


@pytest.mark.parametrize(
    ("n_samples", "epochs", "n_members", "n_pilots"),
    [(100, 80, 8, 4), (10_000, 50, 8, 4), (15_000, 33, 8, 2), (36_000, 13, 4, 2)],
)
def test_large_tables_get_fewer_epochs_and_members(n_samples, epochs, n_members, n_pilots):
    recipe = PRESETS["default"]
    assert recipe.epochs_for(n_samples) == epochs
    assert recipe.members_for(n_samples) == n_members
    assert recipe.pilots_for(n_samples) == n_pilots


def test_families_hold_out_the_same_rows_and_draw_other_numbers():
    one, other = members(4, 80), members(4, 80, family=1)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.validation_rows, b.validation_rows)
    assert len({member.seed for member in one + other}) == 8


def test_a_member_is_the_same_whoever_is_made_with_it():
    recipe = PRESETS["default"]
    task = Task(Normal(), 0, 80, None, None, "valid_loss")
    for family in recipe.families:
        (alone,) = make_members(recipe, family, task, [3], 10)
        together = make_members(recipe, family, task, range(8), 10)[3]
        assert alone.seed == together.seed
        np.testing.assert_array_equal(alone.rows, together.rows)


def test_members_take_turns_with_dropout():
    assert [member.dropout for member in members(4, 80)] == [0.15, 0.0, 0.15, 0.0]


def test_what_is_adapted_is_what_was_asked_for():
    recipe = PRESETS["default"]
    assert adapted(recipe) == recipe
    changed = adapted(recipe, numeric_embedding="none", learning_rate=0.5, dropout=0.0)
    assert [family.name for family in changed.families] == ["none"]
    assert (changed.learning_rate, changed.dropouts) == (0.5, (0.0,))
    assert changed.embedding == "none"
    assert adapted(recipe, numeric_embedding="periodic").embedding == "periodic"
    assert adapted(recipe, numeric_embedding="piecewise_linear").embedding == "piecewise_linear"
    assert recipe.embedding == "both"
    assert adapted(recipe, hidden_layer_sizes=5, weight_decay=0.0).hidden_layer_sizes == (5,)
