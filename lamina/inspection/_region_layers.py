r"""A piecewise linear network as layers that bend along known lines.

A unit with the breakpoints :math:`t_1 < \dots < t_m` has :math:`m` *cuts*: the sets where its
pre-activation is :math:`a = t_k`. Its code is the number of breakpoints below :math:`a`, and where
the code is :math:`c` its output is :math:`s_c a + o_c`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import torch

from lamina._errors import ParameterError
from lamina._typing import Array, FloatArray, IntArray
from lamina.nn import Activation

from ._as_network import as_network
from ._region_exact import proportional

_UNIT_ROUNDING = 2.0**-53


@dataclass(frozen=True)
class Rounding:
    """How wrong the numbers of a layer can be.

    Attributes
    ----------
    scale : ndarray of shape (c,)
        How large the numbers are that each distance is a sum of, lost ones below included.
    tolerance : ndarray of shape (c,)
        How wrong each distance can be.
    above : ndarray of shape (n,)
        How wrong each activation can be.
    """

    scale: FloatArray
    tolerance: FloatArray
    above: FloatArray


@dataclass(frozen=True, eq=False)
class RegionLayer:
    """One layer: its affine map, and where and how its units bend.

    Attributes
    ----------
    W, b : ndarray of shape (n, n_in) and (n,)
    thresholds : tuple of m floats
        Breakpoints of the activation.
    slopes, offsets : ndarray of shape (m + 1, n)
        The pieces of each unit.
    cut_units : ndarray of int of shape (c,)
        The unit of each cut; cuts of one breakpoint follow one another.
    cut_thresholds : ndarray of shape (c,)
        The breakpoint of each cut.
    jumps : bool
        Whether the activation is piecewise constant, so that nothing above bends again.
    plain : bool
        Whether there is one cut a unit, at 0, so that distances are pre-activations.
    """

    W: FloatArray
    b: FloatArray
    thresholds: tuple[float, ...]
    slopes: FloatArray
    offsets: FloatArray
    cut_units: IntArray
    cut_thresholds: FloatArray
    jumps: bool
    plain: bool

    @property
    def n_cuts(self) -> int:
        return len(self.cut_units)

    @cached_property
    def twins(self) -> IntArray:
        """The first cut with the same line as each cut, (c,): units that are multiples."""
        units = self.cut_units
        return proportional(self.W[units], self.b[units], self.cut_thresholds)

    @cached_property
    def rectifies(self) -> bool:
        """Whether all units are ReLUs."""
        return self.plain and not self.slopes[0].any() and bool((self.slopes[1] == 1).all())

    @cached_property
    def live(self) -> IntArray:
        """The cuts that can be met: not constant, and the first on their line, (c',)."""
        own = self.twins == np.arange(self.n_cuts)
        return np.flatnonzero(own & self.W[self.cut_units].any(axis=1))

    @cached_property
    def turned(self) -> Array:
        """Whether each cut is a negative multiple of its first twin, (c,)."""
        rows, first = self.W[self.cut_units], self.W[self.cut_units[self.twins]]
        place = np.abs(first).argmax(axis=1)[:, None]
        mine, other = (np.take_along_axis(W, place, axis=1)[:, 0] for W in (rows, first))
        turned: Array = np.sign(mine) * np.sign(other) < 0
        return turned

    @cached_property
    def families(self) -> list[IntArray]:
        """For each live cut all cuts on its line."""
        return [np.flatnonzero(self.twins == k) for k in self.live]

    def distances(self, A: FloatArray) -> FloatArray:
        """Return pre-activations minus thresholds, (..., c), of pre-activations (..., n)."""
        if self.plain:
            return A
        distances: FloatArray = A[..., self.cut_units] - self.cut_thresholds
        return distances

    def rounding(self, largest: FloatArray, wrong: FloatArray, depth: int) -> Rounding:
        """Return how wrong the layer can be for inputs (n_in,) so large and so wrong already."""
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(self.W) @ largest + np.abs(self.b)
            scale = size[self.cut_units] + np.abs(self.cut_thresholds)
            # Sums of n terms lose at most n roundings. What comes from below is of the same kind,
            # except where larger numbers cancelled there; such errors add up like random ones.
            own = 16 * (self.W.shape[1] + 8 * depth) * _UNIT_ROUNDING
            below = _norms(self.W, wrong)
            tolerance = np.hypot(own * scale, below[self.cut_units])
            above = np.hypot(own * size, below) * np.abs(self.slopes).max(axis=0)
        return Rounding(tolerance / own, tolerance, above)

    def codes(self, on: Array) -> Array:
        """Return the code of each unit (..., n) from which cuts are passed (..., c)."""
        if self.plain:
            return on.astype(np.uint8)
        codes = np.zeros((*on.shape[:-1], len(self.b)), dtype=np.uint8)
        for threshold in self.thresholds:
            mine = np.flatnonzero(self.cut_thresholds == threshold)
            codes[..., self.cut_units[mine]] += on[..., mine].astype(np.uint8)
        return codes

    def bend(self, A: FloatArray, Z: FloatArray) -> FloatArray:
        """Return activations (..., n) from pre-activations (..., n) and distances (..., c)."""
        if not self.n_cuts:
            bent: FloatArray = A * self.slopes[0] + self.offsets[0]
            return bent
        if self.rectifies:
            bent = np.maximum(A, 0.0)
            return bent
        if self.plain:
            bent = np.where(Z > 0, self.slopes[1], self.slopes[0]) * A
            return bent
        return self.linear(A, self.codes(Z > 0))

    def linear(self, A: FloatArray, codes: Array) -> FloatArray:
        """Return activations (..., n) by the pieces that the codes (..., n) name."""
        units = np.arange(len(self.b))
        outputs: FloatArray = self.slopes[codes, units] * A + self.offsets[codes, units]
        return outputs


def rounding_of_inputs(parts: FloatArray) -> FloatArray:
    """Return how wrong inputs (D,) can be that are sums of numbers (k, D)."""
    wrong: FloatArray = 16 * len(parts) * _UNIT_ROUNDING * np.abs(parts).sum(axis=0)
    return wrong


def _norms(W: FloatArray, factors: FloatArray) -> FloatArray:
    """Return the norm of each row (m,) times the factors (n,), without overflow on the way."""
    # Nothing times what has overflowed is nothing.
    rows = np.abs(W) * np.minimum(factors, np.finfo(np.float64).max)
    largest = rows.max(axis=1, initial=0.0)
    rows /= np.where((largest > 0) & np.isfinite(largest), largest, 1.0)[:, None]
    norms: FloatArray = largest * np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return norms


def region_layers(net: Any) -> list[RegionLayer]:
    """Return the layers of a network, or say which activation is curved."""
    network = as_network(net)  # a copy, whose memory the arrays keep
    parts = zip(
        network.weights, network.biases, network.activations, network.slopes, strict=True
    )  # fmt: skip
    return [
        _layer(i, W.numpy(), b.numpy(), activation, slope)
        for i, (W, b, activation, slope) in enumerate(parts)
    ]


def _layer(
    i: int, W: Array, b: Array, activation: Activation, slope: torch.Tensor | None
) -> RegionLayer:
    """Return one layer with the pieces of its activation read off."""
    thresholds = activation.breakpoints
    if thresholds is None:
        near = {"tanh": "hard_tanh", "sigmoid": "step"}.get(activation.name, "relu")
        raise ParameterError(
            "net must have piecewise linear activations only: abs, hard_tanh, identity, "
            f"leaky_relu, prelu, relu or step. Got {activation.spec!r} in layer {i + 1}, which "
            f"is curved and has no linear regions. Its straight relative is {near!r}."
        )
    units = _units(activation, len(b)) if slope is None else _read_units(activation, slope)
    return RegionLayer(W, b, thresholds, *units)


_Units: TypeAlias = tuple[FloatArray, FloatArray, IntArray, FloatArray, bool, bool]


@lru_cache(maxsize=64)
def _units(activation: Activation, width: int) -> _Units:
    """Return pieces and cuts of units without learned slopes; the arrays are shared."""
    found = _read_units(activation, None, width)
    for part in found[:4]:
        part.setflags(write=False)
    return found


def _read_units(
    activation: Activation, slope: torch.Tensor | None, width: int | None = None
) -> _Units:
    """Return slopes and offsets (m + 1, n), units and thresholds of cuts, jumps and plain."""
    thresholds = activation.breakpoints or ()
    n = len(slope) if slope is not None else width or 0
    slopes, offsets = _read_pieces(activation, thresholds, slope, n)
    bending = (np.diff(slopes, axis=0) != 0).any(axis=0) | (np.diff(offsets, axis=0) != 0).any(0)
    units = np.flatnonzero(bending) if thresholds else np.empty(0, dtype=np.intp)
    return (
        slopes,
        offsets,
        np.tile(units, len(thresholds)),
        np.repeat(np.asarray(thresholds, dtype=np.float64), len(units)),
        not slopes.any() and bool(thresholds),
        thresholds == (0.0,) and len(units) == n and not offsets.any(),
    )


def _read_pieces(
    activation: Activation, thresholds: Sequence[float], slope: torch.Tensor | None, width: int
) -> tuple[FloatArray, FloatArray]:
    """Return slopes and offsets (m + 1, width), read off inside each piece."""
    ends = [thresholds[0] - 2.0, *thresholds, thresholds[-1] + 2.0] if thresholds else [0.0, 2.0]
    inside = [(low + high) / 2 for low, high in itertools.pairwise(ends)]
    at = torch.tensor(inside, dtype=torch.float64)[:, None].repeat(1, width)
    derivative = activation.derivative(at, slope).numpy()
    offsets = activation.forward(at, slope).numpy() - derivative * at.numpy()
    return np.array(derivative), np.array(offsets)
