r"""The linear regions that a segment meets: exact breakpoints, patterns, slopes and pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import Array, FloatArray

from ._arrays import numbers
from ._axes import axes_or_new
from ._line_walk import LineWalk, Unit, walk
from ._region_exact import ExactNetwork, to_whole
from ._region_layers import RegionLayer, region_layers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SAME_SLOPE = 1e-12
"""Slopes are the same where they differ by less than this share of the largest sum of terms."""


@dataclass(frozen=True, eq=False)
class LineRegionsResult:
    """The activation regions and linear pieces along a segment.

    Attributes
    ----------
    start, end : ndarray of shape (D,)
        Ends of the segment: the point at t is ``start + t * (end - start)``.
    n_regions : int
        Activation regions met: maximal intervals of t with one activation pattern.
    breakpoints : ndarray of shape (n_regions - 1,)
        Values of t between 0 and 1 where the pattern changes, in order.
    units : tuple of (layer, unit)
        The units whose codes ``patterns`` holds; layers from 1, units from 0.
    patterns : ndarray of uint8 of shape (n_regions, n_units)
        How many of its breakpoints each unit has passed in each region: 0 or 1, off or on, for
        a ReLU; 0, 1 or 2 for a hard tanh.
    values : ndarray of shape (n_regions, 2, Q)
        Outputs at the left and the right end of each region.
    regions_by_layer : tuple of int
        Regions of the network cut after each of its layers.
    certain : bool
        Whether no sign was left to rounding, so that ``n_regions`` is exact for these weights.
    doubtful : tuple of (layer, unit)
        The units that make it uncertain. They were taken to be 0 where rounding hides the sign.
    """

    start: FloatArray
    end: FloatArray
    n_regions: int
    breakpoints: FloatArray
    units: tuple[Unit, ...]
    patterns: Array
    values: FloatArray
    regions_by_layer: tuple[int, ...]
    certain: bool
    doubtful: tuple[Unit, ...]
    _layers: tuple[RegionLayer, ...] = field(init=False, repr=False)
    _codes: tuple[Array, ...] = field(init=False, repr=False)

    @property
    def points(self) -> FloatArray:
        """The inputs at the breakpoints, (n_regions - 1, D)."""
        points: FloatArray = self.start + self.breakpoints[:, None] * (self.end - self.start)
        return points

    @cached_property
    def slopes(self) -> FloatArray:
        """Change of each output per unit of t in each region, (n_regions, Q)."""
        return self._slopes_and_sizes[0]

    @cached_property
    def _slopes_and_sizes(self) -> tuple[FloatArray, FloatArray]:
        """Slopes, and for each output the largest sum of absolute terms of one, (Q,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            rise = (self.end - self.start)[None]
            for layer, codes in zip(self._layers, self._codes, strict=True):
                steep = layer.slopes[codes, np.arange(len(layer.b))]
                largest = (np.abs(steep) * (np.abs(rise) @ np.abs(layer.W).T)).max(axis=0)
                # The first layer has one product for all regions.
                rise = steep * (rise @ layer.W.T)
        return rise, largest

    @cached_property
    def bends(self) -> tuple[tuple[Unit, ...], ...]:
        """The units whose code changes at each breakpoint, as (layer, unit)."""
        changes = self.patterns[:-1] != self.patterns[1:]
        return tuple(tuple(self.units[j] for j in np.flatnonzero(row)) for row in changes)

    @cached_property
    def n_pieces(self) -> int:
        """Linear pieces of the outputs: neighbouring regions with one affine map count once.

        There are never more of them than regions. There are fewer where a unit that bends does
        not reach the outputs, or where several that bend at one place cancel.
        """
        slopes, size = self._slopes_and_sizes
        jump = np.abs(self.values[1:, 0] - self.values[:-1, 1])
        far = _SAME_SLOPE * (np.abs(self.values).max(axis=(0, 1)) + size)
        bent = np.abs(np.diff(slopes, axis=0)) > _SAME_SLOPE * size
        return 1 + int((bent | (jump > far)).any(axis=1).sum())

    def seen_by_grid(self, n: int) -> float:
        """Return the share of the regions that hold at least one of n evenly spaced points.

        Parameters
        ----------
        n : int
            Points from t = 0 to 1, both ends among them; at least 2.
        """
        grid = np.linspace(0.0, 1.0, check_integer("n", n, 2))
        return len(np.unique(np.searchsorted(self.breakpoints, grid))) / self.n_regions

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row a region: its ends in t, and slopes of the outputs."""
        import pandas as pd

        ends = np.concatenate([[0.0], self.breakpoints, [1.0]])
        table = pd.DataFrame({"from": ends[:-1], "to": ends[1:]})
        for j in range(self.slopes.shape[1]):
            table[f"slope{j}"] = self.slopes[:, j]
        return table

    def summary(self) -> str:
        """Return a paragraph: how many regions and pieces, how thin, and how sure."""
        widths = np.diff(np.concatenate([[0.0], self.breakpoints, [1.0]]))
        by_layer = ", ".join(str(n) for n in self.regions_by_layer)
        lines = [
            f"The segment meets {self.n_regions:,} activation regions, on which the outputs have "
            f"{self.n_pieces:,} linear pieces.",
            f"Regions after each layer: {by_layer}.",
            f"The thinnest is {widths.min():.3g} of the segment; 1,000 even points see "
            f"{self.seen_by_grid(1000):.1%} of them.",
            certainty(self.certain, self.doubtful),
        ]
        return "\n".join(lines)

    def plot(self, output: int = 0, ax: Axes | None = None) -> Axes:
        """Draw an output along the segment with its breakpoints."""
        from ._region_pictures import draw_line

        return draw_line(self, output, axes_or_new(ax))


def certainty(certain: bool, doubtful: Sequence[Unit]) -> str:
    """Return a sentence on whether rounding could have changed a count."""
    if certain:
        return "The count is exact for these weights: no sign was left to rounding."
    named = ", ".join(f"unit {unit} of layer {layer}" for layer, unit in doubtful[:5])
    more = f" and {len(doubtful) - 5} more" if len(doubtful) > 5 else ""
    return f"Rounding could change the count: the signs of {named}{more} were left open."


def regions_on_line(net: Any, start: Any, end: Any) -> LineRegionsResult:
    r"""Find every breakpoint of a piecewise linear network on a segment.

    An activation region is a maximal set of inputs on which each unit keeps the linear piece of
    its activation. Along :math:`x(t) = x_0 + t (x_1 - x_0)` a pre-activation is a straight line
    between two neighbouring breakpoints of the layers below,

    .. math:: a(t) = a(t_i) + \frac{t - t_i}{t_{i+1} - t_i} \, (a(t_{i+1}) - a(t_i)),

    so that its values at both ends tell whether and where it crosses. No region is too thin to
    be seen, as it can be on a grid. On each region the network is one affine map; where two
    neighbouring regions have the same one, ``n_pieces`` counts them once.

    Parameters
    ----------
    net : Network or torch.nn.Module
        A network with piecewise linear activations, or what `Network.from_torch` reads.
    start, end : array-like of shape (D,)
        Ends of the segment.

    Returns
    -------
    LineRegionsResult
        ``n_regions``, ``breakpoints``, ``patterns``, ``slopes``, ``n_pieces`` and more.

    Raises
    ------
    ParameterError
        If an activation is curved.
    DataError
        If the ends do not fit the network, or are the same point.

    Notes
    -----
    Arithmetic is float64. Signs that rounding could have changed are decided in whole numbers
    of any length as far as an allowance of work goes; ``certain`` says whether it was enough.
    The cost is that of evaluating the network at each breakpoint. With N units and random
    weights expect of the order of N breakpoints [1]_.

    References
    ----------
    .. [1] B. Hanin, D. Rolnick, Complexity of linear regions in deep networks, ICML 2019,
       https://arxiv.org/abs/1901.09021

    Examples
    --------
    >>> from lamina.nn import Network
    >>> tent = Network.from_arrays([([[1.0], [1.0]], [0.0, -0.5]), ([[2.0, -4.0]], [0.0])])
    >>> result = regions_on_line(tent, [0.0], [1.0])
    >>> result.n_regions, result.breakpoints.tolist(), result.slopes.ravel().tolist()
    (2, [0.5], [2.0, -2.0])
    """
    layers = region_layers(net)
    n_inputs = layers[0].W.shape[1]
    first, last = _end("start", start, n_inputs), _end("end", end, n_inputs)
    with np.errstate(over="ignore"):
        along = last - first
    if not along.any() or not np.isfinite(along).all():
        raise DataError(
            "end must be another point than start, at a finite distance. "
            f"Got a distance of {np.linalg.norm(along):g}."
        )

    def embed() -> tuple[Array, int]:
        ends, power = to_whole(np.column_stack([first, last]))
        return np.column_stack([ends[:, 1] - ends[:, 0], ends[:, 0]]), power

    state = walk(layers, ExactNetwork(layers, embed), first, along)
    return _result(layers, first, last, state)


def _end(name: str, value: Any, n_inputs: int) -> FloatArray:
    """Return one end as a vector of the network's inputs."""
    vector = np.atleast_1d(numbers(name, value))
    if vector.shape != (n_inputs,):
        raise DataError(
            f"{name} must have shape ({n_inputs},), one number an input. Got {vector.shape}."
        )
    return vector


def _result(
    layers: Sequence[RegionLayer], start: FloatArray, end: FloatArray, state: LineWalk
) -> LineRegionsResult:
    """Return what the walk found."""
    ends = state.H[:, None, :].repeat(2, 1) if state.jumped >= 0 else None
    bending = [i for i, layer in enumerate(layers) if layer.n_cuts]
    n_regions = len(state.t) - 1
    patterns = [state.codes[i] for i in bending] or [np.zeros((n_regions, 0), dtype=np.uint8)]
    made = state.makers[1:-1, 0]
    result = LineRegionsResult(
        start=start,
        end=end,
        n_regions=n_regions,
        breakpoints=state.t[1:-1],
        units=tuple((i + 1, j) for i in bending for j in range(len(layers[i].b))),
        patterns=np.concatenate(patterns, axis=1),
        values=np.stack([state.H[:-1], state.H[1:]], axis=1) if ends is None else ends,
        regions_by_layer=tuple(1 + int((made <= i).sum()) for i in range(len(layers))),
        certain=not state.doubtful,
        doubtful=tuple(sorted(state.doubtful)),
    )
    object.__setattr__(result, "_layers", tuple(layers))
    object.__setattr__(result, "_codes", tuple(state.codes))
    return result
