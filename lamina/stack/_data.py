"""The rows that a stack trains on: dense or sparse, on one device, shared by all members."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from lamina._checks import shown
from lamina._errors import DataError
from lamina._finite import all_finite
from lamina._typing import Array, IntArray


class Rows(Protocol):
    """Rows of inputs that can be taken by number."""

    n_samples: int
    n_features: int
    dtype: torch.dtype
    device: torch.device

    def take(self, index: IntArray) -> Tensor:
        """Return the rows of a flat index as a dense ``(len(index), D)`` tensor."""

    def all(self) -> Tensor:
        """Return all rows as a dense ``(N, D)`` tensor."""


class DenseRows:
    """Inputs held as one tensor on the device."""

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.dtype, self.device = x.dtype, x.device
        self.n_samples, self.n_features = x.shape

    def take(self, index: IntArray) -> Tensor:
        """Gather rows on the device."""
        return self.x.index_select(0, torch.from_numpy(index).to(self.x.device))

    def all(self) -> Tensor:
        """Return the tensor itself."""
        return self.x


class SparseRows:
    """Inputs held as a SciPy CSR matrix; only the rows of a batch are made dense."""

    def __init__(self, x: Any, dtype: torch.dtype, device: torch.device) -> None:
        self.x = x
        self.dtype, self.device = dtype, device
        self.n_samples, self.n_features = self.x.shape

    def take(self, index: IntArray) -> Tensor:
        """Make the rows of an index dense."""
        return torch.from_numpy(self.x[index].toarray()).to(self.device)

    def all(self) -> Tensor:
        """Make everything dense."""
        return torch.from_numpy(self.x.toarray()).to(self.device)


def as_rows(X: Any, dtype: torch.dtype, device: torch.device) -> Rows:
    """Return the rows of an array, tensor or sparse matrix; refuse what is not 2-D and finite."""
    if scipy.sparse.issparse(X):
        return SparseRows(_sparse(X, _name(dtype)), dtype, device)
    tensor = _checked(X) if isinstance(X, Tensor) else _tensor_of(X)
    _check_shape(tuple(tensor.shape))
    tensor = tensor.detach().to(dtype=dtype, device=device).contiguous()
    if not all_finite(tensor):
        row, column = (int(i) for i in torch.nonzero(~torch.isfinite(tensor))[0])
        raise _not_finite(float(tensor[row, column]), row, column, _name(dtype))
    return DenseRows(tensor)


def target_array(y: Any) -> Array:
    """Return the targets as an array, whatever they came in."""
    return y.detach().cpu().numpy() if isinstance(y, Tensor) else _array("y", y)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _array(name: str, values: Any) -> Array:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(
            f"{name} must be an array, or lists of equal length. Got {shown(values)}."
        ) from error


def _checked(X: Tensor) -> Tensor:
    if X.is_complex() or X.layout != torch.strided:
        raise DataError(f"X must be a dense tensor of real numbers. Got {X.layout}, {X.dtype}.")
    return X


def _tensor_of(X: Any) -> Tensor:
    array = _array("X", X)
    _check_kind(array.dtype)
    as_torch_takes_it = (
        array.dtype.kind in "if"
        and array.dtype.isnative
        and array.dtype.itemsize <= 8
        and array.flags.writeable
        and all(stride >= 0 for stride in array.strides)
    )
    return torch.from_numpy(array if as_torch_takes_it else array.astype(np.float64, order="C"))


def _sparse(X: Any, dtype: str) -> Any:
    """Return a CSR matrix of a dtype, every stored number finite."""
    _check_kind(X.dtype)
    csr: Any = scipy.sparse.csr_array(X)
    _check_shape(csr.shape)
    with np.errstate(over="ignore"):
        csr = csr.astype(dtype, copy=False)
    wrong = np.flatnonzero(~np.isfinite(csr.data))
    if wrong.size:
        row = int(np.searchsorted(csr.indptr, wrong[0], side="right")) - 1
        raise _not_finite(float(csr.data[wrong[0]]), row, int(csr.indices[wrong[0]]), dtype)
    return csr


def _check_kind(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        raise DataError(
            f"X must hold real numbers. Got dtype {dtype}. "
            "Encode text and categories first (TableClassifier and TableRegressor do)."
        )


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise DataError(
            "X must be 2-D, with at least one row and one column. "
            f"Got an array of shape {tuple(shape)}."
        )


def _not_finite(value: float, row: int, column: int, dtype: str) -> DataError:
    return DataError(
        f"X must be finite in {dtype}. Got {value} in row {row}, column {column}. "
        "Remove or impute missing values, and rescale values that are too large."
    )
