"""Turned, shifted and placed images against NumPy's exact operations and plain loops."""

import re

import numpy as np
import pytest

from lamina._errors import DataError, ParameterError
from lamina.datasets import (
    make_placed_digits,
    make_rotated_digits,
    make_shifted_digits,
    rotate_images,
    shift_images,
)

IMAGES = np.random.default_rng(0).uniform(size=(6, 9, 9))


def test_quarter_turns_are_those_of_numpy():
    turned = rotate_images(IMAGES[0], [0, 90, 180, 270])
    for k in range(4):
        np.testing.assert_allclose(turned[k], np.rot90(IMAGES[0], k), atol=1e-9)
    each = rotate_images(IMAGES, np.full(6, 90.0))
    np.testing.assert_allclose(each, np.rot90(IMAGES, axes=(1, 2)), atol=1e-9)


def test_a_small_turn_interpolates_linearly():
    ramp = np.tile(np.arange(9.0), (9, 1))  # value = column
    angle = np.radians(10)
    offset = np.arange(9.0) - 4
    expected = 4 + np.cos(angle) * offset[None, :] - np.sin(angle) * offset[:, None]
    inner = slice(3, 6)
    got = rotate_images(ramp, 10.0)[0]
    np.testing.assert_allclose(got[inner, inner], expected[inner, inner], atol=1e-9)


@pytest.mark.parametrize("offset", [(0, 0), (2, -3), (-1, 4), (9, 0), (-20, 3)])
def test_shifts_equal_a_plain_loop(offset):
    expected = np.zeros((9, 9))
    for row in range(9):
        for column in range(9):
            to = row + offset[0], column + offset[1]
            if 0 <= to[0] < 9 and 0 <= to[1] < 9:
                expected[to] = IMAGES[0][row, column]
    assert np.array_equal(shift_images(IMAGES[0], [offset])[0], expected)


def test_views_are_views_of_their_source():
    views, source, angles = make_rotated_digits(IMAGES, 20, max_angle=30, random_state=1)
    np.testing.assert_array_equal(views, rotate_images(IMAGES[source], angles))
    assert np.abs(angles).max() <= 30
    views, source, offsets = make_shifted_digits(IMAGES, 200, max_shift=2, random_state=1)
    np.testing.assert_array_equal(views, shift_images(IMAGES[source], offsets))
    assert set(offsets.ravel()) == {-2, -1, 0, 1, 2}
    assert set(source) == set(range(6))


def test_placed_images_lie_at_their_offsets():
    images = np.repeat(IMAGES, 30, axis=0)
    canvases, offsets = make_placed_digits(images, size=12, random_state=0)
    for canvas, image, (row, column) in zip(canvases, images, offsets, strict=True):
        expected = np.zeros((12, 12))
        expected[row : row + 9, column : column + 9] = image
        assert np.array_equal(canvas, expected)
    assert set(offsets.ravel()) == {0, 1, 2, 3}


@pytest.mark.parametrize("make", [make_rotated_digits, make_shifted_digits])
def test_views_are_seeded_and_take_noise(make):
    first, again = make(IMAGES, 50, random_state=5), make(IMAGES, 50, random_state=5)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    noisy = make(IMAGES, 50, random_state=5, noise=0.1)
    assert np.array_equal(noisy[1], first[1])
    # standard error of a standard deviation of 4050 values: 0.1 / sqrt(8100) = 0.0011
    assert np.std(noisy[0] - first[0]) == pytest.approx(0.1, abs=0.005)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: rotate_images(np.ones(3), 10.0), DataError,
         "images must have shape (H, W) or (1, H, W). Got (3,)."),
        (lambda: rotate_images(IMAGES, [1.0, 2.0]), DataError,
         "images must have shape (H, W) or (2, H, W). Got (6, 9, 9)."),
        (lambda: shift_images(IMAGES[0], [(0.5, 1)]), DataError,
         "offsets must be whole numbers of shape (N, 2). Got shape (1, 2) of type float64."),
        (lambda: make_placed_digits(IMAGES, size=8), ParameterError,
         "size must be an integer of at least 9. Got 8."),
        (lambda: make_placed_digits(IMAGES[0]), DataError,
         "images must have shape (N, H, W). Got (9, 9)."),
        (lambda: make_rotated_digits(IMAGES[:0], 3), ParameterError,
         "images must have at least one image. Got none."),
    ],
)  # fmt: skip
def test_wrong_images_get_one_sentence(call, kind, sentence):
    with pytest.raises(kind, match=f"^{re.escape(sentence)}$"):
        call()
