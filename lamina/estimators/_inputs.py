"""X and y as scikit-learn checks them, with the row and column of what cannot be used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from lamina._checks import shown
from lamina._errors import DataError
from lamina._typing import Array, DtypeName


def check_training_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    dtype: DtypeName | None,
    reset: bool,
    numeric_target: bool,
) -> tuple[Any, Any]:
    """Return X as a float array or CSR, and y as an array or CSR of as many rows.

    float32 stays float32 and everything else becomes float64, unless ``dtype`` says otherwise.
    """
    wanted = (np.float64, np.float32) if dtype is None else np.dtype(dtype)
    try:
        with np.errstate(over="ignore"):  # a value too large for float32 is refused below
            X_checked, y_checked = validate_data(
                estimator,
                X,
                y,
                accept_sparse="csr",
                multi_output=True,
                y_numeric=numeric_target,
                dtype=wanted,
                reset=reset,
            )
    except ValueError as error:
        raise _located(error, X, y, numeric_target, dtype or "float64") from error
    return X_checked, y_checked


def check_new_data(estimator: BaseEstimator, X: Any) -> Any:
    """Return X for prediction as an array or CSR with the features of the fit, uncast."""
    try:
        checked = validate_data(estimator, X, accept_sparse="csr", reset=False)
    except ValueError as error:
        raise _located(error, X, None, False, "float64") from error
    return checked


def located_weight(sample_weight: Any, error: ValueError) -> ValueError:
    """Return a sentence that names the row of a weight that is not finite, or the error."""
    if str(error).startswith("Input sample_weight contains"):
        return _unusable("sample_weight", sample_weight) or error
    if "non-zero" in str(error):
        return DataError(f"{error} sample_weight is 0 in every row. Leave it out, or change it.")
    return error


def _located(
    error: ValueError, X: Any, y: Any, numeric_target: bool, dtype: DtypeName
) -> ValueError:
    """Return a sentence that names row and column, or the error itself if it is about neither."""
    text = str(error)
    if text.startswith("Input X contains"):
        return _unusable("X", X, dtype) or error
    if text.startswith("Input y contains"):
        return _unusable("y", y) or error
    for start, cure in _SHAPES.items():
        if text.startswith(start):
            shape = "" if np.shape(X) == () else f" Got X of shape {np.shape(X)}."
            return DataError(f"{text.splitlines()[0].rstrip('.')}. {cure}{shape}")
    if "could not convert" in text or "to float" in text:
        found = _text("X", X)
        if found is None and numeric_target:
            found = _text("y", y)
        return found or error
    return error


_SHAPES = {
    "Found array with 0 sample(s)": "X must have at least one row.",
    "Found array with dim": "X must be 2-D; flatten each sample to one row.",
    "Found input variables with inconsistent": "y must have one entry for each row of X.",
    "Complex data not supported": "X and y must hold real numbers; give real and imaginary parts "
    "as columns of their own.",
}
"""What to do about data of a wrong shape or kind, by the beginning of scikit-learn's sentence."""


def _unusable(name: str, values: Any, dtype: DtypeName = "float64") -> DataError | None:
    """Return the sentence about the first value that is not finite in the precision."""
    largest = float(np.finfo(dtype).max)
    for row, column, cell in _cells(values, largest):
        what = _trouble(cell, largest)
        if what:
            return DataError(
                f"{name} must hold finite numbers. Input {name} contains {what} in row {row}"
                f"{_column_name(values, column)}. {_CURES[name][what == 'NaN']}"
            )
    return None


def _trouble(cell: Any, largest: float) -> str:
    """Return what is wrong with a cell, or an empty string."""
    if _is_missing(cell):
        return "NaN"
    if not isinstance(cell, (float, np.floating)):
        return ""
    size = abs(float(cell))
    if size <= largest:
        return ""
    return "infinity" if math.isinf(size) else f"{float(cell):g}, too large for float32,"


_CURES = {
    "X": (
        "Replace it by a smaller number or drop the row.",
        "Fill or drop missing values first, or use lamina's TableClassifier or TableRegressor, "
        "which take them as they are.",
    ),
    "y": (
        "Replace it by a smaller number or drop the row.",
        "Drop the rows whose target is missing.",
    ),
    "sample_weight": ("Use a finite number.", "Use 0 to leave a row out."),
}
"""What to do about a value that is too large, and about one that is missing."""


def _text(name: str, values: Any) -> DataError | None:
    """Return the sentence about the first text that is no number."""
    cure = {
        "X": "Encode text first, or use lamina's TableClassifier or TableRegressor, which take "
        "it as it is.",
        "y": "Use MLPClassifier for class labels.",
    }
    for row, column, cell in _cells(values):
        if isinstance(cell, (str, bytes)) and not _is_number(cell):
            return DataError(
                f"{name} must hold numbers. Got the text {shown(str(cell))} in row {row}"
                f"{_column_name(values, column)}. {cure[name]}"
            )
    return None


def plain_labels(y: Array) -> Array:
    """Return labels held as objects as an array of their own type; refuse missing and mixed ones.

    Arrays of any other type, and objects that are all texts, come back as they are.
    """
    if y.dtype.kind != "O":
        return y
    for row, label in enumerate(y.ravel()):
        if _is_missing(label):
            raise DataError(
                f"y must have a label in every row. Got {label!r} in row {row}. "
                "Drop the rows whose target is missing."
            )
    kinds = {"a text" if isinstance(label, str) else type(label).__name__ for label in y.ravel()}
    if len(kinds) > 1:
        raise DataError(
            f"y must have labels of one type. Got {' and '.join(sorted(kinds))}. "
            "Convert all of them to text."
        )
    return y if kinds == {"a text"} else np.array(y.tolist())


def refuse_text_target(y: Array) -> None:
    """Raise if a regressor's target is not numeric; the message names the first row."""
    if y.dtype.kind not in "biuf":
        raise _text("y", y) or DataError(f"y must hold numbers. Got an array of type {y.dtype}.")


def _cells(values: Any, largest: float = math.inf) -> Iterator[tuple[int, int, Any]]:
    """Yield row, column and value of each cell of a table, of an array of floats of wrong ones."""
    matrix: Any = values
    if sp.issparse(values):
        entries = matrix.tocoo()
        yield from zip(entries.row.tolist(), entries.col.tolist(), entries.data, strict=True)
        return
    array = np.asarray(values)
    places: Iterable[tuple[Any, ...]] = np.ndindex(array.shape)
    if array.dtype.kind == "f":
        places = (tuple(place) for place in np.argwhere(~(np.abs(array) <= largest)))
    for place in places:
        yield place[0], place[1] if len(place) > 1 else 0, array[place]


def _column_name(values: Any, column: int) -> str:
    """Return ``, column 'age'`` by name where there is one, by number else, or nothing."""
    names = getattr(values, "columns", None)
    if names is not None:
        return f", column {names[column]!r}"
    return f", column {column}" if np.ndim(values) > 1 or sp.issparse(values) else ""


def _is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, NaT or pandas' NA."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, (float, np.floating)) and math.isnan(cell)


def _is_number(cell: str | bytes) -> bool:
    """Return whether Python reads a text as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
