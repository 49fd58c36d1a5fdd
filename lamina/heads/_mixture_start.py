"""Where the components of a mixture begin: spread over the targets."""

from __future__ import annotations

import numpy as np

from lamina._typing import Array


def groups_along_main_axis(y: Array, n_groups: int) -> tuple[Array, Array]:
    """Cut rows (N, T) into equal groups along their direction of largest variance.

    Returns
    -------
    means : ndarray of shape (n_groups, T)
        Mean of each group; with fewer rows than groups, some are the same.
    within : ndarray of shape (N, T)
        The rows less the mean of their group.
    """
    centred = y - y.mean(0)
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    if direction[np.argmax(np.abs(direction))] < 0:  # an eigenvector has no sign of its own
        direction = -direction
    order = np.argsort(centred @ direction, kind="stable")
    n_rows = len(y)
    group = np.empty(n_rows, dtype=np.int64)
    group[order] = np.arange(n_rows) * n_groups // n_rows

    size = np.bincount(group, minlength=n_groups)
    total = np.stack([np.bincount(group, column, n_groups) for column in y.T], axis=1)
    middle = (np.arange(n_groups) * 2 + 1) * n_rows // (2 * n_groups)
    empty = y[order[middle]]
    means = np.where(size[:, None] > 0, total / np.maximum(size, 1)[:, None], empty)
    return means, y - means[group]


def log_odds(share: Array, margin: float = 0.02) -> Array:
    """Return logits of probabilities that are first kept away from 0 and 1."""
    inside = np.clip(share, margin, 1.0 - margin)
    return np.asarray(np.log(inside) - np.log1p(-inside))
