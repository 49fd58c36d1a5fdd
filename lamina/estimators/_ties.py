"""Targets that repeat: a density that may be as narrow as it likes has no best value there."""

from __future__ import annotations

import warnings

import numpy as np

from lamina._errors import DataWarning
from lamina._typing import FloatArray
from lamina.heads import Head, Mixture, MultivariateNormal, Normal

MOST = 0.1
"""Share of repeated values above which a user is told."""


def warn_about_ties(head: Head, y: FloatArray) -> None:
    """Say so if more than a tenth of the values of a target repeat others, and it matters.

    It matters where rows have scales of their own, since those of the repeated values then
    shrink to the floor.

    Parameters
    ----------
    head : Head
        What is fitted.
    y : ndarray of shape (N, T)
        Targets.
    """
    if not _shrinks(head):
        return
    shares = [1 - len(np.unique(column)) / len(column) for column in y.T]
    worst = int(np.argmax(shares))
    if shares[worst] <= MOST:
        return
    where = "y" if len(shares) == 1 else f"column {worst} of y"
    warnings.warn(
        f"{shares[worst]:.0%} of the values of {where} repeat others. The log density is then set "
        f"by the floor of the scale, min_scale={head.min_scale:g} standard deviations. "  # type: ignore[attr-defined]
        "Use MLPRegressor with loss='poisson' for counts or loss='normal' for numbers that are "
        "rounded, and MLPClassifier for classes.",
        DataWarning,
        stacklevel=7,
    )


def _shrinks(head: Head) -> bool:
    """Return whether single rows can have a scale of their own."""
    if isinstance(head, Normal):
        return head.scale == "per_row"
    if isinstance(head, MultivariateNormal):
        return head.covariance == "per_row"
    return isinstance(head, Mixture) and head.component == "normal"
