"""Encode a column of numbers or of truth values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from lamina._typing import Array, FloatArray

from ._columns import ColumnCode, Unusable, stacked
from ._number_embedding import NumberEmbedding, periodic, piecewise, quantile_edges
from ._scale import RobustScale
from ._values import numbers, truths

_MANY_ROWS = 10
"""A value that so many rows have exactly is taken for a code."""


@dataclass(frozen=True, eq=False)
class NumberCode(ColumnCode):
    """A number: scaled, with its position among the quantiles, its codes and its missingness.

    A missing value is taken for the centre. It has a column of its own if values were missing at
    fitting.
    """

    kind: ClassVar[str] = "number"
    reads: Literal["number", "boolean"]
    offset: int
    scale: RobustScale | None  # None: constant, only its being missing tells something
    edges: FloatArray  # (n_bins + 1,), of the scaled values; empty for none
    codes: FloatArray  # integers that also enter one by one, without the offset
    missing: bool
    waves: FloatArray  # (n_waves,), periods of the scaled values per unit; empty for none

    @property
    def suffixes(self) -> list[str]:
        """Return the names of the columns."""
        value = [] if self.scale is None else [""]
        bins = [f" part {i}" for i in range(1, len(self.edges))]
        waves = [f" {name} {i}" for name in ("cos", "sin") for i in range(1, len(self.waves) + 1)]
        codes = [f"={code + self.offset:.0f}" for code in self.codes]
        return value + bins + waves + codes + [" missing"] * self.missing

    @property
    def parts(self) -> list[str]:
        """Return what each column of the matrix belongs to."""
        value = [] if self.scale is None else [""]
        waves = [f"wave {i}" for i in range(1, len(self.waves) + 1)]
        rest = [""] * (len(self.codes) + self.missing)
        return value + ["bin"] * max(len(self.edges) - 1, 0) + 2 * waves + rest

    def transform(self, column: pd.Series[Any]) -> FloatArray:
        """Return the columns of the matrix."""
        return self.encode(self.read(column))

    def read(self, column: pd.Series[Any]) -> FloatArray:
        """Return the values of a column less the offset."""
        return read_numbers(column, self.reads, self.offset)

    def encode(self, values: FloatArray) -> FloatArray:
        """Return the columns of the matrix for values that were read."""
        absent = np.isnan(values)
        blocks = []
        if self.scale is not None:
            scaled = np.where(absent, 0.0, self.scale.apply(values))
            blocks.append(scaled)
            if len(self.edges):
                blocks.append(piecewise(scaled, self.edges))
            if len(self.waves):
                blocks.append(periodic(scaled, self.waves))
        if len(self.codes):
            blocks.append(np.equal.outer(values, self.codes).astype(np.float64))
        if self.missing:
            blocks.append(absent.astype(np.float64))
        return stacked(blocks, len(values))

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the settings and arrays."""
        config = {
            "reads": self.reads,
            "offset": self.offset,
            "scale": None if self.scale is None else self.scale.to_config(),
            "missing": self.missing,
        }
        return config, {"edges": self.edges, "codes": self.codes, "waves": self.waves}

    @classmethod
    def from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> NumberCode:
        """Restore the encoder."""
        scale = None if config["scale"] is None else RobustScale(**config["scale"])
        return cls(
            **{**config, "scale": scale},
            edges=arrays["edges"],
            codes=arrays["codes"],
            waves=arrays["waves"],
        )


def read_numbers(
    column: pd.Series[Any], reads: Literal["number", "boolean"], offset: int = 0
) -> FloatArray:
    """Return a column as float64, NaN where missing."""
    return truths(column) if reads == "boolean" else numbers(column, offset)


def fit_numbers(
    column: pd.Series[Any],
    reads: Literal["number", "boolean"],
    *,
    embedding: NumberEmbedding,
    max_codes: int,
) -> NumberCode:
    """Measure a column of numbers.

    A column of two values needs no waves: they would say nothing that its value does not.

    Raises
    ------
    Unusable
        If all values are missing, or all are there and equal.
    """
    offset = _offset(column) if reads == "number" else 0
    values = read_numbers(column, reads, offset)
    present = values[~np.isnan(values)]
    missing = len(present) < len(values)
    none = np.empty(0)
    if not len(present):
        raise Unusable("all values missing")
    distinct = np.unique(present)
    if len(distinct) == 1:
        if not missing:
            raise Unusable("constant")
        return NumberCode(reads, offset, None, none, none, missing, none)
    scale = RobustScale.fit(values)
    edges = quantile_edges(scale.apply(present), embedding.n_bins)
    codes = repeated_values(present, max_codes)
    waves = none if len(distinct) == 2 else embedding.waves
    return NumberCode(reads, offset, scale, edges, codes, missing, waves)


def _offset(column: pd.Series[Any]) -> int:
    """Return what to subtract in integers where float64 would lose their last digits."""
    if not pd.api.types.is_integer_dtype(column) or column.isna().all():
        return 0
    smallest, largest = int(column.min()), int(column.max())
    return smallest if max(abs(smallest), abs(largest)) > 2**53 else 0


def repeated_values(values: FloatArray, max_codes: int) -> FloatArray:
    """Return the most frequent values, at most ``max_codes``, that many rows share exactly."""
    distinct, counts = np.unique(values, return_counts=True)
    mostly_one = np.quantile(values, 0.25) == np.quantile(values, 0.75)
    if len(distinct) < 3 or not mostly_one:
        return np.empty(0)
    often = counts >= _MANY_ROWS
    # Most frequent first; equally frequent ones by size, so that the order of rows is no matter.
    first = np.lexsort((distinct, -counts))[: min(max_codes, int(often.sum()))]
    return np.sort(distinct[first])
