"""Pictures of fixed bases: counts, coefficients, cells, condition numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._axes import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._bases_cells import CellVoteResult
    from ._bases_conditioning import ConditioningResult
    from ._bases_counts import PolynomialCountResult
    from ._bases_fit import BasisFitResult

_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")


def draw_counts(found: PolynomialCountResult, ax: Axes) -> Axes:
    """Draw the number of coefficients against the dimension, a line for each order."""
    for i, M in enumerate(found.degrees):
        counts = [float(min(found.counts[D, M], 10**300)) for D in found.n_features]
        ax.plot(found.n_features, counts, "o-", color=_COLOURS[i % 8], label=f"order {M}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("variables")
    ax.set_ylabel("coefficients")
    ax.legend(loc="upper left")
    return ax


def draw_coefficients(found: BasisFitResult, ax: Axes) -> Axes:
    """Draw the coefficients of the first output."""
    ax.bar(np.arange(len(found.weights)), found.weights[:, 0], color=BLUE)
    ax.set_title(f"loss {found.loss:.3g}")
    ax.set_xlabel("function of the basis")
    ax.set_ylabel("coefficient")
    return ax


def draw_cells(found: CellVoteResult, ax: Axes) -> Axes:
    """Draw the middles of the occupied cells over the first two features, by label."""
    width = (found.high - found.low) / found.n_bins
    middles = found.low + (found.cells + 0.5) * width
    across = middles[:, 1] if middles.shape[1] > 1 else np.zeros(len(middles))
    for i, label in enumerate(np.unique(found.labels)):
        of = found.labels == label
        colour = _COLOURS[i % 8]
        ax.plot(middles[of, 0], across[of], "s", color=colour, label=str(label))
    ax.set_title(f"{len(found.cells):,} of {found.n_cells:,} cells have an answer")
    ax.set_xlabel("first feature")
    ax.set_ylabel("second feature")
    ax.legend(loc="upper right")
    return ax


def draw_conditioning(found: ConditioningResult, ax: Axes) -> Axes:
    """Draw the condition numbers against the number of points."""
    finite = np.isfinite(found.condition_numbers)
    ax.plot(
        found.sizes[finite], found.condition_numbers[finite], "o-", color=ORANGE, label="as it is"
    )
    ax.plot(found.sizes, found.regularised, "s-", color=BLUE, label=f"penalty {found.penalty:g}")
    ax.axhline(1 / np.finfo(np.float64).eps, color=GREY, linestyle="--", label="rounding")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("training points")
    ax.set_ylabel("condition number")
    ax.legend(loc="lower right")
    return ax
