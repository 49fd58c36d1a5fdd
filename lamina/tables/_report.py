"""What each column of a table was taken for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ._columns import ColumnCode
from ._levels import LevelCode
from ._numbers import NumberCode


@dataclass(frozen=True)
class ColumnReport:
    """One row of the report."""

    column: str
    kind: str
    distinct: int
    missing: int
    features: int
    note: str


def reported(column: pd.Series[Any], kind: str, features: int, note: str) -> ColumnReport:
    """Return the row of a column that became ``features`` columns of the matrix."""
    return ColumnReport(
        column=str(column.name),
        kind=kind,
        distinct=int(column.nunique()),
        missing=int(column.isna().sum()),
        features=features,
        note=note,
    )


def note_on(code: ColumnCode) -> str:
    """Return what a user may want to know of how a column is encoded."""
    if isinstance(code, NumberCode) and len(code.codes):
        return "also as codes"
    if isinstance(code, LevelCode) and code.n_one_hot < len(code.levels) > 1:
        return f"the {code.n_one_hot} most frequent levels by themselves"
    return ""
