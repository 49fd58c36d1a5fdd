"""Images turned, shifted and placed on a larger canvas."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from lamina._checks import check_integer, check_real
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray, IntArray

from ._seeded import Seed, check_noise, generator_of


def rotate_images(images: Array, angles: Array | float) -> FloatArray:
    """Turn images about their centre by bilinear interpolation; the frame stays.

    Parameters
    ----------
    images : ndarray of shape (H, W) or (N, H, W)
        One image, or one for each angle.
    angles : float or ndarray of shape (N,)
        Angles in degrees, anticlockwise as the image is drawn (first row on top).

    Returns
    -------
    ndarray of shape (N, H, W)
        Corners that come into the frame are 0.

    Examples
    --------
    >>> image = np.arange(9.0).reshape(3, 3)
    >>> rotate_images(image, [0, 90]).round(6)[1].tolist()
    [[2.0, 5.0, 8.0], [1.0, 4.0, 7.0], [0.0, 3.0, 6.0]]
    """
    angles = np.atleast_1d(np.asarray(angles, dtype=np.float64))
    stack = _stack(images, len(angles))
    turned = [
        ndimage.rotate(image, angle, order=1, reshape=False)
        for image, angle in zip(stack, angles, strict=True)
    ]
    return np.array(turned)


def shift_images(images: Array, offsets: Array) -> FloatArray:
    """Move images by whole pixels; what leaves the frame is lost, what enters it is 0.

    Parameters
    ----------
    images : ndarray of shape (H, W) or (N, H, W)
        One image, or one for each offset.
    offsets : ndarray of int of shape (N, 2)
        Pixels down and to the right, for each result.

    Returns
    -------
    ndarray of shape (N, H, W)

    Examples
    --------
    >>> shift_images(np.array([[1.0, 2.0], [3.0, 4.0]]), [(0, 1), (-1, 0)]).tolist()
    [[[0.0, 1.0], [0.0, 3.0]], [[3.0, 4.0], [0.0, 0.0]]]
    """
    moves = np.asarray(offsets)
    if moves.ndim != 2 or moves.shape[1] != 2 or moves.dtype.kind not in "iu":
        raise DataError(
            f"offsets must be whole numbers of shape (N, 2). Got shape {moves.shape} of type "
            f"{moves.dtype}."
        )
    stack = _stack(images, len(moves))
    height, width = stack.shape[1:]
    # a border as wide as the frame lets every window be read without a case for the edges
    framed = np.pad(stack, ((0, 0), (height, height), (width, width)))
    rows = height - np.clip(moves[:, 0], -height, height)
    columns = width - np.clip(moves[:, 1], -width, width)
    return _windows(framed, rows, columns, height, width)


def make_rotated_digits(
    images: Array,
    n_samples: int,
    *,
    max_angle: float = 45.0,
    noise: float = 0.0,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Make turned copies of randomly chosen images.

    Parameters
    ----------
    images : ndarray of shape (N, H, W)
        Images to choose from, with replacement.
    n_samples : int
        Number of copies.
    max_angle : float, default=45.0
        Angles are uniform between minus and plus this, in degrees.
    noise : float, default=0.0
        Standard deviation of noise added to every pixel, in units of the pixels.
    random_state : int, Generator or None, default=None
        Seed; drawn in the order choice, angles, noise.

    Returns
    -------
    views : ndarray of shape (n_samples, H, W)
    source : ndarray of shape (n_samples,)
        Row of the image that was turned.
    angles : ndarray of shape (n_samples,)
        In degrees.

    Examples
    --------
    >>> views, source, angles = make_rotated_digits(np.ones((3, 8, 8)), 5, random_state=0)
    >>> views.shape, source.shape, angles.shape
    ((5, 8, 8), (5,), (5,))
    """
    rng, source = _choice(images, n_samples, random_state)
    max_angle = check_real("max_angle", max_angle, 0.0)
    angles = rng.uniform(-max_angle, max_angle, n_samples)
    views = rotate_images(np.asarray(images, dtype=np.float64)[source], angles)
    return _with_noise(views, noise, rng), source, angles


def make_shifted_digits(
    images: Array,
    n_samples: int,
    *,
    max_shift: int = 3,
    noise: float = 0.0,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Make shifted copies of randomly chosen images.

    Parameters
    ----------
    images : ndarray of shape (N, H, W)
        Images to choose from, with replacement.
    n_samples : int
        Number of copies.
    max_shift : int, default=3
        Both shifts are uniform on the whole numbers between minus and plus this.
    noise : float, default=0.0
        Standard deviation of noise added to every pixel, in units of the pixels.
    random_state : int, Generator or None, default=None
        Seed; drawn in the order choice, shifts, noise.

    Returns
    -------
    views : ndarray of shape (n_samples, H, W)
    source : ndarray of shape (n_samples,)
        Row of the image that was shifted.
    offsets : ndarray of shape (n_samples, 2)
        Pixels down and to the right.

    Examples
    --------
    >>> views, source, offsets = make_shifted_digits(np.ones((3, 8, 8)), 5, random_state=0)
    >>> views.shape, bool(abs(offsets).max() <= 3)
    ((5, 8, 8), True)
    """
    rng, source = _choice(images, n_samples, random_state)
    max_shift = check_integer("max_shift", max_shift, 0)
    offsets = rng.integers(-max_shift, max_shift, (n_samples, 2), endpoint=True)
    views = shift_images(np.asarray(images, dtype=np.float64)[source], offsets)
    return _with_noise(views, noise, rng), source, offsets


def make_placed_digits(
    images: Array, *, size: int = 34, noise: float = 0.0, random_state: Seed = None
) -> tuple[FloatArray, IntArray]:
    """Place every image at a random place on a larger square canvas.

    Parameters
    ----------
    images : ndarray of shape (N, H, W)
        Images.
    size : int, default=34
        Side of the canvas in pixels, at least that of the images.
    noise : float, default=0.0
        Standard deviation of noise added to every pixel, in units of the pixels.
    random_state : int, Generator or None, default=None
        Seed; drawn in the order places, noise.

    Returns
    -------
    canvases : ndarray of shape (N, size, size)
    offsets : ndarray of shape (N, 2)
        Row and column of the upper left corner of each image.

    Examples
    --------
    >>> canvases, offsets = make_placed_digits(np.ones((5, 28, 28)), random_state=0)
    >>> canvases.shape, canvases.sum(axis=(1, 2)).tolist()
    ((5, 34, 34), [784.0, 784.0, 784.0, 784.0, 784.0])
    """
    stack = _stack(images, None)
    n_images, height, width = stack.shape
    size = check_integer("size", size, max(height, width))
    rng = generator_of(random_state)
    offsets = np.column_stack(
        [
            rng.integers(0, size - height, n_images, endpoint=True),
            rng.integers(0, size - width, n_images, endpoint=True),
        ]
    )
    canvases = np.zeros((n_images, size, size))
    rows = offsets[:, 0, None, None] + np.arange(height)[:, None]  # (N, H, 1)
    columns = offsets[:, 1, None, None] + np.arange(width)  # (N, 1, W)
    canvases[np.arange(n_images)[:, None, None], rows, columns] = stack
    return _with_noise(canvases, noise, rng), offsets


def _stack(images: Array, n_images: int | None) -> FloatArray:
    """Return images as float64 of shape (N, H, W), a single one repeated."""
    stack = np.asarray(images, dtype=np.float64)
    if stack.ndim == 2 and n_images is not None:
        stack = np.broadcast_to(stack, (n_images, *stack.shape))
    if stack.ndim != 3 or (n_images is not None and len(stack) != n_images):
        wanted = "(N, H, W)" if n_images is None else f"(H, W) or ({n_images}, H, W)"
        raise DataError(f"images must have shape {wanted}. Got {np.shape(images)}.")
    return stack


def _choice(
    images: Array, n_samples: int, random_state: Seed
) -> tuple[np.random.Generator, IntArray]:
    """Return the generator after drawing the rows of the images to use."""
    n_images = len(_stack(images, None))
    if not n_images:
        raise ParameterError("images must have at least one image. Got none.")
    rng = generator_of(random_state)
    return rng, rng.integers(0, n_images, check_integer("n_samples", n_samples, 1))


def _windows(
    images: FloatArray, rows: IntArray, columns: IntArray, height: int, width: int
) -> FloatArray:
    """Return the window of each image that starts at its row and column."""
    down = rows[:, None, None] + np.arange(height)[:, None]  # (N, H, 1)
    across = columns[:, None, None] + np.arange(width)  # (N, 1, W)
    return np.asarray(images[np.arange(len(images))[:, None, None], down, across])


def _with_noise(images: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    noise = check_noise(noise)
    return images + noise * rng.standard_normal(images.shape) if noise else images
