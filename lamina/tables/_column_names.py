"""Find the columns of a table again: by name where there are names, else by position."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from lamina._checks import check_integer, shown, suggestion
from lamina._errors import DataError, DataWarning, ParameterError

from ._frame import as_frame, has_names


@dataclass(frozen=True)
class ColumnNames:
    """The columns that a table had at fitting."""

    names: tuple[str, ...]
    named: bool  # False: an array, whose columns have no names of their own

    @classmethod
    def of(cls, X: Any, frame: pd.DataFrame) -> Self:
        """Remember the columns of ``X``, of which ``frame`` was made."""
        return cls(tuple(frame.columns), _named(X))

    def places(self, features: Sequence[str | int] | None) -> set[str]:
        """Return the names of columns that are given by name or position."""
        if features is None:
            return set()
        if isinstance(features, str) or not isinstance(features, Iterable):
            raise ParameterError(
                "categorical_features must be a sequence of column names or positions. "
                f"Got {shown(features)}."
            )
        return {self._place(feature) for feature in features}

    def _place(self, feature: str | int) -> str:
        if str(feature) in self.names:
            return str(feature)
        if isinstance(feature, str):
            raise ParameterError(
                f"categorical_features must name columns of X. Got {feature!r}."
                f"{suggestion(feature, self.names)}"
            )
        return self.names[check_integer("categorical_features", feature, 0, len(self.names) - 1)]

    def aligned(self, X: Any, needed: Iterable[str], owner: str) -> pd.DataFrame:
        """Return a frame in which the ``needed`` columns can be found by their names.

        Raises
        ------
        DataError
            If one of them is missing, or an array has another number of columns.
        """
        frame = as_frame(X)
        named = _named(X)
        if self.named and named:
            self._check(list(frame.columns), needed)
            return frame
        if frame.shape[1] != len(self.names):
            raise DataError(  # scikit-learn's sentence
                f"X has {frame.shape[1]} features, but {owner} is expecting "
                f"{len(self.names)} features as input."
            )
        if self.named:
            warnings.warn(
                "X does not have valid feature names, but was fitted with feature names; its "
                "columns are taken by position.",
                DataWarning,
                stacklevel=4,
            )
        return frame.set_axis(list(self.names), axis="columns")

    def _check(self, columns: list[str], needed: Iterable[str]) -> None:
        there, known = set(columns), set(self.names)
        absent = [name for name in needed if name not in there]
        if absent:
            more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
            raise DataError(
                f"X must have the column {absent[0]!r}{more}, which was there at fitting. "
                f"Got {shown(columns)}.{suggestion(absent[0], columns)}"
            )
        extra = [name for name in columns if name not in known]
        if extra:
            warnings.warn(
                f"X has columns that were not there at fitting; they are ignored: {shown(extra)}.",
                DataWarning,
                stacklevel=5,
            )


def _named(X: Any) -> bool:
    """Return whether the columns have names; numbers, as pandas gives by itself, are none."""
    if isinstance(X, pd.DataFrame):
        return any(isinstance(column, (str, tuple)) for column in X.columns)
    return has_names(X)
