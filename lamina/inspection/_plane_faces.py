"""Faces of a cut window: areas, centres, corners in order, neighbours and affine maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._plane_mesh import LayerFaces, codes_of, row_blocks
from ._region_exact import ExactNetwork
from ._region_layers import RegionLayer


def half_edges(edges: IntArray, sides: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return tail, head and face of each edge as each of its faces runs it counter-clockwise."""
    face = sides.T.ravel()
    inside = np.flatnonzero(face >= 0)
    tail, head = edges.T.ravel(), edges[:, ::-1].T.ravel()
    return tail[inside], head[inside], face[inside]


def areas_and_centroids(
    points: FloatArray, edges: IntArray, sides: IntArray, n_faces: int
) -> tuple[FloatArray, FloatArray]:
    """Return areas (F,) and centres of mass (F, 2).

    Each face is a fan of triangles from one of its own corners, so that a small face far from
    the origin loses no digits.
    """
    tail, head, face = half_edges(edges, sides)
    corner = np.empty(n_faces, dtype=np.intp)
    corner[face] = tail
    origin = points[corner][face]
    p, q = points[tail] - origin, points[head] - origin
    double = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    area = np.bincount(face, double, minlength=n_faces)
    third = (p + q) / 3
    moments = [np.bincount(face, double * third[:, j], minlength=n_faces) for j in (0, 1)]
    # A face that rounding has made flat has the mean of its corners for a centre.
    count = np.bincount(face, minlength=n_faces)
    middle = [np.bincount(face, p[:, j], minlength=n_faces) / count for j in (0, 1)]
    flat = area <= 0
    safe = np.where(flat, 1.0, area)
    offset = [np.where(flat, m, part / safe) for m, part in zip(middle, moments, strict=True)]
    return np.maximum(area / 2, 0.0), points[corner] + np.stack(offset, axis=1)


def corners(edges: IntArray, sides: IntArray, n_faces: int) -> tuple[IntArray, IntArray]:
    """Return the vertices of all faces counter-clockwise, and where each face's begin (F + 1,)."""
    tail, head, face = half_edges(edges, sides)
    n_vertices = int(edges.max()) + 1
    leaves = face * n_vertices + tail
    order = np.argsort(leaves)
    # Within a face one half-edge leaves each corner: the next one leaves where this one arrives.
    following = order[np.searchsorted(leaves, face * n_vertices + head, sorter=order)]
    count = np.bincount(face, minlength=n_faces)
    begin = np.concatenate([[0], np.cumsum(count)])
    at = order[begin[:-1]]
    ordered = np.empty(len(tail), dtype=np.intp)
    running = np.arange(n_faces)
    for step in range(int(count.max())):
        running = running[count[running] > step]
        ordered[begin[running] + step] = tail[at[running]]
        at[running] = following[at[running]]
    return ordered, begin


def neighbours(sides: IntArray) -> IntArray:
    """Return pairs of faces (n, 2) that share an edge, each once and the smaller number first."""
    pairs = np.sort(sides[(sides >= 0).all(axis=1)], axis=1)
    if not len(pairs):
        return pairs
    return np.unique(pairs, axis=0)


def face_codes(
    exact: ExactNetwork, done: Sequence[LayerFaces], n_faces: int
) -> tuple[list[Array], int]:
    """Return the codes (F, n) of every layer in each face, and how many signs were left open."""
    layers = exact.layers
    codes: list[Array] = [np.zeros((0, 0), dtype=np.uint8)] * len(layers)
    face: IntArray = np.arange(n_faces)
    for j in range(len(done) - 1, -1, -1):
        codes[j] = codes_of(layers[j], done[j].signs())[face]
        face = done[j].parent()[face]
    jump = next((j for j, layer in enumerate(layers) if layer.jumps), None)
    left = 0
    for i in range(len(done), len(layers)):
        layer = layers[i]
        if jump is None or i <= jump or not layer.n_cuts:
            on = layer.b[layer.cut_units] > layer.cut_thresholds
            codes[i] = layer.codes(np.broadcast_to(on, (n_faces, layer.n_cuts)))
            continue
        codes[i], open_ = _constant_codes(exact, jump, i, codes)
        left += open_
    return codes, left


def _constant_codes(
    exact: ExactNetwork, jump: int, i: int, codes: Sequence[Array]
) -> tuple[Array, int]:
    """Return the codes of layer i, whose inputs are constant on each face above a jump."""
    layers = exact.layers
    h = layers[jump].linear(np.zeros_like(codes[jump], dtype=np.float64), codes[jump])
    wrong: FloatArray = np.zeros(h.shape[1])
    for j in range(jump + 1, i):
        wrong = layers[j].rounding(np.abs(h).max(axis=0), wrong, j + 1).above
        h = layers[j].linear(h @ layers[j].W.T + layers[j].b, codes[j])
    layer = layers[i]
    Z = layer.distances(h @ layer.W.T + layer.b)
    if Z is not None and not Z.flags.owndata:
        Z = Z.copy()
    tolerance = layer.rounding(np.abs(h).max(axis=0), wrong, i + 1).tolerance
    known: dict[bytes, FloatArray | None] = {}
    left = 0
    for face in np.flatnonzero((np.abs(Z) <= tolerance).any(axis=1)).tolist():
        pattern = codes[jump][face]
        name = pattern.tobytes()
        if name not in known:
            found = exact.values_above(jump, pattern, i)
            known[name] = None if found is None else found[0]
        exactly = known[name]
        if exactly is None:
            left += 1
        else:
            Z[face] = exactly
    return layer.codes(Z > 0), left


def affine_maps(
    layers: Sequence[RegionLayer], codes: Sequence[Array], origin: FloatArray, axes: FloatArray
) -> FloatArray:
    """Return outputs as affine functions of (u, v), (F, Q, 3): two slopes and a constant."""
    n_faces, n_outputs = codes[-1].shape
    maps = np.empty((n_faces, n_outputs, 3))
    start = np.concatenate([axes, origin[None]])
    for rows in row_blocks(np.broadcast_to(0.0, (n_faces, 3 * max(len(r.b) for r in layers)))):
        h = np.broadcast_to(start, (len(codes[0][rows]), *start.shape))
        for layer, code in zip(layers, codes, strict=True):
            units = np.arange(len(layer.b))
            a = h @ layer.W.T
            a[:, 2] += layer.b
            a *= layer.slopes[code[rows], units][:, None]
            a[:, 2] += layer.offsets[code[rows], units]
            h = a
        maps[rows] = h.transpose(0, 2, 1)
    return maps


def input_maps(
    layers: Sequence[RegionLayer], codes: Sequence[Array]
) -> tuple[FloatArray, FloatArray]:
    """Return for one face the map of all inputs: W (Q, D) and b (Q,)."""
    W, b = np.eye(layers[0].W.shape[1]), np.zeros(layers[0].W.shape[1])
    for layer, code in zip(layers, codes, strict=True):
        units = np.arange(len(layer.b))
        slope, offset = layer.slopes[code, units], layer.offsets[code, units]
        W, b = slope[:, None] * (layer.W @ W), slope * (layer.W @ b + layer.b) + offset
    return W, b
