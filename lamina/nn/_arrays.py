"""Take arrays or tensors in and give the same kind out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown
from lamina._errors import DataError
from lamina._typing import Array, FloatArray

NUMPY_DTYPES = {torch.float32: np.float32, torch.float64: np.float64}


def numeric_array(name: str, values: Any) -> Array:
    """Return ``values`` as an array of real numbers, or say that they are none."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} must be an array of real numbers. Got {error}.") from None
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must be an array of real numbers. Got dtype {array.dtype}.")
    return array


def as_tensor(name: str, values: Any, like: Tensor) -> Tensor:
    """Return ``values`` as a tensor with dtype and device of ``like``."""
    if isinstance(values, Tensor):
        if values.is_complex():
            raise DataError(f"{name} must be an array of real numbers. Got dtype {values.dtype}.")
        return values.to(device=like.device, dtype=like.dtype)
    array = numeric_array(name, values)
    dtype = NUMPY_DTYPES.get(like.dtype, np.float64)
    array = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
    # torch warns about memory that it could write and must not.
    tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
    return tensor.to(like)


def as_numpy(tensor: Tensor) -> FloatArray:
    """Return a tensor's values as an array of their own memory."""
    known = tensor.float() if tensor.dtype == torch.bfloat16 else tensor  # numpy has none
    values: FloatArray = known.detach().cpu().numpy().copy()
    return values


def check_columns(X: Tensor, n_features: int) -> None:
    """Refuse inputs whose last axis is not the features of the network."""
    if X.ndim == 0 or X.shape[-1] != n_features:
        shape = "a single number" if X.ndim == 0 else f"shape {shown(tuple(X.shape))}"
        one = " Reshape a column of N numbers to (N, 1)." if n_features == 1 else ""
        raise DataError(f"X must have shape (..., {n_features}). Got {shape}.{one}")


def check_dtype(X: Tensor, dtype: torch.dtype) -> None:
    """Refuse inputs of another dtype than the network's, which torch cannot multiply."""
    if X.dtype != dtype:
        raise DataError(
            f"X must have the network's dtype {dtype}. Got {X.dtype}. "
            f"Convert it with X.to({dtype}), or call predict_raw, which does."
        )
