"""The target: taken out of a table, told classes from numbers, scaled and scaled back."""

from __future__ import annotations

import warnings
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from lamina._checks import check_choice, shown, suggestion
from lamina._errors import DataError, DataWarning
from lamina._typing import Array, FloatArray, IntArray

from ._kinds import kind_of
from ._values import levels, numbers

Task: TypeAlias = Literal["classification", "regression"]

_MANY_CLASSES = 16
"""Above so many classes, levels of categories get no mean target: it would need one for each."""
_FEW_CODES = 10
"""Whole numbers that count from 0 or 1 up to at most so many values are taken for classes."""


def target_name(y: Any) -> str | None:
    """Return the name of a target that has one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The target.

    Returns
    -------
    str or None
        The name of a Series, as text.

    Examples
    --------
    >>> import pandas as pd
    >>> target_name(pd.Series([1, 2], name="price")), target_name([1, 2])
    ('price', None)
    """
    return str(y.name) if isinstance(y, pd.Series) and y.name is not None else None


def infer_task(y: Any) -> Task:
    """Return whether a target holds classes or numbers.

    Text, truth values and categories are classes. Numbers are numbers, unless there are only
    two distinct ones, or they are whole and count from 0 or 1, without a gap, to at most 10
    distinct values, as codes of classes do.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The target; missing values are passed over.

    Returns
    -------
    {"classification", "regression"}
        The task.

    Examples
    --------
    >>> infer_task(["yes", "no"]), infer_task([0, 1, 2, 1]), infer_task([3, 4, 7, 9])
    ('classification', 'classification', 'regression')
    """
    column = _column(y)
    kind = kind_of(column)
    if kind != "number":
        return "regression" if kind == "date" else "classification"
    values = numbers(column)
    distinct = np.unique(values[~np.isnan(values)])
    if len(distinct) == 2:
        return "classification"
    counting = len(distinct) <= _FEW_CODES and any(
        np.array_equal(distinct, np.arange(start, start + len(distinct))) for start in (0, 1)
    )
    return "classification" if counting else "regression"


def split_target(
    frame: pd.DataFrame, target: str, task: Literal["auto"] | Task = "auto"
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Take the target out of a table and drop the rows that lack it.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : str
        Name of the column to predict.
    task : {"auto", "classification", "regression"}, default="auto"
        What the target is to be used for; "auto" asks `infer_task`.

    Returns
    -------
    X : DataFrame
        The other columns.
    y : Series
        The target: float64 for regression, else as it was.

    Raises
    ------
    DataError
        If the column is not there, holds nothing, text where numbers are needed, or one class.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [1, 2, 3], "price": ["1.5", "2", "0.5"]})
    >>> X, y = split_target(table, "price")
    >>> list(X.columns), y.tolist()
    (['a'], [1.5, 2.0, 0.5])
    """
    check_choice("task", task, ("auto", "classification", "regression"))
    column = _target_column(frame, target)
    X = frame.drop(columns=column.name)
    if not len(X.columns):
        raise DataError(f"The table must have columns besides the target {target!r}. Got none.")
    wanted = infer_task(column) if task == "auto" else task
    present = _present(column, wanted)
    if not present.any():
        raise DataError(f"Column {target!r} must hold the target. Got only missing values.")
    if not present.all():
        warnings.warn(
            f"{int((~present).sum())} of {len(present)} rows were dropped, because the target "
            f"{target!r} is missing in them.",
            DataWarning,
            stacklevel=2,
        )
    X, y = X[present], column[present]
    if wanted == "regression":
        return X, pd.Series(regression_target(y, target), index=y.index, name=y.name)
    class_target(y, target)
    return X, y


def regression_target(y: Any, name: str = "y") -> FloatArray:
    """Return a target of numbers as float64, whatever holds them.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Numbers of any dtype, also truth values and text that is a number.
    name : str, default="y"
        How messages call it.

    Returns
    -------
    values : ndarray of float64 and the shape of ``y``

    Raises
    ------
    DataError
        If a value is missing, infinite or no number.

    Examples
    --------
    >>> regression_target(["1.5", "2e3"]).tolist()
    [1.5, 2000.0]
    """
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    array = np.asarray(y)
    if np.iscomplexobj(array):
        raise DataError(f"Complex data not supported: {name} must hold real numbers.")
    if array.ndim > 2 or array.ndim == 0:
        raise DataError(f"{name} must have one or two dimensions. Got shape {array.shape}.")
    if array.size == 0:
        raise DataError(
            f"Found array with 0 sample(s) (shape={array.shape}) while a minimum of 1 is "
            f"required. {name} must hold at least one number."
        )
    if array.ndim == 2:
        outputs = pd.DataFrame(array)
        parts = [_real(outputs[i], f"{name}[:, {i}]") for i in outputs.columns]
        return np.stack(parts, axis=1)
    return _real(_column(y), name)


def class_target(y: Any, name: str = "y") -> tuple[Array, IntArray]:
    """Return the distinct classes in order and the number of each row's class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels: text, whole numbers, truth values or a pandas category.
    name : str, default="y"
        How messages call it.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The labels that occur, sorted.
    codes : ndarray of int of shape (n_samples,)
        ``classes[codes]`` is ``y``.

    Raises
    ------
    DataError
        If a label is missing, there is one class only, or the labels are measurements.

    Examples
    --------
    >>> classes, codes = class_target(["b", "a", "b"])
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    column = _column(y)
    if not len(column):
        raise DataError(
            "Found array with 0 sample(s) while a minimum of 1 is required. "
            f"{name} must hold at least one label."
        )
    missing = column.isna().to_numpy()
    if missing.any():
        raise DataError(_missing_sentence(name, missing))
    labels = np.asarray(column)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise DataError(f"{name} must not contain infinity. Got labels of float type.")
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise DataError(str(error)) from error
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise DataError(
            f"{name} must hold labels of one type. Got both text and numbers. Make them text."
        ) from error
    if len(classes) < 2:
        raise DataError(
            f"{name} must have at least two classes. Got one class, {shown(labels[0])}."
        )
    return classes, codes


def encoding_targets(
    y: Any, target_type: Literal["auto", "continuous", "classes"], n_samples: int
) -> FloatArray | None:
    """Return what to average over the rows of a level, (n_samples, T), or None for too much."""
    array = np.asarray(y)
    if len(array) != n_samples:
        raise DataError(  # scikit-learn's sentence
            "Found input variables with inconsistent numbers of samples: "
            f"{[n_samples, len(array)]}. y must have one entry for each row of X."
        )
    if target_type == "auto":
        continuous = type_of_target(array) in ("continuous", "continuous-multioutput")
        target_type = "continuous" if continuous else "classes"
    if target_type == "continuous":
        targets = regression_target(y)
        return targets.reshape(n_samples, -1)
    classes, codes = class_target(y)
    if len(classes) > _MANY_CLASSES:
        return None
    first = 1 if len(classes) == 2 else 0
    return np.equal.outer(codes, np.arange(first, len(classes))).astype(np.float64)


def _column(y: Any) -> pd.Series[Any]:
    if isinstance(y, pd.Series):
        return y.reset_index(drop=True)
    if isinstance(y, pd.api.extensions.ExtensionArray):
        return pd.Series(y)
    return pd.Series(column_or_1d(np.asarray(y), warn=True))


def _target_column(frame: pd.DataFrame, target: str) -> pd.Series[Any]:
    names = {str(column): column for column in frame.columns}
    if target not in names:
        raise DataError(
            f"The target must be a column of the table. Got {target!r}."
            f"{suggestion(target, names)} The columns are {shown(list(names), 200)}."
        )
    column = frame[names[target]]
    if isinstance(column, pd.DataFrame):
        raise DataError(f"The table must have one column {target!r}. Got {column.shape[1]}.")
    return column


def _present(column: pd.Series[Any], task: Task) -> Any:
    """Return where the target is there; blank text is not a label."""
    if task == "classification":
        return levels(column.reset_index(drop=True))[0] >= 0
    try:
        return ~np.isnan(numbers(column.reset_index(drop=True)))
    except DataError:
        return column.notna().to_numpy()  # regression_target says what is wrong


def _real(column: pd.Series[Any], name: str) -> FloatArray:
    kind = kind_of(column)
    if kind not in ("number", "boolean"):
        found = column[column.notna()].iloc[0]
        raise DataError(
            f"{name} must hold numbers for a regression. Got a {kind}, for example "
            f"{shown(found)}. Use a classifier, or convert it."
        )
    values = numbers(column.rename(name))
    missing = np.isnan(values)
    if missing.any():
        raise DataError(_missing_sentence(name, missing))
    return values


def _missing_sentence(name: str, missing: Array) -> str:
    return (
        f"{name} must not contain missing values. Got NaN in row {int(missing.argmax())}"
        f"{f' and {int(missing.sum()) - 1} more' if missing.sum() > 1 else ''}. Drop these rows."
    )
