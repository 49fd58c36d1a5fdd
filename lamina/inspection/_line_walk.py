r"""Where a network bends along a segment: all crossings of a layer at once, layer after layer.

Between two neighbouring breakpoints of the layers below, each pre-activation of a layer is a
straight line in t, so that its signs at both ends tell whether it crosses a threshold, and
interpolation tells where. A sign that rounding could have changed is decided in whole numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray

from ._region_exact import ExactNetwork, Whole
from ._region_layers import RegionLayer, Rounding, rounding_of_inputs

Unit = tuple[int, int]
"""Layer, counted from 1, and unit of it, counted from 0."""


@dataclass
class LineWalk:
    """The breakpoints found so far, and what the layers are at them.

    Attributes
    ----------
    t : ndarray of shape (K + 2,)
        0, the breakpoints in order, and 1.
    makers : ndarray of int of shape (K + 2, 2)
        Layer and cut that made each, from 0; -1 at the ends.
    codes : list of ndarray of uint8 of shape (K + 1, n)
        Of each layer so far, the codes of its units in each interval.
    H : ndarray of shape (K + 2, n)
        Activations of the last layer so far; above a layer that jumps (K + 1, n), one an
        interval.
    wrong : ndarray of shape (n,)
        How wrong activations of the last layer can be.
    jumped : int
        The layer that jumps, or -1.
    doubtful : set of (layer, unit)
        Units of which a sign could not be decided.
    """

    exact: ExactNetwork
    t: FloatArray
    makers: IntArray
    H: FloatArray
    wrong: FloatArray
    codes: list[Array] = field(default_factory=list)
    spread: FloatArray = field(default_factory=lambda: np.ones(2))
    jumped: int = -1
    doubtful: set[Unit] = field(default_factory=set)

    def point(self, i: int) -> Whole | None:
        """Return breakpoint i in whole numbers (t = X / w), or None where that is too much."""
        layer, cut = self.makers[i].tolist()
        if layer < 0:
            return (int(i > 0), 1)
        return self.crossing(layer, cut, i - 1)

    def crossing(self, layer: int, cut: int, interval: int) -> Whole | None:
        """Return where a cut is met within an interval, in whole numbers."""
        line = self.exact.line(layer, cut, [codes[interval] for codes in self.codes[:layer]])
        if line is None or line[0] == 0:
            return None
        slope, constant = line
        return (-constant, slope) if slope > 0 else (constant, -slope)


def walk(
    layers: Sequence[RegionLayer], exact: ExactNetwork, start: FloatArray, along: FloatArray
) -> LineWalk:
    """Return all breakpoints of a network from ``start`` to ``start + along``."""
    ends = np.stack([start, start + along])
    wrong = rounding_of_inputs(np.stack([start, along]))
    state = LineWalk(exact, np.array([0.0, 1.0]), np.full((2, 2), -1), ends, wrong)
    for i, layer in enumerate(layers):
        with np.errstate(over="ignore", invalid="ignore"):
            A = state.H @ layer.W.T + layer.b
        if not np.isfinite(A).all():
            raise DataError(
                f"net must have finite pre-activations on the line. Got {A[~np.isfinite(A)][0]} "
                f"in layer {i + 1}. Scale weights or inputs down."
            )
        rounding = layer.rounding(np.abs(state.H).max(axis=0), state.wrong, i + 1)
        if state.jumped >= 0:
            _constant_layer(state, i, layer, A, rounding)
        else:
            _bent_layer(state, i, layer, A, rounding)
        # The values of a layer that jumps are known exactly.
        state.wrong = np.zeros(len(layer.b)) if state.jumped == i else rounding.above
    return state


def _constant_layer(
    state: LineWalk, i: int, layer: RegionLayer, A: FloatArray, rounding: Rounding
) -> None:
    """Take a layer whose inputs are constant in each interval."""
    Z = layer.distances(A)
    if layer.n_cuts:
        Z, tolerance = Z.copy(), rounding.tolerance
        for row in np.flatnonzero((np.abs(Z) <= tolerance).any(axis=1)).tolist():
            found = state.exact.values_above(state.jumped, state.codes[state.jumped][row], i)
            if found is None:
                _leave_open(state, i, layer, Z, tolerance, row)
            else:
                Z[row] = found[0]
    codes = layer.codes(Z > 0)
    state.codes.append(codes)
    state.H = layer.linear(A, codes)


def _leave_open(
    state: LineWalk, i: int, layer: RegionLayer, Z: FloatArray, tolerance: FloatArray, row: int
) -> None:
    """Take distances within rounding for 0, and note whose they are."""
    small = np.flatnonzero((np.abs(Z[row]) <= tolerance) & (Z[row] != 0))
    Z[row, small] = 0.0
    state.doubtful.update((i + 1, int(layer.cut_units[k])) for k in small)


def _bent_layer(
    state: LineWalk, i: int, layer: RegionLayer, A: FloatArray, rounding: Rounding
) -> None:
    """Take a layer whose inputs are straight lines in each interval."""
    if not layer.n_cuts:
        state.codes.append(np.zeros((len(state.t) - 1, len(layer.b)), dtype=np.uint8))
        state.H = layer.bend(A, A[:, :0])
        return
    scale, tolerance = rounding.scale, rounding.tolerance
    Z = layer.distances(A)
    Z = _decide_signs(state, i, layer, A, Z, tolerance)
    found = _crossings(state, i, layer, Z, scale, tolerance)
    A, Z = _insert(state, i, layer, A, Z, found)
    codes = layer.codes(np.maximum(Z[:-1], Z[1:]) > 0)
    state.codes.append(codes)
    if layer.jumps:
        state.jumped, state.H = i, layer.linear(A[:-1], codes)
    else:
        state.H = layer.bend(A, Z)


def _decide_signs(
    state: LineWalk,
    i: int,
    layer: RegionLayer,
    A: FloatArray,
    Z: FloatArray,
    tolerance: FloatArray,
) -> FloatArray:
    """Return distances at all breakpoints with signs that rounding has not changed."""
    doubt = np.abs(Z) <= tolerance * state.spread[:, None]
    rows = np.flatnonzero(doubt.any(axis=1))
    if rows.size and not layer.plain:
        Z = Z.copy()
    for row in rows.tolist():
        cuts = np.flatnonzero(doubt[row])
        terms = np.abs(layer.W[layer.cut_units[cuts]]) @ np.abs(state.H[row])
        terms += np.abs(layer.b[layer.cut_units[cuts]] - layer.cut_thresholds[cuts])
        if not terms.any():
            continue  # every term is exactly 0, and so is the sum
        point = state.point(row)
        found = None if point is None else state.exact.values(i, point)
        if found is None:
            _leave_open(state, i, layer, Z, tolerance * state.spread[row], row)
        else:
            Z[row], A[row] = found
    return Z


@dataclass
class _Found:
    """Crossings that were found: for each the interval, its rank there, and what is met."""

    intervals: IntArray
    ranks: IntArray
    t: FloatArray
    spread: FloatArray
    share: FloatArray
    owners: list[list[int]]
    exact: dict[int, Whole]


def _crossings(
    state: LineWalk, i: int, layer: RegionLayer, Z: FloatArray, scale: FloatArray,
    tolerance: FloatArray,
) -> _Found:  # fmt: skip
    """Return the crossings inside intervals in order; those at one place are one."""
    positive, negative = Z > 0, Z < 0
    crossed = (positive[:-1] & negative[1:]) | (negative[:-1] & positive[1:])
    intervals, cuts = np.nonzero(crossed)
    if len(cuts):
        own = layer.twins[cuts] == cuts  # the others on its line bend at the same place
        intervals, cuts = intervals[own], cuts[own]
    before, after = Z[intervals, cuts], Z[intervals + 1, cuts]
    share = before / (before - after)
    width = np.diff(state.t)[intervals]
    steepness = np.abs(before - after)
    with np.errstate(over="ignore"):
        wrong = 2 * tolerance[cuts] * width / steepness
        spread = 1 + scale[cuts] * width / steepness
    order = np.lexsort((share, intervals))
    intervals, cuts, share = intervals[order], cuts[order], share[order]
    wrong, spread, width = wrong[order], spread[order], width[order]
    gap = np.diff(share) * width[1:]
    tied = (np.diff(intervals) == 0) & (gap <= wrong[1:] + wrong[:-1])
    t = state.t[intervals] + share * width
    groups, exact = _untie(state, i, layer, intervals, cuts, tied)
    leaders = np.array([group[0] for group in groups], dtype=np.intp)
    owners = [cuts[group].tolist() for group in groups]
    at = intervals[leaders]
    ranks = np.arange(len(at)) - np.searchsorted(at, at)
    points = {j: exact[group[0]] for j, group in enumerate(groups) if group[0] in exact}
    return _Found(at, ranks, t[leaders], spread[leaders], share[leaders], owners, points)


def _untie(
    state: LineWalk, i: int, layer: RegionLayer, intervals: IntArray, cuts: IntArray, tied: Array
) -> tuple[list[list[int]], dict[int, Whole]]:
    """Return crossings in order, grouped by place, and exact places where some were close."""
    groups: list[list[int]] = []
    exact: dict[int, Whole] = {}
    starts = [0, *(np.flatnonzero(~tied) + 1).tolist(), len(cuts)] if len(cuts) else [0]
    for start, stop in itertools.pairwise(starts):
        members = list(range(start, stop))
        if stop - start == 1:
            groups.append(members)
            continue
        points = [state.crossing(i, int(cuts[j]), int(intervals[j])) for j in members]
        known = [point for point in points if point is not None]
        if len(known) < len(points):
            state.doubtful.update((i + 1, int(layer.cut_units[cuts[j]])) for j in members)
            groups.append(members)
            continue
        at = {j: Fraction(x, w) for j, (x, w) in zip(members, known, strict=True)}
        members.sort(key=at.__getitem__)
        for j in members:
            exact[j] = known[j - start]
            if groups and groups[-1][0] in at and at[groups[-1][0]] == at[j]:
                groups[-1].append(j)
            else:
                groups.append([j])
    return groups, exact


def _insert(
    state: LineWalk, i: int, layer: RegionLayer, A: FloatArray, Z: FloatArray, found: _Found
) -> tuple[FloatArray, FloatArray]:
    """Put the crossings between the breakpoints; return A and Z at all of them."""
    if not len(found.t):
        return A, Z
    at, n_old = found.intervals, len(state.t)
    new_A = A[at] + found.share[:, None] * (A[at + 1] - A[at])
    new_Z = new_A
    if not layer.plain:
        new_Z = Z[at] + found.share[:, None] * (Z[at + 1] - Z[at])
    # A number that rounding made 0 between two of one sign would pass for a true 0 above.
    ends = np.sign(Z[at]) + np.sign(Z[at + 1])
    wrong = (ends != 0) & (np.sign(ends) != np.sign(new_Z))
    for j in {*found.exact, *np.flatnonzero(wrong.any(axis=1)).tolist()}:
        point = found.exact.get(j) or state.crossing(i, found.owners[j][0], int(at[j]))
        values = None if point is None else state.exact.values(i, point)
        if values is not None:
            new_Z[j], new_A[j] = values
    family: dict[int, list[int]] = {}
    for k, first in enumerate(layer.twins.tolist()):
        family.setdefault(first, []).append(k)
    rows = [j for j, owners in enumerate(found.owners) for k in owners for _ in family[k]]
    cuts = [twin for owners in found.owners for k in owners for twin in family[k]]
    new_A[rows, layer.cut_units[cuts]] = layer.cut_thresholds[cuts]
    new_Z[rows, cuts] = 0.0
    order = np.lexsort(
        (np.concatenate([np.full(n_old, -1), found.ranks]), np.concatenate([np.arange(n_old), at]))
    )
    makers = np.array([[i, owners[0]] for owners in found.owners])
    state.makers = np.concatenate([state.makers, makers])[order]
    state.t = np.maximum.accumulate(np.concatenate([state.t, found.t])[order])
    state.spread = np.concatenate([state.spread, found.spread])[order]
    # The interval after an old breakpoint or a new one lies in the old interval.
    inside = np.concatenate([np.arange(n_old), at])[order][:-1]
    state.codes = [codes[inside] for codes in state.codes]
    A = np.concatenate([A, new_A])[order]
    return A, A if layer.plain else np.concatenate([Z, new_Z])[order]
