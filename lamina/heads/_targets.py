"""Checks of target arrays: one sentence that names the row."""

from __future__ import annotations

import numpy as np

from lamina._errors import DataError
from lamina._typing import Array


def float_columns(y: Array) -> Array:
    """Return ``y`` as finite float64 of shape (N, Q)."""
    y = np.asarray(y)
    if y.dtype.kind not in "biuf":
        raise DataError(f"y must be numbers. Got an array of type {y.dtype}.")
    if y.ndim not in (1, 2):
        raise DataError(f"y must have shape (N,) or (N, Q). Got {y.shape}.")
    columns = np.asarray(y, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    refuse(~np.isfinite(columns), columns, "finite")
    return columns


def refuse(wrong: Array, y: Array, rule: str) -> None:
    """Raise a sentence about the first row in which ``wrong`` is true."""
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        column = f", column {place[1]}" if y.ndim == 2 and y.shape[1] > 1 else ""
        raise DataError(f"y must be {rule}. Got {y[place].item()!r} in row {place[0]}{column}.")
