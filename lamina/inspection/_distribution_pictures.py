"""PIT histograms, coverage, widths of intervals and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._axes import BLACK, BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._coverage import CoverageResult
    from ._pit import PitResult
    from ._scores import ScoresResult


def draw_pit(result: PitResult, ax: Axes) -> Axes:
    """Draw the histogram of the values with the band in which 95 % of its bars belong."""
    from scipy.stats import binom  # slow to import, and only needed here

    n, n_bins = len(result.values), len(result.counts)
    low, high = binom.interval(0.95, n, 1 / n_bins)
    ax.bar(result.edges[:-1], result.counts, 1 / n_bins, align="edge", color=BLUE, alpha=0.7)
    ax.axhspan(low, high, color=GREY, alpha=0.3, label="95 % of the bars, if right")
    ax.axhline(n / n_bins, color=BLACK, linewidth=1.0)
    ax.set_xlim(0, 1)
    ax.set_title(f"KS distance {result.ks_distance:.3f}, p = {result.ks_pvalue:.2g}")
    ax.set_xlabel("PIT: probability of at most y")
    ax.set_ylabel("rows")
    ax.legend(loc="upper right")
    return ax


def draw_coverage(result: CoverageResult, ax: Axes) -> Axes:
    """Draw observed against promised coverage, with a band of two standard errors."""
    order = np.argsort(result.levels)
    levels, observed = result.levels[order], result.observed[order]
    grid = np.linspace(0.0, 1.0, 101)
    error = 2 * np.sqrt(grid * (1 - grid) / result.n_samples)
    low, high = np.clip([grid - error, grid + error], 0.0, 1.0)
    ax.fill_between(grid, low, high, color=GREY, alpha=0.3, label="two standard errors")
    ax.plot([0, 1], [0, 1], color=BLACK, linewidth=1.0, label="observed = promised")
    ax.plot(levels, observed, "o-", color=BLUE, label="intervals")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel("promised coverage")
    ax.set_ylabel("observed coverage")
    ax.legend(loc="upper left")
    return ax


def draw_sharpness(result: CoverageResult, ax: Axes) -> Axes:
    """Draw the mean width by level, with the band that holds 80 % of the rows."""
    order = np.argsort(result.levels)
    levels, widths = result.levels[order], result.widths[:, order]
    low, high = np.quantile(widths, [0.1, 0.9], axis=0)
    ax.fill_between(levels, low, high, color=BLUE, alpha=0.2, label="80 % of the rows")
    ax.plot(levels, widths.mean(axis=0), "o-", color=BLUE, label="mean")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("promised coverage")
    ax.set_ylabel("width of the interval (units of y)")
    ax.legend(loc="upper left")
    return ax


def draw_scores(result: ScoresResult, ax: Axes) -> Axes:
    """Draw the histogram of -ln p(y), with its mean and the baseline's."""
    finite = result.row_nll[np.isfinite(result.row_nll)]
    ax.hist(finite, bins=40, color=BLUE, alpha=0.7)
    if np.isfinite(result.nll):
        ax.axvline(result.nll, color=ORANGE, label=f"mean {result.nll:.3g}")
    if result.baseline_nll is not None and np.isfinite(result.baseline_nll):
        label = f"baseline {result.baseline_nll:.3g}"
        ax.axvline(result.baseline_nll, color=BLACK, linestyle="--", label=label)
    n_impossible = result.n_samples - len(finite)
    ax.set_title(f"{n_impossible} rows impossible" if n_impossible else "")
    ax.set_xlabel("−ln p(y) (nats)")
    ax.set_ylabel("rows")
    ax.legend(loc="upper right")
    return ax
