"""Labels and ids of any type, none of them missing, as arrays that can be compared and sorted."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown
from lamina._errors import DataError
from lamina._typing import Array


def labels_of(name: str, labels: Any, n: int) -> Array:
    """Return labels as an array with one entry for each row."""
    array = _array(name, labels)
    if array.shape != (n,):
        raise DataError(f"{name} must have one entry for each of {n} rows. Got {array.shape}.")
    return _known(name, array)


def id_numbers(ids: Any, n: int, name: str = "ids") -> Tensor:
    """Return ids of any type as whole numbers, (n,) or (n, m)."""
    array = _array(name, ids)
    if array.ndim not in (1, 2) or len(array) != n:
        raise DataError(
            f"{name} must have one entry for each of the {n} rows. Got shape {array.shape}."
        )
    columns = _known(name, array).reshape(n, -1)
    codes = [np.unique(column, return_inverse=True)[1] for column in columns.T]
    return torch.from_numpy(np.stack(codes, axis=1).reshape(array.shape))


def class_numbers(labels: Any) -> Tensor:
    """Return classes as whole numbers (n,); a missing one has a number below 0 of its own."""
    array = _array("labels", labels)
    if array.ndim != 1:
        raise DataError(f"labels must be a list of classes. Got shape {array.shape}.")
    missing = missing_in(array)
    numbers = torch.from_numpy(-1 - np.arange(len(array)))
    known = array[~missing]
    numbers[torch.from_numpy(~missing)] = id_numbers(known, len(known), "labels")
    return numbers


def kind_of(label: Any) -> str:
    """Return what a label is: of two kinds none can be equal."""
    if isinstance(label, str):
        return "a text"
    if isinstance(label, (Number, np.number, np.bool)):
        return "a number"
    return type(label).__name__


def missing_in(array: Array) -> Array:
    """Return where labels are None, NaN, NaT or pandas' NA."""
    if array.dtype.kind in "fcmM":
        return np.asarray(array != array)
    if array.dtype.kind != "O":
        return np.zeros(array.shape, dtype=bool)
    return np.array([_is_missing(label) for label in array.flat], bool).reshape(array.shape)


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, (float, np.generic)) and bool(label != label)


def _array(name: str, labels: Any) -> Array:
    """Return labels as an array; a list of texts and others keeps the others what they are."""
    if isinstance(labels, Tensor):
        return labels.detach().cpu().numpy()
    try:
        array = np.asarray(labels)
        if array.dtype.kind in "US" and isinstance(labels, (list, tuple)):
            array = np.array(labels, dtype=object)
    except ValueError as error:
        raise DataError(f"{name} must be an array. Got {shown(labels)}.") from error
    return array


def _known(name: str, array: Array) -> Array:
    """Return labels of one type; refuse missing and mixed ones."""
    missing = np.argwhere(missing_in(array))
    if len(missing):
        row = int(missing[0][0])
        raise DataError(
            f"{name} must not be missing. Got {array[tuple(missing[0])]} in row {row}. "
            "Drop the row, or give it a value of its own."
        )
    if array.dtype.kind != "O":
        return array
    kinds = sorted({kind_of(label) for label in array.flat})
    if len(kinds) > 1:
        raise DataError(
            f"{name} must be of one type. Got {' and '.join(kinds)}. Convert all of them to text."
        )
    try:
        np.sort(array, axis=None)
    except TypeError as error:
        raise DataError(
            f"{name} must be of a type that can be sorted. Got {kinds[0]}. Convert all of them "
            "to text."
        ) from error
    return array
