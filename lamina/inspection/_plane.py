r"""The linear regions in a window of a plane: exact polygons, or only their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import DataError
from lamina._typing import Array, FloatArray

from ._arrays import numbers
from ._axes import axes_or_new
from ._line import certainty
from ._plane_mesh import Mesh, Unit
from ._plane_result import Bounds, PlaneRegionsResult
from ._plane_walk import walk_plane
from ._region_exact import ExactNetwork, to_whole
from ._region_layers import region_layers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RegionCountResult:
    """How many activation regions a window of a plane holds.

    Attributes
    ----------
    n_regions : int
        Maximal sets with one activation pattern.
    regions_by_layer : tuple of int
        Regions of the network cut after each of its layers.
    certain : bool
        Whether no sign was left to rounding.
    doubtful : tuple of (layer, unit)
        The units that make it uncertain.
    """

    n_regions: int
    regions_by_layer: tuple[int, ...]
    certain: bool
    doubtful: tuple[Unit, ...]

    def summary(self) -> str:
        """Return a paragraph: how many regions, after each layer, and how sure."""
        by_layer = ", ".join(f"{n:,}" for n in self.regions_by_layer)
        return (
            f"The window holds {self.n_regions:,} activation regions.\n"
            f"Regions after each layer: {by_layer}.\n{certainty(self.certain, self.doubtful)}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the number of regions after each layer."""
        from ._region_pictures import draw_counts

        return draw_counts(self, axes_or_new(ax))


def regions_in_plane(
    net: Any, bounds: Any, origin: Any = None, axes: Any = None
) -> PlaneRegionsResult:
    r"""Cut a window of a plane into the regions on which a network is one affine map.

    The plane is :math:`x(u, v) = x_0 + u\,a_1 + v\,a_2`, through any number of inputs. A region
    is a maximal set on which each unit keeps the linear piece of its activation, that is, has
    one activation pattern. Each region is a convex polygon, and on it the network is affine.
    Two neighbouring regions may have the same affine map, where the unit that bends between
    them does not reach the outputs: there are at least as many regions as linear pieces.

    Parameters
    ----------
    net : Network or torch.nn.Module
        A network with piecewise linear activations, or what `Network.from_torch` reads.
    bounds : ((u_min, u_max), (v_min, v_max))
        The window.
    origin : array-like of shape (D,), default=None
        The point :math:`x_0` at (0, 0); by default all zeros.
    axes : array-like of shape (2, D), default=None
        The directions :math:`a_1, a_2`. Not needed with two inputs, where they are the axes.

    Returns
    -------
    PlaneRegionsResult
        ``n_regions``, ``vertices``, ``edges``, ``faces``, ``areas``, ``patterns``,
        ``neighbours``, ``affine_maps``, ``decision_boundary()`` and ``certain``.

    Raises
    ------
    ParameterError
        If an activation is curved.
    DataError
        If window, origin or axes do not fit the network.

    See Also
    --------
    count_regions : Only the number, in less time and memory.
    regions_on_line : Breakpoints along a segment.
    region_bound : How many there can be at most.

    Notes
    -----
    Layer after layer, all lines along which its units bend are laid into the faces of the layers
    below. Arithmetic is float64 with a bound on rounding for each unit. Where no three lines
    meet and none meets a vertex, a layer is cut at once. Elsewhere (zero biases, equal units,
    dead cells) its units are taken in turn, and signs that rounding could have changed are
    decided in whole numbers of any length, as far as an allowance of work goes; ``certain`` says
    whether it was enough.

    The number of faces decides time and memory: of the order of 10\ :sup:`5` to 10\ :sup:`6`
    faces a second. With N units and random weights expect about :math:`N^2 / 2` in a large
    window, whatever the depth [1]_.

    References
    ----------
    .. [1] B. Hanin, D. Rolnick, Deep ReLU networks have surprisingly few activation patterns,
       NeurIPS 2019, https://arxiv.org/abs/1906.00904

    Examples
    --------
    >>> from lamina.nn import Network
    >>> first = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    >>> cross = Network.from_arrays([first, ([[1.0, 1.0]], [0.0])])
    >>> result = regions_in_plane(cross, ((-1, 1), (-1, 3)))
    >>> result.n_regions, sorted(result.areas.tolist()), result.certain
    (4, [1.0, 1.0, 3.0, 3.0], True)
    """
    mesh, window, first, directions = _mesh(net, bounds, origin, axes)
    state = walk_plane(mesh)
    result = PlaneRegionsResult(
        bounds=window,
        origin=first,
        axes=directions,
        n_regions=mesh.n_faces,
        vertices=mesh.points,
        edges=mesh.edges,
        edge_faces=mesh.sides,
        regions_by_layer=tuple(state.counts),
        certain=not mesh.doubtful,
        doubtful=tuple(sorted(mesh.doubtful)),
    )
    object.__setattr__(result, "_mesh", mesh)
    return result


def count_regions(
    net: Any, bounds: Any, origin: Any = None, axes: Any = None
) -> RegionCountResult:
    r"""Count the linear regions in a window of a plane without building the last layer's.

    A convex face that m chords cut, k pairs of which cross in it, falls into
    :math:`1 + m + k` parts.

    Parameters
    ----------
    net : Network or torch.nn.Module
        A network with piecewise linear activations, or what `Network.from_torch` reads.
    bounds : ((u_min, u_max), (v_min, v_max))
        The window.
    origin : array-like of shape (D,), default=None
        The point at (0, 0); by default all zeros.
    axes : array-like of shape (2, D), default=None
        Directions of u and v. Not needed with two inputs.

    Returns
    -------
    RegionCountResult
        ``n_regions``, ``regions_by_layer``, ``certain`` and ``doubtful``.

    Raises
    ------
    ParameterError
        If an activation is curved.
    DataError
        If window, origin or axes do not fit the network.

    Examples
    --------
    >>> from lamina.nn import Network
    >>> network = Network((2, 24, 1), init="torch", random_state=0)
    >>> count_regions(network, ((-2, 2), (-2, 2))).n_regions
    200
    """
    mesh, *_ = _mesh(net, bounds, origin, axes)
    state = walk_plane(mesh, count_only=True)
    return RegionCountResult(
        n_regions=state.counts[-1],
        regions_by_layer=tuple(state.counts),
        certain=not mesh.doubtful,
        doubtful=tuple(sorted(mesh.doubtful)),
    )


def _mesh(
    net: Any, bounds: Any, origin: Any, axes: Any
) -> tuple[Mesh, Bounds, FloatArray, FloatArray]:
    """Return the uncut window, its bounds, origin and axes, checked."""
    layers = region_layers(net)
    n_inputs = layers[0].W.shape[1]
    window = _window(bounds)
    first = np.zeros(n_inputs) if origin is None else numbers("origin", origin)
    if first.shape != (n_inputs,):
        raise DataError(f"origin must have shape ({n_inputs},). Got {first.shape}.")
    if axes is None and n_inputs != 2:
        cure = (
            " Use regions_on_line." if n_inputs == 1 else
            " Three points p, q, r span a plane: origin=p, axes=[q - p, r - p]."
        )  # fmt: skip
        raise DataError(
            f"axes must be given for a network of {n_inputs} inputs, shape (2, {n_inputs})."
            f" Got None.{cure}"
        )
    directions = np.eye(2) if axes is None else numbers("axes", axes)
    if directions.shape != (2, n_inputs):
        raise DataError(f"axes must have shape (2, {n_inputs}). Got {directions.shape}.")
    if axes is not None and np.linalg.matrix_rank(directions) < 2:
        raise DataError("axes must be two directions that span a plane. Got parallel ones.")

    def embed() -> tuple[Array, int]:
        return to_whole(np.column_stack([*directions, first]))

    mesh = Mesh.of_window(ExactNetwork(layers, embed), window, first, directions)
    return mesh, window, first, directions


def _window(bounds: Any) -> Bounds:
    """Return the window as two pairs of numbers in order."""
    table = numbers("bounds", bounds)
    if table.shape != (2, 2):
        raise DataError(
            f"bounds must be ((u_min, u_max), (v_min, v_max)). Got shape {table.shape}."
        )
    with np.errstate(over="ignore"):
        widths = table[:, 1] - table[:, 0]
    if not (np.isfinite(widths) & (widths > 0)).all():
        raise DataError(
            "bounds must have u_min < u_max and v_min < v_max, at finite distances. "
            f"Got {table.tolist()}."
        )
    (left, right), (low, high) = table.tolist()
    return (left, right), (low, high)
