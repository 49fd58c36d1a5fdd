r"""One cut after the other, for networks in any position.

A cut is +, - or 0 at each vertex. It splits an edge between + and -, and a face that has both,
from one vertex that is 0 to another; where it is 0 at a vertex it goes through it, and where it
is 0 on an edge or a whole face it cuts nothing. No other question is asked of the numbers than
these signs, and a sign that rounding could have changed is decided in whole numbers. So many
lines through one point, lines along edges and units that vanish on a face need no special case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._plane_mesh import OUTSIDE, LayerFaces, Mesh
from ._region_exact import ALLOWANCE
from ._region_layers import RegionLayer

_VAGUE = 1e5
"""How many times worse than usual rounding is where a vertex is computed in whole numbers."""


@dataclass
class _Work:
    """The mesh while a layer cuts it, in arrays that have room to grow along their last axis.

    Attributes
    ----------
    A : ndarray of shape (n, room)
        Pre-activations at the vertices.
    Z, S : ndarray of shape (c', room)
        Distances from the live cuts, and their signs as int8.
    origin : ndarray of int of shape (F,)
        The face before this layer that each face is a part of.
    signs : int8 ndarray of shape (F, c')
    """

    mesh: Mesh
    i: int
    layer: RegionLayer
    scale: FloatArray
    tolerance: FloatArray
    A: FloatArray
    Z: FloatArray
    S: Array
    n: int
    origin: IntArray
    signs: Array

    def reserve(self, more: int) -> None:
        """Make room for more vertices."""
        room = self.A.shape[1]
        if self.n + more > room:
            extra = max(more, room)
            self.A, self.Z, self.S = (
                np.concatenate([table, np.empty((len(table), extra), table.dtype)], axis=1)
                for table in (self.A, self.Z, self.S)
            )


def cut_in_turn(
    mesh: Mesh,
    i: int,
    layer: RegionLayer,
    A: FloatArray,
    Z: FloatArray,
    scale: FloatArray,
    tolerance: FloatArray,
    zeros: set[tuple[int, int]],
) -> None:
    """Cut the mesh along the live cuts of layer i: ``A`` (V, n), ``Z`` (V, c') at its vertices.

    ``zeros`` has the vertices and cuts where a distance is known to be exactly 0.
    """
    work = _Work(
        mesh, i, layer, scale, tolerance, A.T.copy(), Z.T.copy(),
        np.sign(Z.T).astype(np.int8), len(A), np.arange(mesh.n_faces),
        np.zeros((mesh.n_faces, Z.shape[1]), dtype=np.int8),
    )  # fmt: skip
    # The layer below looks its faces up in these.
    mesh.edges, mesh.sides = mesh.edges.copy(), mesh.sides.copy()
    _decide_old(work, zeros)
    for k in range(Z.shape[1]):
        _split_edges(work, k)
        _split_faces(work, k)
    mesh.A, mesh.below = np.ascontiguousarray(work.A[:, : work.n].T), layer
    mesh.n_faces = len(work.origin)
    origin, signs = work.origin, work.signs
    mesh.done.append(LayerFaces(lambda: origin, lambda: signs))


def _decide_old(work: _Work, zeros: set[tuple[int, int]]) -> None:
    """Decide the signs of all cuts at the vertices that the layer finds."""
    doubt = np.abs(work.Z) <= work.tolerance[:, None] * work.mesh.spread
    for vertex in np.flatnonzero(doubt.any(axis=0)).tolist():
        cuts = np.flatnonzero(doubt[:, vertex])
        if any((vertex, cut) not in zeros for cut in cuts.tolist()):
            _decide(work, vertex, cuts)


def _decide(work: _Work, vertex: int, cuts: IntArray) -> None:
    """Decide the signs of some cuts at a vertex in whole numbers, or note that it is too much."""
    layer, mesh = work.layer, work.mesh
    point = mesh.point(vertex)
    found = None if point is None else mesh.exact.values(work.i, point)
    if point is None or found is None:
        work.S[cuts, vertex] = 0
        work.Z[cuts, vertex] = 0.0
        units = layer.cut_units[layer.live[cuts]].tolist()
        mesh.doubtful.update((work.i + 1, unit) for unit in units)
        return
    distances, work.A[:, vertex] = found
    work.Z[:, vertex] = distances[layer.live]
    work.S[:, vertex] = np.sign(distances[layer.live])
    u, v, w = point
    mesh.points[vertex] = u / w, v / w


def _split_edges(work: _Work, k: int) -> None:
    """Put a vertex where cut k crosses an edge."""
    mesh, layer = work.mesh, work.layer
    first, last = mesh.edges.T
    sign = work.S[k, : work.n]
    edge = np.flatnonzero(sign[first] * sign[last] < 0)
    if not edge.size:
        return
    work.reserve(len(edge))
    a, b = mesh.edges[edge].T
    before, after = work.Z[k, a], work.Z[k, b]
    steep = np.abs(before - after)
    share = before / (before - after)
    new = work.n + np.arange(len(edge))
    for table in (work.A, work.Z):
        table[:, new] = table[:, a] + share * (table[:, b] - table[:, a])
    spread = 1 + work.scale[k] * mesh.lengths(a, b, mesh.points) / steep
    middle = mesh.points[a] + share[:, None] * (mesh.points[b] - mesh.points[a])
    mesh.points = np.concatenate([mesh.points, middle])
    mesh.spread = np.concatenate([mesh.spread, spread])
    work.n += len(edge)
    _describe_vertices(work, k, edge)
    ends = work.S[:, a] + work.S[:, b]
    # Between + and 0 it is + without a look at the numbers; between + and - it is not known.
    open_ = (work.S[:, a] * work.S[:, b] < 0) & (np.arange(len(work.S)) != k)[:, None]
    work.S[:, new] = np.where(open_, np.sign(work.Z[:, new]), np.sign(ends))
    family = layer.families[k]
    work.A[layer.cut_units[family][:, None], new] = layer.cut_thresholds[family][:, None]
    work.Z[k, new], work.S[k, new] = 0.0, 0
    doubt = open_ & (np.abs(work.Z[:, new]) <= work.tolerance[:, None] * spread)
    # A number that rounding made 0, or worse, would pass for a true 0 in the layer above.
    doubt |= np.sign(work.Z[:, new]) != work.S[:, new]
    # Where lines are nearly parallel the place itself is far off; half the work may go there.
    vague = spread > _VAGUE if mesh.exact.left > ALLOWANCE / 2 else np.zeros(len(new), bool)
    for j in np.flatnonzero(doubt.any(axis=0) | vague).tolist():
        _decide(work, int(new[j]), np.flatnonzero(doubt[:, j]))
    mesh.edges = np.concatenate([mesh.edges, np.stack([new, b], axis=1)])
    mesh.edges[edge, 1] = new
    mesh.sides = np.concatenate([mesh.sides, mesh.sides[edge]])
    mesh.edge_lines = np.concatenate([mesh.edge_lines, mesh.edge_lines[edge]])


def _describe_vertices(work: _Work, k: int, edge: IntArray) -> None:
    """Append the two lines of each new vertex: that of the edge, and that of the cut."""
    mesh = work.mesh
    beside = np.where(mesh.sides[edge, 0] >= 0, mesh.sides[edge, 0], mesh.sides[edge, 1])
    number = _new_lines(work, k, beside)
    mesh.makers = np.concatenate([mesh.makers, np.stack([mesh.edge_lines[edge], number], axis=1)])


def _new_lines(work: _Work, k: int, faces: IntArray) -> IntArray:
    """Append the line of cut k within each of some faces, and return their numbers."""
    mesh = work.mesh
    rows = np.stack(
        [np.full(len(faces), work.i), np.full(len(faces), k), work.origin[faces]], axis=1
    )
    mesh.lines = np.concatenate([mesh.lines, rows])
    return len(mesh.lines) - len(faces) + np.arange(len(faces))


def _split_faces(work: _Work, k: int) -> None:
    """Split each face on which cut k is + somewhere and - somewhere else."""
    mesh, n_faces = work.mesh, len(work.origin)
    sign = work.S[k, : work.n]
    first, last = mesh.edges.T
    side = sign[first] + sign[last]
    # One place more: what lies outside has number -1.
    has = np.zeros((2, n_faces + 1), dtype=bool)
    negative = np.flatnonzero(side < 0)
    has[0, mesh.sides[negative]] = True
    has[1, mesh.sides[side > 0]] = True
    has = has[:, :-1]
    work.signs[:, k] = np.where(has[1], 1, np.where(has[0], -1, 0))
    both = np.flatnonzero(has[0] & has[1])
    if not both.size:
        return
    start, end = _chord_ends(work, negative, sign, n_faces)
    # Only signs that were left open can make the negative part of a convex face fall apart.
    sound = (start[1, both] == 1) & (end[1, both] == 1)
    if not sound.all():
        unit = int(work.layer.cut_units[work.layer.live[k]])
        mesh.doubtful.add((work.i + 1, unit))
        both = both[sound]
    part = np.full(n_faces + 1, OUTSIDE)
    part[:-1] = np.arange(n_faces)
    part[both] = n_faces + np.arange(len(both))
    mesh.sides[negative] = part[mesh.sides[negative]]
    chords = np.stack([start[0, both], end[0, both]], axis=1)
    mesh.edges = np.concatenate([mesh.edges, chords])
    mesh.sides = np.concatenate([mesh.sides, np.stack([both, part[both]], axis=1)])
    mesh.edge_lines = np.concatenate([mesh.edge_lines, _new_lines(work, k, both)])
    work.origin = np.concatenate([work.origin, work.origin[both]])
    below = work.signs[both]
    below[:, k] = -1
    work.signs = np.concatenate([work.signs, below])


def _chord_ends(
    work: _Work, negative: IntArray, sign: Array, n_faces: int
) -> tuple[IntArray, IntArray]:
    """Return where the negative part of each face's border starts and ends, counter-clockwise.

    Of shape (2, F + 1): the vertex, and how many there are.
    """
    mesh = work.mesh
    first, last = mesh.edges[negative].T
    left, right = mesh.sides[negative].T
    found = []
    for tail, head in ((first, last), (last, first)):
        vertex, count = np.full(n_faces + 1, -1), np.zeros(n_faces + 1, dtype=np.intp)
        # The left face runs the edge forwards, the right face backwards.
        for face, at in ((left, tail), (right, head)):
            zero = np.flatnonzero(sign[at] == 0)
            vertex[face[zero]] = at[zero]
            np.add.at(count, face[zero], 1)
        found.append(np.stack([vertex, count]))
    return found[0], found[1]
