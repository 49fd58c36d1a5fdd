r"""Exact answers where rounding could decide: a network in whole numbers of any length.

Floating-point numbers are whole numbers times powers of two, and sums and products of whole
numbers have no rounding. A point is :math:`(X_1, \dots, X_d, w)` with :math:`w > 0` for the
coordinates :math:`X_i / w` in a slice; the line of a cut is :math:`(\alpha_1, \dots, \alpha_d,
\gamma)` with :math:`\sum_i \alpha_i u_i + \gamma = 0` on it. Each product of numbers counts as
work, and what would go beyond the allowance is left undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from ._region_layers import RegionLayer

Whole: TypeAlias = tuple[int, ...]
"""A point or a line in homogeneous whole numbers."""

ALLOWANCE = 6_000_000
"""Products of whole numbers before a question is left open: a second or so."""


def to_whole(values: Any) -> tuple[Array, int]:
    """Return Python ints (object array) and e with ``values == ints / 2**e`` exactly."""
    array = np.asarray(values, dtype=np.float64)
    mantissa, exponent = np.frexp(array)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    odd = np.where(whole == 0, 1, whole & -whole)  # the lowest bit that is set
    shift = np.log2(odd.astype(np.float64)).astype(np.int64)
    power = np.where(whole == 0, 0, exponent - 53 + shift)
    lowest = min(int(power.min(initial=0)), 0)
    ints = (whole >> shift).astype(object) * 2 ** (power - lowest).astype(object)
    return ints, -lowest


def proportional(W: FloatArray, b: FloatArray, thresholds: FloatArray) -> IntArray:
    """Return for each row the first one that is zero on the same set, (c,).

    A row stands for W x + b - threshold; only exact multiples count, also negative ones.
    """
    first = np.arange(len(W))
    if not W.size:
        return first
    rows = np.column_stack([W, b - thresholds])
    pivot = np.abs(W).argmax(axis=1)
    size = W[first, pivot]
    alive = np.flatnonzero(size != 0)
    with np.errstate(over="ignore", invalid="ignore"):
        mark = rows @ (0.5 + np.arange(rows.shape[1]) * 0.6180339887498949 % 1)
        mark = mark[alive] / size[alive]
        order = np.argsort(mark, kind="stable")
        scale = np.abs(rows[alive]).sum(axis=1) / np.abs(size[alive])
        near = np.diff(mark[order]) <= 1e-12 * scale[order][1:]
    if near.any():
        ends = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]]).astype(np.int8)))
        for start, stop in ends.reshape(-1, 2).tolist():
            _join(np.sort(alive[order[start : stop + 1]]), first, W, b, thresholds)
    return first


def _join(
    members: IntArray, first: IntArray, W: FloatArray, b: FloatArray, thresholds: FloatArray
) -> None:
    """Point the members that are exact multiples of an earlier one to it."""
    kept: list[tuple[int, Array]] = []
    for i in members.tolist():
        ints, _ = to_whole([*W[i], b[i], thresholds[i]])
        row = np.append(ints[:-2], ints[-2] - ints[-1])
        pivot = int(np.abs(W[i]).argmax())
        for j, other in kept:
            if (row * other[pivot] == other * row[pivot]).all():
                first[i] = j
                break
        else:
            kept.append((i, row))


@dataclass
class _WholeLayer:
    """Weights, biases and pieces of one layer as whole numbers over a power of two."""

    W: Array
    b: Array
    power: int
    slopes: Array
    offsets: Array
    piece_power: int

    @classmethod
    def of(cls, layer: RegionLayer) -> _WholeLayer:
        W, W_power = to_whole(layer.W)
        b, b_power = to_whole(layer.b)
        power = max(W_power, b_power)
        slopes, slope_power = to_whole(layer.slopes)
        offsets, offset_power = to_whole(layer.offsets)
        pieces = max(slope_power, offset_power)
        return cls(
            W * 2 ** (power - W_power),
            b * 2 ** (power - b_power),
            power,
            slopes * 2 ** (pieces - slope_power),
            offsets * 2 ** (pieces - offset_power),
            pieces,
        )


@dataclass
class ExactNetwork:
    """A network on a slice x = sum_i u_i axis_i + origin, evaluated without rounding.

    Attributes
    ----------
    layers : list of RegionLayer
    embed : callable
        Returns axes and origin as whole numbers (D, d + 1), and the power of two below them.
    left : int
        Products that may still be spent.
    """

    layers: Sequence[RegionLayer]
    embed: Callable[[], tuple[Array, int]]
    left: int = field(default_factory=lambda: ALLOWANCE)
    _lines: dict[tuple[int, int, bytes], Whole] = field(default_factory=dict)

    @cached_property
    def _embedding(self) -> tuple[Array, int]:
        return self.embed()

    @property
    def embedding(self) -> Array:
        """Axes and origin over ``2**power``, (D, d + 1)."""
        return self._embedding[0]

    @property
    def power(self) -> int:
        """The power of two below the embedding."""
        return self._embedding[1]

    @cached_property
    def _whole(self) -> list[_WholeLayer]:
        return [_WholeLayer.of(layer) for layer in self.layers]

    def _pay(self, work: int) -> bool:
        """Return whether the work is allowed, and count it."""
        self.left -= work
        return self.left >= 0

    def line(self, i: int, cut: int, codes: Sequence[Array]) -> Whole | None:
        """Return the line of a cut of layer i where the layers below have these codes."""
        key = (i, cut, b"".join(code.tobytes() for code in codes[:i]))
        if key not in self._lines:
            if not self._pay(sum(layer.W.size for layer in self.layers[:i]) + self.embedding.size):
                return None
            self._lines[key] = self._line(i, cut, codes)
        return self._lines[key]

    def _line(self, i: int, cut: int, codes: Sequence[Array]) -> Whole:
        top, layer = self._whole[i], self.layers[i]
        unit = int(layer.cut_units[cut])
        threshold = Fraction(float(layer.cut_thresholds[cut]))
        # One power of two is taken out of weights, bias and threshold alike.
        row = top.W[unit] * threshold.denominator
        constant = top.b[unit] * threshold.denominator - threshold.numerator * 2**top.power
        for j in range(i - 1, -1, -1):
            whole, units = self._whole[j], np.arange(len(self.layers[j].b))
            constant = (
                constant * 2**whole.piece_power + (row * whole.offsets[codes[j], units]).sum()
            )
            row = row * whole.slopes[codes[j], units]
            used = np.flatnonzero(row != 0)
            constant = constant * 2**whole.power + (row[used] * whole.b[used]).sum()
            row = row[used] @ whole.W[used] if used.size else np.zeros(whole.W.shape[1], object)
        line = row @ self.embedding
        line[-1] += constant * 2**self.power
        return tuple(int(part) for part in line)

    def values(self, i: int, point: Whole) -> tuple[FloatArray, FloatArray] | None:
        """Return the distances (c,) from the cuts of layer i, and pre-activations (n,).

        Both are rounded once: the sign of a distance is right, and 0 is exactly 0.
        """
        if not self._pay(sum(layer.W.size for layer in self.layers[: i + 1])):
            return None
        H = self.embedding @ np.array(point, dtype=object)
        return self._from(0, i, H, 2**self.power * point[-1])

    def values_above(self, j: int, codes: Array, i: int) -> tuple[FloatArray, FloatArray] | None:
        """Return :meth:`values` of layer i above a layer j that jumps and has these codes (n,)."""
        if not self._pay(sum(layer.W.size for layer in self.layers[j + 1 : i + 1])):
            return None
        whole = self._whole[j]
        H = whole.offsets[codes, np.arange(len(codes))]
        return self._from(j + 1, i, H, 2**whole.piece_power)

    def _from(self, start: int, i: int, H: Array, unit: int) -> tuple[FloatArray, FloatArray]:
        """Send whole numbers H / unit through the layers from ``start`` to i."""
        for j in range(start, i + 1):
            whole, layer = self._whole[j], self.layers[j]
            A = whole.W @ H + whole.b * unit
            unit *= 2**whole.power
            if j < i:
                codes = layer.codes(_whole_distances(layer, A, unit) > 0)
                units = np.arange(len(layer.b))
                H = whole.slopes[codes, units] * A + whole.offsets[codes, units] * unit
                unit *= 2**whole.piece_power
        distances = _whole_distances(self.layers[i], A, unit)
        denominators = [Fraction(t).denominator for t in self.layers[i].cut_thresholds.tolist()]
        Z = [rounded(z, unit * d) for z, d in zip(distances, denominators, strict=True)]
        return np.array(Z), np.array([rounded(a, unit) for a in A])


def _whole_distances(layer: RegionLayer, A: Array, unit: int) -> Array:
    """Return pre-activations minus thresholds as whole numbers of the sign of the distance."""
    thresholds = [Fraction(t) for t in layer.cut_thresholds.tolist()]
    above = np.array([t.numerator for t in thresholds], dtype=object)
    below = np.array([t.denominator for t in thresholds], dtype=object)
    distances: Array = A[layer.cut_units] * below - above * unit
    return distances


def rounded(numerator: int, denominator: int) -> float:
    """Return the quotient rounded once, and never 0 for a number that is not."""
    try:
        quotient = numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")
    if quotient == 0 and numerator != 0:
        return 5e-324 if numerator > 0 else -5e-324
    return quotient
