"""How many terms a polynomial has, and how many cells a space: the curse of dimensionality."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_sizes
from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._axes import axes_or_new
from ._geometry_rows import matrix

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_BINS = 2**53
"""Bins on an axis that float64 can tell apart."""

MOST_NUMBERS = 100_000_000
"""Numbers in an array beyond which a basis is not written out."""


@dataclass(frozen=True, eq=False)
class PolynomialCountResult:
    """Coefficients of full polynomials by dimension and order.

    Attributes
    ----------
    n_features : tuple of int
        Dimensions D.
    degrees : tuple of int
        Orders M.
    counts : dict of (int, int) to int
        Exact number of coefficients for each (D, M).
    growth_ratios : dict of (int, int) to float
        The count divided by its growth law D^M / M!; 1 in the limit of large D.
    """

    n_features: tuple[int, ...]
    degrees: tuple[int, ...]
    counts: dict[tuple[int, int], int]
    growth_ratios: dict[tuple[int, int], float]

    def to_dataframe(self) -> pd.DataFrame:
        """Return exact counts with thousands separators, a row for each D, a column for each M."""
        import pandas as pd

        rows = [[f"{self.counts[D, M]:,}" for M in self.degrees] for D in self.n_features]
        return pd.DataFrame(
            rows,
            index=pd.Index(self.n_features, name="D"),
            columns=[f"M = {M}" for M in self.degrees],
        )

    def summary(self) -> str:
        """Return the table."""
        return (
            "Coefficients of a full polynomial of order M in D variables:\n"
            f"{self.to_dataframe().to_string()}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the counts against the dimension, a line for each order."""
        from ._bases_pictures import draw_counts

        return draw_counts(self, axes_or_new(ax))


def polynomial_count(n_features: Any, degrees: Any = (1, 2, 3, 5)) -> PolynomialCountResult:
    r"""Count the coefficients of full polynomials, exactly.

    .. math:: \binom{D + M}{M} \approx \frac{D^M}{M!} \quad \text{for large } D

    A full polynomial of order M has a term for every product of at most M of the D variables.
    The basis covers the whole space whether or not there are data, and so does the count.

    Parameters
    ----------
    n_features : int or sequence of int
        Dimensions D.
    degrees : int or sequence of int, default=(1, 2, 3, 5)
        Orders M.

    Returns
    -------
    PolynomialCountResult

    Raises
    ------
    ParameterError
        If a number is no positive integer.

    See Also
    --------
    monomial_exponents : the terms themselves

    Examples
    --------
    >>> from lamina.inspection import polynomial_count
    >>> result = polynomial_count([10, 100], [2, 3])
    >>> result.counts[100, 3], round(result.growth_ratios[100, 3], 3)
    (176851, 1.061)
    >>> result.to_dataframe().loc[100].tolist()
    ['5,151', '176,851']
    """
    dimensions, orders = check_sizes("n_features", n_features), check_sizes("degrees", degrees)
    pairs = list(itertools.product(dimensions, orders))
    counts = {(D, M): math.comb(D + M, M) for D, M in pairs}
    ratios = {(D, M): float(Fraction(counts[D, M] * math.factorial(M), D**M)) for D, M in pairs}
    return PolynomialCountResult(dimensions, orders, counts, ratios)


def monomial_exponents(n_features: int, degree: int) -> IntArray:
    r"""List the exponents of every monomial up to a total degree.

    .. math:: x_1^{e_1} \cdots x_D^{e_D}, \qquad e_1 + \dots + e_D \le M

    Parameters
    ----------
    n_features : int
        Dimension D.
    degree : int
        Order M, at least 0.

    Returns
    -------
    ndarray of int of shape (n_terms, n_features)
        One row a term, by rising degree, in the order of
        ``sklearn.preprocessing.PolynomialFeatures``.

    Raises
    ------
    ParameterError
        If the table would have more than a hundred million numbers.

    Examples
    --------
    >>> from lamina.inspection import monomial_exponents
    >>> monomial_exponents(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    D = check_integer("n_features", n_features, 1)
    M = check_integer("degree", degree, 0)
    n_terms = math.comb(D + M, M)
    if n_terms * D > MOST_NUMBERS:
        raise ParameterError(
            f"n_features and degree must give at most {MOST_NUMBERS:,} exponents. Got {n_terms:,} "
            f"terms of {D} variables. Count them with polynomial_count instead."
        )
    exponents = np.zeros((n_terms, D), dtype=np.int64)
    row = 1
    for total in range(1, M + 1):
        chosen = np.array(list(itertools.combinations_with_replacement(range(D), total)))
        rows = np.arange(row, row + len(chosen))
        for column in chosen.T:
            exponents[rows, column] += 1
        row += len(chosen)
    return exponents


@dataclass(frozen=True)
class CellCountResult:
    """How many cells of a grid hold data.

    Attributes
    ----------
    n_samples, n_features, n_bins : int
        Points, dimension D, and bins k along each axis.
    n_cells : int
        k^D, exactly.
    n_occupied : int
        Cells that hold at least one point.
    expected_uniform : float
        Cells that as many uniform points would occupy on average.
    fraction : float
        Share of the cells that is occupied.
    empty_chance : float
        Chance that a new uniform point falls into an empty cell.
    """

    n_samples: int
    n_features: int
    n_bins: int
    n_cells: int
    n_occupied: int
    expected_uniform: float
    fraction: float
    empty_chance: float

    def summary(self) -> str:
        """Return the counts in one sentence."""
        return (
            f"{self.n_samples:,} points occupy {self.n_occupied:,} of {self.n_bins}^"
            f"{self.n_features} = {self.n_cells:,} cells ({self.fraction:.3g}; uniform points "
            f"about {self.expected_uniform:,.1f}); a new uniform point meets an empty cell with "
            f"probability {self.empty_chance:.4g}."
        )


def cells_occupied(
    X: Any, n_bins: int = 5, bounds: tuple[float, float] | None = None
) -> CellCountResult:
    r"""Count the cells of a grid that hold data.

    .. math:: K = k^D, \qquad
              \mathrm E[\text{occupied}] = K \left( 1 - (1 - 1/K)^N \right)
              \quad \text{for uniform data}

    The points needed to fill the grid grow exponentially with D; N points occupy N cells at
    most, so that almost every new one falls where no data are.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    n_bins : int, default=5
        Bins k along each axis.
    bounds : (float, float), default=None
        Ends of the grid on every axis; points beyond count in the outermost bins. None takes the
        smallest and largest value of each column.

    Returns
    -------
    CellCountResult

    Raises
    ------
    DataError
        If ``X`` is no matrix of finite numbers.
    ParameterError
        If the bounds cannot be used.

    Examples
    --------
    >>> from lamina.inspection import cells_occupied
    >>> result = cells_occupied([[0.1, 0.1], [0.2, 0.3], [0.9, 0.1]], 2, (0.0, 1.0))
    >>> result.n_occupied, result.n_cells, result.empty_chance
    (2, 4, 0.5)
    """
    rows = matrix(X)
    k = check_integer("n_bins", n_bins, 1, MOST_BINS)
    low, high = grid_ends(rows, bounds)
    n, D = rows.shape
    n_occupied = len(np.unique(cell_numbers(rows, low, high, k), axis=0))
    n_cells = k**D
    return CellCountResult(
        n_samples=n,
        n_features=D,
        n_bins=k,
        n_cells=n_cells,
        n_occupied=n_occupied,
        expected_uniform=_expected(n_cells, n),
        fraction=float(Fraction(n_occupied, n_cells)),
        empty_chance=float(Fraction(n_cells - n_occupied, n_cells)),
    )


def grid_ends(rows: FloatArray, bounds: Any) -> tuple[FloatArray, FloatArray]:
    """Return low and high end (D,) of a grid: those given, or those of the data."""
    if bounds is None:
        return rows.min(axis=0), rows.max(axis=0)
    from ._approximation_arrays import check_interval

    low, high = check_interval("bounds", bounds)
    return np.full(rows.shape[1], low), np.full(rows.shape[1], high)


def cell_numbers(rows: FloatArray, low: FloatArray, high: FloatArray, k: int) -> IntArray:
    """Return the bin (N, D) of each row on each axis, from 0 to k - 1."""
    half_width = high / 2 - low / 2  # halves, so that ends of ±1e308 do not overflow
    safe = np.where(half_width > 0, half_width, 1.0)
    share = np.clip((rows / 2 - low / 2) / safe, 0.0, 1.0)
    return np.minimum((share * k).astype(np.int64), k - 1)


def _expected(n_cells: int, n: int) -> float:
    """Return K (1 - (1 - 1/K)^N) without overflow or loss for huge K."""
    if n_cells == 1:
        return 1.0
    if n_cells > 10**300:
        return float(n)
    return -float(n_cells) * math.expm1(n * math.log1p(-1 / n_cells))
