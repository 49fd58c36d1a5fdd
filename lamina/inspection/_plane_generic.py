"""Cut a mesh along all cuts of a layer at once, in general position."""

from __future__ import annotations

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._plane_crossings import Chains, Crossings, between, chains_of
from ._plane_mesh import LayerFaces, Mesh, paired_rows, row_blocks
from ._plane_names import name_faces
from ._region_layers import RegionLayer


def cut_mesh(
    mesh: Mesh,
    i: int,
    layer: RegionLayer,
    A: FloatArray,
    Z: FloatArray,
    found: Crossings,
    *,
    values: bool,
) -> bool:
    """Cut the mesh along all cuts of layer i; say False, and change nothing, if that fails.

    ``A`` (V, n) are pre-activations, ``Z`` (V, c') distances from the live cuts; ``values`` asks
    for the activations at all vertices afterwards.
    """
    chains = chains_of(mesh, found)
    if chains is None:
        return False
    of_line = np.repeat(np.arange(len(chains.first) - 1), np.diff(chains.first) + 1)
    named = name_faces(mesh, found, chains, of_line, len(layer.live))
    if named is None:
        return False
    edges = _join_vertices(mesh, found, chains)
    _place_vertices(mesh, i, layer, A, found, values=values)
    chord_lines = len(mesh.lines) + np.arange(len(found.start))
    mesh.edge_lines = np.concatenate([mesh.edge_lines, chord_lines])[of_line]
    new = np.stack([np.full(len(found.start), i), found.chord_cut, found.chord_face], axis=1)
    mesh.lines = np.concatenate([mesh.lines, new])
    mesh.edges, mesh.sides, mesh.n_faces = edges, named.sides, named.n_faces
    mesh.done.append(LayerFaces(named.parent, named.signs))
    return True


def _join_vertices(mesh: Mesh, found: Crossings, chains: Chains) -> IntArray:
    """Return the edges (E, 2) that old edges and chords fall into at their crossings."""
    n_lines, corner = len(chains.first) - 1, len(mesh.points)
    begin = chains.first[:-1] + np.arange(n_lines)
    last = chains.first[1:] + np.arange(n_lines)
    place = np.arange(len(chains.line)) + chains.line
    edges = np.empty((n_lines + len(chains.line), 2), dtype=np.intp)
    edges[begin, 0] = np.concatenate([mesh.edges[:, 0], corner + found.start])
    edges[place + 1, 0] = chains.vertex
    edges[place, 1] = chains.vertex
    edges[last, 1] = np.concatenate([mesh.edges[:, 1], corner + found.end])
    return edges


def _place_vertices(
    mesh: Mesh, i: int, layer: RegionLayer, A: FloatArray, found: Crossings, *, values: bool
) -> None:
    """Append the crossings to the vertices: points, and for layers above what these need."""
    a, b = paired_rows(mesh.edges, found.edge).T.copy()
    start, end = found.start[found.first], found.end[found.first]
    points = found.points
    inner = between(points, start, end, found.share_first)
    mesh.points = np.concatenate([mesh.points, points, inner])
    if not values:
        mesh.A = np.empty((0, len(layer.b)))
        return
    mesh.spread = np.concatenate([mesh.spread, found.spread, found.spread_inside])
    chord_lines = len(mesh.lines) + np.arange(len(found.start))
    through = np.empty(len(found.edge), dtype=np.intp)
    through[found.start] = chord_lines
    through[found.end] = chord_lines
    mesh.makers = np.concatenate(
        [
            mesh.makers,
            np.stack([mesh.edge_lines[found.edge], through], axis=1),
            np.stack([chord_lines[found.first], chord_lines[found.second]], axis=1),
        ]
    )
    n_old, n_edge, n_inner = len(A), len(a), len(start)
    grown = np.empty((n_old + n_edge + n_inner, A.shape[1]))
    grown[:n_old] = A
    _fill_between(grown[n_old : n_old + n_edge], A, a, b, found.share)
    _fill_between(grown[n_old + n_edge :], grown, n_old + start, n_old + end, found.share_first)
    A = grown
    rows = np.concatenate([n_old + np.arange(n_edge)] + [n_old + n_edge + np.arange(n_inner)] * 2)
    cuts = layer.live[
        np.concatenate([found.cut, found.chord_cut[found.first], found.chord_cut[found.second]])
    ]
    _put_on(layer, A, rows, cuts)
    mesh.A, mesh.below = A, layer


def _put_on(layer: RegionLayer, A: FloatArray, rows: IntArray, cuts: IntArray) -> None:
    """Set pre-activations to the threshold of the cut that a vertex lies on, and of its twins."""
    A[rows, layer.cut_units[cuts]] = layer.cut_thresholds[cuts]
    for k in np.flatnonzero(layer.twins != np.arange(layer.n_cuts)):
        mine = rows[cuts == layer.twins[k]]
        A[mine, layer.cut_units[k]] = layer.cut_thresholds[k]


def _fill_between(
    out: FloatArray, values: FloatArray, first: Array, last: Array, share: FloatArray
) -> None:
    """Write rows between two rows each to ``out``."""
    for rows in row_blocks(out):
        low, part = values.take(first[rows], axis=0), out[rows]
        np.take(values, last[rows], axis=0, out=part, mode="clip")  # "raise" makes a copy first
        part -= low
        part *= share[rows, None]
        part += low
