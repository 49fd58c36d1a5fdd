r"""All cuts of a layer at once, where no three lines meet and no line meets a vertex.

A cut crosses an edge where its signs at the ends differ, and a convex face in a chord between two
crossings. Two chords of a face cross where the ends of one lie on different sides of the other.
Within a face of the layers below, a part is told by its signs; these change along an edge or a
chord only at crossings, so that a running exclusive-or of a random number a cut names every part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._plane_mesh import LayerFaces, Mesh, row_blocks
from ._region_layers import RegionLayer

_STEPS = 2.0**40
"""Positions on a line are sorted in such steps; what is closer is not in general position."""


@dataclass
class Crossings:
    """Where cuts cross edges (C of them) and where chords do (X), with M chords."""

    words: Array
    edge: IntArray
    cut: IntArray
    share: FloatArray
    spread: FloatArray
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
    mesh: Mesh, Z: FloatArray, scale: FloatArray, tolerance: FloatArray
) -> Crossings | None:
    """Return all crossings of cuts with distances Z (V, c'), or None if they are degenerate."""
    words = packed(Z > 0)
    edge, cut = _changes(words, mesh.edges)
    a, b = mesh.edges[edge].T
    before, after = Z[a, cut], Z[b, cut]
    steep = np.abs(before - after)
    share = before / (before - after)
    with np.errstate(over="ignore"):
        spread = 1 + scale[cut] * mesh.lengths(a, b, mesh.points) / steep
    paired = _chords(mesh, edge, cut, before > 0, Z.shape[1])
    if paired is None:
        return None
    start, end, face, chord_cut = paired
    i, j = _pairs_within(face)

    def at(crossing: IntArray, column: IntArray) -> FloatArray:
        low = Z[a[crossing], column]
        value: FloatArray = low + share[crossing] * (Z[b[crossing], column] - low)
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
    points = _between(mesh.points, a, b, share)
    with np.errstate(over="ignore"):
        far = mesh.lengths(start, end, points)
        inside = 1 + np.maximum(
            scale[chord_cut[j]] * far[i] / steep_i, scale[chord_cut[i]] * far[j] / steep_j
        )
        worst = np.maximum(spread[start], spread[end])
        wrong_i = 2 * tolerance[chord_cut[j]] * worst[i] / steep_i
        wrong_j = 2 * tolerance[chord_cut[i]] * worst[j] / steep_j
    return Crossings(
        words, edge, cut, share, spread, start, end, face, chord_cut, i, j,
        i_start / (i_start - i_end), j_start / (j_start - j_end), inside, wrong_i, wrong_j,
    )  # fmt: skip


def packed(positive: Array) -> Array:
    """Return rows of Booleans (V, c) as rows of 64-bit words."""
    octets = np.packbits(positive, axis=1)
    width = octets.shape[1]
    if width % 8:
        full = np.zeros((len(octets), -(-width // 8) * 8), dtype=np.uint8)
        full[:, :width] = octets
        octets = full
    return octets.view(np.uint64)


def _changes(words: Array, edges: IntArray) -> tuple[IntArray, IntArray]:
    """Return edges and cuts whose sign differs between the ends, ordered by edge."""
    differ = (words[edges[:, 0]] ^ words[edges[:, 1]]).view(np.uint8)
    width, octets = differ.shape[1], differ.ravel()
    # Few bytes differ; np.nonzero of a table of all bits would take several times as long.
    some = np.flatnonzero(octets)
    bit = np.flatnonzero(np.unpackbits(octets[some]))
    edge, octet = np.divmod(some[bit >> 3], width)
    return edge, 8 * octet + (bit & 7)


def _chords(
    mesh: Mesh, edge: IntArray, cut: IntArray, falls: Array, n_cuts: int
) -> tuple[IntArray, IntArray, IntArray, IntArray] | None:
    """Pair the crossings of a cut on the border of each face.

    The border is run counter-clockwise. A chord starts where the sign goes from + to -, so that
    the positive part lies to its left.
    """
    crossing = np.concatenate([np.arange(len(edge))] * 2)
    face = mesh.sides[edge].T.ravel()
    ends = np.concatenate([~falls, falls])
    key = (face * n_cuts + cut[crossing]) * 2 + ends
    inside = np.flatnonzero(face >= 0)
    order = inside[np.argsort(key[inside])]
    key = key[order]
    if len(key) % 2 or (key[::2] % 2).any() or (key[1::2] != key[::2] + 1).any():
        return None
    if (key[2::2] == key[:-2:2]).any():
        return None
    start, end = crossing[order[::2]], crossing[order[1::2]]
    return start, end, face[order[::2]], cut[start]


def _pairs_within(face: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs i < j of places with one value in a sorted array."""
    n = len(face)
    stop = np.searchsorted(face, face, side="right")
    count = stop - np.arange(n) - 1
    i = np.repeat(np.arange(n), count)
    first = np.cumsum(count) - count
    return i, i + 1 + np.arange(len(i)) - first[i]


def _between(values: FloatArray, first: Array, last: Array, share: FloatArray) -> FloatArray:
    """Return rows between two rows each."""
    low, rows = values[first], values[last]
    rows -= low
    rows *= share[:, None]
    rows += low
    return rows


def _fill_between(
    out: FloatArray, values: FloatArray, first: Array, last: Array, share: FloatArray
) -> None:
    """Write rows between two rows each to ``out``."""
    for rows in row_blocks(out):
        low, part = values[first[rows]], out[rows]
        np.take(values, last[rows], axis=0, out=part, mode="clip")  # "raise" makes a copy first
        part -= low
        part *= share[rows, None]
        part += low


def concurrent(found: Crossings) -> bool:
    """Return whether three chords come as close to one point as rounding can tell."""
    order = np.argsort(found.first * int(_STEPS) + (found.share_first * _STEPS).astype(np.int64))
    return _close(found.first[order], found.share_first[order], found.wrong_first[order])


def _close(line: IntArray, share: FloatArray, wrong: FloatArray) -> bool:
    """Return whether two neighbours on one line are not clearly apart."""
    apart = np.diff(share) > np.maximum(wrong[1:] + wrong[:-1], 2 / _STEPS)
    return bool((~apart & (line[1:] == line[:-1])).any())


@dataclass
class _Chains:
    """Edges and chords, each with the crossings on it in order."""

    line: IntArray
    vertex: IntArray
    cut: IntArray
    rank: IntArray
    first: IntArray
    running: Array


def _chains(mesh: Mesh, found: Crossings) -> _Chains | None:
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
    return _Chains(line, vertex[order], cut[order], rank, first, np.empty(0, np.uint64))


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
    chains = _chains(mesh, found)
    if chains is None:
        return False
    n_lines = len(chains.first) - 1
    place = np.arange(len(chains.line)) + chains.line + 1
    begin = chains.first[:-1] + np.arange(n_lines)
    corner = len(mesh.points)
    edges = np.empty((n_lines + len(chains.line), 2), dtype=np.intp)
    edges[begin, 0] = np.concatenate([mesh.edges[:, 0], corner + found.start])
    edges[place, 0] = chains.vertex
    edges[place - 1, 1] = chains.vertex
    last = chains.first[1:] + np.arange(n_lines)
    edges[last, 1] = np.concatenate([mesh.edges[:, 1], corner + found.end])
    of_line = np.repeat(np.arange(n_lines), np.diff(chains.first) + 1)
    named = _name_faces(mesh, Z, found, chains, of_line)
    if named is None:
        return False
    sides, parent, signs = named
    _place_vertices(mesh, i, layer, A, found, values=values)
    chord_lines = len(mesh.lines) + np.arange(len(found.start))
    mesh.edge_lines = np.concatenate([mesh.edge_lines, chord_lines])[of_line]
    new = np.stack([np.full(len(found.start), i), found.chord_cut, found.chord_face], axis=1)
    mesh.lines = np.concatenate([mesh.lines, new])
    mesh.edges, mesh.sides, mesh.n_faces = edges, sides, len(parent)
    mesh.done.append(LayerFaces(parent, signs))
    return True


def _name_faces(
    mesh: Mesh, Z: FloatArray, found: Crossings, chains: _Chains, of_line: IntArray
) -> tuple[IntArray, IntArray, _Signs] | None:
    """Return the faces at both sides of each new edge, the parent of each, and its signs."""
    n_cuts, n_old = Z.shape[1], mesh.n_faces
    touched = np.zeros(n_old + 1, dtype=bool)
    touched[found.chord_face] = True
    kept = np.flatnonzero(~touched[:-1])
    number = np.full(n_old + 1, -1)
    number[kept] = np.arange(len(kept))

    old = np.concatenate([mesh.sides, np.stack([found.chord_face] * 2, axis=1)])
    pieces = np.diff(chains.first) + 1
    sides = np.repeat(number[old], pieces, axis=0)
    at = np.flatnonzero(np.repeat(touched[old], pieces, axis=0))
    key = np.repeat(_line_keys(mesh, Z, found, chains, old), pieces, axis=0)
    passed = np.arange(len(of_line)) - of_line
    key ^= chains.running[passed][:, None]
    group, n_groups = grouped(key.ravel()[at])
    sides.ravel()[at] = len(kept) + group
    n_faces = n_old + len(found.start) + len(found.first)
    if len(kept) + n_groups != n_faces:
        return None
    one = np.empty(n_faces + 1, dtype=np.intp)
    one[sides.ravel()] = np.arange(sides.size)
    one = one[:-1]
    parent = old[of_line[one >> 1], one & 1]
    tails = mesh.edges[:, 0]
    return sides, parent, _Signs(n_cuts, found, chains, tails, of_line, one)


def _line_keys(
    mesh: Mesh, Z: FloatArray, found: Crossings, chains: _Chains, old: IntArray
) -> Array:
    """Return for both sides of each edge and chord what names the part there, (E + M, 2).

    It is the name at the start of the line, except for the crossings passed before it.
    """
    random = _mixed(np.arange(1, Z.shape[1] + 1))
    chains.running = np.concatenate(
        [[np.uint64(0)], np.bitwise_xor.accumulate(random[chains.cut])]
    )
    before = chains.running[chains.first[:-1]]
    of_edge = _hashes(found.words, random)[mesh.edges[:, 0]]
    edge = found.edge[found.start]
    after = of_edge[edge] ^ chains.running[chains.rank[found.start] + 1] ^ before[edge]
    rises = ~(Z[mesh.edges[edge, 0], found.chord_cut] > 0)
    own = random[found.chord_cut]
    on = np.where(rises, after, after ^ own)
    keys = _mixed(-1 - np.arange(mesh.n_faces + 1))[old]
    keys ^= before[:, None]
    n_edges = len(of_edge)
    keys[:n_edges] ^= of_edge[:, None]
    keys[n_edges:] ^= np.stack([on, on ^ own], axis=1)
    return keys


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(bool)
"""The bits of a byte; packbits puts the first cut into the highest."""


def _hashes(words: Array, random: Array) -> Array:
    """Return the exclusive-or of the numbers of the positive cuts of each row, (V,)."""
    octets = words.view(np.uint8)
    full = np.zeros(octets.shape[1] * 8, dtype=np.uint64)
    full[: len(random)] = random
    eights = full.reshape(-1, 1, 8)[: -(-len(random) // 8)]
    tables = np.bitwise_xor.reduce(np.where(_BITS, eights, np.uint64(0)), axis=2)
    total = np.zeros(len(words), dtype=np.uint64)
    for j, table in enumerate(tables):
        total ^= table[octets[:, j]]
    return total


def grouped(keys: Array) -> tuple[IntArray, int]:
    """Return for random 64-bit keys a number each, 0 to n - 1, that equal keys share; and n.

    Each key leaves its place in a table at the slot that some of its bits name, which is several
    times faster than to sort; keys that lose their slot to another one try other bits.
    """
    width = max(8, len(keys).bit_length() + 1)
    leader = np.arange(len(keys))
    todo, some = leader.copy(), keys
    for shift in range(0, 64 - width, width):
        slot = (some >> np.uint64(shift)) & np.uint64(2**width - 1)
        table = np.empty(2**width, dtype=np.int32)  # smaller, and more of it in cache
        table[slot] = todo
        winner = table[slot]
        lost = np.flatnonzero(keys[winner] != some)
        leader[todo] = winner
        todo = todo[lost]
        some = some[lost]
        if not todo.size:
            break
    if todo.size:
        _, first, inverse = np.unique(some, return_index=True, return_inverse=True)
        leader[todo] = todo[first[inverse]]
    leads = np.zeros(len(keys), dtype=np.intp)
    leads[leader] = 1
    number = np.cumsum(leads) - 1
    return number[leader], int(leads.sum())


def _mixed(numbers: IntArray) -> Array:
    """Return 64 bits for each whole number that look random (the finaliser of SplitMix64)."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _place_vertices(
    mesh: Mesh, i: int, layer: RegionLayer, A: FloatArray, found: Crossings, *, values: bool
) -> None:
    """Append the crossings to the vertices: points, activations, spread and lines."""
    a, b = mesh.edges[found.edge].T
    start, end = found.start[found.first], found.end[found.first]
    points = _between(mesh.points, a, b, found.share)
    inner = _between(points, start, end, found.share_first)
    mesh.points = np.concatenate([mesh.points, points, inner])
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
    if not values:
        mesh.H = np.empty((0, len(layer.b)))
        return
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
    if layer.rectifies:
        mesh.H = np.maximum(A, 0.0, out=A)
    else:
        mesh.H = layer.bend(A, layer.distances(A))


def _put_on(layer: RegionLayer, A: FloatArray, rows: IntArray, cuts: IntArray) -> None:
    """Set pre-activations to the threshold of the cut that a vertex lies on, and of its twins."""
    A[rows, layer.cut_units[cuts]] = layer.cut_thresholds[cuts]
    for k in np.flatnonzero(layer.twins != np.arange(layer.n_cuts)):
        mine = rows[cuts == layer.twins[k]]
        A[mine, layer.cut_units[k]] = layer.cut_thresholds[k]


@dataclass
class _Signs:
    """The signs of the faces of a layer, found when they are asked for."""

    n_cuts: int
    found: Crossings
    chains: _Chains
    tails: IntArray
    of_line: IntArray
    side: IntArray
    _known: Array | None = None

    def __call__(self) -> Array:
        """Return int8 (F, c')."""
        if self._known is None:
            self._known = self._find()
        return self._known

    def _find(self) -> Array:
        found, chains, at_vertex = self.found, self.chains, self.found.words
        edge, side = np.divmod(self.side, 2)
        line = self.of_line[edge]
        single = np.zeros((self.n_cuts, at_vertex.shape[1] * 8), dtype=np.uint8)
        single[:, : -(-self.n_cuts // 8)] = np.packbits(np.eye(self.n_cuts, dtype=bool), axis=1)
        one = single.view(np.uint64)
        running = np.concatenate(
            [np.zeros_like(one[:1]), np.bitwise_xor.accumulate(one[chains.cut], axis=0)]
        )
        words = running[edge - line] ^ running[chains.first[line]]
        chord = np.flatnonzero(line >= len(self.tails))
        on_edge = np.flatnonzero(line < len(self.tails))
        words[on_edge] ^= at_vertex[self.tails[line[on_edge]]]
        number = line[chord] - len(self.tails)
        crossing = found.start[number]
        below = found.edge[crossing]
        words[chord] ^= at_vertex[self.tails[below]]
        words[chord] ^= running[chains.rank[crossing]] ^ running[chains.first[below]]
        bits = np.unpackbits(words.view(np.uint8), axis=1)[:, : self.n_cuts]
        bits[chord, found.chord_cut[number]] = side[chord] == 0
        signs: Array = 2 * bits.view(np.int8) - 1
        return signs
