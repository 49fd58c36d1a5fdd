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
    A, Z, words, nearest, largest = _values(mesh.H, layer)
    scale, tolerance = layer.rounding(largest, i + 1)
    # No pre-activation is larger than its scale.
    if not np.isfinite(scale).all() or not len(scale):
        _refuse_overflow(A, i)
    scale, tolerance = scale[layer.live], tolerance[layer.live]
    if not len(layer.live):
        n = mesh.n_faces
        mesh.H = layer.bend(A, layer.distances(A))
        mesh.done.append(LayerFaces(np.arange(n), lambda: np.zeros((n, 0), dtype=np.int8)))
        state.counts.append(n)
        return
    found = None
    if not _near_a_vertex(Z, nearest, tolerance, mesh.spread):
        found = find_crossings(mesh, Z, words, scale, tolerance)
    if found is not None and last and count_only and not concurrent(found):
        state.generic.append(True)
        state.counts.append(mesh.n_faces + len(found.start) + len(found.first))
        return
    done = found is not None and cut_mesh(mesh, i, layer, A, Z, found, values=not last)
    if not done:
        cut_in_turn(mesh, i, layer, A, Z, scale, tolerance)
    state.generic.append(done)
    state.counts.append(mesh.n_faces)


def _values(
    H: FloatArray, layer: RegionLayer
) -> tuple[FloatArray, FloatArray, Array, FloatArray, FloatArray]:
    """Return what a layer is at the vertices, in one pass over blocks that stay in cache.

    These are pre-activations (V, n), distances from the live cuts (V, c') and their signs as
    packed bits, the smallest distance of each cut (c',), and the largest input of each unit
    (n_in,).
    """
    n_rows, n_live = len(H), len(layer.live)
    same = layer.plain and n_live == layer.n_cuts
    A = np.empty((n_rows, len(layer.b)))
    Z = A if same else np.empty((n_rows, n_live))
    words = np.zeros((n_rows, max(1, -(-n_live // 64))), dtype=np.uint64)
    octets = words.view(np.uint8)
    nearest, largest = np.full(n_live, np.inf), np.zeros(H.shape[1])
    weights = layer.W.T
    for rows in row_blocks(H):
        h, a, z = H[rows], A[rows], Z[rows]
        np.matmul(h, weights, out=a)
        a += layer.b
        if not same:
            z[...] = layer.distances(a)[:, layer.live]
        octets[rows, : -(-n_live // 8)] = np.packbits(z > 0, axis=1)
        np.minimum(nearest, np.abs(z).min(axis=0, initial=np.inf), out=nearest)
        np.maximum(largest, np.abs(h).max(axis=0), out=largest)
    return A, Z, words, nearest, largest


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
