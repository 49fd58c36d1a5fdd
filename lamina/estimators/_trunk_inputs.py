"""What stands before a network: tables encoded, columns scaled, other people's transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray
from lamina.tables import TableEncoder

from ._input_scaling import standardised
from ._trunk_rows import matrix

Arrays = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns brought to (x - centre)/scale."""

    centre: FloatArray
    scale: FloatArray

    def transform(self, X: Any) -> Any:
        """Return the scaled matrix."""
        rows = matrix(X)
        if rows.shape[1] != len(self.centre):
            raise DataError(
                f"X must have {len(self.centre)} features, as the pretrained model has. "
                f"Got {rows.shape[1]}."
            )
        return standardised(rows, self.centre, self.scale)

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        return {"kind": "scaling"}, {"centre": self.centre, "scale": self.scale}


@dataclass(frozen=True, eq=False)
class Columns:
    """A table turned into a matrix."""

    encoder: TableEncoder

    def transform(self, X: Any) -> FloatArray:
        """Return the matrix."""
        matrix: FloatArray = self.encoder.transform(X)
        return matrix

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        encoder, arrays = self.encoder._to_state()
        return {"kind": "columns", "encoder": encoder}, arrays


@dataclass(frozen=True, eq=False)
class Foreign:
    """A fitted transformer of somebody else."""

    transformer: Any

    def transform(self, X: Any) -> Any:
        """Return what the transformer makes of the rows, as a matrix without names."""
        made: Any = self.transformer.transform(X)
        return made.to_numpy() if is_frame(made) else made

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        raise ParameterError(
            "pretrained must have no transformers but StandardScaler and TableEncoder before its "
            f"network to be saved. Got {shown(self.transformer)}, whose state is code."
        )


Step: TypeAlias = "Scaling | Columns | Foreign"


def is_frame(values: Any) -> bool:
    """Return whether values are a DataFrame of any make."""
    return callable(getattr(values, "to_numpy", None))


def does_nothing(transformer: Any) -> bool:
    """Return whether a Pipeline passes rows by this step."""
    return transformer is None or isinstance(transformer, str)  # "passthrough"


def takes_numbers(transformer: Any) -> bool:
    """Return whether a step takes a matrix of numbers, and not a table as it comes."""
    return does_nothing(transformer) or type(transformer) is StandardScaler


def finds_columns(steps: Sequence[Step]) -> bool:
    """Return whether the first step finds the columns of a table by name, in any order."""
    first = steps[0] if steps else None
    if isinstance(first, Foreign):
        return isinstance(first.transformer, ColumnTransformer)
    return isinstance(first, Columns)


def step_of(transformer: Any) -> Step | None:
    """Return a fitted transformer as a step, or None where it does nothing."""
    if does_nothing(transformer):
        return None
    check_is_fitted(transformer)
    if isinstance(transformer, TableEncoder):
        return Columns(transformer)
    if type(transformer) is StandardScaler:
        n = transformer.n_features_in_
        centre = np.zeros(n) if transformer.mean_ is None else transformer.mean_
        scale = np.ones(n) if transformer.scale_ is None else transformer.scale_
        return Scaling(np.asarray(centre, dtype=np.float64), np.asarray(scale, dtype=np.float64))
    return Foreign(transformer)


def prepared(steps: Sequence[Step], X: Any) -> Any:
    """Return rows as the network takes them, a matrix of finite numbers."""
    for step in steps:
        X = step.transform(X)
    rows = matrix(X)
    values: Any = rows.data if sp.issparse(X) else rows
    if not np.isfinite(values).all():
        raise DataError(
            "X must be within reach of the rows that the pretrained model was fitted to. Got a "
            "value that is infinite or NaN once it is scaled."
        )
    return rows


def steps_to_state(steps: Sequence[Step]) -> tuple[list[dict[str, Any]], Arrays]:
    """Return the steps as JSON can hold them, and their arrays."""
    described: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for i, step in enumerate(steps):
        config, own = step._to_state()
        described.append(config)
        arrays |= {f"step.{i}.{name}": array for name, array in own.items()}
    return described, arrays


def steps_from_state(described: Sequence[dict[str, Any]], arrays: Arrays) -> tuple[Step, ...]:
    """Undo `steps_to_state`."""
    steps: list[Step] = []
    for i, config in enumerate(described):
        prefix = f"step.{i}."
        own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        if config["kind"] == "scaling":
            steps.append(Scaling(own["centre"], own["scale"]))
        else:
            steps.append(Columns(TableEncoder._from_state(config["encoder"], own)))
    return tuple(steps)
