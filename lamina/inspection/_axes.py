"""Where a result draws itself when it is not told, and in which colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina._optional import optional_import

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY, BLACK = "#0072b2", "#e69f00", "#8c8c8c", "#000000"
"""The first colours of ``lamina.plots``, in the order of a result's series."""


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes that were given, or those of a new figure without pyplot or a window."""
    if ax is not None:
        return ax
    figure_class = optional_import("matplotlib.figure", extra="plots", purpose="Plotting").Figure
    new: Axes = figure_class(figsize=(4.8, 3.6), layout="constrained").subplots()
    return new
