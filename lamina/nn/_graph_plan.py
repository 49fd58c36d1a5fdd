"""In which order a graph's units are computed, and which of them at a time.

Units stand in the order of their levels: a level is everything whose parents are done. Within a
level, units that have the very same parents are one matrix product (a layer, say); all others
are one weighted sum of rows, whatever their numbers of parents. Both read the values of earlier
units from the one buffer that they write to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from lamina._typing import IntArray

from ._activation import Activation
from ._graph_edges import Edges

LEAST_BLOCK = (4, 512)
"""Units with the same parents, and edges into them, from which a matrix product is quicker."""


@dataclass(frozen=True, eq=False)
class Bags:
    """Weighted sums of rows of a buffer: sum ``i`` adds the rows from ``offsets[i]`` on."""

    rows: Tensor  # (n,)
    offsets: Tensor  # (n_sums,)
    first: int  # place of the first weight
    last: int

    def to(self, device: torch.device) -> Bags:
        """Return the same sums on a device."""
        return replace(self, rows=self.rows.to(device), offsets=self.offsets.to(device))


@dataclass(frozen=True, eq=False)
class Block:
    """Units start…stop with the same parents, which are a slice of rows or a list of them."""

    start: int
    stop: int
    parents: slice | Tensor
    n_parents: int
    first: int  # place of the first weight

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights, (out, in)."""
        return self.stop - self.start, self.n_parents

    def to(self, device: torch.device) -> Block:
        """Return the same units on a device."""
        if isinstance(self.parents, slice):
            return self
        return replace(self, parents=self.parents.to(device))


@dataclass(frozen=True)
class Piece:
    """Units start…stop of one level with one activation; ``slope`` is the place of their own."""

    start: int
    stop: int
    activation: Activation
    slope: int


@dataclass(frozen=True, eq=False)
class Level:
    """Units start…stop, whose parents are all before them.

    ``bags`` sum the first units' parents, ``blocks`` are the others, and ``back`` sums over the
    children that units of this level feed by bags.
    """

    start: int
    stop: int
    bags: Bags | None
    blocks: tuple[Block, ...]
    pieces: tuple[Piece, ...]
    back: Bags | None


@dataclass(frozen=True, eq=False)
class LevelPlan:
    """All levels, inputs first, and where the numbers of the user's arrays stand.

    Attributes
    ----------
    levels : tuple of Level
        The level of the inputs comes first and has no units to compute.
    units : int array of shape (n,)
        The user's number of each unit, in the order of evaluation.
    edges : int array of shape (n_edges,)
        The user's number of each edge, in the order in which the weights are kept: those of
        bags in the order of their units, then those of blocks.
    n_bag_edges : int
        How many edges belong to bags.
    all_bags : Bags
        The parents in all bags; the offsets say whose parent it is.
    to_back : Tensor of shape (n_bag_edges,)
        Places of the weights of bags, sorted by the parent.
    outputs : Tensor of shape (n_outputs,)
        Places of the outputs in the order of evaluation.
    """

    levels: tuple[Level, ...]
    units: IntArray
    edges: IntArray
    n_bag_edges: int
    all_bags: Bags
    to_back: Tensor
    outputs: Tensor

    def to(self, device: torch.device) -> LevelPlan:
        """Return the same plan for tensors on a device."""
        if device == self.outputs.device:
            return self
        levels = tuple(
            replace(
                level,
                bags=level.bags and level.bags.to(device),
                blocks=tuple(block.to(device) for block in level.blocks),
                back=level.back and level.back.to(device),
            )
            for level in self.levels
        )
        return replace(
            self,
            levels=levels,
            all_bags=self.all_bags.to(device),
            to_back=self.to_back.to(device),
            outputs=self.outputs.to(device),
        )


def make_plan(edges: Edges, kinds: IntArray, functions: Sequence[Activation]) -> LevelPlan:
    """Return the plan of a graph; ``kinds`` number each unit's activation, −1 for inputs."""
    n_inputs, counts = edges.n_inputs, np.diff(edges.starts)
    blocks = _blocks(edges)
    units = np.lexsort((np.arange(len(kinds)), kinds, blocks, edges.levels))
    place = np.empty_like(units)
    place[units] = np.arange(len(units))

    single = units[(blocks[units] == 0) & (units >= n_inputs)] - n_inputs
    shared = units[blocks[units] > 0] - n_inputs
    order = np.concatenate([_ranges(edges.starts, counts, group) for group in (single, shared)])
    rows = place[edges.parents[order]]
    n_bag = int(counts[single].sum())
    owners = np.repeat(place[single + n_inputs], counts[single])
    to_back = np.argsort(rows[:n_bag], kind="stable")

    summed = np.zeros(len(units), dtype=np.int64)
    summed[place[single + n_inputs]] = counts[single]
    level = edges.levels[units]
    bounds = _cuts(level)
    sums = _Sums(rows[:n_bag], summed, bounds)
    back = _Sums(owners[to_back], np.bincount(rows[:n_bag], minlength=len(units)), bounds)
    n_parents = np.concatenate([np.zeros(n_inputs, np.int64), counts])[units]
    products = _products(blocks[units], level, rows, n_parents, n_bag)
    pieces = _pieces(kinds[units], level, functions)
    levels = (
        Level(
            start,
            stop,
            bags=sums.of(start, stop - _size(products[i])),
            blocks=tuple(products[i]),
            pieces=tuple(pieces[i]),
            back=back.of(start, stop),
        )
        for i, (start, stop) in enumerate(pairwise(bounds))
    )
    return LevelPlan(
        levels=tuple(levels),
        units=units,
        edges=order,
        n_bag_edges=n_bag,
        all_bags=Bags(torch.from_numpy(rows[:n_bag]), torch.from_numpy(owners), 0, n_bag),
        to_back=torch.from_numpy(to_back),
        outputs=torch.from_numpy(place[edges.outputs]),
    )


class _Sums:
    """Bags of units in the order of evaluation, cut at the bounds of the levels."""

    def __init__(self, rows: IntArray, counts: IntArray, bounds: Sequence[int]) -> None:
        ends = np.concatenate([[0], np.cumsum(counts)])
        self.ends = ends.tolist()
        self.rows = torch.from_numpy(np.ascontiguousarray(rows))
        starts = np.repeat(ends[bounds[:-1]], np.diff(bounds))
        self.offsets = torch.from_numpy(ends[:-1] - starts)

    def of(self, start: int, stop: int) -> Bags | None:
        """Return the sums of units start…stop of a level, or None where all are empty."""
        first, last = self.ends[start], self.ends[stop]
        if first == last:
            return None
        return Bags(self.rows[first:last], self.offsets[start:stop], first, last)


def _ranges(starts: IntArray, counts: IntArray, group: IntArray) -> IntArray:
    """Return the numbers of the edges into some units, unit after unit."""
    n = counts[group]
    before = np.cumsum(n) - n
    return np.repeat(starts[group] - before, n) + np.arange(n.sum())


def _blocks(edges: Edges) -> IntArray:
    """Return a number for units that share all their parents, in their order; 0 for the others."""
    n_least, least_edges = LEAST_BLOCK
    found = np.zeros(len(edges.names), dtype=np.int64)
    families: dict[bytes, list[int]] = defaultdict(list)
    starts = edges.starts.tolist()
    for i, (start, stop) in enumerate(pairwise(starts)):
        if stop > start:
            families[edges.parents[start:stop].tobytes()].append(i)
    n_blocks = 0
    for key, units in families.items():
        n_parents = len(key) // edges.parents.itemsize
        if len(units) >= n_least and len(units) * n_parents >= least_edges:
            n_blocks += 1
            found[np.array(units) + edges.n_inputs] = n_blocks
    return found


def _cuts(values: IntArray) -> list[int]:
    """Return where runs of equal values begin, and the end."""
    return [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]


def _products(
    blocks: IntArray, levels: IntArray, rows: IntArray, n_parents: IntArray, at_edge: int
) -> dict[int, list[Block]]:
    """Return the blocks by level; their weights begin at ``at_edge``."""
    found: dict[int, list[Block]] = defaultdict(list)
    for start, stop in pairwise(_cuts(blocks)):
        if blocks[start] == 0:
            continue
        n = int(n_parents[start])
        above = rows[at_edge : at_edge + n]
        parents: slice | Tensor = torch.from_numpy(above.copy())
        if (np.diff(above) == 1).all():
            parents = slice(int(above[0]), int(above[-1]) + 1)
        found[int(levels[start])].append(Block(start, stop, parents, n, at_edge))
        at_edge += n * (stop - start)
    return found


def _size(blocks: Sequence[Block]) -> int:
    """Return how many units some blocks have."""
    return sum(block.stop - block.start for block in blocks)


def _pieces(
    kinds: IntArray, levels: IntArray, functions: Sequence[Activation]
) -> dict[int, list[Piece]]:
    """Return the slices of equal activation by level."""
    found: dict[int, list[Piece]] = defaultdict(list)
    n_slopes = 0
    at_level, kind_of = levels.tolist(), kinds.tolist()
    for start, stop in pairwise(_cuts(levels * (len(functions) + 1) + kinds)):
        if kind_of[start] < 0:
            continue
        activation = functions[kind_of[start]]
        found[at_level[start]].append(Piece(start, stop, activation, n_slopes))
        n_slopes += (stop - start) * activation.learned
    return found
