"""How many straight directions hold a share of the variance of data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._typing import FloatArray

from ._axes import axes_or_new
from ._geometry_rows import centred, check_shares, matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDING = 1e-12
"""What a sum of shares may lack of the one asked for."""


@dataclass(frozen=True, eq=False)
class ComponentsResult:
    """Principal components, counted.

    Attributes
    ----------
    counts : dict of float to int
        Components that hold each share of the variance.
    variances : ndarray of shape (n_components,)
        Variance along each component, falling, in squared units of ``X``; infinite beyond float64.
    cumulative : ndarray of shape (n_components,)
        Share of the variance held by the first 1, 2, … components.
    participation_ratio : float
        (Σ v)² / Σ v² of the variances v: how many equal ones would be as spread.
    n_features : int
        Columns of ``X``.
    """

    counts: dict[float, int]
    variances: FloatArray
    cumulative: FloatArray
    participation_ratio: float
    n_features: int

    def summary(self) -> str:
        """Return the counts in one line."""
        told = ", ".join(f"{count} hold {share:.4g}" for share, count in self.counts.items())
        return (
            f"Components of {self.n_features} features by share of the variance: {told}; "
            f"participation ratio {self.participation_ratio:.4g}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the variance against the number of components."""
        from ._geometry_pictures import draw_components

        return draw_components({"data": self}, axes_or_new(ax))


def principal_components(
    X: Any, shares: float | Iterable[float] = (0.9, 0.95, 0.99)
) -> ComponentsResult:
    r"""Count the principal components that hold shares of the variance.

    With singular values :math:`s_i` of the centred data, the smallest number q with

    .. math:: \sum_{i \le q} s_i^2 \Big/ \sum_i s_i^2 \ge \text{share}

    A linear method sees only a flat subspace: a curve that bends takes several components,
    although one number says where on it a row lies.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        At least two rows.
    shares : float or iterable of float, default=(0.9, 0.95, 0.99)
        Shares of the variance, over 0 and at most 1.

    Returns
    -------
    ComponentsResult

    Raises
    ------
    DataError
        If ``X`` is no matrix of finite numbers with two rows.
    ParameterError
        If a share is not over 0 and at most 1.

    Notes
    -----
    The squares of the singular values come from the smaller of XᵀX and XXᵀ, so that shares are
    exact to about 1e-12. Constant data have no variance and need 0 components.

    References
    ----------
    .. [1] I. Jolliffe, J. Cadima, Principal component analysis: a review and recent
       developments, Phil. Trans. R. Soc. A 2016, https://doi.org/10.1098/rsta.2015.0202

    Examples
    --------
    >>> from lamina.inspection import principal_components
    >>> X = [[3.0, 0.0, 1.0], [-3.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]]
    >>> principal_components(X, (0.9, 1.0)).counts
    {0.9: 1, 1.0: 2}
    """
    checked = check_shares(shares)
    rows, scale = centred(matrix(X, 2))
    small = rows.T @ rows if rows.shape[1] <= rows.shape[0] else rows @ rows.T
    squares = np.clip(np.linalg.eigvalsh(small)[::-1], 0.0, None)
    # What a matrix product of rank r leaves beyond r is rounding, no direction.
    squares[squares <= squares[0] * np.finfo(np.float64).eps * max(rows.shape)] = 0.0
    with np.errstate(over="ignore"):
        variances = squares / (len(rows) - 1) * scale * scale
    total = squares.sum()
    ratio = float(total**2 / (squares @ squares)) if total > 0 else 0.0
    # Of the scaled rows, whose squares stay within float64 where the variances may not.
    running = _cumulative(squares)
    enough = running + _ROUNDING
    counts = {share: int(np.argmax(enough >= share)) + 1 if total > 0 else 0 for share in checked}
    return ComponentsResult(counts, variances, running, ratio, rows.shape[1])


def _cumulative(variances: FloatArray) -> FloatArray:
    """Return the share of the first 1, 2, … in the sum; zeros where there is no variance."""
    largest = variances.max()
    if not largest > 0:
        return np.zeros_like(variances)
    shares = variances / largest
    running: FloatArray = np.cumsum(shares) / shares.sum()
    return running
