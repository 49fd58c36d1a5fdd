"""One look for every picture: fixed colours that colour-blind readers can tell apart.

The colours are those of Okabe and Ito [1]_, ordered so that the first ones differ most in
lightness too and a print in grey stays readable. Nothing global is changed: the style holds
inside a ``with`` block, figures are made without pyplot, and no window is opened.

References
----------
.. [1] M. Okabe, K. Ito, Color Universal Design, 2008, https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer
from lamina._optional import optional_import
from lamina._typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

PALETTE = (
    "#0072b2",  # blue
    "#e69f00",  # orange
    "#009e73",  # green
    "#cc79a7",  # purple
    "#56b4e9",  # sky
    "#d55e00",  # vermillion
    "#f0e442",  # yellow
    "#000000",  # black
)
"""Colours of the first, second, … series or class; a ninth one starts again."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Markers that go with the colours, so that no class is told by colour alone."""

LINES = ("-", "--", ":", "-.")
"""Line styles: the first eight series are solid, the next eight dashed, and so on."""

TRUTH = "#000000"
"""Colour of what is known: the true function, the line of perfect predictions."""

GREY = "#8c8c8c"
"""Colour of what stands in the background."""

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.8,
    # Not "best", which takes Matplotlib long and draws a warning where there are many points.
    "legend.loc": "upper right",
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "savefig.dpi": 150,
    "svg.hashsalt": "lamina",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}
"""Matplotlib's settings inside `style`."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in lamina's style inside a ``with`` block; outside it nothing changes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> with style():
    ...     axes = Figure().subplots()
    """
    rc_context = optional_import("matplotlib", extra="plots", purpose="Plotting").rc_context
    with rc_context(STYLE):
        yield


def colour(index: int) -> str:
    """Return the colour of a series or class."""
    return PALETTE[index % len(PALETTE)]


def marker(index: int) -> str:
    """Return the marker of a class."""
    return MARKERS[index % len(MARKERS)]


def line(index: int) -> str:
    """Return the line style of a series."""
    return LINES[(index // len(PALETTE)) % len(LINES)]


def lightened(index: int, share: float = 0.65) -> tuple[float, float, float]:
    """Return the colour of a class, mixed with white for an area behind its points."""
    from matplotlib.colors import to_rgb

    red, green, blue = ((1 - share) * part + share for part in to_rgb(colour(index)))
    return red, green, blue


def two_class_map() -> Colormap:
    """Return a colour map from class 0 over white (undecided) to class 1."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("lamina", [colour(0), "#ffffff", colour(1)])


def panels(n_rows: int = 1, n_columns: int = 1, *, size: tuple[float, float] = (4.0, 3.4)) -> Any:
    """Make a figure of several axes in lamina's style, without pyplot or a window.

    Parameters
    ----------
    n_rows, n_columns : int, default=1
        How many axes stand below and beside one another.
    size : tuple of float, default=(4.0, 3.4)
        Width and height of each, in inches.

    Returns
    -------
    ndarray of matplotlib.axes.Axes of shape (n_rows, n_columns)
        The axes; ``panels()[0, 0].figure`` is their figure.

    Examples
    --------
    >>> from lamina.plots import panels
    >>> panels(2, 3).shape
    (2, 3)
    """
    check_integer("n_rows", n_rows, 1)
    check_integer("n_columns", n_columns, 1)
    figure_class = optional_import("matplotlib.figure", extra="plots", purpose="Plotting").Figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with style():
        width, height = size
        figure = figure_class(figsize=(width * n_columns, height * n_rows), layout="constrained")
        FigureCanvasAgg(figure)
        return figure.subplots(n_rows, n_columns, squeeze=False)


def axes_or_new(ax: Axes | None, size: tuple[float, float] = (4.8, 3.6)) -> Axes:
    """Return the axes that were given, or those of a new figure."""
    if ax is not None:
        return ax
    new: Axes = panels(size=size)[0, 0]
    return new


def margins(values: FloatArray, share: float = 0.08) -> tuple[float, float]:
    """Return the finite range of some values with a margin on both sides."""
    finite = np.asarray(values, dtype=float)[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    margin = share * (high - low) or 0.5
    return low - margin, high + margin
