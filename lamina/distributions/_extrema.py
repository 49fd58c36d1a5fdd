r"""All maxima and minima of the density of a normal mixture in one dimension.

The derivative of the density is enclosed over whole intervals, so that none of its roots can
be missed. An interval is done with when the enclosure has one sign (no root in it), when that
of the second derivative has one sign (at most one root), or when nothing but rounding is left.
Else it is halved. In one dimension a mixture of C normals has at most C maxima [1]_.

References
----------
.. [1] M. Á. Carreira-Perpiñán, C. K. I. Williams, On the number of modes of a Gaussian mixture,
   Scale Space Methods in Computer Vision, 2003, https://doi.org/10.1007/3-540-44935-3_44
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._roots import increasing_roots

_MAX_HALVINGS = 80
_ROUNDING = 1e-15
_TURN = np.sqrt(3.0)

Signs: TypeAlias = tuple[IntArray, FloatArray, FloatArray]
"""Row, place, and sign of the slope there, each (K,)."""


class Terms(NamedTuple):
    """The components, whose sum of exp(level - z²/2)·(-z) is the slope of the density."""

    loc: FloatArray
    scale: FloatArray
    level: FloatArray

    def of(self, rows: IntArray) -> Terms:
        """Return the components of some rows."""
        return Terms(self.loc[rows], self.scale[rows], self.level[rows])


def extrema(
    loc: FloatArray, scale: FloatArray, log_weights: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the extrema of each row from left to right, and how many there are.

    They alternate: maximum, minimum, …, maximum.

    Returns
    -------
    places : ndarray of shape (N, E)
        Extrema, filled up with NaN.
    counts : ndarray of shape (N,)
        Their number, which is odd.
    """
    terms = Terms(loc, scale, log_weights - 2 * np.log(scale))
    rows, low, high, kinds = _brackets(*_signs(terms), len(loc))
    found = _refined(terms, rows, low, high, kinds)
    counts = np.bincount(rows, minlength=len(loc))
    places = np.full((len(loc), int(counts.max())), np.nan)
    first = np.cumsum(counts) - counts
    places[rows, np.arange(len(rows)) - first[rows]] = found
    return places, counts


def _start(terms: Terms) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the first intervals of each row, which cover all its extrema."""
    offsets = np.array([-1.5, 0.0, 1.5])
    knots = (terms.loc[:, :, None] + terms.scale[:, :, None] * offsets).reshape(len(terms.loc), -1)
    # Left of the leftmost mean the density rises, and right of the rightmost it falls.
    outer = 0.5 * terms.scale
    ends = (terms.loc - outer).min(axis=1), (terms.loc + outer).max(axis=1)
    inside = np.clip(knots, ends[0][:, None], ends[1][:, None])
    knots = np.sort(np.column_stack([ends[0], inside, ends[1]]), axis=1)
    wide = np.diff(knots, axis=1) > 0
    rows, places = np.nonzero(wide)
    return rows, knots[rows, places], knots[rows, places + 1]


def _signs(terms: Terms) -> Signs:
    """Return the sign of the slope at places that separate the extrema of each row."""
    rows, low, high = _start(terms)
    told: list[Signs] = [_sign_at(terms, rows, low), _sign_at(terms, rows, high)]
    for _ in range(_MAX_HALVINGS):
        below, above, bends = _enclosures(terms.of(rows), low, high)
        middle = low + 0.5 * (high - low)
        split = ~((below > 0) | (above < 0) | bends) & (middle > low) & (middle < high)
        if not split.any():
            break
        rows, low, middle, high = rows[split], low[split], middle[split], high[split]
        told.append(_sign_at(terms, rows, middle))
        rows = np.concatenate([rows, rows])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    rows, low, sign = (np.concatenate(part) for part in zip(*told, strict=True))
    return rows, low, sign


def _slopes(terms: Terms, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return first and second derivative of the density, and the size of the first's terms.

    All three are in units of the largest component at y, and so never vanish altogether.
    """
    z = (y[:, None] - terms.loc) / terms.scale
    heights = terms.level - 0.5 * z * z
    heights = np.exp(heights - heights.max(axis=1, keepdims=True))
    pulls = z * heights
    bends = (z * z - 1) / terms.scale * heights
    return -pulls.sum(axis=1), bends.sum(axis=1), np.abs(pulls).sum(axis=1)


def _sign_at(terms: Terms, rows: IntArray, y: FloatArray) -> Signs:
    """Return the sign of the slope; 0 where rounding decides."""
    slope, _, size = _slopes(terms.of(rows), y)
    return rows, y, np.where(np.abs(slope) <= _ROUNDING * size, 0.0, np.sign(slope))


def _enclosures(
    terms: Terms, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, Array]:
    """Return bounds of the slope's sign over intervals, and whether they need no halving.

    That is where the slope has at most one root, or where it is nothing but rounding.
    """
    z_low = (low[:, None] - terms.loc) / terms.scale
    z_high = (high[:, None] - terms.loc) / terms.scale
    nearest = np.where((z_low <= 0) & (z_high >= 0), 0.0, np.minimum(z_low**2, z_high**2))
    top = (terms.level - 0.5 * nearest).max(axis=1, keepdims=True)

    def height(z: FloatArray) -> FloatArray:
        at: FloatArray = np.exp(np.minimum(terms.level - 0.5 * z * z - top, 0.0))
        return at

    at_low, at_high = height(z_low), height(z_high)
    pulls = _range(-z_low * at_low, -z_high * at_high)
    for turn in (-1.0, 1.0):
        pulls = _with_turn(pulls, turn, -turn * height(np.full_like(z_low, turn)), z_low, z_high)
    bends = _range((z_low**2 - 1) * at_low, (z_high**2 - 1) * at_high)
    for turn in (-_TURN, 0.0, _TURN):
        value = (turn * turn - 1) * height(np.full_like(z_low, turn))
        bends = _with_turn(bends, turn, value, z_low, z_high)
    size = np.maximum(np.abs(pulls[0]), np.abs(pulls[1])).sum(axis=1)
    least, most = pulls[0].sum(axis=1), pulls[1].sum(axis=1)
    bend_least = (bends[0] / terms.scale).sum(axis=1)
    bend_most = (bends[1] / terms.scale).sum(axis=1)
    near = _relative_range(terms, low, high, z_low, z_high)
    below, above = np.maximum(np.sign(least), near[0]), np.minimum(np.sign(most), near[1])
    # The mean value form: the slope in the middle, and how far it can go from there.
    half = 0.5 * (high - low)
    reach = half * np.maximum(np.abs(bend_least), np.abs(bend_most))
    z = (low + half)[:, None] - terms.loc
    centre = -(z / terms.scale * height(z / terms.scale)).sum(axis=1)
    below = np.where(centre - reach > _ROUNDING * size, 1.0, below)
    above = np.where(centre + reach < -_ROUNDING * size, -1.0, above)
    rounding = np.abs(centre) + reach <= _ROUNDING * size
    return below, above, (bend_least > 0) | (bend_most < 0) | rounding


def _relative_range(
    terms: Terms, low: FloatArray, high: FloatArray, z_low: FloatArray, z_high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return signs of bounds of the slope divided by the component that leads in the middle.

    Between components that are many scales apart every density vanishes, but not their ratio,
    whose log is a parabola.
    """
    middle = low + 0.5 * (high - low)
    z = (middle[:, None] - terms.loc) / terms.scale
    lead = (terms.level - 0.5 * z * z).argmax(axis=1)[:, None]

    def of_lead(values: FloatArray) -> FloatArray:
        return np.take_along_axis(values, lead, axis=1)

    def ratio(z_own: FloatArray, z_lead: FloatArray) -> FloatArray:
        # A difference of squares as a product, which keeps its digits far out.
        gap: FloatArray = level - 0.5 * (z_own - z_lead) * (z_own + z_lead)
        return gap

    level = terms.level - of_lead(terms.level)
    least, most = _range(ratio(z_low, of_lead(z_low)), ratio(z_high, of_lead(z_high)))
    own, other = terms.scale**-2.0, of_lead(terms.scale) ** -2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = (own * terms.loc - other * of_lead(terms.loc)) / (own - other)
        at = ratio(
            (turn - terms.loc) / terms.scale, (turn - of_lead(terms.loc)) / of_lead(terms.scale)
        )
    inside = (turn > low[:, None]) & (turn < high[:, None])
    least = np.where(inside, np.minimum(least, at), least)
    most = np.where(inside, np.maximum(most, at), most)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        smallest, largest = np.exp(least), np.exp(most)
        corners = [-z_low * smallest, -z_low * largest, -z_high * smallest, -z_high * largest]
        stacked = np.nan_to_num(np.stack(corners), nan=0.0, posinf=np.inf, neginf=-np.inf)
        bottom, top = stacked.min(axis=0).sum(axis=1), stacked.max(axis=0).sum(axis=1)
    return np.sign(np.nan_to_num(bottom, nan=-1.0)), np.sign(np.nan_to_num(top, nan=1.0))


def _range(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.minimum(first, second), np.maximum(first, second)


def _with_turn(
    bounds: tuple[FloatArray, FloatArray],
    turn: float,
    value: FloatArray,
    z_low: FloatArray,
    z_high: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return bounds that also hold at a turning point, where it is inside the interval."""
    inside = (z_low < turn) & (z_high > turn)
    return (
        np.where(inside, np.minimum(bounds[0], value), bounds[0]),
        np.where(inside, np.maximum(bounds[1], value), bounds[1]),
    )


def _brackets(
    rows: IntArray, places: FloatArray, signs: FloatArray, n_rows: int
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return the row, the two ends and the kind (1 maximum, -1 minimum) of each extremum."""
    told = signs != 0
    rows, places, signs = rows[told], places[told], signs[told]
    order = np.lexsort((places, rows))
    rows, places, signs = rows[order], places[order], signs[order]
    change = np.flatnonzero((rows[1:] == rows[:-1]) & (signs[1:] != signs[:-1]))
    return rows[change], places[change], places[change + 1], signs[change]


def _refined(
    terms: Terms, rows: IntArray, low: FloatArray, high: FloatArray, kinds: FloatArray
) -> FloatArray:
    """Return the extrema between the two ends of each bracket."""
    own, sign = terms.of(rows), -kinds

    def evaluate(places: IntArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        slope, bend, size = _slopes(own.of(places), y)
        unit = sign[places] / np.where(size > 0, size, 1.0)
        return slope * unit, bend * unit

    middle = low + 0.5 * (high - low)
    return increasing_roots(evaluate, low, high, middle, np.full(len(low), 2e-16))
