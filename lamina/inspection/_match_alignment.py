"""Which unit of one network stands for which of another, and the numbers both are compared by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamina._typing import FloatArray, IntArray
from lamina.nn import Activation

from ._canonical_units import choose_scale
from ._symmetry_group import Group, answer, group_of
from ._symmetry_layers import Layers


@dataclass(eq=False)
class Alignment:
    """For each hidden layer, which unit of the second network a unit of the first one is.

    Attributes
    ----------
    orders : list of ndarray of shape (units,)
        Unit k of the first network is unit ``orders[i][k]`` of the second.
    signs : list of ndarray of shape (units,)
        1, or -1 where that unit is flipped.
    """

    orders: list[IntArray]
    signs: list[FloatArray]


def unchanged(sizes: tuple[int, ...]) -> Alignment:
    """Return the alignment in which every unit is its namesake."""
    return Alignment([np.arange(n) for n in sizes[1:-1]], [np.ones(n) for n in sizes[1:-1]])


def column_signs(activation: Activation, signs: FloatArray) -> FloatArray:
    """Return what a flip does to the weights that go out of a unit: nothing if it is even."""
    return np.where(signs < 0, group_of(activation).parity, 1.0)


def scaled(layers: Layers) -> tuple[Layers, list[FloatArray]]:
    """Return a copy in which units have length 1 where they can, and the factors for it."""
    copy = layers.copy()
    return copy, [choose_scale(copy, i, 1e-12) for i in range(copy.n_hidden)]


def factors_between(
    alignment: Alignment, a: list[FloatArray], b: list[FloatArray]
) -> list[FloatArray]:
    """Return what to multiply units of the second network by, to get the scale of the first."""
    turns = zip(alignment.orders, alignment.signs, a, b, strict=True)
    return [signs * theirs[order] / ours for order, signs, ours, theirs in turns]


def aligned_rows(b: Layers, i: int, alignment: Alignment) -> FloatArray:
    """Return biases and weights (units, in + 1) with inputs in the first network's order."""
    weights = b.weights[i]
    if i:
        signs = column_signs(b.activations[i - 1], alignment.signs[i - 1])
        weights = weights[:, alignment.orders[i - 1]] * signs
    return np.column_stack([b.biases[i], weights])


def aligned_columns(b: Layers, i: int, alignment: Alignment) -> FloatArray:
    """Return weights (out, units) that go out of layer i, with outputs in the first's order."""
    above = b.weights[i + 1]
    if i + 1 == b.n_hidden:
        return above
    rows: FloatArray = above[alignment.orders[i + 1]] * alignment.signs[i + 1][:, None]
    return rows


def gain_of(
    group: Group, inside: FloatArray, outside: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how much each pair of units agrees (n, n) with its better sign, and that sign."""
    if group.parity == 0:
        return inside + outside, np.ones_like(inside)
    if group.parity > 0:
        return np.abs(inside) + outside, np.where(inside < 0, -1.0, 1.0)
    both = inside + outside
    return np.abs(both), np.where(both < 0, -1.0, 1.0)


def outgoing_factors(layers: Layers, i: int, factors: FloatArray) -> FloatArray:
    """Return what the weights out of layer i are divided by, if it is multiplied by factors."""
    return answer(layers.activations[i], factors, layers.slopes[i]).p
