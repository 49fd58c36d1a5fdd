"""Values of units by name or by column: take one in and give the same kind out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown, suggestion
from lamina._columns import named_table
from lamina._errors import DataError

from ._arrays import as_tensor, numeric_array


def in_order(X: Any, inputs: Sequence[str], like: Tensor) -> Any:
    """Return a table's columns in the order of the inputs, and anything else as it is."""
    table = named_table(X)
    if table is None:
        return X
    if set(table.columns) != set(inputs):
        raise DataError(
            f"X must have the inputs {shown(tuple(inputs))} as its columns, in any order. "
            f"Got {shown(table.columns)}. Give X.to_numpy() to take them by position."
        )
    return columns_of({name: table[name].to_numpy() for name in inputs}, inputs, like)


def columns_of(values: Mapping[str, Any], inputs: Sequence[str], like: Tensor) -> Any:
    """Return values of the inputs by name as columns (..., D), tensors if one of them is."""
    known = set(inputs)
    missing = [name for name in inputs if name not in values]
    strangers = [name for name in values if name not in known]
    if missing or strangers:
        near = "" if missing else suggestion(strangers[0], inputs)
        got = f"no value for {shown(missing)}" if missing else f"one for {shown(strangers[0])}"
        raise DataError(f"X must have a value for each input and for no other. Got {got}.{near}")
    own = {f"X[{name!r}]": values[name] for name in inputs}
    if any(isinstance(value, Tensor) for value in own.values()):
        tensors = [as_tensor(name, value, like) for name, value in own.items()]
        shape = _shape([tuple(tensor.shape) for tensor in tensors])
        return torch.stack([tensor.expand(shape) for tensor in tensors], dim=-1)
    arrays = [numeric_array(name, value) for name, value in own.items()]
    shape = _shape([array.shape for array in arrays])
    return np.stack([np.broadcast_to(array, shape) for array in arrays], axis=-1)


def _shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that values of these shapes have together."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise DataError(f"X must have values of one shape. Got shapes {shown(shapes)}.") from None


def floating(name: str, values: Any) -> Tensor:
    """Return numbers as a tensor that can be a parameter; what is not float becomes float64."""
    if isinstance(values, Tensor):
        if values.is_complex():
            raise DataError(f"{name} must be real numbers. Got {values.dtype}.")
        return values.detach() if values.is_floating_point() else values.double()
    array = numeric_array(name, values)
    kept = array.dtype.type in (np.float16, np.float32)
    return torch.from_numpy(np.array(array, dtype=array.dtype.type if kept else np.float64))


def check_dense(X: Tensor) -> None:
    """Refuse a sparse tensor."""
    if X.layout != torch.strided:
        raise DataError(f"X must be a dense tensor. Got {X.layout}. Use X.to_dense().")


def by_name(values: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns (..., n) by name; single numbers as numbers."""
    columns = {name: values[..., i] for i, name in enumerate(names)}
    if isinstance(values, Tensor) or values.ndim > 1:
        return columns
    return {name: float(value) for name, value in columns.items()}
