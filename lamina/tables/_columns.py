"""What all encoders of one column have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from lamina._typing import Array, FloatArray


class ColumnCode(ABC):
    """Maps one column of a table to some columns of the matrix; fixed once fitted."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def suffixes(self) -> list[str]:
        """Return what the columns of the matrix are called, after the name of the column."""

    @property
    def parts(self) -> list[str]:
        """Return what each column of the matrix belongs to: "bin", "wave 1", … or ""."""
        return [""] * len(self.suffixes)

    @abstractmethod
    def transform(self, column: pd.Series[Any]) -> FloatArray:
        """Return float64 of shape (n_samples, len(suffixes)), all finite."""

    @abstractmethod
    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return a JSON-able dictionary and arrays from which ``from_state`` restores it."""

    @classmethod
    @abstractmethod
    def from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> ColumnCode:
        """Restore an encoder."""


class Unusable(Exception):
    """A column tells nothing; the message is the reason that the report shows."""


def stacked(blocks: Sequence[FloatArray], n_samples: int) -> FloatArray:
    """Return columns and blocks of columns side by side."""
    columns = [block.reshape(n_samples, -1) for block in blocks]
    return np.hstack(columns) if columns else np.empty((n_samples, 0))
