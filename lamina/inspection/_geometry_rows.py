"""Rows of data for the geometry: checked, scaled so that no square overflows, and distinct."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from lamina._checks import check_integer, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import FloatArray, IntArray

from ._arrays import numbers


def matrix(X: Any, minimum: int = 1, name: str = "X") -> FloatArray:
    """Return finite float64 numbers (N, D) with at least ``minimum`` rows."""
    rows = numbers(name, X)
    if rows.ndim != 2 or rows.shape[0] < minimum or rows.shape[1] < 1:
        some = "one row" if minimum == 1 else f"{minimum} rows"
        raise DataError(
            f"{name} must have shape (n_samples, n_features) with at least {some} and one "
            f"column. Got shape {rows.shape}."
        )
    return rows


def generator(random_state: Any) -> np.random.Generator:
    """Return NumPy's generator for a seed, or the generator itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_integer("random_state", random_state, 0))


def centred(X: FloatArray) -> tuple[FloatArray, float]:
    """Return rows of about unit size without their mean, and the factor that undoes the size.

    The factor is a power of two, so that the scaling alone rounds nothing.
    """
    largest = float(np.abs(X).max())
    if largest == 0.0:
        return np.zeros_like(X), 1.0
    # Two steps: the inverse of the smallest power of two does not exist in float64.
    scale = 2.0 ** min(math.frexp(largest)[1], 1023)
    scaled = X / scale
    scaled -= scaled.mean(axis=0)
    return scaled, scale


def distinct(X: FloatArray) -> IntArray:
    """Return the first row of each kind of equal rows, in their order."""
    rows = np.ascontiguousarray(X) + 0.0  # makes one zero of 0 and -0
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    first = np.unique(as_bytes, return_index=True)[1]
    return np.sort(first)


def enough(n_distinct: int, n_rows: int, minimum: int) -> None:
    """Raise a sentence if too few rows differ."""
    if n_distinct < minimum:
        raise DataError(
            f"X must have at least {minimum} rows that differ. Got {n_distinct} among {n_rows}."
        )


def drawn(n_rows: int, n_wanted: int, rng: np.random.Generator) -> IntArray:
    """Return all rows, or as many as wanted drawn without replacement, in rising order."""
    if n_wanted >= n_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, n_wanted, replace=False))


def check_shares(value: Any) -> list[float]:
    """Return shares of the variance as a list, from one number or several."""
    several = isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0
    given = list(value) if several else [value]
    if not given:
        raise ParameterError("shares must hold at least one number. Got none.")
    return [check_share("shares", share) for share in given]


def check_share(name: str, value: Any) -> float:
    """Return a share of the variance, over 0 and at most 1."""
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 < share <= 1:
        raise ParameterError(f"{name} must be over 0 and at most 1. Got {shown(value)}.")
    return share
