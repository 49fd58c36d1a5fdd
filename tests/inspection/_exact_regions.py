"""Regions by brute force: cut one polytope after the other, in fractions, unit after unit.

Nothing of this is shared with the package: no propagation, no tolerance, no signs at vertices of
a mesh. A region is a list of vertices; a unit cuts it in two where it is positive on one part and
negative on another.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

PIECES = {
    "identity": ([], [(1, 0)]),
    "relu": ([0], [(0, 0), (1, 0)]),
    "leaky_relu(0.25)": ([0], [(Fraction(1, 4), 0), (1, 0)]),
    "leaky_relu(-0.5)": ([0], [(Fraction(-1, 2), 0), (1, 0)]),
    "abs": ([0], [(-1, 0), (1, 0)]),
    "hard_tanh": ([-1, 1], [(0, -1), (1, 0), (0, 1)]),
    "step": ([0], [(0, 0), (0, 1)]),
    "prelu": ([0], [(Fraction(1, 4), 0), (1, 0)]),
}
"""Breakpoints of each activation, and slope and offset of each piece."""


def clip(polytope, line, side):
    """Return the part of a segment or polygon where side * (line · (u, 1)) >= 0."""
    values = [side * (sum(c * x for c, x in zip(line, p, strict=False)) + line[-1])
              for p in polytope]  # fmt: skip
    n = len(polytope)
    pairs = [(0, 1)] if n == 2 else [(i, (i + 1) % n) for i in range(n)]
    kept = []
    for i, j in pairs:
        if values[i] >= 0:
            kept.append(polytope[i])
        if values[i] * values[j] < 0:
            t = values[i] / (values[i] - values[j])
            kept.append(tuple(p + t * (q - p) for p, q in zip(polytope[i], polytope[j],
                                                               strict=True)))  # fmt: skip
    if n == 2 and values[1] >= 0:
        kept.append(polytope[1])
    return kept if size(kept) > 0 else None


def size(polytope):
    """Return length or area."""
    if len(polytope) < 2:
        return Fraction(0)
    if len(polytope[0]) == 1:
        return abs(polytope[-1][0] - polytope[0][0])
    around = zip(polytope, polytope[1:] + polytope[:1], strict=True)
    return abs(sum(p[0] * q[1] - p[1] * q[0] for p, q in around)) / 2


def regions(layers, names, polytope, embedding):
    """Return all regions as {pattern: polytope}.

    ``layers`` are pairs of nested lists, ``names`` the activation of each; ``embedding`` has a row
    an input: its coefficients of the slice's coordinates, and its constant.
    """
    found = {}
    start = [tuple(Fraction(c) for c in row) for row in embedding]
    _descend(layers, names, start, polytope, (), found)
    return found


def _descend(layers, names, h, polytope, pattern, found):
    if not layers:
        assert pattern not in found
        found[pattern] = polytope
        return
    (W, b), *rest = layers
    thresholds, pieces = PIECES[names[0]]
    parts = [(polytope, (), [])]
    for weights, bias in zip(W, b, strict=True):
        line = [sum((Fraction(w) * c for w, c in zip(weights, column, strict=True)), Fraction(0))
                for column in zip(*h, strict=True)]  # fmt: skip
        line[-1] += Fraction(bias)
        parts = [piece for part in parts for piece in _cut(part, line, thresholds, pieces)]
    for part, codes, above in parts:
        _descend(rest, names[1:], above, part, pattern + codes, found)


def _cut(part, line, thresholds, pieces):
    """Yield the parts of a polytope in which one unit keeps its piece."""
    polytope, codes, outputs = part
    rest = polytope
    for code, (slope, offset) in enumerate(pieces):
        if rest is None:
            return
        inside = rest
        if code < len(thresholds):
            shifted = [*line[:-1], line[-1] - thresholds[code]]
            values = [sum(c * x for c, x in zip(shifted, p, strict=False)) + shifted[-1]
                      for p in rest]  # fmt: skip
            # A unit that is at its threshold everywhere has not passed it.
            inside, rest = (
                (rest, None) if max(values) <= 0 else (clip(rest, shifted, -1),
                                                       clip(rest, shifted, 1))
            )  # fmt: skip
        else:
            rest = None
        if inside is not None:
            made = [slope * c for c in line]
            made[-1] += offset
            yield inside, (*codes, code), [*outputs, made]


def random_network(rng, sizes, low=-2, high=2, denominator=1):
    """Return layers of small whole (or half, …) weights: often in degenerate position."""
    return [
        (
            (rng.integers(low, high + 1, (m, n)) / denominator).tolist(),
            (rng.integers(low, high + 1, m) / denominator).tolist(),
        )
        for n, m in itertools.pairwise(sizes)
    ]


def square(low, high):
    """Return the corners of a square."""
    a, b = Fraction(low), Fraction(high)
    return [(a, a), (b, a), (b, b), (a, b)]


def as_arrays(layers):
    """Return layers as pairs of arrays."""
    return [(np.array(W, dtype=float), np.array(b, dtype=float)) for W, b in layers]
