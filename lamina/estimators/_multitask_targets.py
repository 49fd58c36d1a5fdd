"""The targets of several tasks: read from whatever holds them, with holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from lamina._checks import check_choice, check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Bernoulli, Categorical, Head, Normal
from lamina.tables import TargetScaler, infer_task, regression_target

from ._inputs import plain_labels
from ._table_state import pack_classes, unpack_classes

Kind: TypeAlias = Literal["classification", "regression"]


@dataclass(frozen=True, eq=False)
class Task:
    """What one task asks for.

    Attributes
    ----------
    name : str
        Its name.
    classes : ndarray of shape (n_classes,) or None
        The labels in order; None for numbers.
    centre, scale : float
        How numbers are standardised.
    n_observed : int
        Rows that had a target.
    weight : float
        How much its mean error counts.
    """

    name: str
    classes: Array | None
    centre: float
    scale: float
    n_observed: int
    weight: float

    @property
    def kind(self) -> Kind:
        """Whether it asks for a class or a number."""
        return "regression" if self.classes is None else "classification"

    @property
    def head(self) -> Head:
        """The head of its raw outputs."""
        if self.classes is None:
            return Normal()
        return Bernoulli() if len(self.classes) == 2 else Categorical(len(self.classes))

    def coded(self, column: Array, observed: Array) -> FloatArray:
        """Return class numbers or standardised numbers, 0 where there is none."""
        codes = np.zeros(len(column))
        if self.classes is None:
            codes[observed] = (
                regression_target(column[observed], self.name) - self.centre
            ) / self.scale
        else:
            codes[observed] = np.searchsorted(self.classes, _labels(column[observed]))
        return codes

    def to_state(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        classes = None if self.classes is None else pack_classes(self.classes)
        return dict(vars(self)) | {"classes": classes}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Task:
        """Undo `to_state`."""
        classes = state["classes"]
        return cls(**state | {"classes": None if classes is None else unpack_classes(classes)})


def read_columns(y: Any, n_rows: int, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Return the target of each task by name, arrays (N,) of objects or numbers.

    The columns of an array have no names: they are the first of ``names``, or numbered.
    """
    if isinstance(y, (pd.DataFrame, Mapping)):
        _refuse_same_names(y)
        columns = {str(name): _column(y[name]) for name in y}
    elif isinstance(y, pd.Series):
        columns = {"y" if y.name is None else str(y.name): y.to_numpy()}
    else:
        parts, flat = _parts(y)
        if names is None:
            names = ["y"] if flat else [f"task{i}" for i in range(len(parts))]
        if len(names) < len(parts):
            raise DataError(
                f"y must have at most a column for each of the tasks {shown(list(names))}. "
                f"Got {len(parts)}."
            )
        columns = dict(zip(names, parts, strict=False))
    if not columns:
        raise DataError("y must have a column for at least one task. Got none.")
    for name, column in columns.items():
        if column.shape != (n_rows,):
            raise DataError(
                f"y must have one entry for each of the {n_rows} rows of X in every task. "
                f"Got shape {column.shape} in task {name!r}."
            )
    return columns


def _refuse_same_names(y: Any) -> None:
    """Raise if two tasks have the same name, or names that are the same once they are texts."""
    met: dict[str, Any] = {}
    for name in y:
        if str(name) in met:
            raise DataError(
                "y must have tasks of different names, which are taken as texts. "
                f"Got {met[str(name)]!r} and {name!r}."
            )
        met[str(name)] = name


def _parts(y: Any) -> tuple[list[Array], bool]:
    """Return the columns of an array or of lists, and whether it has one axis."""
    array = _column(y)
    if array.ndim not in (1, 2):
        raise DataError(f"y must have shape (N,) or (N, n_tasks). Got {array.shape}.")
    if array.ndim == 1:
        return [array], True
    listed = isinstance(y, (list, tuple))
    return [_column(part.tolist()) if listed else part for part in array.T], False


def _column(values: Any) -> Array:
    """Return values as an array in which texts, truth values and holes stay what they are."""
    if not isinstance(values, (list, tuple)):
        return np.asarray(values)
    lengths = {len(row) for row in values if isinstance(row, (list, tuple))}
    if len(lengths) > 1:
        raise DataError(f"y must have rows of equal length. Got lengths {sorted(lengths)}.")
    array = np.array(values, dtype=object)
    return pd.Series(array).infer_objects().to_numpy() if array.ndim == 1 else array


def observed_in(column: Array) -> Array:
    """Return which entries are there: neither None nor NaN."""
    there: Array = ~np.asarray(pd.isna(column))
    return there


def learn_task(
    name: str, column: Array, kind: Kind | None, weight: float, row_weight: FloatArray | None
) -> Task:
    """Return what the observed entries of one column ask for."""
    observed = observed_in(column)
    if row_weight is not None:
        observed = observed & (row_weight > 0)
    n = int(observed.sum())
    if n == 0:
        raise DataError(f"y must have a target in some row of task {name!r}. Got none.")
    values = column[observed]
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = np.flatnonzero(observed)[~np.isfinite(values)][0]
        raise DataError(
            f"y must hold finite numbers in task {name!r}. Got {column[row]} in row {row}."
        )
    kind = infer_task(values) if kind is None else kind
    if kind == "regression":
        weights = None if row_weight is None else row_weight[observed]
        scaler = TargetScaler().fit(regression_target(values, name)[:, None], weights)
        scale = float(scaler.scale_[0])
        return Task(name, None, float(scaler.mean_[0]), scale if scale > 0 else 1.0, n, weight)
    classes = np.unique(_labels(values))
    if len(classes) < 2:
        raise DataError(
            f"y must have at least 2 classes in task {name!r}. Got 1 class, "
            f"{shown(classes[0])}, in {n} rows."
        )
    return Task(name, classes, 0.0, 1.0, n, weight)


def _labels(values: Array) -> Array:
    """Return labels in an array of their own type."""
    labels = plain_labels(values)
    if labels.dtype.kind == "O":
        return np.array(labels.tolist())
    whole = labels.dtype.kind == "f" and bool((labels == np.rint(labels)).all())
    # holes turn whole numbers into floats
    return labels.astype(np.int64) if whole and np.abs(labels).max(initial=0) < 2**53 else labels


def kind_of_task(kinds: Any, name: str) -> Kind | None:
    """Return what the user says of a task, or None."""
    if isinstance(kinds, Mapping):
        said = kinds.get(name)
        return None if said is None else check_kind(f"kinds[{name!r}]", said)
    return None if kinds is None else check_kind("kinds", kinds)


def check_kind(parameter: str, said: Any) -> Kind:
    """Return what a task asks for, or refuse another word."""
    return check_choice(parameter, said, ("classification", "regression"))  # type: ignore[return-value]


def weight_of_task(weights: Any, name: str) -> float:
    """Return how much a task counts, 1 if nothing is said."""
    if weights is None or name not in weights:
        return 1.0
    return check_real(f"task_weights[{name!r}]", weights[name], 0.0, open_minimum=True)


def by_task(parameter: str, given: Any, names: Any) -> Any:
    """Return a dict with names as texts, as those of tasks are; refuse a task that y lacks."""
    if not isinstance(given, Mapping):
        return given
    for name in given:
        if str(name) not in names:
            raise ParameterError(
                f"{parameter} must name tasks of y, {shown(list(names))}. Got {name!r}."
            )
    return {str(name): value for name, value in given.items()}


def refuse_unseen_tasks(tasks: Sequence[Task], targets: FloatArray) -> None:
    """Raise if no row that is trained on has a target of some task."""
    for task, factors in zip(tasks, targets.T[len(tasks) :], strict=True):
        if not factors.any():
            raise DataError(
                f"y must have more targets in task {task.name!r} with early_stopping=True. Got "
                f"{task.n_observed}, all in rows that are held out. Lower validation_fraction, or "
                "leave early stopping out."
            )


def rarest_cells(tasks: Sequence[Task], targets: FloatArray) -> IntArray | None:
    """Return the number, from 1, of the rarest target that each row has, None if all are equal.

    A target is a class of a task, or any number of it. A validation split that is stratified by
    these leaves rows of rare targets to train on.
    """
    n_tasks = len(tasks)
    cells = np.zeros((len(targets), n_tasks), dtype=np.int64)
    n_cells = 0
    for t, task in enumerate(tasks):
        there = targets[:, n_tasks + t] > 0
        codes = 0 if task.classes is None else targets[there, t].astype(np.int64)
        cells[there, t] = n_cells + 1 + codes
        n_cells += 1 if task.classes is None else len(task.classes)
    counts = np.bincount(cells.ravel(), minlength=n_cells + 1)
    counts[0] = np.iinfo(np.int64).max  # a hole is chosen last
    rarest: IntArray = cells[np.arange(len(cells)), counts[cells].argmin(1)]
    return rarest if len(np.unique(rarest)) > 1 else None


def targets_of(
    tasks: list[Task], columns: dict[str, Array], row_weight: FloatArray | None
) -> tuple[FloatArray, Array]:
    """Return values and factors (N, 2 T) for the head, and which rows have any target."""
    n_rows = len(next(iter(columns.values())))
    weights = np.ones(n_rows) if row_weight is None else row_weight
    values, factors = [], []
    for task in tasks:
        column = columns[task.name]
        observed = observed_in(column) & (weights > 0)
        values.append(task.coded(column, observed))
        total = float(weights[observed].sum())
        factors.append(np.where(observed, task.weight / total, 0.0))
    seen = np.any(np.array(factors) > 0, axis=0)
    scale = float(weights[seen].sum())
    return np.column_stack([*values, *(scale * factor for factor in factors)]), seen
