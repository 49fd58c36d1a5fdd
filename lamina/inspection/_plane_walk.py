"""Cut a window by layer after layer, the fast way where it is safe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamina._errors import DataError
from lamina._typing import FloatArray

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
        with np.errstate(over="ignore", invalid="ignore"):
            A = mesh.H @ layer.W.T
            A += layer.b
            # A sum is finite where all is, and quicker than a look at each number.
            fine = np.isfinite(A.sum()) or np.isfinite(A).all()
        if not fine:
            raise DataError(
                "net must have finite pre-activations in the window. "
                f"Got {A[~np.isfinite(A)][0]} in layer {i + 1}. Scale weights or inputs down."
            )
        last = not cutting or i >= cutting[-1]
        _cut(state, i, layer, A, last=last, count_only=count_only)
        if last:
            state.counts += [state.counts[-1]] * (len(layers) - i - 1)
            break
    return state


def _cut(
    state: PlaneWalk, i: int, layer: RegionLayer, A: FloatArray, *, last: bool, count_only: bool
) -> None:
    """Cut by one layer: all cuts at once, or in turn where that could go wrong."""
    mesh = state.mesh
    if not len(layer.live):
        n = mesh.n_faces
        mesh.H = layer.bend(A, layer.distances(A))
        mesh.done.append(LayerFaces(np.arange(n), lambda: np.zeros((n, 0), dtype=np.int8)))
        state.counts.append(n)
        return
    scale, tolerance = layer.rounding(_largest(mesh.H), i + 1)
    scale, tolerance = scale[layer.live], tolerance[layer.live]
    Z = layer.distances(A)
    if len(layer.live) < layer.n_cuts:
        Z = Z[:, layer.live]
    found = None
    if not _near_a_vertex(Z, tolerance, mesh.spread):
        found = find_crossings(mesh, Z, scale, tolerance)
    if found is not None and last and count_only and not concurrent(found):
        state.generic.append(True)
        state.counts.append(mesh.n_faces + len(found.start) + len(found.first))
        return
    done = found is not None and cut_mesh(mesh, i, layer, A, Z, found, values=not last)
    if not done:
        cut_in_turn(mesh, i, layer, A, Z, scale, tolerance)
    state.generic.append(done)
    state.counts.append(mesh.n_faces)


def _largest(H: FloatArray) -> FloatArray:
    """Return the largest absolute value of each column."""
    largest: FloatArray = np.maximum(H.max(axis=0), -H.min(axis=0))
    return largest


def _near_a_vertex(Z: FloatArray, tolerance: FloatArray, spread: FloatArray) -> bool:
    """Return whether a cut comes as close to a vertex as rounding can tell."""
    nearest = np.min([np.abs(Z[rows]).min(axis=0) for rows in row_blocks(Z)], axis=0)
    close = np.flatnonzero(nearest <= tolerance * spread.max())
    return bool((np.abs(Z[:, close]) <= spread[:, None] * tolerance[close]).any())
