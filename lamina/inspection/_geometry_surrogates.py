"""Data that share some statistics with the real ones and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina._typing import FloatArray

from ._geometry_rows import centred, generator, matrix


def gaussian_surrogate(X: Any, *, random_state: int | None = None) -> FloatArray:
    r"""Make independent Gaussians with the mean and standard deviation of each column.

    .. math:: \tilde x_{ni} = \bar x_i + s_i \varepsilon_{ni}, \qquad
              \varepsilon_{ni} \sim N(0, 1)

    What real data show beyond such a surrogate comes from how their columns hang together.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Real data.
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Raises
    ------
    DataError
        If ``X`` is no matrix of finite numbers.

    Examples
    --------
    >>> from lamina.inspection import gaussian_surrogate
    >>> X = np.column_stack([np.arange(1000.0), np.full(1000, 7.0)])
    >>> made = gaussian_surrogate(X, random_state=0)
    >>> made.shape, made[:3, 1].tolist()
    ((1000, 2), [7.0, 7.0, 7.0])
    """
    rows = matrix(X)
    spread, scale = centred(rows)
    made = generator(random_state).standard_normal(rows.shape)
    deviation = spread.std(axis=0) * scale
    deviation[np.ptp(rows, axis=0) == 0] = 0.0
    mean = (rows / scale).mean(axis=0) * scale
    result: FloatArray = mean + deviation * made
    return result


def shuffled_surrogate(X: Any, *, random_state: int | None = None) -> FloatArray:
    """Shuffle the entries within each row, each row on its own.

    A shuffled image keeps its pixels and loses its picture: the histogram of every row stays,
    and what neighbours had to do with one another goes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Real data with comparable columns, such as pixels.
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Raises
    ------
    DataError
        If ``X`` is no matrix of finite numbers.

    Examples
    --------
    >>> from lamina.inspection import shuffled_surrogate
    >>> made = shuffled_surrogate([[1.0, 2.0, 3.0], [4.0, 4.0, 5.0]], random_state=0)
    >>> np.sort(made).tolist()
    [[1.0, 2.0, 3.0], [4.0, 4.0, 5.0]]
    """
    result: FloatArray = generator(random_state).permuted(matrix(X), axis=1)
    return result
