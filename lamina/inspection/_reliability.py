r"""Stated probabilities against observed frequencies, in bins.

With bins :math:`b` of :math:`n_b` of the N rows, mean probability :math:`\bar p_b` and frequency
:math:`\bar o_b`

.. math:: \mathrm{ECE} = \sum_b \frac{n_b}{N} |\bar o_b - \bar p_b|, \qquad
          \mathrm{MCE} = \max_b |\bar o_b - \bar p_b|
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._axes import axes_or_new

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_Z = 1.959963984540054
"""Standard deviations of a two-sided 95 % interval."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """Stated probabilities against observed frequencies in bins, for one class or the likeliest.

    Attributes
    ----------
    name : str
        What the probabilities are of: a class, or the class with the highest probability.
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins. A bin holds its lower end, and the last one its upper end, too.
    n : ndarray of int of shape (n_bins,)
        Rows in each bin.
    confidence : ndarray of shape (n_bins,)
        Mean probability in each bin, NaN where it is empty.
    frequency : ndarray of shape (n_bins,)
        How often it was so in each bin, NaN where it is empty.
    ece : float
        Expected calibration error: the mean distance of frequency and probability over rows.
    mce : float
        Maximum calibration error: the largest distance in a bin that is not empty.
    ece_by_chance : float
        About the ECE that perfectly calibrated probabilities would show on as many rows.
    """

    name: str
    edges: FloatArray
    n: IntArray
    confidence: FloatArray
    frequency: FloatArray
    ece: float
    mce: float
    ece_by_chance: float

    def interval(self) -> FloatArray:
        """Return Wilson's 95 % interval of each bin's frequency, (n_bins, 2)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = _Z**2 / self.n
            middle = (self.frequency + share / 2) / (1 + share)
            spread = self.frequency * (1 - self.frequency) / self.n + share / (4 * self.n)
            half = _Z / (1 + share) * np.sqrt(spread)
        # At 0 and 1 the ends are exact, and rounding must not move the frequency outside.
        low = np.minimum(middle - half, self.frequency)
        high = np.maximum(middle + half, self.frequency)
        ends: FloatArray = np.clip(np.column_stack([low, high]), 0.0, 1.0)
        return ends

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for each bin; ``low`` and ``high`` bound the frequency."""
        import pandas as pd

        low, high = self.interval().T
        return pd.DataFrame(
            {
                "from": self.edges[:-1],
                "to": self.edges[1:],
                "n": self.n,
                "confidence": self.confidence,
                "frequency": self.frequency,
                "gap": self.frequency - self.confidence,
                "low": low,
                "high": high,
            }
        )

    def summary(self) -> str:
        """Return the errors in one line."""
        return (
            f"{self.name}: calibration error {self.ece:.4f} on average "
            f"({self.ece_by_chance:.4f} by chance alone), {self.mce:.4f} at most"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw frequency against probability, with 95 % intervals and the share of rows."""
        from ._calibration_pictures import draw_reliability

        return draw_reliability(self, axes_or_new(ax))


def reliability(name: Any, proba: FloatArray, hit: Array, edges: FloatArray) -> Reliability:
    """Return the table of probabilities (N,) and of whether it was so (N,)."""
    n_bins, total = len(edges) - 1, len(proba)
    bins = np.searchsorted(edges[1:-1], proba, side="right")
    n = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(bins, proba, minlength=n_bins) / n
        frequency = np.bincount(bins, hit, minlength=n_bins) / n
    gap = np.abs(frequency - confidence)[n > 0]
    # The mean distance of a normal variable with standard deviation s from its mean: s √(2/π).
    variance = np.bincount(bins, proba * (1 - proba), minlength=n_bins)
    by_chance = math.sqrt(2 / math.pi) * float(np.sqrt(variance).sum()) / total
    return Reliability(
        name=str(name),
        edges=edges,
        n=n,
        confidence=confidence,
        frequency=frequency,
        ece=float(gap @ n[n > 0]) / total,
        mce=float(gap.max()),
        ece_by_chance=by_chance,
    )


def bin_edges(proba: FloatArray, n_bins: int, strategy: str) -> FloatArray:
    """Return ends of bins that are as wide, or that hold about as many rows."""
    even: FloatArray = np.arange(n_bins + 1) / n_bins
    if strategy == "uniform":
        return even
    inner = np.unique(np.quantile(proba, even[1:-1])) if n_bins > 1 else np.empty(0)
    inside = inner[(inner > 0) & (inner < 1)]
    return np.concatenate([[0.0], inside, [1.0]])
