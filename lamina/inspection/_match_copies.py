"""Find the units of a copy: each is known by a few numbers that order and signs do not change.

The incoming weights of each unit are projected on a few random directions. In a copy the
projections are the same to rounding, so a search among neighbours finds every unit without a
table of all pairs. Units with equal incoming weights are told apart by what goes out of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from lamina._typing import Array, FloatArray, IntArray

from ._canonical_units import row_norms
from ._match_alignment import (
    Alignment,
    aligned_columns,
    column_signs,
    outgoing_factors,
)
from ._symmetry_group import group_of
from ._symmetry_layers import Layers, blocks

_DIRECTIONS = 8


@dataclass(eq=False)
class _Side:
    """One network on the way up: the scales of its units so far, found and never applied."""

    layers: Layers
    factors: list[FloatArray]

    def columns(self, i: int) -> FloatArray:
        """Return what the inputs of a layer (in,) are multiplied by, in the gauge below."""
        if not i:
            return np.ones(self.layers.weights[0].shape[1])
        return 1.0 / outgoing_factors(self.layers, i - 1, self.factors[i - 1])

    def measure(self, i: int) -> FloatArray:
        """Find the factors of a layer; return the largest of each column (in,) in its gauge."""
        layers, columns = self.layers, self.columns(i)
        weights, slopes = layers.weights[i], layers.slopes[i]
        group = group_of(layers.activations[i])
        factors = np.ones(len(weights))
        if group.inverts and slopes is not None:
            factors[np.abs(slopes) > 1.0] = -1.0
        largest = np.zeros(len(columns))
        for some in blocks(*weights.shape):
            rows = np.abs(weights[some]) * np.abs(columns)
            if group.scales:
                norms = np.hypot(row_norms(rows), layers.biases[i][some])
                factors[some] /= np.where(norms == 0, 1.0, norms)
                rows *= np.abs(factors[some])[:, None]
            np.maximum(largest, rows.max(axis=0), out=largest)
        self.factors.append(factors)
        return largest

    def slopes(self, i: int) -> FloatArray | None:
        """Return the slopes of a layer within [-1, 1]."""
        slopes = self.layers.slopes[i]
        if slopes is None or not group_of(self.layers.activations[i]).inverts:
            return slopes
        flipped = self.factors[i] < 0
        return np.where(flipped, 1.0 / np.where(flipped, slopes, 1.0), slopes)


@dataclass(eq=False)
class Copy:
    """The alignment with a copy, and the factors that give units length 1.

    Attributes
    ----------
    alignment : Alignment
    a, b : list of ndarray of shape (units,)
        Factors of the units of both networks.
    """

    alignment: Alignment
    a: list[FloatArray]
    b: list[FloatArray]


@dataclass(eq=False)
class _Pairs:
    """The partners of one layer.

    Attributes
    ----------
    order : ndarray of shape (units,)
        The partner of each unit of the first network.
    labels : ndarray of shape (units,)
        A number for each unit of the first network; equal for equal or opposite units.
    ours, theirs : ndarray of shape (units,)
        The sign of each unit beside that of the first one with its label.
    still : ndarray of shape (units,)
        Which units of the first network have no incoming weights and no bias.
    """

    order: IntArray
    labels: IntArray
    ours: FloatArray
    theirs: FloatArray
    still: Array

    @property
    def signs(self) -> FloatArray:
        """The sign of each partner beside its unit."""
        return self.ours * self.theirs[self.order]


def find_copy(a: Layers, b: Layers, tolerance: float) -> Copy | None:
    """Return the alignment if every unit of ``a`` has a partner in ``b``, else None."""
    one, two = _Side(a, []), _Side(b, [])
    pairs: list[_Pairs] = []
    rng = np.random.default_rng(0)
    for i in range(a.n_hidden):
        largest, _ = one.measure(i), two.measure(i)
        size = tolerance * np.sqrt(len(largest) + 1)
        bias = np.abs(a.biases[i] * one.factors[i]).max() or 1.0
        directions = _directions(a, i, largest, pairs, rng)
        ends = rng.standard_normal(_DIRECTIONS) / bias
        theirs = directions
        if i:
            theirs = np.empty_like(directions)
            signs = column_signs(b.activations[i - 1], pairs[i - 1].signs)
            theirs[pairs[i - 1].order] = directions * signs[:, None]
        points = _points(one, i, directions, ends), _points(two, i, theirs, ends)
        found = _paired(*points, size, group_of(a.activations[i]).parity != 0)
        if found is None:
            return None
        pairs.append(found)
    copy = Copy(
        Alignment([p.order for p in pairs], [p.signs for p in pairs]), one.factors, two.factors
    )
    _settle_ties(a, b, copy, pairs)
    return copy


def _directions(
    layers: Layers, i: int, size: FloatArray, pairs: list[_Pairs], rng: np.random.Generator
) -> FloatArray:
    """Return random directions (in, 8) in units of a column; equal units below share theirs."""
    draws = rng.standard_normal((len(size), _DIRECTIONS))
    if not pairs:
        return draws / np.where(size == 0, 1.0, size)[:, None]
    below = pairs[-1]
    largest = np.zeros(len(size))
    np.maximum.at(largest, below.labels, size)
    largest[largest == 0] = 1.0
    shared: FloatArray = (draws / largest[:, None])[below.labels]
    return shared * column_signs(layers.activations[i - 1], below.ours)[:, None]


def _points(side: _Side, i: int, directions: FloatArray, ends: FloatArray) -> FloatArray:
    """Return the numbers by which units are known (units, 8), or with a slope (units, 9)."""
    sums = side.layers.weights[i] @ (directions * side.columns(i)[:, None])
    sums += np.outer(side.layers.biases[i], ends)
    points: FloatArray = sums * side.factors[i][:, None]
    slopes = side.slopes(i)
    return points if slopes is None else np.column_stack([points, slopes])


def _paired(ours: FloatArray, theirs: FloatArray, size: float, flips: bool) -> _Pairs | None:
    """Return the partners of a layer, or None where a unit is alone."""
    n = len(ours)
    tree = KDTree(np.concatenate([ours, -ours]) if flips else ours)
    far, nearest = tree.query(theirs)
    if (far > size * (1.0 + np.abs(theirs).max(axis=1))).any():
        return None
    close = tree.query_pairs(size, output_type="ndarray") % n
    labels: IntArray = np.arange(n)
    if len(close):
        table = coo_array((np.ones(len(close)), (close[:, 0], close[:, 1])), shape=(n, n))
        labels = connected_components(table, directed=False)[1]
    partners = labels[nearest % n]
    if (np.bincount(partners, minlength=n) != np.bincount(labels, minlength=n)).any():
        return None
    order = np.empty(n, dtype=np.intp)
    order[np.argsort(labels, kind="stable")] = np.argsort(partners, kind="stable")
    first = np.zeros(n, dtype=np.intp)
    first[labels[::-1]] = np.arange(n)[::-1]

    def signs(points: FloatArray, group: IntArray) -> FloatArray:
        agree = (points * ours[first[group]]).sum(axis=1)
        return np.where(flips & (agree < 0), -1.0, 1.0)

    still = np.abs(ours).max(axis=1) <= size
    return _Pairs(order, labels, signs(ours, labels), signs(theirs, partners), still)


def _settle_ties(a: Layers, b: Layers, copy: Copy, pairs: list[_Pairs]) -> None:
    """Pair units with equal incoming weights by what goes out, from the last layer down."""
    for i in reversed(range(a.n_hidden)):
        found, parity = pairs[i], group_of(a.activations[i]).parity
        counts = np.bincount(found.labels)
        if counts.max() == 1 and not found.still.any():
            continue
        order, signs = copy.alignment.orders[i], copy.alignment.signs[i]
        above = (
            _outgoing(a, i, copy.a, None) * column_signs(a.activations[i], found.ours),
            _outgoing(b, i, copy.b, copy.alignment) * column_signs(b.activations[i], found.theirs),
        )
        for label in np.flatnonzero(counts):
            ours = np.flatnonzero(found.labels == label)
            theirs, still = order[ours], bool(found.still[ours[0]])
            if len(ours) == 1 and not still:
                continue
            outside = above[0][:, ours].T @ above[1][:, theirs]
            # A unit without incoming weights has no sign of its own.
            free = still and parity < 0
            chosen = linear_sum_assignment(np.abs(outside) if free else outside, maximize=True)[1]
            turned = outside[np.arange(len(ours)), chosen] < 0
            order[ours] = theirs[chosen]
            signs[ours] = found.ours[ours] * found.theirs[order[ours]]
            signs[ours[turned & free]] *= -1.0


def _outgoing(
    layers: Layers, i: int, factors: list[FloatArray], alignment: Alignment | None
) -> FloatArray:
    """Return the weights out of layer i in the common gauge, outputs in the first's order."""
    above = layers.weights[i + 1] if alignment is None else aligned_columns(layers, i, alignment)
    scale = outgoing_factors(layers, i, factors[i])
    if i + 1 == layers.n_hidden:
        return above / scale
    rows = factors[i + 1] if alignment is None else factors[i + 1][alignment.orders[i + 1]]
    gauged: FloatArray = above * rows[:, None] / scale
    return gauged
