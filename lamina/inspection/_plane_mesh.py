r"""A window of the plane cut into convex faces: vertices, edges, and the two faces of each edge.

Edges are directed; the face to the left of an edge has it counter-clockwise on its border.
Each edge lies on a line: a side of the window, or a cut of a layer within one face of the layers
below. A vertex is where two lines meet, by which it is known without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray

from ._region_exact import ExactNetwork, Whole
from ._region_layers import RegionLayer, rounding_of_inputs

Unit = tuple[int, int]
"""Layer, counted from 1, and unit of it, counted from 0."""

OUTSIDE = -1


@dataclass
class LayerFaces:
    """What a layer did to the faces.

    Attributes
    ----------
    parent : callable
        Returns int (F,): the face before the layer that each face after it is a part of.
    signs : callable
        Returns int8 (F, c'): the side of each cut of ``live`` on which each face lies; 0 where
        the cut holds on the whole face.
    """

    parent: Callable[[], IntArray]
    signs: Callable[[], Array]


@dataclass
class Mesh:
    """The faces that the layers so far have made, and what the network is at their vertices.

    Attributes
    ----------
    points : ndarray of shape (V, 2)
    A : ndarray of shape (V, n)
        Pre-activations of the last layer so far; the inputs before the first.
    wrong : ndarray of shape (n,)
        How wrong the activations of the last layer can be.
    spread : ndarray of shape (V,)
        How much worse than usual rounding is at a vertex whose lines are nearly parallel.
    edges : ndarray of int of shape (E, 2)
        First and last vertex.
    sides : ndarray of int of shape (E, 2)
        Faces to the left and to the right; ``OUTSIDE`` to the right of the window's sides.
    edge_lines : ndarray of int of shape (E,)
        The line of each edge.
    makers : ndarray of int of shape (V, 2)
        Two lines through each vertex.
    lines : ndarray of int of shape (L, 3)
        Layer, cut and face before that layer; layer -1 and the number of the side of the window.
    n_faces : int
    below : RegionLayer, optional
        The last layer so far.
    done : list of LayerFaces
        One a layer so far.
    """

    exact: ExactNetwork
    bounds: tuple[tuple[float, float], tuple[float, float]]
    points: FloatArray
    A: FloatArray
    wrong: FloatArray
    spread: FloatArray
    edges: IntArray
    sides: IntArray
    edge_lines: IntArray
    makers: IntArray
    lines: IntArray
    n_faces: int = 1
    below: RegionLayer | None = None
    done: list[LayerFaces] = field(default_factory=list)
    doubtful: set[Unit] = field(default_factory=set)

    @classmethod
    def of_window(
        cls,
        exact: ExactNetwork,
        bounds: tuple[tuple[float, float], tuple[float, float]],
        origin: FloatArray,
        axes: FloatArray,
    ) -> Mesh:
        """Return the window as one face with four edges."""
        (left, right), (low, high) = bounds
        points = np.array([[left, low], [right, low], [right, high], [left, high]])
        with np.errstate(over="ignore", invalid="ignore"):
            inputs = origin + points @ axes
        if not np.isfinite(inputs).all():
            raise DataError("bounds must keep the inputs finite. Got inputs that overflow.")
        corner = np.arange(4)
        return cls(
            exact,
            bounds,
            points,
            inputs,
            rounding_of_inputs(np.stack([origin, *(axes * np.abs(points).max(axis=0)[:, None])])),
            np.ones(4),
            np.stack([corner, (corner + 1) % 4], axis=1),
            np.tile([0, OUTSIDE], (4, 1)),
            corner,
            np.stack([corner, (corner - 1) % 4], axis=1),
            np.stack([np.full(4, -1), corner, corner], axis=1),
        )

    @property
    def size(self) -> FloatArray:
        """Width and height of the window."""
        return np.array([high - low for low, high in self.bounds])

    def lengths(self, first: IntArray, last: IntArray, points: FloatArray) -> FloatArray:
        """Return distances between points, in windows."""
        places = (points / self.size).view(np.complex128)[:, 0]
        apart = places[last] - places[first]
        lengths: FloatArray = np.sqrt(apart.real**2 + apart.imag**2)
        return lengths

    def codes_below(self, i: int, face: int) -> list[Array]:
        """Return the codes of the layers below i in a face of the mesh before layer i."""
        codes: list[Array] = []
        for j in range(i - 1, -1, -1):
            codes.append(codes_of(self.exact.layers[j], self.done[j].signs()[face]))
            face = int(self.done[j].parent()[face])
        return codes[::-1]

    def line(self, number: int) -> Whole | None:
        """Return a line in whole numbers, (a, b, c) with a u + b v + c = 0 on it."""
        i, cut, face = self.lines[number].tolist()
        if i >= 0:
            return self.exact.line(
                i, int(self.exact.layers[i].live[cut]), self.codes_below(i, face)
            )
        (left, right), (low, high) = self.bounds
        end = Fraction([low, right, high, left][cut])
        across = (0, end.denominator) if cut % 2 == 0 else (end.denominator, 0)
        return (*across, -end.numerator)

    def point(self, vertex: int) -> Whole | None:
        """Return a vertex in whole numbers, or None where that is too much work."""
        first, second = (self.line(number) for number in self.makers[vertex].tolist())
        if first is None or second is None:
            return None
        (a, b, c), (d, e, f) = first, second
        u, v, w = b * f - c * e, c * d - a * f, a * e - b * d
        if w == 0:
            return None
        return (u, v, w) if w > 0 else (-u, -v, -w)


def paired_rows(table: Array, rows: IntArray) -> Array:
    """Return rows of a table of two columns of 8 bytes."""
    # As complex numbers they are gathered at once, several times faster than as rows.
    return table.view(np.complex128)[:, 0].take(rows).view(table.dtype).reshape(-1, 2)


def row_blocks(table: Array, size: int = 2**16) -> Iterator[slice]:
    """Yield blocks of rows of about ``size`` numbers, which stay in cache while they are used."""
    step = max(1, size // max(1, table.shape[1]))
    for start in range(0, len(table), step):
        yield slice(start, start + step)


def codes_of(layer: RegionLayer, signs: Array) -> Array:
    """Return codes of all units (..., n) from the signs (..., c') of the live cuts."""
    on = np.empty((*signs.shape[:-1], layer.n_cuts), dtype=bool)
    on[...] = layer.b[layer.cut_units] > layer.cut_thresholds
    place = {int(k): j for j, k in enumerate(layer.live)}
    for k, (first, turned) in enumerate(zip(layer.twins, layer.turned, strict=True)):
        j = place.get(int(first))
        if j is not None:
            on[..., k] = signs[..., j] == (-1 if turned else 1)
    return layer.codes(on)
