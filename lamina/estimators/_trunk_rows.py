"""Rows that no estimator has checked: made a matrix of numbers, their columns told by name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.utils import check_array

from lamina._errors import DataError
from lamina._typing import Array, DtypeName

from ._inputs import _located


def matrix(
    X: Any, name: str = "X", *, dtype: DtypeName | None = None, finite: bool = False
) -> Any:
    """Return rows as a float array or CSR of shape (N, D).

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix
        Rows of numbers.
    name : str, default="X"
        How sentences call it.
    dtype : {"float32", "float64"} or None, default=None
        What they become. With None float32 stays float32 and all else is float64.
    finite : bool, default=False
        Whether to refuse NaN and infinity, with row and column.
    """
    wanted = (np.float64, np.float32) if dtype is None else np.dtype(dtype)
    try:
        with np.errstate(over="ignore"):  # a value too large for float32 is refused below
            return check_array(
                X, accept_sparse="csr", dtype=wanted, ensure_all_finite=finite, input_name="X"
            )
    except ValueError as error:
        told = _located(error, X, None, False, dtype or "float64")
        raise DataError(re.sub(r"(?<![\w'])X(?![\w'])", name, str(told))) from error


def check_names(name: str, own: Array | None, known: Array | None, whose: str) -> None:
    """Refuse columns of other names, or in another order, than the known ones.

    Without names on either side nothing can be told, and numbers of columns are not compared.
    """
    if own is None or known is None or len(own) != len(known):
        return
    for place, (ours, theirs) in enumerate(zip(own, known, strict=True)):
        if ours != theirs:
            raise DataError(
                f"{name} must have the columns {whose}, in their order. Got {ours!r} in place "
                f"{place}, where {theirs!r} belongs."
            )
