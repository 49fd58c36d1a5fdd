"""Sums of exponentials in log space, without a warning where every term is zero."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray


def log_sum(terms: FloatArray) -> FloatArray:
    """Return ln Σ exp of the last axis; -inf where every term is -inf."""
    top = terms.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: FloatArray = np.log(np.exp(terms - top).sum(axis=-1)) + top[..., 0]
    return total


def exponential(values: FloatArray) -> FloatArray:
    """Return exp; infinite where it is beyond the largest float."""
    with np.errstate(over="ignore"):
        return np.exp(values)
