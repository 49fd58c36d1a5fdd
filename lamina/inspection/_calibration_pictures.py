"""Reliability diagrams, and the error against the temperature."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ._axes import BLACK, BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._reliability import Reliability
    from ._temperature import TemperatureResult


def draw_reliability(table: Reliability, ax: Axes) -> Axes:
    """Draw frequency against probability, with intervals and the share of rows in each bin."""
    share = table.n / table.n.sum()
    widths = np.diff(table.edges)
    ax.bar(
        table.edges[:-1], share, widths, align="edge", color=GREY, alpha=0.3, label="share of rows"
    )
    ax.plot([0, 1], [0, 1], color=BLACK, linewidth=1.0, label="frequency = probability")
    full = table.n > 0
    low, high = table.interval()[full].T
    confidence, frequency = table.confidence[full], table.frequency[full]
    ax.errorbar(
        confidence,
        frequency,
        yerr=[frequency - low, high - frequency],
        fmt="o-",
        color=BLUE,
        elinewidth=0.8,
        label="bins, with 95 % intervals",
    )
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal", adjustable="box")
    ax.set_title(f"{table.name}: ECE {table.ece:.3f}")
    ax.set_xlabel("mean probability")
    ax.set_ylabel("observed frequency")
    ax.legend(loc="upper left")
    return ax


def draw_temperature(result: TemperatureResult, ax: Axes) -> Axes:
    """Draw the mean of -ln p against the temperature, with the best one and 1."""
    at, errors = result.curve.T
    ax.plot(at, errors, color=BLUE)
    ax.plot(1.0, result.nll_before, "s", color=GREY, label="before")
    if math.isfinite(result.temperature):
        label = f"after: T = {result.temperature:.3g}"
        ax.plot(result.temperature, result.nll_after, "o", color=ORANGE, label=label)
    else:
        ax.axhline(result.nll_after, color=ORANGE, linestyle="--", label="after: T infinite")
    ax.set_xscale("log")
    ax.set_xlabel("temperature")
    ax.set_ylabel("mean of −ln p (nats)")
    ax.legend(loc="upper right")
    return ax
