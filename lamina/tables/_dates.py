"""Encode a column of dates: the time that has passed, and where it falls in the cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from lamina._typing import Array, FloatArray

from ._columns import ColumnCode, Unusable, stacked
from ._scale import RobustScale
from ._values import DATE_UNIT, dates

_EPOCH = np.datetime64(0, "us")

# Name of a cycle -> position in it, in [0, 1).
_CYCLES: dict[str, Callable[[pd.DatetimeIndex], Any]] = {
    "day of year": lambda t: (t.day_of_year - 1) / 366,
    "day of month": lambda t: (t.day - 1) / 31,
    "weekday": lambda t: t.day_of_week / 7,
    "time of day": lambda t: (t.hour * 3600 + t.minute * 60 + t.second) / 86400,
}


@dataclass(frozen=True, eq=False)
class DateCode(ColumnCode):
    """A date: elapsed time, scaled; sine and cosine of its place in year, month, week and day.

    Cycles in which the fitted dates do not differ are left out. A missing date becomes 0.
    """

    kind: ClassVar[str] = "date"
    scale: RobustScale | None  # None: constant, only its being missing tells something
    cycles: tuple[str, ...]
    missing: bool

    @property
    def suffixes(self) -> list[str]:
        """Return the names of the columns."""
        elapsed = [] if self.scale is None else [" elapsed"]
        cycles = [f" {name} {wave}" for name in self.cycles for wave in ("sine", "cosine")]
        return elapsed + cycles + [" missing"] * self.missing

    def transform(self, column: pd.Series[Any]) -> FloatArray:
        """Return the columns of the matrix."""
        stamps = dates(column)
        absent = np.isnat(stamps)
        stamps = np.where(absent, _EPOCH, stamps)
        blocks: list[FloatArray] = []
        if self.scale is not None:
            blocks.append(self.scale.apply(_seconds(stamps)))
        index = pd.DatetimeIndex(stamps)
        for name in self.cycles:
            angle = 2 * np.pi * np.asarray(_CYCLES[name](index), dtype=np.float64)
            blocks.extend((np.sin(angle), np.cos(angle)))
        blocks = [np.where(absent, 0.0, block) for block in blocks]
        if self.missing:
            blocks.append(absent.astype(np.float64))
        return stacked(blocks, len(stamps))

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the settings; there are no arrays."""
        config = {
            "scale": None if self.scale is None else self.scale.to_config(),
            "cycles": list(self.cycles),
            "missing": self.missing,
        }
        return config, {}

    @classmethod
    def from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> DateCode:
        """Restore the encoder."""
        scale = None if config["scale"] is None else RobustScale(**config["scale"])
        return cls(scale, tuple(config["cycles"]), config["missing"])


def fit_dates(column: pd.Series[Any]) -> DateCode:
    """Measure a column of dates.

    Raises
    ------
    Unusable
        If all dates are missing, or all are there and equal.
    """
    stamps = dates(column)
    present = stamps[~np.isnat(stamps)]
    missing = len(present) < len(stamps)
    if not len(present):
        raise Unusable("all values missing")
    if (present == present[0]).all():
        if not missing:
            raise Unusable("constant")
        return DateCode(None, (), missing)
    index = pd.DatetimeIndex(present)
    varying = [name for name, place in _CYCLES.items() if np.ptp(np.asarray(place(index))) > 0]
    return DateCode(RobustScale.fit(_seconds(present)), tuple(varying), missing)


def _seconds(stamps: Array) -> FloatArray:
    """Return seconds since 1970."""
    microseconds = stamps.astype(DATE_UNIT).astype(np.int64)
    return microseconds / 1e6
