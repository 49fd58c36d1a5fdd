"""What a function on every training point costs, and how ill-posed it becomes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._axes import axes_or_new
from ._bases import KernelBasis
from ._geometry_rows import matrix

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ConditioningResult:
    """Design matrices of a Gaussian on every point, by the number of points.

    Attributes
    ----------
    width, penalty : float
        Width of the Gaussians, and what is added to the diagonal.
    sizes : ndarray of int of shape (n_sizes,)
        Points N, each with its function.
    condition_numbers : ndarray of shape (n_sizes,)
        Largest over smallest eigenvalue of the matrix; inf where the smallest is rounding.
    regularised : ndarray of shape (n_sizes,)
        The same with the penalty on the diagonal.
    megabytes : ndarray of shape (n_sizes,)
        Memory of the N × N matrix in float64.
    seconds : ndarray of shape (n_sizes,)
        Time to make it and solve with it once, on this machine.
    """

    width: float
    penalty: float
    sizes: IntArray
    condition_numbers: FloatArray
    regularised: FloatArray
    megabytes: FloatArray
    seconds: FloatArray

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for each size."""
        import pandas as pd

        names = ("sizes", "condition_numbers", "regularised", "megabytes", "seconds")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def summary(self) -> str:
        """Return the ends of the table in words."""
        return (
            f"A Gaussian of width {self.width:.4g} on each of {self.sizes[0]} to "
            f"{self.sizes[-1]} points: condition number {self.condition_numbers[0]:.3g} to "
            f"{self.condition_numbers[-1]:.3g} ({self.regularised[-1]:.3g} with a penalty of "
            f"{self.penalty:.3g}), {self.megabytes[-1]:.3g} MB. Memory grows with N² and "
            "time with N³."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the condition numbers against the number of points."""
        from ._bases_pictures import draw_conditioning

        return draw_conditioning(self, axes_or_new(ax))


def kernel_conditioning(
    X: Any, width: float = 1.0, *, sizes: Any = None, penalty: float = 1e-6
) -> ConditioningResult:
    r"""Measure conditioning and cost of a Gaussian on every training point as N grows.

    .. math:: \Phi_{nm} = e^{-|x_n - x_m|^2 / (2 s^2)}, \qquad
              w = (\Phi + \lambda I)^{-1} y

    The more points, the more alike neighbouring columns are: without the penalty the solution
    is rounding. The basis follows the data, which fixed grids do not, yet its size is N and its
    shape knows nothing of y. A support vector machine keeps a subset of the points (and gives
    no probabilities, and takes two classes at a time); a network learns a fixed number of
    functions instead.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    width : float, default=1.0
        Width s of the Gaussians, over 0.
    sizes : sequence of int, default=None
        Numbers of points, the first rows each time. None doubles from 8 up to all, 1024 at most.
    penalty : float, default=1e-6
        What is added to the diagonal, λ.

    Returns
    -------
    ConditioningResult

    Raises
    ------
    ParameterError
        If a size is more than the number of rows.

    References
    ----------
    .. [1] R. Schaback, Error estimates and condition numbers for radial basis function
       interpolation, Adv. Comput. Math. 1995, https://doi.org/10.1007/BF02432002

    Examples
    --------
    >>> from lamina.inspection import kernel_conditioning
    >>> X = np.linspace(0, 1, 32)[:, None]
    >>> result = kernel_conditioning(X, 0.1, sizes=[4, 32])
    >>> bool(result.condition_numbers[1] > 1000 * result.condition_numbers[0])
    True
    """
    rows = matrix(X)
    s = check_real("width", width, 0.0, open_minimum=True)
    strength = check_real("penalty", penalty, 0.0)
    wanted = _doubling(len(rows)) if sizes is None else list(np.atleast_1d(sizes))
    counts = [check_integer(f"sizes[{i}]", n, 1) for i, n in enumerate(wanted)]
    if not counts or max(counts) > len(rows):
        raise ParameterError(f"sizes must be at most the {len(rows)} rows of X. Got {counts}.")
    plain, better, seconds = [], [], []
    for n in counts:
        start = time.perf_counter()
        design = KernelBasis(rows[:n], s)(rows[:n])
        np.linalg.solve(design + max(strength, 1e-12) * np.eye(n), np.ones(n))
        seconds.append(time.perf_counter() - start)
        values = np.linalg.eigvalsh(design)
        plain.append(_ratio(values, 0.0))
        better.append(_ratio(values, strength))
    N = np.array(counts)
    return ConditioningResult(
        width=s,
        penalty=strength,
        sizes=N,
        condition_numbers=np.array(plain),
        regularised=np.array(better),
        megabytes=8e-6 * N.astype(np.float64) ** 2,
        seconds=np.array(seconds),
    )


def _doubling(n_rows: int) -> list[int]:
    """Return 8, 16, … up to the number of rows, and to 1024."""
    last = min(n_rows, 1024)
    sizes = [8 * 2**i for i in range(8) if 8 * 2**i < last]
    return [*sizes, last]


def _ratio(values: FloatArray, strength: float) -> float:
    """Return the condition number of rising eigenvalues with a number on the diagonal."""
    rounding = len(values) * np.finfo(np.float64).eps * values[-1]
    least = values[0] if values[0] > rounding else 0.0
    least += strength
    return float((values[-1] + strength) / least) if least > 0 else float("inf")
