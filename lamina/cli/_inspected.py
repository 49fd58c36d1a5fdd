"""A saved model taken apart: its networks, and a table as they take it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina._errors import DataError, ParameterError

from ._models import members_of

if TYPE_CHECKING:
    import pandas as pd

    from lamina._typing import FloatArray, IntArray
    from lamina.nn import Network

MAX_ROWS = 10_000
"""Rows that are sent through the networks; of more, so many evenly spaced ones."""


@dataclass(frozen=True)
class Inspected:
    """A model taken apart.

    Attributes
    ----------
    kind : str
        Name of its class.
    model : object
        The model.
    networks : list of Network
        Its networks: several in an ensemble.
    table : DataFrame or None
        The rows without the target.
    matrix : ndarray of shape (n_rows, n_inputs) or None
        The rows as the networks take them.
    y : Series or None
        The target of the rows, if it is there.
    n_rows : int
        Rows of the file; `table` has at most `MAX_ROWS`.
    """

    kind: str
    model: Any
    networks: list[Network]
    table: pd.DataFrame | None = None
    matrix: FloatArray | None = None
    y: pd.Series[Any] | None = None
    n_rows: int = 0

    def row(self, i: int) -> int:
        """Return the number in the file, from 1, of a row of `matrix`."""
        return int(_evenly(self.n_rows)[i]) + 1


def _evenly(n_rows: int) -> IntArray:
    """Return the rows that are looked at: all, or of many so many evenly spaced ones."""
    import numpy as np

    if n_rows <= MAX_ROWS:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, MAX_ROWS).round().astype(np.intp)


def take_apart(path: Path, data: Path | None, target: str | None) -> Inspected:
    """Load a model of any kind, and the table if there is one."""
    from lamina import load

    model = load(path)
    n_members = len(members_of(model))
    if n_members > 1:
        raise ParameterError(
            f"lamina inspect takes one model apart. Got {str(path)!r}, an ensemble of {n_members} "
            "whose networks may see other columns. Search with --ensemble 0, or save one of "
            "lamina.load(path).estimators_."
        )
    (model,) = members_of(model)
    networks = _networks_of(model)
    kind = type(model).__name__
    if data is None:
        if target is not None:
            raise ParameterError(f"--target must come with DATA. Got {target!r} without.")
        return Inspected(kind, model, networks)
    from lamina.tables import read_table

    table = read_table(data)
    n_rows = len(table)
    table = table.iloc[_evenly(n_rows)]
    name = target if target is not None else getattr(model, "target_name_", None)
    if target is not None and target not in table:
        from lamina._checks import suggestion

        near = suggestion(target, map(str, table.columns))
        raise ParameterError(f"--target must be a column of the table. Got {target!r}.{near}")
    y = table.get(name)
    rows = table.loc[:, [column for column in table.columns if column != name]]
    matrix = _matrix(model, rows, networks[0].sizes[0])
    return Inspected(kind, model, networks, rows, matrix, y, n_rows)


def _networks_of(model: Any) -> list[Network]:
    """Return the networks of a model, of two sides the first."""
    from lamina import CrossModalEncoder, Network
    from lamina.estimators import Trunk
    from lamina.nn import GraphNetwork

    if isinstance(model, GraphNetwork):
        raise ParameterError(
            "lamina inspect takes networks of layers apart. Got a GraphNetwork. Use its summary() "
            "and lamina.plots.plot_graph; to_network() turns one that is made of layers."
        )
    if isinstance(model, Network):
        return [model]
    if isinstance(model, Trunk):
        return list(model.networks)
    networks = list(model.networks_)
    return networks[:1] if isinstance(model, CrossModalEncoder) else networks


def _matrix(model: Any, rows: pd.DataFrame, n_inputs: int) -> FloatArray:
    """Return the rows as the networks of the model take them."""
    import numpy as np

    from lamina import TableClassifier, TableRegressor, TransferClassifier, TransferRegressor
    from lamina.estimators import Trunk
    from lamina.search import EncodedClassifier, EncodedRegressor

    encoded_by = (TableClassifier, TableRegressor, EncodedClassifier, EncodedRegressor)
    if isinstance(model, encoded_by):
        encoded: FloatArray = np.asarray(model.encoder_.transform(rows), dtype=np.float64)
        return encoded
    if isinstance(model, (Trunk, TransferClassifier, TransferRegressor)):
        prepared: FloatArray = np.asarray(model.inputs(rows), dtype=np.float64)
        return prepared
    numbers = _numbers(model, rows, n_inputs)
    mean = getattr(model, "input_mean_", None)
    return numbers if mean is None else (numbers - mean) / model.input_scale_


def _numbers(model: Any, rows: pd.DataFrame, n_inputs: int) -> FloatArray:
    """Return the columns that the model takes, which must hold numbers."""
    import numpy as np

    names = getattr(model, "feature_names_in_", None)
    if names is not None and set(names) <= set(rows.columns):
        rows = rows.loc[:, list(names)]
    text = [str(name) for name in rows.columns if rows[name].dtype.kind not in "biuf"]
    if text:
        raise DataError(
            f"DATA must hold numbers for this model. Got text in the column {text[0]!r}. If that "
            "is the target, name it: --target."
        )
    if rows.shape[1] != n_inputs:
        raise DataError(
            f"DATA must have {n_inputs} columns beside the target, as the model has inputs. "
            f"Got {rows.shape[1]}. Name the target with --target, and leave other columns out."
        )
    numbers: FloatArray = rows.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        column = str(rows.columns[np.argwhere(~np.isfinite(numbers))[0][1]])
        raise DataError(
            f"DATA must hold finite numbers for this model. Got a missing or infinite one in the "
            f"column {column!r}. Fill or drop such rows."
        )
    return numbers
