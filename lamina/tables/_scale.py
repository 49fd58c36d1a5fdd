r"""Bring a numeric column to unit size, whatever its offset, spread and outliers.

.. math:: u = \frac{x - \mathrm{median}}{s}, \qquad z = \frac{u}{\sqrt{1 + (u/3)^2}}

with :math:`s` the interquartile range, so that :math:`|z| < 3`. [1]_

References
----------
.. [1] D. Holzmüller, L. Grinsztajn, I. Steinwart, Better by default: strong pre-tuned MLPs and
   boosted trees on tabular data, NeurIPS 2024, https://arxiv.org/abs/2407.04491
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lamina._typing import FloatArray

_LIMIT = 3.0
_UNIT = 1 / np.sqrt(1 - _LIMIT**-2)  # what the clipping takes to 1
_LARGEST = 1e100  # farther out, all values come to _LIMIT; infinity would come to NaN


@dataclass(frozen=True)
class RobustScale:
    """Centre and spread of one column, in units of a power of two."""

    exponent: int
    center: float
    spread: float

    @classmethod
    def fit(cls, values: FloatArray) -> RobustScale:
        """Measure a column that has at least two distinct values; NaN are left out.

        The spread is the interquartile range, else (where half of the values are equal) the
        median distance of the others from the centre. A column of two values goes to ±1.
        """
        present = values[~np.isnan(values)]
        # Dividing by a power of two is exact and keeps the range of 1e300 finite.
        exponent = int(np.frexp(np.abs(present).max())[1])
        scaled = np.ldexp(present, -exponent)
        low, high = scaled.min(), scaled.max()
        if np.all((scaled == low) | (scaled == high)):
            return cls(exponent, float((low + high) / 2), float((high - low) / 2 / _UNIT))
        first, center, third = np.quantile(scaled, [0.25, 0.5, 0.75])
        spread = third - first
        if spread == 0:
            distances = np.abs(scaled - center)
            spread = np.median(distances[distances > 0])
        return cls(exponent, float(center), float(spread))

    def apply(self, values: FloatArray) -> FloatArray:
        """Return centred, scaled and smoothly clipped values; NaN stay NaN."""
        with np.errstate(over="ignore"):
            u = (np.ldexp(values, -self.exponent) - self.center) / self.spread
        u = np.clip(u, -_LARGEST, _LARGEST)
        clipped: FloatArray = u / np.hypot(1.0, u / _LIMIT)
        return clipped

    def to_config(self) -> dict[str, Any]:
        """Return the numbers as a JSON-able dictionary."""
        return asdict(self)
