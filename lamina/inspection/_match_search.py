"""Pair the units of two networks that are no copies: one assignment a layer, again and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from lamina._typing import FloatArray

from ._match_alignment import (
    Alignment,
    aligned_columns,
    aligned_rows,
    gain_of,
    unchanged,
)
from ._symmetry_group import group_of
from ._symmetry_layers import Layers

_ROUNDING = 1e-12
_MOST_SWEEPS = 100


@dataclass(eq=False)
class Search:
    """The best alignment of some starts.

    Attributes
    ----------
    alignment : Alignment
    agreement : float
        Sum over layers of the inner products of the weights; the larger, the nearer.
    n_sweeps : int
        Sweeps over the layers from the best start.
    starts : list of float
        The agreement that each start came to.
    """

    alignment: Alignment
    agreement: float
    n_sweeps: int
    starts: list[float]


def search(a: Layers, b: Layers, n_starts: int, rng: np.random.Generator) -> Search:
    """Return the alignment of scaled networks that brings their weights nearest.

    The first start pairs the layers from the inputs on, by incoming weights alone; the second
    leaves the units in their places; the others are random.
    """
    best: Search | None = None
    reached: list[float] = []
    # One hidden layer stands between fixed ends: its one assignment is the best there is.
    for start in range(n_starts if a.n_hidden > 1 else 1):
        alignment = unchanged(a.sizes)
        if start == 0:
            for i in range(a.n_hidden):
                _pair(a, b, i, alignment, with_above=a.n_hidden == 1)
        elif start > 1:
            alignment.orders = [rng.permutation(len(order)) for order in alignment.orders]
        sweeps = _improve(a, b, alignment, rng) if a.n_hidden > 1 else 1
        agreement = agreement_of(a, b, alignment)
        reached.append(agreement)
        if best is None or agreement > best.agreement:
            best = Search(alignment, agreement, sweeps, reached)
    assert best is not None
    return best


def _improve(a: Layers, b: Layers, alignment: Alignment, rng: np.random.Generator) -> int:
    """Pair each layer anew between the others, until no layer can do better; count the sweeps."""
    for sweep in range(1, _MOST_SWEEPS + 1):
        better = [_pair(a, b, int(i), alignment) for i in rng.permutation(a.n_hidden)]
        if not any(better):
            return sweep
    return _MOST_SWEEPS


def _pair(a: Layers, b: Layers, i: int, alignment: Alignment, with_above: bool = True) -> bool:
    """Pair the units of one layer; return whether they agree better than before."""
    ours = np.column_stack([a.biases[i], a.weights[i]])
    inside = ours @ aligned_rows(b, i, alignment).T
    slopes = a.slopes[i], b.slopes[i]
    if slopes[0] is not None and slopes[1] is not None:
        inside = inside + np.outer(slopes[0], slopes[1])
    outside = np.zeros_like(inside)
    if with_above:
        outside = a.weights[i + 1].T @ aligned_columns(b, i, alignment)
    gain, signs = gain_of(group_of(a.activations[i]), inside, outside)
    units, chosen = linear_sum_assignment(gain, maximize=True)
    before = _agreement(group_of(a.activations[i]).parity, inside, outside, alignment, i)
    after = float(gain[units, chosen].sum())
    if with_above and after <= before + _ROUNDING * float(np.abs(gain[units, chosen]).sum()):
        return False
    alignment.orders[i], alignment.signs[i] = chosen, signs[units, chosen]
    return True


def _agreement(
    parity: int, inside: FloatArray, outside: FloatArray, alignment: Alignment, i: int
) -> float:
    """Return how much the units of a layer agree in the present order."""
    at = np.arange(len(inside)), alignment.orders[i]
    signs = alignment.signs[i]
    out = outside[at] * np.where(signs < 0, parity, 1.0)
    return float((inside[at] * signs + out).sum())


def agreement_of(a: Layers, b: Layers, alignment: Alignment) -> float:
    """Return the sum over layers of the inner products of weights and biases."""
    total = 0.0
    for i in range(len(a.weights)):
        theirs = aligned_rows(b, i, alignment)
        if i < a.n_hidden:
            theirs = theirs[alignment.orders[i]] * alignment.signs[i][:, None]
        ours = np.column_stack([a.biases[i], a.weights[i]])
        total += float(np.vdot(ours, theirs))
    return total
