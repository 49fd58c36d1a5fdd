"""Distributions given by some of their quantiles: flat in between, with exponential tails."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._arguments import (
    affine_pair,
    inner_level,
    normalised_weights,
    numbers,
    refuse_nan,
    refuse_parameter,
    row_numbers,
)
from ._continuous import Continuous
from ._mixture import ComponentMixture

_TAIL = np.array([1.0, 2, 4, 8, 16, 32, 40])


class InterpolatedQuantiles(ComponentMixture, Continuous):
    r"""Rows of quantiles at given levels, or mixtures of C such rows.

    Between two quantiles the density is constant. Beyond the outermost ones it falls off
    exponentially, and begins with the height of the piece beside it.

    Parameters
    ----------
    levels : array-like of shape (L,)
        Increasing probabilities in (0, 1), at least two.
    quantiles : array-like of shape (N, L) or (N, C, L)
        Quantiles at these levels, not decreasing, in units of y.
    log_weights : array-like of shape (N, C) or (C,), default=None
        Logs of the mixing weights, up to a constant of each row. None gives equal weights.
    rows : array-like of int of shape (N,), default=None
        Numbers of the rows, which their random streams belong to. None counts from 0.

    Raises
    ------
    ParameterError
        If levels or quantiles are not in order.

    Notes
    -----
    Where two quantiles are equal the probability between them sits in one point; the density
    is infinite there.

    Examples
    --------
    >>> dist = InterpolatedQuantiles([0.25, 0.5, 0.75], [[0.0, 1.0, 3.0]])
    >>> dist.quantile([0.5, 0.625])
    array([[1., 2.]])
    >>> dist.mean()
    array([1.625])
    """

    levels: FloatArray
    quantiles: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights", "quantiles")

    def __init__(
        self, levels: Any, quantiles: Any, log_weights: Any = None, *, rows: Any = None
    ) -> None:
        self.levels = numbers("levels", levels)
        steps = np.diff(self.levels) if self.levels.ndim == 1 else np.zeros(1)
        inside = (self.levels > 0) & (self.levels < 1)
        if not steps.size or not (steps > 0).all() or not inside.all():
            raise ParameterError(
                f"levels must be two or more increasing numbers in (0, 1). Got {levels}."
            )
        values = numbers("quantiles", quantiles)
        values = values[:, None] if values.ndim == 2 else values
        if values.ndim != 3 or values.shape[2] != len(self.levels) or 0 in values.shape:
            raise ParameterError(
                f"quantiles must have shape (N, {len(self.levels)}), a column for each level. "
                f"Got shape {np.shape(quantiles)}."
            )
        refuse_nan("quantiles", values, infinite_too=True)
        refuse_parameter(
            "quantiles", values[..., 1:], values[..., 1:] >= values[..., :-1], "in order"
        )
        self.quantiles = values
        self.log_weights = normalised_weights(log_weights, (values.shape[0], values.shape[1]))
        self.rows = row_numbers(rows, len(values))

    def _pieces(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return widths of the pieces (N, C, L - 1) and scales of both tails (N, C)."""
        widths: FloatArray = np.diff(self.quantiles, axis=2)
        slopes = widths / np.diff(self.levels)
        return widths, self.levels[0] * slopes[..., 0], (1 - self.levels[-1]) * slopes[..., -1]

    def _terms(self, y: FloatArray) -> FloatArray:
        widths, lower, upper = self._pieces()
        at = y[:, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            heights = np.log(np.diff(self.levels)) - np.log(widths)
            first, last = self.quantiles[:, None, :, 0], self.quantiles[:, None, :, -1]
            below = heights[:, None, :, 0] + (at - first) / lower[:, None]
            above = heights[:, None, :, -1] + (last - at) / upper[:, None]
        index = (self.quantiles[:, None] <= at[..., None]).sum(axis=3) - 1
        index = np.clip(index, 0, widths.shape[2] - 1)
        inner = np.take_along_axis(heights[:, None], index[..., None], axis=3)[..., 0]
        terms = np.where(at < first, below, np.where(at > last, above, inner))
        terms = np.where(np.isnan(terms), -np.inf, terms)
        point = (widths[:, None] == 0) & (self.quantiles[:, None, :, :-1] == at[..., None])
        empty = ((at < first) & (lower == 0)[:, None]) | ((at > last) & (upper == 0)[:, None])
        return np.where(point.any(axis=3), np.inf, np.where(empty, -np.inf, terms))

    def _tails(self, y: FloatArray, upper: Any) -> FloatArray:
        widths, lower, higher = self._pieces()
        at = y[:, :, None]
        index = (self.quantiles[:, None] <= at[..., None]).sum(axis=3) - 1
        index = np.clip(index, 0, widths.shape[2] - 1)
        start = np.take_along_axis(self.quantiles[:, None], index[..., None], axis=3)[..., 0]
        width = np.take_along_axis(widths[:, None], index[..., None], axis=3)[..., 0]
        solid = width > 0
        with np.errstate(invalid="ignore"):
            share = np.where(solid, (at - start) / np.where(solid, width, 1.0), 1.0)
        share = np.clip(np.nan_to_num(share, nan=0.0), 0.0, 1.0)
        cdf = self.levels[index] + np.diff(self.levels)[index] * share
        first, last = self.quantiles[:, None, :, 0], self.quantiles[:, None, :, -1]
        left = self.levels[0] * _decay(first - at, lower[:, None])
        right = (1 - self.levels[-1]) * _decay(at - last, higher[:, None])
        above = np.broadcast_to(upper, y.shape)[:, :, None]
        inner = np.where(above, 1 - cdf, cdf)
        outer = np.where(above, 1 - left, left), np.where(above, right, 1 - right)
        tails: FloatArray = np.where(at < first, outer[0], np.where(at > last, outer[1], inner))
        return tails

    def _component_quantiles(self, q: FloatArray) -> FloatArray:
        shape = (len(self), len(q), self.n_components)
        everywhere = np.broadcast_to(self.quantiles[:, None], (*shape, len(self.levels)))
        return self._at_levels(everywhere, np.broadcast_to(q[:, None], shape))

    def _pick(self, component: Any, u: FloatArray) -> FloatArray:
        row = np.arange(len(self))[:, None]
        return self._at_levels(self.quantiles[row, component], u)

    def _at_levels(self, quantiles: FloatArray, p: FloatArray) -> FloatArray:
        """Return quantiles (...) at probabilities (...) of rows (..., L)."""
        index = np.clip(np.searchsorted(self.levels, p, "right") - 1, 0, len(self.levels) - 2)
        start = np.take_along_axis(quantiles, index[..., None], axis=-1)[..., 0]
        end = np.take_along_axis(quantiles, index[..., None] + 1, axis=-1)[..., 0]
        steps = np.diff(self.levels)
        inner = start + (p - self.levels[index]) / steps[index] * (end - start)
        first, last = quantiles[..., 0], quantiles[..., -1]
        lower = self.levels[0] * (quantiles[..., 1] - first) / steps[0]
        upper = (1 - self.levels[-1]) * (last - quantiles[..., -2]) / steps[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            below = first + np.where(lower > 0, lower * np.log(p / self.levels[0]), 0.0)
            above = last - np.where(
                upper > 0, upper * np.log((1 - p) / (1 - self.levels[-1])), 0.0
            )
        return np.where(p < self.levels[0], below, np.where(p > self.levels[-1], above, inner))

    def _masses(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return probability (L + 1,), mean and variance (N, C, L + 1) of every piece."""
        widths, lower, upper = self._pieces()
        low, high = lower[..., None], upper[..., None]
        mass = np.concatenate([self.levels[:1], 1 - self.levels[-1:], np.diff(self.levels)])
        middle = self.quantiles[..., :-1] + widths / 2
        ends = [self.quantiles[..., :1] - low, self.quantiles[..., -1:] + high]
        mean = np.concatenate([*ends, middle], axis=2)
        variance = np.concatenate([low**2, high**2, widths**2 / 12], axis=2)
        return mass, mean, variance

    def _component_means(self) -> FloatArray:
        mass, mean, _ = self._masses()
        means: FloatArray = mean @ mass
        return means

    def _component_stds(self) -> FloatArray:
        mass, mean, variance = self._masses()
        away = mean - (mean @ mass)[..., None]
        stds: FloatArray = np.sqrt((variance + away**2) @ mass)
        return stds

    def _knots(self) -> FloatArray:
        return self.quantiles.reshape(len(self), -1)

    def _edges(self) -> FloatArray:
        _, lower, upper = self._pieces()
        left = self.quantiles[..., :1] - lower[..., None] * _TAIL
        right = self.quantiles[..., -1:] + upper[..., None] * _TAIL
        edges = np.concatenate([left, self.quantiles, right], axis=2)
        return np.sort(edges.reshape(len(self), -1), axis=1)

    def entropy(self) -> FloatArray:
        """Return the differential entropy in nats, (N,); -inf where two quantiles are equal."""
        points = (np.diff(self.quantiles, axis=2) == 0) & (self.weights > 0)[..., None]
        return np.where(points.any(axis=(1, 2)), -np.inf, super().entropy())

    def _extrema(self) -> tuple[FloatArray, IntArray]:
        """Return extrema of one row of quantiles exactly: the middles of its pieces."""
        if self.n_components > 1:
            return super()._extrema()
        widths = np.diff(self.quantiles[:, 0], axis=1)
        # The density is high where pieces are narrow. Equal pieces are one.
        with np.errstate(divide="ignore"):
            heights = np.diff(self.levels) / widths
        found = [_turns(row) for row in heights]
        counts = np.array([len(turns) for turns in found])
        places = np.full((len(self), int(counts.max())), np.nan)
        for row, turns in enumerate(found):
            ends = self.quantiles[row, 0]
            places[row, : len(turns)] = [(ends[a] + ends[b + 1]) / 2 for a, b in turns]
        return places, counts

    def highest_density(self, level: float = 0.9) -> list[FloatArray]:
        """Return the smallest region with at least a probability: of each row (pieces, 2).

        A piece of constant density is inside as a whole or not at all, so that more than the
        probability asked for may be inside.
        """
        inside = inner_level(level)
        if self.n_components > 1:
            return super().highest_density(inside)
        return [self._highest(row, inside) for row in range(len(self))]

    def _highest(self, row: int, level: float) -> FloatArray:
        ends, steps = self.quantiles[row, 0], np.diff(self.levels)
        with np.errstate(divide="ignore"):
            heights = steps / np.diff(ends)
        tails = np.array([self.levels[0], 1 - self.levels[-1]])
        tops = heights[[0, -1]]
        order = np.argsort(-heights, kind="stable")
        threshold = 0.0
        for place, piece in enumerate(order):
            whole = steps[order[: place + 1]].sum()
            least = heights[order[place + 1]] if place + 1 < len(order) else 0.0
            started = tops >= heights[piece]
            # Between two heights only the tails grow: linearly in the threshold.
            full = whole + tails[started].sum()
            gain = (tails[started] / tops[started]).sum()
            lost = gain * heights[piece] if gain > 0 else 0.0
            at = heights[piece] if full - lost >= level else least
            if full - gain * least >= level and gain > 0 and at == least:
                at = (full - level) / gain
            if full - (gain * at if gain > 0 else 0.0) >= level - 1e-15:
                threshold = at
                break
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.where(tops > threshold, tails / tops * np.log(tops / threshold), 0.0)
        grown = np.where(np.isfinite(grown), grown, 0.0)
        chosen = np.flatnonzero(heights >= threshold)
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1)
        pieces = np.array([[ends[run[0]], ends[run[-1] + 1]] for run in runs])
        pieces[0, 0] -= grown[0] if chosen[0] == 0 else 0.0
        pieces[-1, 1] += grown[1] if chosen[-1] == len(steps) - 1 else 0.0
        return pieces

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution of loc + scale·y; log densities fall by ln(scale)."""
        shift, factor = affine_pair(loc, scale, 1)
        moved = self._take(slice(None))
        moved.quantiles = shift + factor * self.quantiles
        return moved


def _decay(distance: FloatArray, scale: FloatArray) -> FloatArray:
    """Return exp(-d/b) for d > 0, which is 0 for a tail of scale 0."""
    solid = scale > 0
    ratio = np.maximum(distance, 0.0) / np.where(solid, scale, 1.0)
    return np.where(solid, np.exp(-ratio), 0.0)


def _turns(heights: FloatArray) -> list[tuple[int, int]]:
    """Return first and last piece of each maximum and minimum in turn, of one row."""
    first = np.flatnonzero(np.concatenate([[True], np.diff(heights) != 0]))
    last = np.concatenate([first[1:], [len(heights)]]) - 1
    runs = heights[first]
    steps = np.concatenate([[1.0], np.sign(np.diff(runs)), [-1.0]])
    turns = np.flatnonzero(steps[1:] != steps[:-1])
    return [(int(first[i]), int(last[i])) for i in turns]
