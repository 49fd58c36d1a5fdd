"""Samplers and views: rates, laws, and who never meets whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import DataError, ParameterError
from lamina.datasets import rotate_images, shift_images
from lamina.represent import (
    ClassBatches,
    InstanceBatches,
    check_image_shape,
    corrupt,
    crop,
    recolour,
    rotate,
    row_ids,
    shift,
)

# Batches


@given(st.integers(2, 40), st.integers(2, 50), st.integers(0, 100))
def test_an_epoch_meets_each_row_at_most_once_and_no_batch_is_of_one(n, size, seed):
    batches = InstanceBatches(n, size, seed)
    epoch = [batches.batch(step) for step in range(batches.n_per_epoch)]
    rows = np.concatenate(epoch)
    assert len(np.unique(rows)) == len(rows)
    assert {len(batch) for batch in epoch} == {min(n, size)}
    assert len(rows) > n - min(n, size)


def test_rows_left_over_have_their_turn_in_other_epochs():
    batches = InstanceBatches(10, 4, 0)
    met = {int(row) for step in range(20) for row in batches.batch(step)}
    assert met == set(range(10))


def test_a_batch_is_a_function_of_seed_and_step():
    for make in (
        lambda seed: InstanceBatches(20, 6, seed),
        lambda seed: ClassBatches(np.arange(20) % 4, 6, seed=seed),
    ):
        forth = [make(3).batch(step) for step in range(5)]
        same = make(3)
        back = [same.batch(step) for step in reversed(range(5))][::-1]
        for a, b in zip(forth, back, strict=True):
            np.testing.assert_array_equal(a, b)
        assert any((make(4).batch(step) != forth[step]).any() for step in range(5))


def test_classes_have_equal_shares_whatever_their_sizes():
    y = np.repeat(["rare", "common", "usual"], [8, 500, 100])
    batches = ClassBatches(y, 12, per_class=4, seed=0)
    for step in range(10):
        rows = batches.batch(step)
        assert np.unique(y[rows], return_counts=True)[1].tolist() == [4, 4, 4]
        assert len(np.unique(rows)) == 12


def test_few_classes_fill_a_batch_and_small_ones_give_what_they_have():
    y = np.repeat([0, 1, 2], [50, 50, 1])
    batches = ClassBatches(y, 30, per_class=4, seed=0)
    assert batches.n_single == 1
    counts = np.bincount(y[batches.batch(0)])
    assert counts.tolist() == [10, 10, 1]


def test_one_class_is_a_batch_of_it():
    assert len(ClassBatches(["a"] * 20, 8).batch(0)) == 8


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=9),
    st.integers(2, 40),
    st.integers(1, 6),
    st.integers(0, 50),
)
def test_a_batch_has_two_classes_where_there_are_two_and_no_more_rows_than_promised(
    sizes, batch_size, per_class, seed
):
    y = np.repeat(np.arange(len(sizes)), sizes)
    if len(y) < 2:
        return
    batches = ClassBatches(y, batch_size, per_class=per_class, seed=seed)
    for step in range(3):
        rows = batches.batch(step)
        counts = np.bincount(y[rows], minlength=len(sizes))
        assert 2 <= len(rows) <= batch_size == batches.batch_size
        assert len(np.unique(rows)) == len(rows)
        assert (counts > 0).sum() >= min(2, len(sizes))
        # a batch with room for more has rows of every class
        assert len(rows) == batch_size or (counts > 0).all()


@pytest.mark.parametrize(
    ("size", "counts"),
    [(2, [1, 1]), (3, [1, 2]), (4, [2, 2]), (5, [2, 3]), (6, [3, 3]), (7, [3, 4]), (8, [4, 4])],
)
def test_two_classes_share_the_smallest_batches(size, counts):
    y = np.repeat([0, 1, 2], 50)
    for step in range(5):
        met = np.unique(y[ClassBatches(y, size).batch(step)], return_counts=True)[1]
        assert sorted(met.tolist()) == counts


def test_labels_that_all_differ_fill_a_batch():
    assert len(ClassBatches(np.arange(150), 4).batch(0)) == 4
    assert len(ClassBatches(np.arange(150), 128).batch(0)) == 128


@pytest.mark.parametrize(
    "make", [lambda b: InstanceBatches(9, b), lambda b: ClassBatches([1] * 9, b)]
)
def test_a_batch_of_one_is_refused(make):
    with pytest.raises(ParameterError, match=r"batch_size must be at least 2: .*no negatives"):
        make(1)


def test_one_row_is_refused():
    with pytest.raises(DataError, match=r"at least 2 rows. Got 1"):
        ClassBatches([3], 4)
    with pytest.raises(ParameterError, match="n_samples must be an integer of at least 2"):
        InstanceBatches(1, 4)


def test_row_ids_find_copies_and_no_others():
    X = np.random.default_rng(0).integers(0, 2, (60, 4)).astype(float)
    ids = row_ids(X)
    equal = (X[:, None] == X[None]).all(2)
    np.testing.assert_array_equal(ids[:, None] == ids, equal)


# Corruption


@pytest.mark.parametrize("rate", [0.1, 0.6, 0.9])
def test_the_rate_is_the_share_that_changes_and_not_the_share_that_stays(rate):
    X = np.random.default_rng(0).normal(size=(2000, 20))
    view, changed = corrupt(X, rate, random_state=1)
    # 40,000 cells: the standard deviation of the share is below .0025.
    assert abs(changed.mean() - rate) < 0.0125
    np.testing.assert_array_equal(changed, view != X)


def test_values_are_those_of_other_rows_of_the_same_column():
    X = np.arange(50.0).reshape(10, 5)
    view, changed = corrupt(X, 1.0, random_state=0)
    assert changed.all()  # distinct values, and never the own row's
    assert all(set(view[:, j]) <= set(X[:, j]) for j in range(5))


def test_every_other_row_gives_equally_often():
    X = np.arange(5.0)[:, None].repeat(4000, 1)
    view, _ = corrupt(X, 1.0, random_state=0)
    for i in range(5):
        counts = np.bincount(view[i].astype(int), minlength=5)
        assert counts[i] == 0
        # mean 1000, standard deviation below 30
        assert abs(counts[np.arange(5) != i] - 1000).max() < 150


def test_the_own_row_of_a_pool_gives_nothing():
    pool = np.arange(40.0).reshape(20, 2)
    own = np.array([7, 7, 3])
    view, changed = corrupt(pool[own], 1.0, pool=pool, own=own, random_state=0)
    assert changed.all()
    assert np.isin(view[:, 0], pool[:, 0]).all()


def test_equal_values_count_as_unchanged():
    view, changed = corrupt(np.ones((6, 3)), 1.0, random_state=0)
    assert not changed.any()
    assert (view == 1.0).all()


def test_the_input_stays_as_it_is_and_may_be_read_only():
    X = np.arange(12.0).reshape(4, 3)
    X.flags.writeable = False
    before = X.copy()
    corrupt(X, 1.0, random_state=0)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: corrupt(np.ones((1, 3))), DataError, "at least 2 rows to take values from"),
        (lambda: corrupt(np.ones(3)), DataError, "must be matrices"),
        (lambda: corrupt(np.ones((3, 3)), own=[0, 1]), DataError, "own must have a row"),
        (lambda: corrupt(np.ones((3, 3)), own=[0, 1, 3]), DataError, "own must have a row"),
        (lambda: corrupt(np.ones((3, 3)), 1.5), ParameterError, "rate must be"),
    ],
)
def test_wrong_corruptions_get_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


# Images

IMAGES = np.random.default_rng(0).random((30, 6, 9))


@given(st.integers(0, 12), st.integers(0, 1000))
def test_shift_moves_by_whole_pixels_and_fills(strength, seed):
    moves = np.random.default_rng(seed).integers(-strength, strength, (2, 30), endpoint=True)
    expected = shift_images(IMAGES, moves.T)
    np.testing.assert_array_equal(shift(IMAGES, strength, random_state=seed), expected)
    filled = shift(IMAGES, strength, fill=7.0, random_state=seed)
    np.testing.assert_array_equal(
        filled, np.where(shift_images(np.ones_like(IMAGES), moves.T) == 0, 7.0, expected)
    )


@pytest.mark.parametrize("side", [7, 8])
def test_rotate_equals_scipys_bilinear_rotation(side):
    images = np.pad(np.random.default_rng(1).random((20, side, side)), ((0, 0), (4, 4), (4, 4)))
    most = np.deg2rad(60.0)
    angles = np.rad2deg(np.random.default_rng(5).uniform(-most, most, (20, 1, 1)).ravel())
    expected = rotate_images(images, angles)
    np.testing.assert_allclose(rotate(images, 60.0, random_state=5), expected, atol=1e-6)


def test_rotation_fills_the_corners():
    view = rotate(np.full((4, 9, 9), 2.0), 45.0, fill=2.0, random_state=0)
    np.testing.assert_allclose(view, 2.0)


def test_crop_enlarges_a_window_of_a_plane_exactly():
    # A plane stays one under linear interpolation, with the slope of the window's size.
    rows, columns = np.mgrid[:9, :11]
    plane = np.tile(2.0 * rows - columns, (50, 1, 1))
    view = crop(plane, 0.5, random_state=0)
    slopes = np.diff(view, axis=1), np.diff(view, axis=2)
    for slope, full in zip(slopes, (2.0, -1.0), strict=True):
        assert np.ptp(slope, axis=(1, 2)).max() < 1e-9
        share = slope[:, 0, 0] / full
        assert share.min() >= 0.5
        assert share.max() <= 1.0
        assert np.ptp(share) > 0.3
    assert view.min() >= plane.min() - 1e-9
    assert view.max() <= plane.max() + 1e-9


def test_recolour_is_affine_in_each_image():
    view = recolour(IMAGES, 0.5, random_state=0)
    for image, other in zip(IMAGES, view, strict=True):
        contrast, level = np.polyfit(image.ravel(), other.ravel(), 1)
        np.testing.assert_allclose(other, contrast * image + level, atol=1e-12)
        assert 0.5 <= contrast <= 1.5


@pytest.mark.parametrize("view", [shift, rotate, crop, recolour])
def test_views_keep_shape_precision_and_seed(view):
    for shape in ((5, 6, 7), (5, 6, 7, 3)):
        images = np.random.default_rng(0).random(shape, dtype=np.float32)
        made = view(images, random_state=3)
        assert made.shape == shape
        assert made.dtype == np.float32
        np.testing.assert_array_equal(made, view(images, random_state=3))
        assert (made != view(images, random_state=4)).any()
    colour = np.random.default_rng(0).random((5, 6, 7, 1))
    np.testing.assert_allclose(
        view(colour, random_state=3)[..., 0], view(colour[..., 0], random_state=3)
    )


@pytest.mark.parametrize("view", [shift, rotate, crop, recolour])
def test_strength_zero_changes_nothing(view):
    np.testing.assert_allclose(view(IMAGES, 0, random_state=0), IMAGES, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: shift(IMAGES, -1), "strength must be an integer of at least 0"),
        (lambda: shift(IMAGES, 0.5), "strength must be an integer of at least 0"),
        (lambda: rotate(IMAGES, 200), "strength must be a finite number in"),
        (lambda: crop(IMAGES, 1.0), "strength must be a finite number in"),
        (lambda: recolour(IMAGES, 2.0), "strength must be a finite number in"),
        (lambda: check_image_shape(None, 10), "image_shape must be given where rows are no"),
        (lambda: check_image_shape((3, 4), 10), "with a product of 10, the number of features"),
        (lambda: check_image_shape((2, 5, 1, 1), 10), "image_shape must be"),
        (lambda: check_image_shape("2x5", 10), "Got '2x5'"),
    ],
)
def test_wrong_strengths_and_shapes_get_one_sentence(call, sentence):
    with pytest.raises(ParameterError, match=sentence.replace("(", r"\(")):
        call()


def test_images_need_three_axes():
    with pytest.raises(DataError, match=r"images must have shape \(N, H, W\)"):
        shift(np.ones((3, 3)))
