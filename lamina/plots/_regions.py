"""The linear regions of a network: a map with one colour a pattern, and breakpoints on a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from lamina.inspection import regions_in_plane, regions_on_line

from ._style import axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_regions(
    net: Any,
    bounds: Any,
    *,
    origin: Any = None,
    axes: Any = None,
    colour: Literal["pattern", "size"] = "pattern",
    boundary: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the linear regions in a window of a plane, one colour for each activation pattern.

    Regions are exact polygons. The colours run from dark blue to yellow, in steps that put
    parts of one region far apart; colour-blind readers can tell them, and so can a print in grey.

    Parameters
    ----------
    net : Network or torch module
        A network with piecewise linear activations.
    bounds : ((u_min, u_max), (v_min, v_max))
        The window.
    origin : array-like of shape (D,), default=None
        The point at (0, 0), see `lamina.inspection.regions_in_plane`.
    axes : array-like of shape (2, D), default=None
        Directions of u and v. Not needed with two inputs.
    colour : {"pattern", "size"}, default="pattern"
        A colour of its own for each region, or one by its area.
    boundary : bool, default=False
        Whether to draw in black where the class changes, or an only output is 0.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the title has the number of regions.

    Examples
    --------
    >>> from lamina.nn import Network
    >>> from lamina.plots import plot_regions
    >>> network = Network((2, 8, 8, 8, 1), init="torch", random_state=0)
    >>> plot_regions(network, ((-2, 2), (-2, 2))).get_title()
    '68 regions'
    """
    result = regions_in_plane(net, bounds, origin, axes)
    with style():
        return result.plot(colour, boundary=boundary, ax=axes_or_new(ax, (4.4, 4.0)))


def plot_line_regions(
    net: Any, start: Any, end: Any, *, output: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw an output along a segment, with a mark at each place where the network bends.

    Parameters
    ----------
    net : Network or torch module
        A network with piecewise linear activations.
    start, end : array-like of shape (D,)
        Ends of the segment.
    output : int, default=0
        The output to draw.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the title has the numbers of regions and of linear pieces.

    Examples
    --------
    >>> from lamina.inspection import sawtooth_network
    >>> from lamina.plots import plot_line_regions
    >>> plot_line_regions(sawtooth_network(4), [0.0], [1.0]).get_title()
    '16 regions, 16 linear pieces'
    """
    result = regions_on_line(net, start, end)
    with style():
        return result.plot(output, ax=axes_or_new(ax))
