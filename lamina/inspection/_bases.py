r"""Fixed bases: functions of the inputs that are chosen before the data are seen.

A basis is a callable that takes data (N, D) and returns the design matrix (N, M) of its
functions :math:`\phi_j(x_n)`. `fit_basis` fits a linear model on any such callable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from lamina._checks import check_choice, check_integer, check_real
from lamina._errors import DataError, ParameterError
from lamina._typing import FloatArray, IntArray

from ._approximation_arrays import check_interval
from ._bases_counts import MOST_NUMBERS, cell_numbers, monomial_exponents
from ._geometry_rows import matrix

Basis: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class PolynomialBasis:
    r"""All monomials up to a total degree; degree 1 are the raw inputs and the constant.

    .. math:: \phi_e(x) = x_1^{e_1} \cdots x_D^{e_D}, \qquad \sum_i e_i \le M

    Parameters
    ----------
    degree : int
        Order M.

    Examples
    --------
    >>> from lamina.inspection import PolynomialBasis
    >>> PolynomialBasis(2)([[2.0, 3.0]]).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    """

    degree: int

    def __post_init__(self) -> None:
        check_integer("degree", self.degree, 0)

    def __call__(self, X: Any) -> FloatArray:
        """Return the design matrix (N, C(D + M, M))."""
        rows = matrix(X)
        exponents = monomial_exponents(rows.shape[1], self.degree)
        _check_size(len(rows), len(exponents))
        design = np.ones((len(rows), len(exponents)))
        for j in range(rows.shape[1]):
            with np.errstate(over="ignore", invalid="ignore"):
                powers = rows[:, j, None] ** np.arange(self.degree + 1)
                design *= powers[:, exponents[:, j]]
        if not np.isfinite(design).all():
            raise DataError(
                f"X must be small enough for powers up to {self.degree} to be finite. "
                f"Got {np.abs(rows).max():.3g}. Scale the columns first."
            )
        return design


@dataclass(frozen=True)
class SplineBasis:
    """B-splines of each input by itself, on even knots: an additive model.

    Parameters
    ----------
    n_pieces : int, default=10
        Pieces between the bounds.
    degree : int, default=3
        Degree of the pieces.
    bounds : (float, float), default=(0.0, 1.0)
        Ends of the knots for every input; inputs beyond are taken as at the end.

    Examples
    --------
    >>> from lamina.inspection import SplineBasis
    >>> design = SplineBasis(n_pieces=4)([[0.0], [0.3], [1.0]])
    >>> design.shape, design.sum(axis=1).round(9).tolist()
    ((3, 7), [1.0, 1.0, 1.0])
    """

    n_pieces: int = 10
    degree: int = 3
    bounds: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_integer("n_pieces", self.n_pieces, 1)
        check_integer("degree", self.degree, 0)
        check_interval("bounds", self.bounds)

    def __call__(self, X: Any) -> FloatArray:
        """Return the design matrix (N, D · (n_pieces + degree))."""
        from scipy.interpolate import BSpline  # slow to import, and only needed here

        rows = np.clip(matrix(X), *self.bounds)
        inner = np.linspace(*self.bounds, self.n_pieces + 1)
        knots = np.concatenate([[inner[0]] * self.degree, inner, [inner[-1]] * self.degree])
        columns = [BSpline.design_matrix(x, knots, self.degree).toarray() for x in rows.T]
        return np.concatenate(columns, axis=1)


@dataclass(frozen=True)
class CellBasis:
    """Indicators of the cells of a grid: 1 where a point is inside, else 0.

    Parameters
    ----------
    n_bins : int, default=5
        Bins along each axis.
    bounds : (float, float), default=(0.0, 1.0)
        Ends of the grid on every axis; points beyond count in the outermost bins.

    Examples
    --------
    >>> from lamina.inspection import CellBasis
    >>> CellBasis(2)([[0.1, 0.1], [0.9, 0.1]]).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    n_bins: int = 5
    bounds: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_integer("n_bins", self.n_bins, 1)
        check_interval("bounds", self.bounds)

    def __call__(self, X: Any) -> FloatArray:
        """Return the design matrix (N, n_bins^D)."""
        rows = matrix(X)
        n, D = rows.shape
        n_cells = self.n_bins**D
        _check_size(n, n_cells)
        low, high = (np.full(D, end) for end in self.bounds)
        places = cell_numbers(rows, low, high, self.n_bins)
        cells: IntArray = np.ravel_multi_index(tuple(places.T), (self.n_bins,) * D)
        design = np.zeros((n, n_cells))
        design[np.arange(n), cells] = 1.0
        return design


Kernel: TypeAlias = Literal["gaussian", "laplacian", "inverse_multiquadric", "polynomial"]
KERNELS = ("gaussian", "laplacian", "inverse_multiquadric", "polynomial")


@dataclass(frozen=True, eq=False)
class KernelBasis:
    r"""One function for each centre, such as every row of the training data.

    .. math:: e^{-|x - c|^2 / (2 s^2)}, \quad e^{-|x - c| / s}, \quad
              (1 + |x - c|^2 / s^2)^{-1/2}, \quad (1 + x \cdot c / s^2)^p

    Parameters
    ----------
    centres : array-like of shape (n_centres, n_features)
        Centres c.
    width : float, default=1.0
        Width s, over 0.
    kernel : {"gaussian", "laplacian", "inverse_multiquadric", "polynomial"}, default="gaussian"
        Which of the four.
    degree : int, default=3
        Degree p. Only used by ``"polynomial"``.

    Examples
    --------
    >>> from lamina.inspection import KernelBasis
    >>> KernelBasis([[0.0], [1.0]], width=1.0)([[0.0]]).round(4).tolist()
    [[1.0, 0.6065]]
    """

    centres: Any = field(repr=False)
    width: float = 1.0
    kernel: Kernel = "gaussian"
    degree: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "centres", matrix(self.centres, name="centres"))
        check_real("width", self.width, 0.0, open_minimum=True)
        check_choice("kernel", self.kernel, KERNELS)
        check_integer("degree", self.degree, 1)

    def __call__(self, X: Any) -> FloatArray:
        """Return the design matrix (N, n_centres)."""
        from scipy.spatial.distance import cdist

        rows = matrix(X)
        if rows.shape[1] != self.centres.shape[1]:
            raise DataError(
                f"X must have {self.centres.shape[1]} columns, as centres. Got {rows.shape[1]}."
            )
        _check_size(len(rows), len(self.centres))
        if self.kernel == "polynomial":
            inner: FloatArray = (rows / self.width) @ (self.centres / self.width).T
            return (1 + inner) ** self.degree
        with np.errstate(over="ignore"):  # a distance beyond float64 has a kernel of 0
            away = cdist(rows, self.centres) / self.width
            if self.kernel == "gaussian":
                return np.exp(-0.5 * away**2)
            return np.exp(-away) if self.kernel == "laplacian" else 1 / np.hypot(1.0, away)


def _check_size(n_rows: int, n_columns: int) -> None:
    """Raise a sentence if a design matrix would not fit."""
    if n_rows * n_columns > MOST_NUMBERS:
        raise ParameterError(
            f"The design matrix must have at most {MOST_NUMBERS:,} numbers. Got {n_rows:,} rows "
            f"of {n_columns:,} functions, {math.log10(n_columns):.1f} powers of ten of them."
        )
