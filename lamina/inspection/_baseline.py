"""Scores of a forecast that does not look at the inputs."""

from __future__ import annotations

import math

import numpy as np

from lamina._errors import DataError
from lamina._typing import FloatArray


def normal_log_density(train: FloatArray, y: FloatArray) -> FloatArray:
    """Return the log density (N,) of the normal with mean and spread of the training targets."""
    centre = train.mean()
    spread = (train - centre).std()
    if not spread > 0:
        raise DataError(
            "baseline must hold at least two different targets for a density. "
            f"Got {len(train)} times {train[0]:g}."
        )
    z = (y - centre) / spread
    density: FloatArray = -0.5 * z * z - math.log(spread) - 0.5 * math.log(2 * math.pi)
    return density


def counted_log_probability(train: FloatArray, y: FloatArray) -> FloatArray:
    """Return logs (N,) of how often each whole number was among the training targets.

    Each from the lowest to the highest of both counts once more, so that none is impossible.
    """
    known, counts = np.unique(train, return_counts=True)
    place = np.minimum(np.searchsorted(known, y), len(known) - 1)
    seen = np.where(known[place] == y, counts[place], 0)
    lowest, highest = min(known[0], y.min()), max(known[-1], y.max())
    support = highest - lowest + 1
    logs: FloatArray = np.log((seen + 1.0) / (len(train) + support))
    return logs


def empirical_crps(train: FloatArray, y: FloatArray) -> FloatArray:
    """Return the CRPS (N,) of the distribution that has a step at each training target."""
    centre = float(np.median(train))
    steps, at, n = np.sort(train - centre), y - centre, len(train)
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    below = np.searchsorted(steps, at, side="right")
    away = (at * (2 * below - n) + sums[-1] - 2 * sums[below]) / n
    spread = 2 * float((2 * np.arange(n) - n + 1) @ steps) / n**2
    crps: FloatArray = np.maximum(away - spread / 2, 0.0)
    return crps
