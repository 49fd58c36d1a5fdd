r"""Where all cuts of a layer cross edges and each other, in general position.

A cut crosses an edge where its signs at the ends differ, and a convex face in a chord between two
crossings. Two chords of a face cross where the ends of one lie on different sides of the other.
Where three lines come as close to one point as rounding can tell, or a line to a vertex, nothing
is returned, and the layer is cut one unit after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._plane_mesh import Mesh, paired_rows

_STEPS = 2.0**40
"""Positions on a line are sorted in such steps; what is closer is not in general position."""

_TOO_FLAT = 1e9
"""How many times worse than usual rounding may be at a crossing of nearly parallel lines."""


@dataclass
class Crossings:
    """Where cuts cross edges (C of them) and where chords do (X), with M chords."""

    words: Array
    edge: IntArray
    cut: IntArray
    falls: Array
    share: FloatArray
    spread: FloatArray
    points: FloatArray
    start: IntArray
    end: IntArray
    chord_face: IntArray
    chord_cut: IntArray
    first: IntArray
    second: IntArray
    share_first: FloatArray
    share_second: FloatArray
    spread_inside: FloatArray
    wrong_first: FloatArray
    wrong_second: FloatArray


def find_crossings(
    mesh: Mesh, Z: FloatArray, words: Array, scale: FloatArray, tolerance: FloatArray
) -> Crossings | None:
    """Return all crossings of cuts with distances Z (V, c'), or None if they are degenerate.

    ``words`` has the signs of Z as packed bits.
    """
    edge, cut = _changes(words, mesh.edges)
    a, b = paired_rows(mesh.edges, edge).T.copy()
    flat, n_cuts = Z.ravel(), Z.shape[1]
    row_a, row_b = a * n_cuts, b * n_cuts  # one index is quicker than two
    before, after = flat[row_a + cut], flat[row_b + cut]
    steep = np.abs(before - after)
    share = before / (before - after)
    spread = 1 + scale[cut] * mesh.lengths(a, b, mesh.points) / steep
    falls = before > 0
    paired = _chords(mesh, edge, cut, falls, n_cuts)
    if paired is None:
        return None
    start, end, face, chord_cut = paired
    i, j = _pairs_within(face)

    def at(crossing: IntArray, column: IntArray) -> FloatArray:
        low = flat[row_a[crossing] + column]
        value: FloatArray = low + share[crossing] * (flat[row_b[crossing] + column] - low)
        return value

    i_start, i_end = at(start[i], chord_cut[j]), at(end[i], chord_cut[j])
    unsure = tolerance[chord_cut[j]]
    if (np.abs(i_start) <= unsure * spread[start[i]]).any() or (
        np.abs(i_end) <= unsure * spread[end[i]]
    ).any():
        return None
    meet = np.flatnonzero((i_start > 0) != (i_end > 0))
    i, j, i_start, i_end = i[meet], j[meet], i_start[meet], i_end[meet]
    j_start, j_end = at(start[j], chord_cut[i]), at(end[j], chord_cut[i])
    if ((j_start > 0) == (j_end > 0)).any():
        return None
    steep_i, steep_j = np.abs(i_start - i_end), np.abs(j_start - j_end)
    points = between(mesh.points, a, b, share)
    far = mesh.lengths(start, end, points)
    inside = 1 + np.maximum(
        scale[chord_cut[j]] * far[i] / steep_i, scale[chord_cut[i]] * far[j] / steep_j
    )
    worst = np.maximum(spread[start], spread[end])
    wrong_i = 2 * tolerance[chord_cut[j]] * worst[i] / steep_i
    wrong_j = 2 * tolerance[chord_cut[i]] * worst[j] / steep_j
    if max(spread.max(initial=1.0), inside.max(initial=1.0)) > _TOO_FLAT:
        return None
    return Crossings(
        words, edge, cut, falls, share, spread, points, start, end, face, chord_cut, i, j,
        i_start / (i_start - i_end), j_start / (j_start - j_end), inside, wrong_i, wrong_j,
    )  # fmt: skip


def _changes(words: Array, edges: IntArray) -> tuple[IntArray, IntArray]:
    """Return edges and cuts whose sign differs between the ends."""
    tail, head = edges.T
    found_edges, found_cuts = [], []
    for column in range(words.shape[1]):
        word = words[:, column].copy()  # single numbers are gathered faster than rows
        octets = (word[tail] ^ word[head]).view(np.uint8)
        # Few bytes differ; np.nonzero of a table of all bits would take several times as long.
        some = np.flatnonzero(octets != 0)
        bit = np.flatnonzero(np.unpackbits(octets[some]))
        octet = some[bit >> 3]
        found_edges.append(octet >> 3)
        found_cuts.append(64 * column + 8 * (octet & 7) + (bit & 7))
    return np.concatenate(found_edges), np.concatenate(found_cuts)


def _chords(
    mesh: Mesh, edge: IntArray, cut: IntArray, falls: Array, n_cuts: int
) -> tuple[IntArray, IntArray, IntArray, IntArray] | None:
    """Pair the crossings of a cut on the border of each face.

    The border is run counter-clockwise. A chord starts where the sign goes from + to -, so that
    the positive part lies to its left.
    """
    crossing = np.concatenate([np.arange(len(edge))] * 2)
    face = paired_rows(mesh.sides, edge).T.ravel()
    ends = np.concatenate([~falls, falls])
    key = (face * n_cuts + cut[crossing]) * 2 + ends
    inside = np.flatnonzero(face >= 0)
    key = key[inside]
    if len(key) and key.max() < 2**31:
        key = key.astype(np.int32)  # sorts in half the time
    order = np.argsort(key)
    key, order = key[order], inside[order]
    if len(key) % 2 or (key[::2] % 2).any() or (key[1::2] != key[::2] + 1).any():
        return None
    if (key[2::2] == key[:-2:2]).any():
        return None
    start, end = crossing[order[::2]], crossing[order[1::2]]
    return start, end, face[order[::2]], cut[start]


def _pairs_within(face: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs i < j of places with one value in a sorted array."""
    n = len(face)
    number = np.bincount(face)
    count = np.cumsum(number)[face] - np.arange(n) - 1
    i = np.repeat(np.arange(n), count)
    first = np.cumsum(count) - count
    return i, i + 1 + np.arange(len(i)) - first[i]


def between(points: FloatArray, first: Array, last: Array, share: FloatArray) -> FloatArray:
    """Return points (n, 2) between two points each."""
    # As complex numbers they are gathered at once.
    places = points.view(np.complex128)[:, 0]
    low = places[first]
    found: FloatArray = (low + share * (places[last] - low)).view(np.float64).reshape(-1, 2)
    return found


def concurrent(found: Crossings) -> bool:
    """Return whether three chords come as close to one point as rounding can tell."""
    order = np.argsort(found.first * int(_STEPS) + (found.share_first * _STEPS).astype(np.int64))
    return _close(found.first[order], found.share_first[order], found.wrong_first[order])


def _close(line: IntArray, share: FloatArray, wrong: FloatArray) -> bool:
    """Return whether two neighbours on one line are not clearly apart."""
    apart = np.diff(share) > np.maximum(wrong[1:] + wrong[:-1], 2 / _STEPS)
    return bool((~apart & (line[1:] == line[:-1])).any())


@dataclass
class Chains:
    """Edges and chords, each with the crossings on it in order."""

    line: IntArray
    vertex: IntArray
    cut: IntArray
    rank: IntArray
    first: IntArray
    running: Array


def chains_of(mesh: Mesh, found: Crossings) -> Chains | None:
    """Sort all crossings along the E edges, then along the M chords."""
    n_edges, n_points = len(mesh.edges), len(mesh.points)
    n_cross, n_inside = len(found.edge), len(found.first)
    inner = n_points + n_cross + np.arange(n_inside)
    line = np.concatenate([found.edge, n_edges + found.first, n_edges + found.second])
    share = np.concatenate([found.share, found.share_first, found.share_second])
    # Crossings that are close on an edge are no longer here: one is near the other's chord.
    wrong = np.concatenate([np.zeros(n_cross), found.wrong_first, found.wrong_second])
    vertex = np.concatenate([n_points + np.arange(n_cross), inner, inner])
    cut = np.concatenate([found.cut, found.chord_cut[found.second], found.chord_cut[found.first]])
    order = np.argsort(line * int(_STEPS) + (share * _STEPS).astype(np.int64))
    line = line[order]
    if _close(line, share[order], wrong[order]):
        return None
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    count = np.bincount(line, minlength=n_edges + len(found.start))
    first = np.concatenate([[0], np.cumsum(count)])
    return Chains(line, vertex[order], cut[order], rank, first, np.empty(0, np.uint64))
