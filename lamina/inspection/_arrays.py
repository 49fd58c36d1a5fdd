"""What the user gives an inspection, checked at the door: numbers, labels, probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from lamina._checks import shown
from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray

_ROUNDING = 1e-6
_SUM_ROUNDING = 1e-3
"""Sums of many float32 probabilities are off by more than one rounding."""


def numbers(name: str, value: Any) -> FloatArray:
    """Return ``value`` as finite float64, or a sentence that names the first wrong place."""
    array = _as_float64(name, value)
    wrong = ~np.isfinite(array)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" in row {place[0]}" if place else ""
        raise DataError(f"{name} must be finite numbers. Got {array[place]}{where}.")
    return array


def _as_float64(name: str, value: Any) -> FloatArray:
    """Return float64 on the CPU; nothing masked, complex or dated passes for a number."""
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            raise DataError(f"{name} must hold numbers. Got a tensor on the device 'meta'.")
        # Not np.asarray: it knows no bfloat16, other device, or tensor with a gradient.
        value = value.detach().cpu().to_dense()
        value = (value if value.is_complex() else value.double()).numpy()
    try:
        raw = np.asanyarray(value)
        if value is None or raw.dtype.kind in "mM":  # would become nan, or a count of days
            raise TypeError
        array = raw.real.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DataError(f"{name} must hold numbers. Got {shown(value)}.") from None
    if np.iscomplexobj(raw):
        raise DataError(f"{name} must hold real numbers. Got complex ones.")
    if isinstance(raw, np.ma.MaskedArray):
        array = np.ma.filled(array, np.nan)
    return np.asarray(array, dtype=np.float64)


def lengths(rows: FloatArray) -> FloatArray:
    """Return the Euclidean length of each row (N,), of numbers as large or small as they come."""
    largest: FloatArray = np.abs(rows).max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    found: FloatArray = largest * np.linalg.norm(rows / safe[:, None], axis=1)
    return found


def column(name: str, value: Any) -> FloatArray:
    """Return finite numbers (N,) with N of at least 1; shape (N, 1) is taken as (N,)."""
    array = numbers(name, value)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not array.size:
        raise DataError(
            f"{name} must have shape (n_samples,) with at least one row. Got shape {array.shape}."
        )
    return array


def class_scores(name: str, value: Any) -> FloatArray:
    """Return finite numbers with a column for each class, or (N,) for the second of two."""
    array = numbers(name, value)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or not array.size:
        raise DataError(
            f"{name} must have shape (n_samples, n_classes), or (n_samples,) for the second of "
            f"two classes, with at least one row. Got shape {array.shape}."
        )
    return array


def probabilities(value: Any) -> FloatArray:
    """Return probabilities (N, K) from (N, K), or from (N,) of the second of two classes."""
    array = class_scores("proba", value)
    wrong = (array < -_ROUNDING) | (array > 1 + _ROUNDING)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise DataError(
            f"proba must be probabilities from 0 to 1. Got {array[place]:.6g} in row {place[0]}. "
            "Of raw outputs (logits) take the softmax first."
        )
    array = np.clip(array, 0.0, 1.0)
    if array.ndim == 1:
        return np.column_stack([1 - array, array])
    sums = array.sum(axis=1)
    wrong_rows = np.flatnonzero(np.abs(sums - 1) > _SUM_ROUNDING)
    if wrong_rows.size:
        row = int(wrong_rows[0])
        raise DataError(
            f"proba must sum to 1 in each row. Got {sums[row]:.6g} in row {row}. "
            "For several labels at once, inspect one column at a time."
        )
    return array


def class_numbers(y: Any, n_rows: int, n_classes: int, classes: Any) -> tuple[IntArray, Array]:
    """Return the column of each label (N,), and the label of each column (K,)."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n_rows,):
        raise DataError(
            f"y must have shape ({n_rows},), a label for each row. Got shape {labels.shape}."
        )
    known = _classes(labels, n_classes, classes)
    number = {label: i for i, label in enumerate(known.tolist())}
    codes = np.array([number.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise DataError(
            f"y must hold labels of the classes {shown(known.tolist())}. "
            f"Got {shown(labels.tolist()[row])} in row {row}."
        )
    return codes, known


def _classes(labels: Array, n_classes: int, classes: Any) -> Array:
    """Return the label of each column: as given, or as the labels themselves tell."""
    if classes is not None:
        given = np.asarray(classes)
        if given.shape != (n_classes,) or len(set(given.tolist())) != n_classes:
            raise DataError(
                f"classes must be {n_classes} different labels, one for each column. "
                f"Got {shown(given.tolist())}."
            )
        return given
    try:
        seen = np.unique(labels)
    except TypeError:
        raise DataError("y must hold labels of one type. Got a mixture of types.") from None
    if seen.dtype.kind == "f" and np.isnan(seen).any():
        raise DataError("y must hold no missing label. Got nan. Drop these rows.")
    if len(seen) == n_classes:
        return seen
    if n_classes == 2 and set(seen.tolist()) <= {0, 1}:
        return np.array([0, 1])
    raise DataError(
        f"y must hold each of the {n_classes} classes where classes is not given. "
        f"Got the labels {shown(seen.tolist())}. Pass classes=model.classes_."
    )
