"""Maxima of the density of a normal mixture in several dimensions."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._log_sum import log_sum

_MAX_STEPS = 500
_CLOSE = 1e-4
"""Two summits so many local standard deviations apart are one."""


class Terms(NamedTuple):
    """Components by means (K, C, T), precision matrices (K, C, T, T) and log heights (K, C)."""

    loc: FloatArray
    precision: FloatArray
    level: FloatArray

    def of(self, rows: IntArray) -> Terms:
        """Return the components of some rows."""
        return Terms(self.loc[rows], self.precision[rows], self.level[rows])


def summits(
    loc: FloatArray, scale_tril: FloatArray, log_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return maxima (N, K, T) and log heights (N, K), the highest first, filled up with NaN.

    Climbs start at the mean of each component, where the ridges of each two cross, and in the
    middle of all: Newton's steps where the density is dome-shaped, else mean shift. In two
    dimensions or more there may be more maxima than components, and no number of starts is
    proof that none is missing. The heights lack the constant of the normal density.
    """
    identity = np.broadcast_to(np.eye(loc.shape[2]), scale_tril.shape)
    inverse = np.linalg.solve(scale_tril, identity)
    precision = inverse.swapaxes(2, 3) @ inverse
    volume = np.log(np.einsum("nctt->nct", scale_tril)).sum(axis=2)
    terms = Terms(loc, precision, log_weights - volume)
    starts = _starts(terms)
    n_rows, n_starts, n_targets = starts.shape
    rows = np.repeat(np.arange(n_rows), n_starts)
    tops, heights, domes = _climbed(terms, rows, starts.reshape(-1, n_targets))
    heights = np.where(domes.reshape(n_rows, n_starts), heights.reshape(n_rows, n_starts), np.nan)
    tops, heights = _sorted(tops.reshape(starts.shape), heights)
    bends = _shape(terms.of(rows), tops.reshape(-1, n_targets))[2]
    heights = _without_twins(tops, heights, bends.reshape(n_rows, n_starts, *bends.shape[1:]))
    tops, heights = _sorted(tops, heights)
    most = int((~np.isnan(heights)).sum(axis=1).max())
    tops = np.where(np.isnan(heights)[..., None], np.nan, tops)
    return tops[:, :most], heights[:, :most]


def _starts(terms: Terms) -> FloatArray:
    pulls = np.einsum("ncst,nct->ncs", terms.precision, terms.loc)
    n_components = terms.loc.shape[1]
    groups = [list(pair) for pair in itertools.combinations(range(n_components), 2)]
    groups.append(list(range(n_components)))
    crossings = [
        np.linalg.solve(
            terms.precision[:, group].sum(axis=1), pulls[:, group].sum(axis=1)[..., None]
        )[..., 0]
        for group in groups
    ]
    return np.concatenate([terms.loc, np.stack(crossings, axis=1)], axis=1)


def _shape(terms: Terms, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return log density, its slope, minus its second derivative, and the shared precision."""
    away = terms.loc - y[:, None]
    pulls = np.einsum("kcst,kct->kcs", terms.precision, away)
    logs = terms.level - 0.5 * np.einsum("kct,kct->kc", pulls, away)
    total = log_sum(logs)
    shares = np.exp(logs - total[:, None])
    slope = np.einsum("kc,kcs->ks", shares, pulls)
    shared = np.einsum("kc,kcst->kst", shares, terms.precision)
    spread = np.einsum("kc,kcs,kct->kst", shares, pulls, pulls)
    bend = shared - spread + slope[:, :, None] * slope[:, None, :]
    return total, slope, bend, shared


def _climbed(
    terms: Terms, rows: IntArray, starts: FloatArray
) -> tuple[FloatArray, FloatArray, Array]:
    """Return where each climb ends, its log density, and whether the density is a dome there."""
    y = starts.copy()
    tops, heights = starts.copy(), np.full(len(starts), -np.inf)
    domes = np.zeros(len(starts), dtype=bool)
    places, own = np.arange(len(starts)), terms.of(rows)
    for _ in range(_MAX_STEPS):
        height, slope, bend, shared = _shape(own, y)
        dome = np.linalg.eigvalsh(bend)[:, 0] > 0
        safe = np.where(dome[:, None, None], bend, shared)
        newton = np.linalg.solve(safe, slope[..., None])[..., 0]
        shift = np.linalg.solve(shared, slope[..., None])[..., 0]
        better = _shape(own, y + newton)[0] >= height
        step = np.where((dome & better)[:, None], newton, shift)
        # The step in local standard deviations says how far the summit is.
        left = np.einsum("ks,kst,kt->k", step, shared, step)
        tops[places], heights[places], domes[places] = y, height, dome
        going = left > 1e-24
        if not going.any():
            break
        places, y, own = places[going], (y + step)[going], own.of(np.flatnonzero(going))
    return tops, heights, domes


def _sorted(tops: FloatArray, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    order = np.argsort(-heights, axis=1, kind="stable")  # NaN goes to the end
    return (
        np.take_along_axis(tops, order[..., None], axis=1),
        np.take_along_axis(heights, order, axis=1),
    )


def _without_twins(tops: FloatArray, heights: FloatArray, bends: FloatArray) -> FloatArray:
    """Return heights with NaN where an earlier summit is the same one."""
    kept = heights.copy()
    for later in range(1, tops.shape[1]):
        away = tops[:, later, None] - tops[:, :later]
        distance = np.einsum("nks,nkst,nkt->nk", away, bends[:, :later], away)
        twin = (distance < _CLOSE**2) & ~np.isnan(kept[:, :later])
        kept[:, later] = np.where(twin.any(axis=1), np.nan, kept[:, later])
    return kept
