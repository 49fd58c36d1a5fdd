"""The rows that a stack trains on: dense or sparse, on one device, shared by all members."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from lamina._errors import DataError
from lamina._typing import IntArray


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
        dense = self.x[index].toarray()
        return torch.from_numpy(dense).to(dtype=self.dtype, device=self.device)

    def all(self) -> Tensor:
        """Make everything dense."""
        return torch.from_numpy(self.x.toarray()).to(dtype=self.dtype, device=self.device)


def as_rows(X: Any, dtype: torch.dtype, device: torch.device) -> Rows:
    """Return the rows of an array, tensor or sparse matrix; refuse what is not 2-D and finite."""
    if scipy.sparse.issparse(X):
        csr = scipy.sparse.csr_array(X)  # type: ignore[call-overload]
        _check_sparse(csr)
        return SparseRows(csr, dtype, device)
    tensor = X if isinstance(X, Tensor) else _tensor_of(X)
    if tensor.ndim != 2 or 0 in tensor.shape:
        raise DataError(
            "X must be 2-D, with at least one row and one column. "
            f"Got an array of shape {tuple(tensor.shape)}."
        )
    tensor = tensor.detach().to(dtype=dtype, device=device).contiguous()
    if not bool(torch.isfinite(tensor).all()):
        _refuse_not_finite(tensor, dtype)
    return DenseRows(tensor)


def _tensor_of(X: Any) -> Tensor:
    array = np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"X must hold real numbers. Got dtype {array.dtype}. "
            "Encode text and categories first (TableClassifier and TableRegressor do)."
        )
    if array.dtype.kind == "b" or not array.flags.writeable or array.dtype.byteorder == ">":
        array = array.astype(np.float64)
    if any(stride < 0 for stride in array.strides) or array.dtype.kind == "u":
        array = np.ascontiguousarray(array.astype(np.float64))
    return torch.from_numpy(array)


def _refuse_not_finite(tensor: Tensor, dtype: torch.dtype) -> None:
    row, column = (int(i) for i in torch.nonzero(~torch.isfinite(tensor))[0])
    raise DataError(
        f"X must be finite in {str(dtype).removeprefix('torch.')}. "
        f"Got {float(tensor[row, column])} in row {row}, column {column}. "
        "Remove or impute missing values, and rescale values that are too large."
    )


def _check_sparse(X: Any) -> None:
    wrong = np.flatnonzero(~np.isfinite(X.data))
    if wrong.size:
        row = int(np.searchsorted(X.indptr, wrong[0], side="right")) - 1
        raise DataError(
            f"X must be finite. Got {X.data[wrong[0]]} in row {row}, "
            f"column {X.indices[wrong[0]]}. Remove or impute missing values."
        )
