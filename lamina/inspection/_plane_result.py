"""What a cut window is as a result: counts at once, faces and maps when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lamina._checks import check_choice, check_flag, check_integer
from lamina._typing import Array, FloatArray, IntArray

from ._axes import axes_or_new
from ._line import certainty
from ._plane_boundary import level_segments
from ._plane_faces import (
    affine_maps,
    areas_and_centroids,
    corners,
    face_codes,
    input_maps,
    neighbours,
)
from ._plane_mesh import Mesh, Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bounds = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class PlaneRegionsResult:
    """The activation regions in a window of a plane, as a mesh of convex faces.

    The point at (u, v) is ``origin + u * axes[0] + v * axes[1]``. Face i is region i in every
    array. Areas are in units of u times v.

    Attributes
    ----------
    bounds : tuple
        ``((u_min, u_max), (v_min, v_max))``.
    origin : ndarray of shape (D,)
        The point at (0, 0).
    axes : ndarray of shape (2, D)
        Directions of u and v.
    n_regions : int
        Faces: maximal sets with one activation pattern, each of them convex.
    vertices : ndarray of shape (V, 2)
        Places in (u, v) where lines meet.
    edges : ndarray of int of shape (E, 2)
        First and last vertex of each edge.
    edge_faces : ndarray of int of shape (E, 2)
        Face to the left and to the right of each edge, -1 outside the window.
    regions_by_layer : tuple of int
        Regions of the network cut after each of its layers.
    certain : bool
        Whether no sign was left to rounding, so that ``n_regions`` is exact for these weights.
    doubtful : tuple of (layer, unit)
        The units that make it uncertain. They were taken to be 0 where rounding hides the sign.
    """

    bounds: Bounds
    origin: FloatArray
    axes: FloatArray
    n_regions: int
    vertices: FloatArray
    edges: IntArray
    edge_faces: IntArray
    regions_by_layer: tuple[int, ...]
    certain: bool
    doubtful: tuple[Unit, ...]
    _mesh: Mesh = field(init=False, repr=False)

    @cached_property
    def edge_units(self) -> IntArray:
        """The unit that bends at each edge, (E, 2): layer (from 1) and unit (from 0).

        On the border layer 0, and the side of the window: 0 lower, 1 right, 2 upper, 3 left.
        """
        mesh = self._mesh
        lines = mesh.lines[mesh.edge_lines]
        bends = np.stack([lines[:, 0] + 1, lines[:, 1]], axis=1)
        for i, layer in enumerate(mesh.exact.layers):
            mine = lines[:, 0] == i
            bends[mine, 1] = layer.cut_units[layer.live[lines[mine, 1]]]
        return bends

    @cached_property
    def _sizes(self) -> tuple[FloatArray, FloatArray]:
        return areas_and_centroids(self.vertices, self.edges, self.edge_faces, self.n_regions)

    @property
    def areas(self) -> FloatArray:
        """The area of each face, (n_regions,); they sum to the window's."""
        return self._sizes[0]

    @property
    def centroids(self) -> FloatArray:
        """The centre of mass of each face in (u, v), (n_regions, 2)."""
        return self._sizes[1]

    @cached_property
    def _loops(self) -> tuple[IntArray, IntArray]:
        return corners(self.edges, self.edge_faces, self.n_regions)

    @cached_property
    def faces(self) -> list[IntArray]:
        """The vertices of each face, counter-clockwise; some may lie within a straight side."""
        vertices, begin = self._loops
        return np.split(vertices, begin[1:-1])

    @cached_property
    def neighbours(self) -> IntArray:
        """Pairs of faces that share more than a point, (n, 2), the smaller number first."""
        return neighbours(self.edge_faces)

    @cached_property
    def _codes(self) -> list[Array]:
        mesh = self._mesh
        return face_codes(mesh.exact, mesh.done, self.n_regions)[0]

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units whose codes ``patterns`` holds; layers from 1, units from 0."""
        return tuple(
            (i + 1, j)
            for i, layer in enumerate(self._mesh.exact.layers)
            if layer.n_cuts
            for j in range(len(layer.b))
        )

    @cached_property
    def patterns(self) -> Array:
        """How many of its breakpoints each unit has passed, uint8 (n_regions, n_units).

        For a ReLU 0 is off and 1 is on; a unit that is at its threshold on a whole face has not
        passed it.
        """
        bending = [c for c, layer in zip(self._codes, self._mesh.exact.layers, strict=True)
                   if layer.n_cuts]  # fmt: skip
        return np.concatenate([np.zeros((self.n_regions, 0), dtype=np.uint8), *bending], axis=1)

    @cached_property
    def affine_maps(self) -> FloatArray:
        """The outputs of each face as functions of (u, v), (n_regions, Q, 3).

        Entry ``[i, q]`` is (a, b, c) with output q = a u + b v + c on face i.
        """
        return affine_maps(self._mesh.exact.layers, self._codes, self.origin, self.axes)

    def affine(self, face: int) -> tuple[FloatArray, FloatArray]:
        """Return the map of all inputs that the network is on a face.

        Parameters
        ----------
        face : int
            Number of the face.

        Returns
        -------
        W, b : ndarray of shape (Q, D) and (Q,)
            The outputs are W x + b.
        """
        i = check_integer("face", face, 0, self.n_regions - 1)
        return input_maps(self._mesh.exact.layers, [codes[i] for codes in self._codes])

    def points(self, uv: FloatArray) -> FloatArray:
        """Return the inputs (..., D) at places (..., 2) of the plane."""
        inputs: FloatArray = self.origin + np.asarray(uv, dtype=np.float64) @ self.axes
        return inputs

    def decision_boundary(self, level: float = 0.0) -> FloatArray:
        """Return the segments on which the class changes, or an only output has a value.

        Parameters
        ----------
        level : float, default=0.0
            Only used for one output: the value.

        Returns
        -------
        ndarray of shape (S, 2, 2)
            Ends of S segments in (u, v). With several outputs: where the largest two are equal.
        """
        vertices, begin = self._loops
        maps = self.affine_maps
        if maps.shape[1] == 1:
            one = maps[:, 0] - np.array([0.0, 0.0, level])
            return level_segments(one, self.vertices, vertices, begin)[0]
        found: list[FloatArray] = [np.empty((0, 2, 2))]
        for q in range(maps.shape[1]):
            for r in range(q):
                segments, face = level_segments(
                    maps[:, q] - maps[:, r], self.vertices, vertices, begin
                )
                found += _where_largest(segments, maps[face], q, r)
        return np.concatenate(found)

    def seen_by_grid(self, n: int) -> float:
        """Return the share of the regions that hold at least one point of an even grid.

        Parameters
        ----------
        n : int
            Points along each side of the window, both ends among them; at least 2.
        """
        n = check_integer("n", n, 2)
        u, v = (np.linspace(*ends, n) for ends in self.bounds)
        layers = self._mesh.exact.layers
        seen: set[bytes] = set()
        for row in v:
            h = self.points(np.stack([u, np.full(n, row)], axis=1))
            codes = []
            for layer in layers:
                A = h @ layer.W.T + layer.b
                code = layer.codes(layer.distances(A) > 0)
                h = layer.linear(A, code)
                codes.append(code)
            seen.update(code.tobytes() for code in np.unique(np.concatenate(codes, 1), axis=0))
        return len(seen) / self.n_regions

    def summary(self) -> str:
        """Return a paragraph: how many regions, how small, and how sure."""
        by_layer = ", ".join(f"{n:,}" for n in self.regions_by_layer)
        lines = [
            f"The window holds {self.n_regions:,} activation regions.",
            f"Regions after each layer: {by_layer}.",
            f"Areas: {self.areas.min():.3g} to {self.areas.max():.3g}, "
            f"median {np.median(self.areas):.3g}, of {self.areas.sum():.6g} in all.",
            certainty(self.certain, self.doubtful),
        ]
        return "\n".join(lines)

    def plot(
        self, colour: str = "pattern", *, boundary: bool = False, ax: Axes | None = None
    ) -> Axes:
        """Draw the regions, one colour a pattern.

        Parameters
        ----------
        colour : {"pattern", "size"}, default="pattern"
            A colour of its own for each region, or one by its area.
        boundary : bool, default=False
            Whether to draw `decision_boundary` on top.
        ax : Axes, default=None
            Where to draw. None makes a new figure.
        """
        from ._region_pictures import draw_plane

        check_choice("colour", colour, ("pattern", "size"))
        check_flag("boundary", boundary)
        return draw_plane(self, colour, axes_or_new(ax), boundary=boundary)


def _where_largest(segments: FloatArray, maps: FloatArray, q: int, r: int) -> list[FloatArray]:
    """Cut segments (S, 2, 2) down to where no output is above the equal outputs q and r."""
    low, high = np.zeros(len(segments)), np.ones(len(segments))
    for other in range(maps.shape[1]):
        if other in (q, r):
            continue
        slope = maps[:, q] - maps[:, other]
        start, end = ((slope[:, :2] * segments[:, j]).sum(axis=1) + slope[:, 2] for j in (0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = start / (start - end)
        low = np.where((start < 0) & (end > 0), np.maximum(low, cross), low)
        high = np.where((start > 0) & (end < 0), np.minimum(high, cross), high)
        high = np.where((start <= 0) & (end <= 0) & (start + end < 0), -1.0, high)
    kept = np.flatnonzero(low < high)
    first, along = segments[kept, 0], segments[kept, 1] - segments[kept, 0]
    return [np.stack([first + low[kept, None] * along, first + high[kept, None] * along], axis=1)]
