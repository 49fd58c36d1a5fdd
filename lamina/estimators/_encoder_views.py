"""From the name of a view to what makes two views of the rows of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina._checks import check_integer, check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray, IntArray
from lamina.represent import check_image_shape, corrupt, crop, recolour, rotate, shift

Pair = tuple[Array, Array]
Views = Callable[[IntArray, np.random.Generator], Pair]

IMAGES = {"crop": crop, "recolour": recolour, "rotate": rotate, "shift": shift}
STRENGTHS = {"corrupt": 0.6, "crop": 0.3, "recolour": 0.4, "rotate": 30.0, "shift": 3}
"""The strength of each view where none is given."""
LARGEST = {"corrupt": 1.0, "crop": 1.0, "recolour": 1.0, "rotate": 180.0}


def is_image_view(views: Any) -> bool:
    """Return whether rows are images to these views."""
    return isinstance(views, str) and views in IMAGES


def check_strength(views: str, strength: Any) -> float:
    """Return how strong a view is, or its default."""
    if strength is None:
        return STRENGTHS[views]
    if views == "shift":
        return check_integer("strength", strength, 0)
    return check_real("strength", strength, 0.0, LARGEST[views], open_maximum=views == "crop")


def view_settings(
    views: Any, strength: Any, image_shape: Any, n_features: int
) -> tuple[float, tuple[int, ...]]:
    """Return how strong views are, and the shape of images; a function has neither."""
    if not isinstance(views, str):
        return 0.0, ()
    checked = check_strength(views, strength)
    return checked, check_image_shape(image_shape, n_features) if is_image_view(views) else ()


def corrupted_views(X: FloatArray, rate: float) -> Views:
    """Return what gives rows, and the rows with cells of other rows."""

    def views(rows: IntArray, rng: np.random.Generator) -> Pair:
        clean = X[rows]
        return clean, corrupt(clean, rate, pool=X, own=rows, random_state=rng)[0]

    return views


def image_views(
    X: FloatArray, name: str, strength: float, shape: tuple[int, ...], background: float
) -> Views:
    """Return what gives two random views of images; ``background`` is what enters the frame."""
    images = X.reshape(len(X), *shape)
    options: dict[str, Any] = {"fill": background} if name in ("rotate", "shift") else {}

    def views(rows: IntArray, rng: np.random.Generator) -> Pair:
        some = images[rows]
        one, two = (
            IMAGES[name](some, strength, random_state=rng, **options).reshape(len(rows), -1)  # type: ignore[operator]
            for _ in range(2)
        )
        return one, two

    return views


def own_views(
    X: FloatArray, make: Callable[..., Any], prepare: Callable[[FloatArray], FloatArray]
) -> Views:
    """Return what gives two views by a user's function of rows and a generator."""

    def view(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        made = np.asarray(make(rows.copy(), rng))
        if made.shape != rows.shape or made.dtype.kind not in "biuf":
            raise ParameterError(
                "views must return numbers in the shape of the rows it gets, here "
                f"{rows.shape}. Got {made.dtype} of shape {made.shape}."
            )
        if not np.isfinite(made).all():
            raise DataError("views must return finite numbers. Got some that are not.")
        return prepare(made.astype(np.float64))

    def views(rows: IntArray, rng: np.random.Generator) -> Pair:
        some = X[rows]
        return view(some, rng), view(some, rng)

    return views


def check_views(views: Any) -> None:
    """Refuse what is neither the name of a view nor a function."""
    if callable(views) or (isinstance(views, str) and views in STRENGTHS):
        return
    names = ", ".join(repr(name) for name in sorted(STRENGTHS))
    raise ParameterError(
        f"views must be one of {names}, or a function of rows and a NumPy Generator that "
        f"returns other views of them. Got {shown(views)}."
    )
