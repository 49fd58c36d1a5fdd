"""What the user gives a predictive distribution, checked at the door and brought into shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina._checks import check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray, IntArray

from ._log_sum import exponential, log_sum


def numbers(name: str, value: Any) -> FloatArray:
    """Return ``value`` as float64, or a sentence if it holds something else than numbers."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must hold numbers. Got {shown(value)}.") from None


def refuse_nan(name: str, values: FloatArray, *, infinite_too: bool = False) -> None:
    """Raise a sentence that names the first place that is not a number."""
    wrong = ~np.isfinite(values) if infinite_too else np.isnan(values)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" in row {place[0]}" if place else ""
        raise DataError(
            f"{name} must be finite numbers. Got {values[place]}{where}. "
            "Drop that row or fill it in."
        )


def points(y: Any, n_rows: int, *, finite: bool = False) -> tuple[FloatArray, bool]:
    """Return values of one target as (N, m), and whether there was one value a row.

    Accepted are a number, an array of shape (N,), and an array of shape (N, m) or (1, m).
    """
    values = numbers("y", y)
    single = values.ndim < 2
    if values.ndim == 1 and len(values) == n_rows:
        values = values[:, None]
    elif values.ndim == 0:
        values = values[None, None]
    if values.ndim != 2 or len(values) not in (1, n_rows):
        raise DataError(
            f"y must be a number or have shape ({n_rows},), ({n_rows}, m) or (1, m), a row for "
            f"each row of the distribution. Got shape {np.shape(y)}. "
            "For the same values in every row pass y[None, :]."
        )
    refuse_nan("y", values, infinite_too=finite)
    return np.broadcast_to(values, (n_rows, values.shape[1])), single


def joint_points(
    y: Any, n_rows: int, n_targets: int, *, finite: bool = False
) -> tuple[FloatArray, bool]:
    """Return values of T targets as (N, m, T), and whether there was one vector a row.

    Accepted are arrays of shape (T,), (N, T), and (N, m, T) or (1, m, T).
    """
    values = numbers("y", y)
    single = values.ndim < 3
    if values.ndim == 1:
        values = values[None]
    if values.ndim == 2:
        values = values[:, None]
    if values.ndim != 3 or values.shape[2] != n_targets or len(values) not in (1, n_rows):
        raise DataError(
            f"y must have shape ({n_rows}, {n_targets}): a row for each row of the distribution, "
            f"a column for each target. Got shape {np.shape(y)}."
        )
    refuse_nan("y", values, infinite_too=finite)
    return np.broadcast_to(values, (n_rows, *values.shape[1:])), single


def levels(name: str, q: Any) -> tuple[FloatArray, bool]:
    """Return probabilities as (m,), and whether it was a single number."""
    values = numbers(name, q)
    if values.ndim > 1 or values.size == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ParameterError(
            f"{name} must be a number in [0, 1], or a list of them. Got {shown(q)}."
        )
    return np.atleast_1d(values), values.ndim == 0


def inner_level(level: Any) -> float:
    """Return a probability strictly between 0 and 1."""
    return check_real("level", level, 0, 1, open_minimum=True, open_maximum=True)


def parameter(name: str, value: Any, n_axes: int) -> FloatArray:
    """Return finite parameters of each row and component; a missing component axis is added."""
    values = numbers(name, value)
    if values.ndim == n_axes - 1:
        values = values[:, None]
    if values.ndim != n_axes or 0 in values.shape:
        axes = ", ".join(("N", "C", "T", "T")[:n_axes])
        raise ParameterError(f"{name} must have shape ({axes}). Got shape {np.shape(value)}.")
    refuse_parameter(name, values, np.isfinite(values), "finite")
    return np.array(values, order="C")


def positive(name: str, values: FloatArray) -> None:
    """Refuse parameters that are not above zero."""
    refuse_parameter(name, values, values > 0, "above 0")


def refuse_parameter(name: str, values: Array, good: Array, rule: str) -> None:
    """Raise a sentence that names the first value that breaks a rule."""
    if not good.all():
        place = tuple(int(i) for i in np.argwhere(~good)[0])
        raise ParameterError(f"{name} must be {rule}. Got {values[place]} in row {place[0]}.")


def normalised_weights(value: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return normalised log weights (N, C); None stands for equal weights."""
    shape = shape[:2]
    if value is None:
        return np.full(shape, -math.log(shape[1]))
    values = numbers("log_weights", value)
    if values.ndim not in (1, 2) or np.broadcast_shapes(values.shape, (1, 1))[1] != shape[1]:
        raise ParameterError(
            f"log_weights must have shape {shape} or ({shape[1]},). Got shape {values.shape}."
        )
    if values.ndim == 2 and len(values) != shape[0]:
        raise ParameterError(f"log_weights must have shape {shape}. Got shape {values.shape}.")
    values = np.broadcast_to(values, shape)
    top = values.max(axis=1, keepdims=True)
    refuse_parameter("log_weights", values, np.isfinite(np.broadcast_to(top, shape)), "finite")
    shifted = values - top
    normalised: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def row_numbers(rows: Any, n_rows: int) -> IntArray:
    """Return the number of each row, which its random stream belongs to."""
    if rows is None:
        return np.arange(n_rows)
    values = np.asarray(rows)
    if values.shape != (n_rows,) or values.dtype.kind not in "iu":
        raise ParameterError(
            f"rows must be {n_rows} integers, a number for each row. Got {shown(rows)}."
        )
    return values.astype(np.int64)


def row_index(index: Any, n_rows: int) -> IntArray | slice:
    """Return what picks rows out of arrays and keeps the axis of rows."""
    picked = _row_index(index, n_rows)
    if n_rows and not len(range(n_rows)[picked] if isinstance(picked, slice) else picked):
        raise ParameterError(
            f"rows must be picked, one or more. Got {shown(index)}, which picks none."
        )
    return picked


def _row_index(index: Any, n_rows: int) -> IntArray | slice:
    if isinstance(index, slice):
        return index
    places = np.asarray(index)
    if places.dtype == bool and places.shape == (n_rows,):
        return np.flatnonzero(places)
    if places.ndim > 1 or (places.dtype.kind not in "iu" and places.size):
        raise ParameterError(
            "rows are picked by an integer, a slice, a list of integers or a mask of shape "
            f"({n_rows},). Got {shown(index)}."
        )
    places = np.atleast_1d(places).astype(np.int64)
    outside = places[(places < -n_rows) | (places >= n_rows)]
    if outside.size:
        raise IndexError(f"row {int(outside[0])} is outside the {n_rows} rows of the distribution")
    return places


def affine_pair(loc: Any, scale: Any, n_targets: int) -> tuple[FloatArray, FloatArray]:
    """Return shift and factor of y = loc + scale·z, each of shape (T,)."""
    pair = []
    for name, value in (("loc", loc), ("scale", scale)):
        values = numbers(name, value)
        if values.ndim > 1 or values.size not in (1, n_targets) or not np.isfinite(values).all():
            raise ParameterError(
                f"{name} must be a finite number, or one for each of the {n_targets} targets. "
                f"Got {shown(value)}."
            )
        pair.append(np.broadcast_to(values, (n_targets,)))
    if not (pair[1] > 0).all():
        raise ParameterError(
            f"scale must be above 0. Got {shown(scale)}. "
            "A target that is constant has no density; give it scale=1."
        )
    return pair[0], pair[1]


def targets_given(given: Any, n_targets: int) -> Sequence[int]:
    """Return the sorted numbers of the targets that a condition fixes."""
    wrong = not isinstance(given, dict) or not given
    if wrong or not all(target_number(target, n_targets) is not None for target in given):
        raise ParameterError(
            f"given must be a dict of target numbers from 0 to {n_targets - 1} and their values. "
            f"Got {shown(given)}."
        )
    if len(given) == n_targets:
        raise ParameterError("given must leave a target free. Got a value for each of them.")
    return sorted(int(target) for target in given)


def target_number(target: Any, n_targets: int) -> int | None:
    """Return the number of a target, or None if there is no such target."""
    whole = isinstance(target, (int, np.integer)) and not isinstance(target, bool)
    return int(target) if whole and 0 <= target < n_targets else None


def values_given(given: dict[int, Any], target: int, n_rows: int) -> FloatArray:
    """Return the known values (N,) of a target."""
    name = f"given[{target}]"
    values = numbers(name, given[target])
    if values.ndim and values.shape != (n_rows,):
        raise DataError(
            f"{name} must be a number or have shape ({n_rows},). Got shape {values.shape}."
        )
    refuse_nan(name, values, infinite_too=True)
    return np.broadcast_to(values, (n_rows,))


def shares_of(terms: FloatArray, prior: FloatArray) -> FloatArray:
    """Return exp of log terms divided by their sum over the last axis.

    Where every term is beyond the float range, only the prior is left to say.
    """
    total = log_sum(terms)[..., None]
    known = np.isfinite(total)
    return np.where(known, exponential(terms - np.where(known, total, 0.0)), prior)
