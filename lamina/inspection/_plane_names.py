r"""Which face lies where, after all chords of a layer are laid in at once.

Within a face of the layers below, a part is told by the signs of the cuts on it. These change
along an edge or a chord only at crossings, so that a running exclusive-or of a random number a cut
names the parts on both sides of every piece of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lamina._typing import Array, IntArray

from ._plane_crossings import Chains, Crossings
from ._plane_mesh import OUTSIDE, Mesh, paired_rows


def name_faces(
    mesh: Mesh, found: Crossings, chains: Chains, of_line: IntArray, n_cuts: int
) -> FaceSigns | None:
    """Return the faces at both sides of each new edge, and how to tell what they are."""
    old = np.concatenate([mesh.sides, np.stack([found.chord_face] * 2, axis=1)])
    key = paired_rows(_line_keys(mesh, found, chains, old, n_cuts), of_line)
    key ^= chains.running[np.arange(len(of_line)) - of_line][:, None]
    border = np.flatnonzero((old[:, 1] == OUTSIDE)[of_line])
    key[border, 1] = 0
    group, n_groups = grouped(key.ravel())
    n_faces = mesh.n_faces + len(found.start) + len(found.first)
    if n_groups != n_faces + 1:
        return None
    sides = group.reshape(-1, 2).astype(np.intp)
    # The last face takes the number of what lies outside, which is no face.
    sides[sides == n_faces] = sides[border[0], 1]
    sides[border, 1] = OUTSIDE
    return FaceSigns(
        n_cuts, n_faces, sides, old, of_line, mesh.edges[:, 0], found.words, found.edge,
        found.start, found.chord_cut, chains.cut, chains.rank, chains.first,
    )  # fmt: skip


def _line_keys(mesh: Mesh, found: Crossings, chains: Chains, old: IntArray, n_cuts: int) -> Array:
    """Return for both sides of each edge and chord what names the part there, (E + M, 2).

    It is the name at the start of the line, except for the crossings passed before it.
    """
    random = _mixed(np.arange(1, n_cuts + 1))
    chains.running = np.concatenate(
        [[np.uint64(0)], np.bitwise_xor.accumulate(random[chains.cut])]
    )
    before = chains.running[chains.first[:-1]]
    of_edge = _hashes(found.words, random)[mesh.edges[:, 0]]
    edge = found.edge[found.start]
    after = of_edge[edge] ^ chains.running[chains.rank[found.start] + 1] ^ before[edge]
    own = random[found.chord_cut]
    on = np.where(found.falls[found.start], after ^ own, after)
    keys = _mixed(-1 - np.arange(mesh.n_faces + 1))[old]
    keys ^= before[:, None]
    n_edges = len(of_edge)
    keys[:n_edges] ^= of_edge[:, None]
    keys[n_edges:] ^= np.stack([on, on ^ own], axis=1)
    return keys


def _hashes(words: Array, random: Array) -> Array:
    """Return the exclusive-or of the numbers of the positive cuts of each row, (V,)."""
    octets = words.view(np.uint8)
    full = np.zeros(octets.shape[1] * 8, dtype=np.uint64)
    full[: len(random)] = random
    eights = full.reshape(-1, 8)[: -(-len(random) // 8)]
    # What each byte stands for, (w, 256); packbits puts the first cut into the highest bit.
    tables = np.zeros((len(eights), 1), dtype=np.uint64)
    for bit in range(7, -1, -1):
        tables = np.concatenate([tables, tables ^ eights[:, bit, None]], axis=1)
    total = np.zeros(len(words), dtype=np.uint64)
    for j, table in enumerate(tables):
        total ^= table[octets[:, j]]
    return total


def grouped(keys: Array) -> tuple[IntArray, int]:
    """Return for random 64-bit keys a number each, 0 to n - 1, that equal keys share; and n.

    Each key leaves its place in a table at the slot that its first bits name, which is several
    times faster than to sort. Keys equal to the last one at their slot share its number. The few
    others get slots by other bits.
    """
    width = max(8, len(keys).bit_length())
    slot = (keys >> np.uint64(64 - width)).view(np.int64)
    table = np.empty(2**width, dtype=np.int32)
    places = np.arange(len(keys), dtype=np.int32)
    table[slot] = places
    last = table.take(slot)
    own = last == places
    groups = np.cumsum(own, dtype=np.int32).take(last) - 1
    n_groups = int(np.count_nonzero(own))
    lost = np.flatnonzero(keys.take(last) != keys)
    if lost.size:
        # An odd factor keeps unequal keys unequal.
        more, n_more = grouped(keys[lost] * _ODD)
        groups[lost] = n_groups + more
        n_groups += n_more
    return groups, n_groups


_ODD = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio's digits: multiples of it look random."""


def _mixed(numbers: IntArray) -> Array:
    """Return 64 bits for each whole number that look random (the finaliser of SplitMix64)."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * _ODD
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass
class FaceSigns:
    """The faces beside the new edges; their parents and signs are found when asked for.

    Attributes
    ----------
    sides : ndarray of int of shape (E, 2)
        Faces to the left and to the right of each new edge.
    old : ndarray of int of shape (lines, 2)
        Faces beside each old edge and chord before the layer.
    of_line : ndarray of int of shape (E,)
        The old edge or chord that each new edge is a part of.
    tails : ndarray of int
        The first vertex of each old edge.
    words, start, chord_cut, cut, rank, first
        As of `Crossings` and `Chains`; ``crossed`` is the old edge of each crossing.
    """

    n_cuts: int
    n_faces: int
    sides: IntArray
    old: IntArray
    of_line: IntArray
    tails: IntArray
    words: Array
    crossed: IntArray
    start: IntArray
    chord_cut: IntArray
    cut: IntArray
    rank: IntArray
    first: IntArray

    @cached_property
    def _side(self) -> IntArray:
        """One side of an edge, as 2 edge + side, for each face (F,)."""
        side = np.empty(self.n_faces + 1, dtype=np.intp)
        side[self.sides.ravel()] = np.arange(self.sides.size)
        return side[:-1]

    def parent(self) -> IntArray:
        """Return the face before the layer that each face is a part of, (F,)."""
        edge, side = np.divmod(self._side, 2)
        parent: IntArray = self.old[self.of_line[edge], side]
        return parent

    def signs(self) -> Array:
        """Return the side of each cut on which each face lies, int8 (F, c')."""
        return self._signs

    @cached_property
    def _signs(self) -> Array:
        edge, side = np.divmod(self._side, 2)
        line = self.of_line[edge]
        single = np.zeros((self.n_cuts, self.words.shape[1] * 8), dtype=np.uint8)
        single[:, : -(-self.n_cuts // 8)] = np.packbits(np.eye(self.n_cuts, dtype=bool), axis=1)
        one = single.view(np.uint64)
        running = np.concatenate(
            [np.zeros_like(one[:1]), np.bitwise_xor.accumulate(one[self.cut], axis=0)]
        )
        words = running[edge - line] ^ running[self.first[line]]
        chord = np.flatnonzero(line >= len(self.tails))
        on_edge = np.flatnonzero(line < len(self.tails))
        words[on_edge] ^= self.words[self.tails[line[on_edge]]]
        number = line[chord] - len(self.tails)
        crossing = self.start[number]
        below = self.crossed[crossing]
        words[chord] ^= self.words[self.tails[below]]
        words[chord] ^= running[self.rank[crossing]] ^ running[self.first[below]]
        bits = np.unpackbits(words.view(np.uint8), axis=1)[:, : self.n_cuts]
        bits[chord, self.chord_cut[number]] = side[chord] == 0
        signs: Array = 2 * bits.view(np.int8) - 1
        return signs
