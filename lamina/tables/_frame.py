"""Make one DataFrame of whatever holds rows and columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import scipy.sparse

from lamina._checks import shown
from lamina._errors import DataError, MissingDependencyError

__all__ = ["as_frame", "has_names"]


def has_names(X: Any) -> bool:
    """Return whether ``X`` brings names for its columns (a DataFrame of any library)."""
    return isinstance(X, pd.DataFrame) or nw.dependencies.is_into_dataframe(X)


def as_frame(X: Any, name: str = "X") -> pd.DataFrame:
    """Return a DataFrame with text column names, without changing or judging the values.

    Parameters
    ----------
    X : DataFrame of pandas, polars or pyarrow, or array-like of shape (n_samples, n_features)
        The columns of an array are called ``x0``, ``x1``, ….
    name : str, default="X"
        How messages call it.

    Raises
    ------
    DataError
        If it is not two-dimensional, is empty, sparse or complex, or repeats a column name.
    """
    frame = _foreign_or_array(X, name)
    names = [str(column) for column in frame.columns]
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(
            f"{name} must have a different name for each column. Got {repeated[0]!r} more than "
            "once. Rename or drop one of them."
        )
    _check_not_empty(frame, name)
    # A shallow copy: the caller's frame keeps its own labels.
    frame = frame.set_axis(names, axis="columns").reset_index(drop=True)
    foreign = [column for column in names if _is_foreign(frame[column].dtype)]
    return frame.astype(dict.fromkeys(foreign, np.float64)) if foreign else frame


def _is_foreign(dtype: Any) -> bool:
    """Return whether pandas cannot count such numbers: other byte order, or more than 8 bytes."""
    numeric = isinstance(dtype, np.dtype) and dtype.kind in "iuf"
    return numeric and (not dtype.isnative or dtype.itemsize > 8)


def _foreign_or_array(X: Any, name: str) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    if scipy.sparse.issparse(X):
        raise DataError(
            f"{name} must be a dense table. Got a sparse matrix. Use {name}.toarray(), or "
            "MLPClassifier or MLPRegressor, which take sparse matrices."
        )
    if nw.dependencies.is_into_dataframe(X):
        return _from_narwhals(X)
    return _from_array(X, name)


def _from_narwhals(X: Any) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = nw.from_native(X, eager_only=True).to_pandas()
    except ImportError as error:
        raise MissingDependencyError(
            f"Converting a table of {type(X).__module__.split('.')[0]} to pandas needs the "
            "package 'pyarrow', which is not installed. Install it with: "
            "pip install 'lamina[parquet]'"
        ) from error
    return frame


def _from_array(X: Any, name: str) -> pd.DataFrame:
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError(
            f"{name} must be a table whose rows have equal length. Got {shown(X)}."
        ) from error
    if np.iscomplexobj(array):
        raise DataError(f"Complex data not supported: {name} must hold real numbers.")
    if array.ndim != 2:
        cure = (
            " Reshape your data either using array.reshape(-1, 1) if it has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
            if array.ndim < 2
            else " Flatten each sample to one row."
        )
        raise DataError(
            f"{name} must be two-dimensional, of shape (n_samples, n_features). "
            f"Got {array.ndim} dimensions, shape {array.shape}.{cure}"
        )
    return pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])


def _check_not_empty(frame: pd.DataFrame, name: str) -> None:
    # The two sentences are scikit-learn's.
    for count, things in zip(frame.shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise DataError(
                f"Found array with 0 {things} (shape={frame.shape}) while a minimum of 1 is "
                f"required. {name} must have at least one row and one column."
            )
