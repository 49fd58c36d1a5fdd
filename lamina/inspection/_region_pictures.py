"""Breakpoints along a segment, and regions in a plane with one colour a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lamina._checks import check_integer

from ._axes import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._line import LineRegionsResult


def draw_line(result: LineRegionsResult, output: int, ax: Axes) -> Axes:
    """Draw one output against t, its breakpoints on it, and a tick at each below."""
    column = check_integer("output", output, 0, result.values.shape[2] - 1)
    ends = np.concatenate([[0.0], result.breakpoints, [1.0]])
    t = np.stack([ends[:-1], ends[1:]], axis=1).ravel()
    y = result.values[:, :, column].ravel()
    ax.plot(t, y, color=BLUE, label=f"output {column}")
    few = result.n_regions <= 200
    ax.plot(
        result.breakpoints, result.values[1:, 0, column], "o" if few else ".",
        color=ORANGE, markersize=4 if few else 1.5, linestyle="None",
        label=f"{result.n_regions - 1:,} breakpoints",
    )  # fmt: skip
    low = y.min() - 0.08 * (np.ptp(y) or 1.0)
    ax.plot(
        result.breakpoints, np.full(len(result.breakpoints), low), "|", color=GREY,
        markersize=6, linestyle="None",
    )  # fmt: skip
    ax.set_title(f"{result.n_regions:,} regions, {result.n_pieces:,} linear pieces")
    ax.set_xlabel("t")
    ax.set_ylabel(f"output {column}")
    ax.legend()
    return ax
