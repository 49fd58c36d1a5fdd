"""Cut a window by layer after layer, the fast way where it is safe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamina._errors import DataError
from lamina._typing import Array, FloatArray

from ._plane_crossings import concurrent, find_crossings
from ._plane_degenerate import cut_in_turn
from ._plane_generic import cut_mesh
from ._plane_mesh import LayerFaces, Mesh, row_blocks
from ._region_layers import RegionLayer


@dataclass
class PlaneWalk:
    """What a walk found: the mesh, and how many faces there are after each layer."""

    mesh: Mesh
    counts: list[int]
    generic: list[bool]


def walk_plane(mesh: Mesh, *, count_only: bool = False) -> PlaneWalk:
    """Cut the mesh by all layers; with ``count_only`` the last ones are not built."""
    layers = mesh.exact.layers
    bending = [i for i, layer in enumerate(layers) if len(layer.live)]
    jump = next((i for i, layer in enumerate(layers) if layer.jumps), len(layers))
    cutting = [i for i in bending if i <= jump]
    state = PlaneWalk(mesh, [], [])
    for i, layer in enumerate(layers):
        if i > jump:
            state.counts.append(state.counts[-1])
            continue
        last = not cutting or i >= cutting[-1]
        # What overflows in a bound on rounding is a large bound; in a layer it is refused.
        with np.errstate(over="ignore", invalid="ignore"):
            _cut(state, i, layer, last=last, count_only=count_only)
        if last:
            state.counts += [state.counts[-1]] * (len(layers) - i - 1)
            break
    return state


def _cut(state: PlaneWalk, i: int, layer: RegionLayer, *, last: bool, count_only: bool) -> None:
    """Cut by one layer: all cuts at once, or in turn where that could go wrong."""
    mesh = state.mesh
    values = _values(mesh.A, mesh.below, layer)
    A, Z = values.A, values.Z
    mesh.A, mesh.below = A, layer  # the old array's memory may be that of the new one
    rounding = layer.rounding(values.largest, mesh.wrong, i + 1)
    scale, tolerance, mesh.wrong = rounding.scale, rounding.tolerance, rounding.above
    # No pre-activation is larger than its scale.
    if not np.isfinite(scale).all() or not len(scale):
        _refuse_overflow(A, i)
    scale, tolerance = scale[layer.live], tolerance[layer.live]
    if not len(layer.live):
        n = mesh.n_faces
        mesh.done.append(LayerFaces(lambda: np.arange(n), lambda: np.zeros((n, 0), dtype=np.int8)))
        state.counts.append(n)
        return
    found = None
    if not _near_a_vertex(Z, values.nearest, tolerance, mesh.spread):
        found = find_crossings(mesh, Z, values.words, scale, tolerance)
    if found is not None and last and count_only and not concurrent(found):
        state.generic.append(True)
        state.counts.append(mesh.n_faces + len(found.start) + len(found.first))
        return
    done = found is not None and cut_mesh(mesh, i, layer, A, Z, found, values=not last)
    if not done:
        cut_in_turn(mesh, i, layer, A, Z, scale, tolerance, values.plain_zeros)
    state.generic.append(done)
    state.counts.append(mesh.n_faces)


@dataclass
class _Values:
    """What a layer is at the vertices.

    Attributes
    ----------
    A : ndarray of shape (V, n)
        Pre-activations.
    Z : ndarray of shape (V, c')
        Distances from the live cuts.
    words : ndarray of uint64 of shape (V, w)
        The signs of Z as packed bits.
    nearest : ndarray of shape (c',)
        The smallest distance of each cut.
    largest : ndarray of shape (n_in,)
        The largest input from each unit below.
    plain_zeros : set of (vertex, cut)
        Where a distance is a sum of zeros, and so exactly 0.
    """

    A: FloatArray
    Z: FloatArray
    words: Array
    nearest: FloatArray
    largest: FloatArray
    plain_zeros: set[tuple[int, int]]


def _values(given: FloatArray, below: RegionLayer | None, layer: RegionLayer) -> _Values:
    """Return the values of a layer in one pass over blocks that stay in cache.

    ``given`` (V, n_in) are the pre-activations of the layer below, or the inputs. Where there are
    as many outputs they take its place: memory that is touched for the first time costs as much
    as the arithmetic.
    """
    n_live, live = len(layer.live), layer.live
    same = layer.plain and n_live == layer.n_cuts
    n_rows, n_inputs = given.shape
    in_place = n_inputs == len(layer.b) and below is not None
    A = given if in_place else np.empty((n_rows, len(layer.b)))
    Z = A if same else np.empty((n_rows, n_live))
    words = np.zeros((n_rows, max(1, -(-n_live // 64))), dtype=np.uint64)
    octets = words.view(np.uint8)
    nearest, largest = np.full(n_live, np.inf), np.zeros(n_inputs)
    zeros: set[tuple[int, int]] = set()
    for rows in row_blocks(given):
        h = given[rows]
        if below is not None:
            h = below.bend(h, below.distances(h))
        size = h if below is not None and below.rectifies else np.abs(h)
        np.maximum(largest, size.max(axis=0), out=largest)
        a = np.matmul(h, layer.W.T, out=A[rows])
        a += layer.b
        z = a if same else layer.distances(a)[:, live]
        least = np.abs(z).min(axis=0, initial=np.inf)
        if not least.all():
            zeros |= _sums_of_zeros(layer, h, z, rows.start)
        np.minimum(nearest, least, out=nearest)
        octets[rows, : -(-n_live // 8)] = np.packbits(z > 0, axis=1)
        if not same:
            Z[rows] = z
    return _Values(A, Z, words, nearest, largest, zeros)


def _sums_of_zeros(
    layer: RegionLayer, h: FloatArray, z: FloatArray, start: int
) -> set[tuple[int, int]]:
    """Return the vertices and cuts for which each term of the distance is 0."""
    row, cut = np.nonzero(z == 0)
    units = layer.cut_units[layer.live[cut]]
    terms = (np.abs(layer.W[units]) * np.abs(h[row])).sum(axis=1)
    terms += np.abs(layer.b[units] - layer.cut_thresholds[layer.live[cut]])
    exact = np.flatnonzero(terms == 0)
    return set(zip((start + row[exact]).tolist(), cut[exact].tolist(), strict=True))


def _refuse_overflow(A: FloatArray, i: int) -> None:
    """Raise an error if a pre-activation is not finite."""
    if not np.isfinite(A).all():
        raise DataError(
            "net must have finite pre-activations in the window. "
            f"Got {A[~np.isfinite(A)][0]} in layer {i + 1}. Scale weights or inputs down."
        )


def _near_a_vertex(
    Z: FloatArray, nearest: FloatArray, tolerance: FloatArray, spread: FloatArray
) -> bool:
    """Return whether a cut comes as close to a vertex as rounding can tell."""
    close = np.flatnonzero(nearest <= tolerance * spread.max())
    if not close.size:
        return False
    return bool((np.abs(Z[:, close]) <= spread[:, None] * tolerance[close]).any())
