"""Cells of a table replaced by values of other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina._checks import check_real
from lamina._errors import DataError
from lamina._typing import Array, IntArray


def corrupt(
    X: Array,
    rate: float = 0.6,
    *,
    pool: Array | None = None,
    own: IntArray | None = None,
    random_state: int | np.random.Generator | None = None,
) -> tuple[Any, Any]:
    r"""Replace each cell, with a probability, by the value that another row has in its column.

    .. math:: \tilde x_{ij} = x_{r_{ij} j} \text{ with probability } p, \text{ else } x_{ij},
              \qquad r_{ij} \text{ uniform on the rows of the pool but } i

    So a column keeps its distribution, and what is broken are the relations between columns.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    rate : float, default=0.6
        p: the share of cells that get another row's value, not the share that stays.
    pool : ndarray of shape (m, d), optional
        Rows to take values from, at least 2; by default X.
    own : ndarray of int of shape (n,), optional
        Number of each row of X in the pool, which does not give to itself. By default X is the
        beginning of the pool.
    random_state : int, Generator or None, default=None
        Seed or source of the draws.

    Returns
    -------
    view : ndarray of shape (n, d)
        A copy with the cells replaced.
    changed : ndarray of bool of shape (n, d)
        Cells whose value is another one now. Where rows share values these are fewer than were
        replaced.

    Raises
    ------
    DataError
        If the pool has one row, or shapes do not fit.
    ParameterError
        If the rate is not a probability.

    References
    ----------
    .. [1] D. Bahri et al., SCARF: self-supervised contrastive learning using random feature
       corruption, ICLR 2022, https://arxiv.org/abs/2106.15147

    Examples
    --------
    >>> X = np.arange(20_000.0).reshape(2000, 10)
    >>> view, changed = corrupt(X, 0.6, random_state=0)
    >>> print(f"{changed.mean():.2f}", bool(np.all((view % 10) == (X % 10))))
    0.60 True
    """
    X = np.asarray(X)
    rate = check_real("rate", rate, 0.0, 1.0)
    source = X if pool is None else np.asarray(pool)
    if X.ndim != 2 or source.ndim != 2 or X.shape[1] != source.shape[1] or len(source) < 2:
        raise DataError(
            "X and pool must be matrices of as many columns, with at least 2 rows to take values "
            f"from. Got {X.shape} and {source.shape}."
        )
    rows = np.arange(len(X)) if own is None else np.asarray(own)
    if rows.shape != (len(X),) or (len(rows) and not 0 <= rows.min() <= rows.max() < len(source)):
        raise DataError(
            f"own must have a row of the pool for each of {len(X)} rows. Got shape {rows.shape}."
        )
    rng = np.random.default_rng(random_state)
    replaced = rng.random(X.shape, dtype=np.float32) < rate
    i, j = np.nonzero(replaced)
    donors = rng.integers(0, len(source) - 1, len(i))
    donors += donors >= rows[i]  # every row but the own one
    view = X.copy()
    view[i, j] = source[donors, j]
    return view, view != X
