"""What a number becomes beside its scaled value: its place among bins, or waves of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from scipy.stats import norm

from lamina._typing import FloatArray

Embedding: TypeAlias = Literal["auto", "piecewise_linear", "periodic", "both", "none"]
EMBEDDINGS: tuple[str, ...] = get_args(Embedding)

_SMALLEST_GAP = 1e-7
_MIN_BINS, _MAX_BINS, _ROWS_PER_BIN = 32, 96, 160
"""Bins of a number, by measurement: fine steps help where there are rows enough to fill them."""
_N_WAVES = 8
_MAX_PARTS, _MAX_CELLS = 768, 2**27
"""Bins of all numbers together, and of all rows: half a gigabyte. Likewise for waves."""


@dataclass(frozen=True, eq=False)
class NumberEmbedding:
    """How to embed the numbers of a table: by bins, by waves or not at all."""

    n_bins: int = 0
    waves: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(
        cls,
        kind: Embedding,
        *,
        n_bins: int | Literal["auto"],
        n_waves: int | Literal["auto"],
        wave_scale: float,
        n_samples: int,
        n_numbers: int,
    ) -> Self:
        """Return the embedding for a table of so many rows and numbers."""
        bins = 0
        waves: FloatArray = np.empty(0)
        if kind in ("auto", "piecewise_linear", "both"):
            bins = bins_for(n_samples, n_numbers) if n_bins == "auto" else n_bins
        if kind in ("periodic", "both"):
            waves = wave_numbers(_N_WAVES if n_waves == "auto" else n_waves, wave_scale)
            if n_waves == "auto":  # the longest waves stay
                waves = waves[: _most(n_samples, n_numbers) // 2]
        return cls(bins, waves)


def bins_for(n_samples: int, n_numbers: int) -> int:
    """Return the bins of each number: more for many rows, fewer for many numbers."""
    resolution = min(max(_MIN_BINS, n_samples // _ROWS_PER_BIN), _MAX_BINS, n_samples // 8)
    return min(resolution, _most(n_samples, n_numbers))


def _most(n_samples: int, n_numbers: int) -> int:
    """Return into how many columns a number may be cut."""
    return min(_MAX_PARTS, _MAX_CELLS // n_samples) // max(n_numbers, 1)


def quantile_edges(values: FloatArray, n_bins: int) -> FloatArray:
    """Return the edges of at most ``n_bins`` bins, or none.

    Few distinct values are edges themselves. Otherwise every other edge is a quantile of all
    values and the rest are quantiles of the distinct ones, so that a column that is mostly zero
    is cut where its other values are.
    """
    distinct = np.unique(values)
    # Scaled values that float32 cannot tell apart are one.
    distinct = distinct[np.diff(distinct, prepend=-np.inf) > _SMALLEST_GAP]
    if n_bins < 2 or len(distinct) < 3:
        return np.empty(0)
    if len(distinct) <= n_bins + 1:
        return distinct
    levels = np.linspace(0, 1, n_bins + 1)
    dense, sparse = np.quantile(values, levels[::2]), np.quantile(distinct, levels[1::2])
    edges: FloatArray = np.unique(np.concatenate([dense, sparse, distinct[[0, -1]]]))
    return edges[np.diff(edges, prepend=-np.inf) > _SMALLEST_GAP]


def piecewise(values: FloatArray, edges: FloatArray) -> FloatArray:
    r"""Return how far values have come through each bin: 0 before it, 1 after it.

    .. math:: e_t(x) = \mathrm{clip}\Big(\frac{x - b_{t-1}}{b_t - b_{t-1}}, 0, 1\Big)

    Yu. Gorishniy et al., On embeddings for numerical features in tabular deep learning,
    NeurIPS 2022, https://arxiv.org/abs/2203.05556
    """
    return np.clip((values[:, None] - edges[:-1]) / np.diff(edges), 0.0, 1.0)


def periodic(values: FloatArray, waves: FloatArray) -> FloatArray:
    r"""Return cosines, then sines, of values for each number of periods per unit.

    .. math:: \cos(2\pi f_j x), \quad \sin(2\pi f_j x)

    Yu. Gorishniy et al., On embeddings for numerical features in tabular deep learning,
    NeurIPS 2022, https://arxiv.org/abs/2203.05556
    """
    angles = 2 * np.pi * np.multiply.outer(values, waves)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def wave_numbers(n_waves: int, scale: float) -> FloatArray:
    r"""Return the quantiles of :math:`|f|`, with f normal of standard deviation ``scale``.

    Drawn at random as published, such frequencies differ from seed to seed; their quantiles lie
    as densely where they are frequent.
    """
    levels = (np.arange(n_waves) + 0.5) / max(n_waves, 1)
    waves: FloatArray = scale * norm.ppf(0.5 + 0.5 * levels)
    return waves
