"""Functions and intervals that a user gives to be approximated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from lamina._checks import check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import FloatArray
from lamina.nn import Network

from ._arrays import numbers

_BLOCK = 2**21
Function: TypeAlias = Callable[[FloatArray], Any]


def check_interval(name: str, value: Any) -> tuple[float, float]:
    """Return the ends of an interval, the first less than the second."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a pair (low, high). Got {shown(value)}.") from None
    low, high = check_real(f"{name}[0]", low), check_real(f"{name}[1]", high)
    if not low < high:
        raise ParameterError(f"{name} must have low < high. Got ({low:g}, {high:g}).")
    return low, high


def values_of(function: Any, at: FloatArray) -> FloatArray:
    """Return the values (N,) of a function at numbers (N,) or at rows (N, D)."""
    if not callable(function):
        raise ParameterError(f"function must be a function of an array. Got {shown(function)}.")
    values = numbers("The values of function", function(at))
    if values.ndim == 0:  # a constant function
        values = np.full(len(at), float(values))
    if values.shape != (len(at),):
        raise DataError(
            f"function must return one number for each point, shape ({len(at)},). "
            f"Got shape {values.shape}."
        )
    return values


def outputs(network: Network, points: FloatArray) -> FloatArray:
    """Return the first output (N,) at points (N, D), in blocks that stay small in memory."""
    step = max(1, _BLOCK // max(network.sizes))
    blocks = range(0, len(points), step)
    return np.concatenate([network.predict_raw(points[i : i + step])[:, 0] for i in blocks])
