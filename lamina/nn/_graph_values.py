"""Values of units by name or by column: take one in and give the same kind out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown, suggestion
from lamina._errors import DataError

from ._arrays import numeric_array


def columns_of(values: Mapping[str, Any], inputs: Sequence[str], like: Tensor) -> Any:
    """Return values of the inputs by name as columns (..., D), tensors if one of them is."""
    missing = [name for name in inputs if name not in values]
    strangers = [name for name in values if name not in set(inputs)]
    if missing or strangers:
        near = "" if missing else suggestion(strangers[0], inputs)
        got = f"no value for {shown(missing)}" if missing else f"one for {shown(strangers[0])}"
        raise DataError(f"X must have a value for each input and for no other. Got {got}.{near}")
    own = [values[name] for name in inputs]
    try:
        if any(isinstance(value, Tensor) for value in own):
            tensors = [torch.as_tensor(v, dtype=like.dtype, device=like.device) for v in own]
            shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
            return torch.stack([t.expand(shape) for t in tensors], dim=-1)
        arrays = [numeric_array(f"X[{n!r}]", v) for n, v in zip(inputs, own, strict=True)]
        return np.stack(np.broadcast_arrays(*arrays), axis=-1)
    except (RuntimeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        shapes = [tuple(np.shape(value)) for value in own]
        raise DataError(f"X must have values of one shape. Got shapes {shown(shapes)}.") from None


def by_name(values: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns (..., n) by name; single numbers as numbers."""
    columns = {name: values[..., i] for i, name in enumerate(names)}
    if isinstance(values, Tensor) or values.ndim > 1:
        return columns
    return {name: float(value) for name, value in columns.items()}
