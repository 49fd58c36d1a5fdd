"""Encode a column of categories, from one level to a hundred thousand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from lamina._typing import Array, FloatArray, IntArray

from ._columns import ColumnCode, Unusable, stacked
from ._values import MISSING, levels

_MANY_ROWS = 10
"""From so many rows on, text that never repeats is an identifier."""


@dataclass(frozen=True, eq=False)
class LevelCode(ColumnCode):
    """A category: one column for each of the frequent levels, and what rare ones have in common.

    Levels are ordered by frequency. Two levels share one column of ±1. A level that fitting did
    not see has 0 in each of these columns and the average in ``table``.
    """

    kind: ClassVar[str] = "category"
    levels: tuple[str, ...]
    n_one_hot: int
    missing: bool
    table: FloatArray  # (n_levels + missing + 1, T): last row for unseen levels

    @property
    def suffixes(self) -> list[str]:
        """Return the names of the columns."""
        hot = self.levels[: self.n_one_hot]
        shown = [f"={hot[0]}"] if len(self.levels) == 2 else [f"={level}" for level in hot]
        many = ["frequency", *(f"mean {i}" for i in range(self.table.shape[1] - 1))]
        return (
            shown
            + [" missing"] * self.missing
            + [f" {name}" for name in many[: self.table.shape[1]]]
        )

    def codes_of(self, column: pd.Series[Any]) -> IntArray:
        """Return the place of each row's level; missing is one level more, unseen is -1."""
        codes, names = levels(column)
        places = {level: i for i, level in enumerate(self.levels)}
        absent = len(self.levels) if self.missing else -1
        recode = np.array([places.get(name, -1) for name in names] + [absent], dtype=np.int64)
        return recode[codes]

    def transform(self, column: pd.Series[Any]) -> FloatArray:
        """Return the columns of the matrix."""
        return self.encode(self.codes_of(column))

    def encode(self, codes: IntArray, learned: FloatArray | None = None) -> FloatArray:
        """Return the columns of the matrix for codes; ``learned`` takes the table's place."""
        hot = np.equal.outer(codes, np.arange(self.n_one_hot)).astype(np.float64)
        if len(self.levels) == 2:
            hot = hot[:, :1] - hot[:, 1:]
        blocks: list[FloatArray] = [hot]
        if self.missing:
            blocks.append((codes == len(self.levels)).astype(np.float64))
        blocks.append(self.table[codes] if learned is None else learned)
        return stacked(blocks, len(codes))

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the settings and arrays."""
        config = {
            "levels": list(self.levels),
            "n_one_hot": self.n_one_hot,
            "missing": self.missing,
        }
        return config, {"table": self.table}

    @classmethod
    def from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> LevelCode:
        """Restore the encoder."""
        return cls(
            tuple(config["levels"]), config["n_one_hot"], config["missing"], arrays["table"]
        )


def fit_levels(
    column: pd.Series[Any],
    *,
    max_levels: int,
    targets: FloatArray | None,
    random_state: int,
) -> tuple[LevelCode, FloatArray]:
    """Learn the levels of a column; return the encoder and the columns of the fitted rows.

    If there are more than ``max_levels``, only these get columns of their own; all get their
    frequency and, given ``targets`` of shape (n_samples, T), the mean of each target, smoothed
    towards the overall mean. The fitted rows get means from the rows of other folds, so that a
    rare level does not give away its own target.

    Raises
    ------
    Unusable
        If all values are missing, all are there and equal, or no value repeats.
    """
    codes, names = levels(column)
    counts = np.bincount(codes[codes != MISSING], minlength=len(names))
    missing = bool((codes == MISSING).any())
    _check_usable(counts, missing)
    # Most frequent first; equally frequent ones by name, so that the order of rows is no matter.
    order = sorted(range(len(names)), key=lambda i: (-counts[i], names[i]))
    place = np.empty(len(names) + 1, dtype=np.int64)
    place[order] = np.arange(len(names))
    place[MISSING] = len(names)
    codes = place[codes]
    counts = np.append(counts[order], (codes == len(names)).sum())[: len(names) + missing]

    many = len(names) > max_levels
    n_one_hot = min(len(names), max_levels) if len(names) > 1 else 0
    table: FloatArray = np.empty((len(counts) + 1, 0))
    learned: FloatArray = np.empty((len(codes), 0))
    if many:
        table, learned = _learned(codes, counts, targets, random_state)
    code = LevelCode(tuple(names[i] for i in order), n_one_hot, missing, table)
    return code, code.encode(codes, learned)


def _check_usable(counts: IntArray, missing: bool) -> None:
    if not len(counts):
        raise Unusable("all values missing")
    if len(counts) == 1 and not missing:
        raise Unusable("constant")
    if counts.max() == 1 and len(counts) >= _MANY_ROWS:
        raise Unusable("identifier: every value is different")


def _learned(
    codes: IntArray, counts: IntArray, targets: FloatArray | None, random_state: int
) -> tuple[FloatArray, FloatArray]:
    """Return the table of all levels and the values of the fitted rows, both of unit size."""
    frequency = np.log1p(np.append(counts, 0).astype(np.float64))
    table, learned = [frequency], [frequency[codes]]
    folds = KFold(5, shuffle=True, random_state=random_state)
    for target in () if targets is None else targets.T:
        encoder = TargetEncoder(target_type="continuous", cv=folds)
        learned.append(encoder.fit_transform(codes[:, None], target)[:, 0])
        table.append(np.append(encoder.encodings_[0], encoder.target_mean_))
    centers = [column.mean() for column in learned]
    spreads = [column.std() or 1.0 for column in learned]
    return _standardised(table, centers, spreads), _standardised(learned, centers, spreads)


def _standardised(
    columns: Sequence[FloatArray], centers: Sequence[float], spreads: Sequence[float]
) -> FloatArray:
    scaled: FloatArray = (np.stack(columns, axis=1) - np.asarray(centers)) / np.asarray(spreads)
    return scaled
