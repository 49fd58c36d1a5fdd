"""Where the linear regions of a network are looked at: a line and a plane through the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._finding import Finding

if TYPE_CHECKING:
    from lamina._typing import FloatArray
    from lamina.nn import Network

MOST_UNITS = 512
"""Hidden units up to which the regions in a plane, about half their square, are counted."""

WIDEST = 2048
"""Units of a layer up to which regions on a line are looked for."""


@dataclass(frozen=True)
class Window:
    """A window of a plane that holds rows of data.

    Attributes
    ----------
    bounds : ((u_min, u_max), (v_min, v_max))
        Its ends.
    origin : ndarray of shape (D,)
        The point at (0, 0).
    axes : ndarray of shape (2, D)
        Directions of u and v.
    rows : tuple of int
        The three rows that the plane goes through, or none where it is that of two inputs.
    """

    bounds: tuple[tuple[float, float], tuple[float, float]]
    origin: FloatArray
    axes: FloatArray
    rows: tuple[int, ...] = ()


def curved(network: Network) -> str:
    """Return the first activation that is not piecewise linear, or nothing."""
    return next((a.spec for a in network.activations if a.breakpoints is None), "")


def has_regions(network: Network) -> bool:
    """Tell whether a network is piecewise linear, bends, and is not too wide to look at."""
    bends = any(activation.breakpoints for activation in network.activations)
    return not curved(network) and bends and max(network.sizes) <= WIDEST


def farthest(X: FloatArray) -> int:
    """Return the row that is farthest from the first one; 0 where all are equal."""
    import numpy as np

    scaled = X / (np.abs(X).max() or 1.0)  # squares of large numbers would overflow
    return int(np.square(scaled - scaled[0]).sum(axis=1).argmax())


def window_of(X: FloatArray) -> Window | None:
    """Return where to look: the range of two inputs, or the plane of three far rows.

    These are the first row, the one farthest from it, and the one farthest off their line; the
    window is the smallest that holds them. None where all rows lie on a line.
    """
    import numpy as np

    if X.shape[1] == 2 and np.ptp(X, axis=0).all():
        (left, low), (right, high) = X.min(axis=0).tolist(), X.max(axis=0).tolist()
        return Window(((left, right), (low, high)), np.zeros(2), np.eye(2))
    far = farthest(X)
    length = float(np.linalg.norm(X[far] - X[0]))
    if not length:
        return None
    first = (X[far] - X[0]) / length
    along = (X - X[0]) @ first
    off = X - X[0] - along[:, None] * first
    distance = np.linalg.norm(off, axis=1)
    third = int(distance.argmax())
    if distance[third] <= 1e-9 * length:
        return None
    axes: FloatArray = np.stack([first, off[third] / distance[third]])
    us = sorted((0.0, length, float(along[third])))
    bounds = ((us[0], us[-1]), (0.0, float(distance[third])))
    return Window(bounds, X[0], axes, (0, far, third))


def findings_on_regions(network: Network, X: FloatArray | None) -> Iterator[Finding]:
    """Yield how many linear regions lie between rows."""
    from lamina.inspection import count_regions, regions_on_line

    if X is None or not has_regions(network):
        return
    far = farthest(X)
    if not far:
        return
    line = regions_on_line(network, X[0], X[far])
    sure = "" if line.certain else " (rounding may have hidden some)"
    yield Finding(
        "fact", "linear regions", float(line.n_regions),
        f"From the first row to the one farthest from it lie {line.n_regions:,} linear "
        f"regions{sure}.", weight=0.1,
    )  # fmt: skip
    window = window_of(X)
    if window is None or sum(network.sizes[1:-1]) > MOST_UNITS:
        return
    plane = count_regions(network, window.bounds, window.origin, window.axes)
    sure = "" if plane.certain else " (rounding may have hidden some)"
    where = "the plane through three far rows, between them"
    if not window.rows:
        where = "the plane of the two inputs, over the range of the rows"
    yield Finding(
        "fact", "linear regions in a plane", float(plane.n_regions),
        f"In {where}, lie {plane.n_regions:,} linear regions{sure}.", weight=0.05,
    )  # fmt: skip
