"""What an inspection needs of a predictive distribution, whoever wrote it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import FloatArray

from ._arrays import column


class Distribution(Protocol):
    """A distribution of one target in each of N rows, as ``predict_dist`` returns it."""

    def __len__(self) -> int:
        """Return N."""

    def cdf(self, y: Any) -> FloatArray:
        """Return P(Y ≤ y), (N,)."""

    def interval(self, level: float) -> FloatArray:
        """Return the central interval, (N, 2)."""

    def log_prob(self, y: Any) -> FloatArray:
        """Return the log density, (N,)."""

    def crps(self, y: Any) -> FloatArray:
        """Return the continuous ranked probability score, (N,)."""


def targets(dist: Any, y: Any, needs: tuple[str, ...]) -> FloatArray:
    """Return y (N,), a value for each row of a distribution that has what is needed."""
    missing = [name for name in needs if not callable(getattr(dist, name, None))]
    if missing:
        cure = " Pass model.predict_dist(X)." if callable(getattr(dist, "predict", None)) else ""
        raise ParameterError(
            f"dist must be a predictive distribution with {', '.join(needs)}. "
            f"Got {shown(dist)}, which has no {missing[0]}.{cure}"
        )
    n_targets = getattr(dist, "n_targets", 1)
    if n_targets != 1:
        raise ParameterError(
            f"dist must have one target. Got {n_targets}. Inspect one at a time: "
            "pass dist.marginal(0) and y[:, 0]."
        )
    values = column("y", y)
    if len(values) != len(dist):
        raise DataError(
            f"y must have a value for each of the {len(dist)} rows of dist. Got {len(values)}."
        )
    return values


def is_discrete(dist: Any, y: FloatArray) -> bool:
    """Return whether the target takes whole numbers only; y must then be such."""
    if not getattr(dist, "is_discrete", False):
        return False
    wrong = np.flatnonzero(y != np.floor(y))
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            "y must be whole numbers where the distribution is of counts. "
            f"Got {y[row]:g} in row {row}."
        )
    return True


def told(name: str, value: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return what a distribution says of its rows, or a sentence if it says nonsense."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape or np.isnan(array).any():
        raise DataError(
            f"dist.{name} must return numbers of shape {shape}. Got shape {array.shape}"
            f"{' with nan' if array.shape == shape else ''}."
        )
    return array
