"""Where the numbers of a group lie: one flat buffer, with views for each layer.

A group's parameters are one tensor ``(K, P)``: a row for each member, first all weights, then
all biases, then learned slopes. Gradients and moments have the same shape, so that an optimiser
is a few operations on whole buffers. Every block starts at a multiple of 32 numbers within the
row: then a member's matrices are aligned alike at any place in the stack, BLAS takes the same
path for them, and a member's bits do not depend on who travels with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from torch import Tensor

from lamina._typing import FloatArray

ALIGNMENT = 32
"""Blocks start at a multiple of this many numbers: two vectors of 64 bytes in float32, which
torch's loops take at a time; what is left over at the end is rounded in another way."""


def aligned(n: int) -> int:
    """Return ``n`` rounded up to the alignment."""
    return -(-n // ALIGNMENT) * ALIGNMENT


def aligned_empty(k: int, rows: int, columns: int, like: Tensor) -> Tensor:
    """Return an uninitialised ``(k, rows, columns)`` tensor whose members start aligned."""
    stride = aligned(rows * columns)
    flat = torch.zeros(k * stride, dtype=like.dtype, device=like.device)
    return flat.as_strided((k, rows, columns), (stride, columns, 1))


@dataclass(frozen=True)
class Block:
    """One weight matrix, bias or slope vector within a row of the buffer."""

    kind: str
    layer: int
    start: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)

    def view(self, flat: Tensor) -> Tensor:
        """Return the ``(K, *shape)`` view of a ``(K, P)`` buffer."""
        strides = (self.shape[-1], 1) if len(self.shape) == 2 else (1,)
        return flat.as_strided(
            (flat.shape[0], *self.shape),
            (flat.stride(0), *strides),
            flat.storage_offset() + self.start,
        )


class Layout:
    """Places of all blocks of a group whose (padded) layer sizes are ``sizes``.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden widths, raw outputs; the largest of the group where members differ.
    learned : sequence of bool
        For each hidden layer, whether its activation learns one slope per unit.
    graph : sequence of shapes, default=()
        Of a graph's weights, biases and slopes, which then are all the blocks.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        learned: Sequence[bool],
        graph: Sequence[tuple[int, ...]] = (),
    ) -> None:
        self.sizes = tuple(sizes)
        self.learned = tuple(learned)
        self.blocks: list[Block] = []
        self._end = 0
        for layer, shape in enumerate(graph[:1] or zip(sizes[1:], sizes[:-1], strict=True)):
            self._add("weight", layer, shape)
        self.n_weights = self._end
        for layer, shape in enumerate(graph[1:2] or [(width,) for width in sizes[1:]]):
            self._add("bias", layer, shape)
        slopes = [(sizes[layer + 1],) if learns else () for layer, learns in enumerate(learned)]
        for layer, shape in enumerate(graph[2:] or slopes):
            if shape:
                self._add("slope", layer, shape)
        self.n_total = self._end

    def _add(self, kind: str, layer: int, shape: tuple[int, ...]) -> None:
        self.blocks.append(Block(kind, layer, self._end, shape))
        self._end += aligned(self.blocks[-1].size)

    @property
    def n_layers(self) -> int:
        """Number of layers of weights."""
        return len(self.sizes) - 1

    def find(self, kind: str, layer: int) -> Block:
        """Return the block of a kind and layer."""
        return next(b for b in self.blocks if b.kind == kind and b.layer == layer)

    def pack(self, arrays: Sequence[FloatArray], row: Tensor) -> None:
        """Write one member's true arrays (in the order of the blocks) into a row of zeros."""
        row.zero_()
        for block, array in zip(self.blocks, arrays, strict=True):
            target = block.view(row.unsqueeze(0))[0]
            source = torch.as_tensor(np.asarray(array), dtype=row.dtype, device=row.device)
            target[tuple(slice(0, n) for n in source.shape)] = source

    def unpack(self, row: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[FloatArray]:
        """Return copies of one member's true arrays, in the order of the blocks."""
        flat = row.detach().cpu().numpy()
        arrays = []
        for block, shape in zip(self.blocks, shapes, strict=True):
            whole = flat[block.start : block.start + block.size].reshape(block.shape)
            arrays.append(whole[tuple(slice(0, n) for n in shape)].copy())
        return arrays
