"""Other views of images: shifted, turned, cropped, recoloured."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from lamina._checks import check_integer, check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray

Seed = int | np.random.Generator | None


def _stack(images: Array) -> tuple[FloatArray, int]:
    """Return images as (N, H, W, C), and how many axes they had."""
    array = np.asarray(images)
    if array.ndim not in (3, 4) or 0 in array.shape:
        raise DataError(f"images must have shape (N, H, W) or (N, H, W, C). Got {array.shape}.")
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    return array.reshape(*array.shape[:3], -1), array.ndim


def shift(
    images: Array, strength: int = 3, *, fill: float = 0.0, random_state: Seed = None
) -> Any:
    """Move each image by whole pixels, its own number of them in each direction.

    Parameters
    ----------
    images : ndarray of shape (N, H, W) or (N, H, W, C)
        Images.
    strength : int, default=3
        Shifts down and to the right are uniform on the whole numbers from minus this to this.
    fill : float, default=0.0
        What enters the frame.
    random_state : int, Generator or None, default=None
        Seed or source of the draws.

    Returns
    -------
    ndarray of the shape of ``images``

    Raises
    ------
    DataError
        If images have another number of axes.
    ParameterError
        If the strength is no whole number.

    Examples
    --------
    >>> image = np.zeros((1, 5, 5))
    >>> image[0, 2, 2] = 1.0
    >>> float(shift(image, 2, random_state=0).sum())
    1.0
    """
    stack, n_axes = _stack(images)
    n, height, width, _ = stack.shape
    most = check_integer("strength", strength, 0)
    moves = np.random.default_rng(random_state).integers(-most, most, (2, n), endpoint=True)
    view = np.full_like(stack, fill)
    down, right = moves.tolist()
    rows = {move: (_to(move, height), _to(-move, height)) for move in set(down)}
    columns = {move: (_to(move, width), _to(-move, width)) for move in set(right)}
    # one copy of a rectangle an image is quicker than indices for all pixels
    for i in range(n):
        (above, from_above), (beside, from_beside) = rows[down[i]], columns[right[i]]
        view[i, above, beside] = stack[i, from_above, from_beside]
    return view[..., 0] if n_axes == 3 else view


def _to(move: int, size: int) -> slice:
    """Return the pixels of an axis that are filled when an image is moved along it."""
    return slice(min(max(move, 0), size), max(size + min(move, 0), 0))


def rotate(
    images: Array, strength: float = 30.0, *, fill: float = 0.0, random_state: Seed = None
) -> Any:
    """Turn each image about its centre by its own angle, with bilinear interpolation.

    Parameters
    ----------
    images : ndarray of shape (N, H, W) or (N, H, W, C)
        Images.
    strength : float, default=30.0
        Angles are uniform from minus this to this, in degrees; at most 180.
    fill : float, default=0.0
        What enters the frame.
    random_state : int, Generator or None, default=None
        Seed or source of the draws.

    Returns
    -------
    ndarray of the shape of ``images``

    Raises
    ------
    DataError
        If images have another number of axes.
    ParameterError
        If the strength is no angle.

    Examples
    --------
    >>> rotate(np.ones((2, 9, 9)), 45.0, random_state=0)[:, 4, 4].tolist()
    [1.0, 1.0]
    """
    stack, n_axes = _stack(images)
    n, height, width, _ = stack.shape
    most = np.deg2rad(check_real("strength", strength, 0.0, 180.0))
    rng = np.random.default_rng(random_state)
    angle: FloatArray = rng.uniform(-most, most, (n, 1, 1))
    down, across = _centred(height)[:, None], _centred(width)[None]
    rows = np.cos(angle) * down + np.sin(angle) * across
    columns = np.cos(angle) * across - np.sin(angle) * down
    view = _read(stack, rows, columns, fill)
    return view[..., 0] if n_axes == 3 else view


def crop(images: Array, strength: float = 0.3, *, random_state: Seed = None) -> Any:
    """Cut a random window out of each image, and enlarge it to the frame.

    Parameters
    ----------
    images : ndarray of shape (N, H, W) or (N, H, W, C)
        Images.
    strength : float, default=0.3
        Most of a side that is cut off: sides of the window are uniform from 1 minus this to 1,
        and so is its place; in [0, 1).
    random_state : int, Generator or None, default=None
        Seed or source of the draws.

    Returns
    -------
    ndarray of the shape of ``images``

    Raises
    ------
    DataError
        If images have another number of axes.
    ParameterError
        If the strength is outside [0, 1).

    Examples
    --------
    >>> ramp = np.tile(np.arange(9.0), (1, 9, 1))
    >>> view = crop(ramp, 0.5, random_state=0)
    >>> bool(view.min() >= 0.0 and view.max() <= 8.0)
    True
    """
    stack, n_axes = _stack(images)
    n, height, width, _ = stack.shape
    most = check_real("strength", strength, 0.0, 1.0, open_maximum=True)
    rng = np.random.default_rng(random_state)
    side: FloatArray = rng.uniform(1.0 - most, 1.0, (n,))
    rows, columns = (
        _centred(size)[None] * side[:, None]
        + (rng.uniform(-0.5, 0.5, (n,)) * (1.0 - side) * (size - 1))[:, None]
        for size in (height, width)
    )
    view = _read(stack, rows[:, :, None], columns[:, None], 0.0)
    return view[..., 0] if n_axes == 3 else view


def recolour(images: Array, strength: float = 0.4, *, random_state: Seed = None) -> Any:
    r"""Change contrast and brightness of each image.

    .. math:: x' = m + c\,(x - m) + b\,s, \qquad c \sim U(1 - t, 1 + t),\; b \sim U(-t, t),

    with mean m and standard deviation s of the image, each channel its own.

    Parameters
    ----------
    images : ndarray of shape (N, H, W) or (N, H, W, C)
        Images.
    strength : float, default=0.4
        t, in [0, 1].
    random_state : int, Generator or None, default=None
        Seed or source of the draws.

    Returns
    -------
    ndarray of the shape of ``images``

    Raises
    ------
    DataError
        If images have another number of axes.
    ParameterError
        If the strength is outside [0, 1].

    Examples
    --------
    >>> recolour(np.ones((2, 3, 3)), random_state=0).tolist() == np.ones((2, 3, 3)).tolist()
    True
    """
    stack, n_axes = _stack(images)
    n, _, _, channels = stack.shape
    t = check_real("strength", strength, 0.0, 1.0)
    rng = np.random.default_rng(random_state)
    contrast, bright = rng.uniform(-t, t, (2, n, 1, 1, channels)).astype(stack.dtype)
    mean, spread = stack.mean((1, 2), keepdims=True), stack.std((1, 2), keepdims=True)
    view = stack + contrast * (stack - mean) + bright * spread
    return view[..., 0] if n_axes == 3 else view


def _centred(size: int) -> FloatArray:
    """Return the places of pixels with the centre of the frame at 0."""
    return np.arange(size) - 0.5 * (size - 1)


def _read(images: FloatArray, rows: FloatArray, columns: FloatArray, fill: float) -> FloatArray:
    """Return images (N, H, W, C) read at places from their centres, between pixels linearly."""
    n, height, width, _ = images.shape
    shape = (n, height, width)
    # grid_sample wants (x, y) with -1 and 1 at the centres of the outermost pixels.
    grid = np.stack(
        [
            np.broadcast_to(columns * (2.0 / max(width - 1, 1)), shape),
            np.broadcast_to(rows * (2.0 / max(height - 1, 1)), shape),
        ],
        axis=-1,
    ).astype(images.dtype)
    channels_first = torch.from_numpy(np.ascontiguousarray(images - fill)).permute(0, 3, 1, 2)
    read: Tensor = grid_sample(channels_first, torch.from_numpy(grid), align_corners=True)
    view: FloatArray = read.permute(0, 2, 3, 1).contiguous().numpy() + images.dtype.type(fill)
    return view


IMAGE_VIEWS = {"crop": crop, "recolour": recolour, "rotate": rotate, "shift": shift}
"""Every view of images by its name."""

FILLS = ("rotate", "shift")
"""Those that let something new into the frame, and take ``fill``."""


def check_image_shape(image_shape: Any, n_features: int) -> tuple[int, ...]:
    """Return the shape of images that are rows of numbers, or say that they are none.

    Parameters
    ----------
    image_shape : tuple of int or None
        (H, W) or (H, W, C); None stands for a square image of one channel.
    n_features : int
        Numbers of a row.

    Returns
    -------
    tuple of int

    Raises
    ------
    ParameterError
        If the shape does not have so many numbers.

    Examples
    --------
    >>> check_image_shape(None, 784), check_image_shape((4, 5, 3), 60)
    ((28, 28), (4, 5, 3))
    """
    if image_shape is None:
        side = round(n_features**0.5)
        if side * side != n_features:
            raise ParameterError(
                f"image_shape must be given where rows are no square images. Got {n_features} "
                "features and no shape."
            )
        return side, side
    sizes = tuple(image_shape) if isinstance(image_shape, (tuple, list)) else ()
    whole = all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes)
    if len(sizes) not in (2, 3) or not whole or int(np.prod(sizes)) != n_features:
        raise ParameterError(
            f"image_shape must be (H, W) or (H, W, C) with a product of {n_features}, the number "
            f"of features. Got {shown(image_shape)}."
        )
    return tuple(int(size) for size in sizes)
