"""The exception in the theorem of universal approximation: activations that are polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_sizes
from lamina._errors import DataError
from lamina._typing import FloatArray, IntArray

from ._approximation_arrays import Function, check_interval, values_of
from ._axes import axes_or_new

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PolynomialExceptionResult:
    """What width is worth with a polynomial activation, and with tanh.

    Attributes
    ----------
    degree : int
        Degree p of the activation.
    widths : ndarray of int of shape (n_widths,)
        Hidden units.
    ranks, tanh_ranks : ndarray of int of shape (n_widths,)
        Independent functions among the units and the constant.
    errors, tanh_errors : ndarray of shape (n_widths,)
        Root mean squared error of the best outgoing weights.
    polynomial_error : float
        That of the best polynomial of degree p: what no width can beat.
    """

    degree: int
    widths: IntArray
    ranks: IntArray
    tanh_ranks: IntArray
    errors: FloatArray
    tanh_errors: FloatArray
    polynomial_error: float

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for each width."""
        import pandas as pd

        names = ("widths", "ranks", "errors", "tanh_ranks", "tanh_errors")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def summary(self) -> str:
        """Return in words where the width stops to help."""
        return (
            f"With an activation of degree {self.degree}, {self.widths[-1]} units span "
            f"{self.ranks[-1]} functions, the polynomials of degree up to {self.degree}: error "
            f"{self.errors[-1]:.4g}, and no width beats {self.polynomial_error:.4g}. As many tanh "
            f"units reach {self.tanh_errors[-1]:.4g}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the errors of both against the width, and the floor."""
        from ._approximation_pictures import draw_exception

        return draw_exception(self, axes_or_new(ax))


def polynomial_exception(
    function: Function,
    degree: int = 3,
    widths: Any = (1, 2, 4, 8, 16, 32),
    interval: tuple[float, float] = (-1.0, 1.0),
    *,
    n_points: int = 400,
    random_state: int = 0,
) -> PolynomialExceptionResult:
    r"""Show that units with a polynomial activation make polynomials and nothing else.

    With :math:`\sigma(a) = a^p` every hidden unit :math:`(w x + b)^p` is a polynomial of degree
    p at most, so is every sum of units, and the errors stop at the best polynomial. Leshno and
    others proved that this is the only exception: one hidden layer of enough units approximates
    every continuous function on a compact set as well as wished exactly if σ, continuous, is no
    polynomial [1]_.

    Hidden weights are drawn, the same for both activations and every width, and the outgoing
    ones are the best by least squares.

    Parameters
    ----------
    function : callable
        The target, of an array of numbers of shape (N,).
    degree : int, default=3
        Degree p.
    widths : int or sequence of int, default=(1, 2, 4, 8, 16, 32)
        Numbers of hidden units.
    interval : (float, float), default=(-1.0, 1.0)
        Interval of the inputs.
    n_points : int, default=400
        Even grid on which functions are compared.
    random_state : int, default=0
        Seed of the hidden weights.

    Returns
    -------
    PolynomialExceptionResult

    Raises
    ------
    ParameterError
        If a size or the interval cannot be used.

    Notes
    -----
    The theorem says that weights exist: not how many units are needed, nor that training finds
    them, nor that the fit holds between or beyond the data. Polynomials, splines and kernels
    approximate everything too; in the worst case an error ε of functions with s derivatives
    takes about :math:`\varepsilon^{-D/s}` parameters by any of these methods.

    References
    ----------
    .. [1] M. Leshno, V. Lin, A. Pinkus, S. Schocken, Multilayer feedforward networks with a
       nonpolynomial activation function can approximate any function, Neural Networks 1993,
       https://doi.org/10.1016/S0893-6080(05)80131-5
    .. [2] G. Cybenko, Approximation by superpositions of a sigmoidal function, Math. Control
       Signals Systems 1989, https://doi.org/10.1007/BF02551274
    .. [3] K. Hornik, M. Stinchcombe, H. White, Multilayer feedforward networks are universal
       approximators, Neural Networks 1989, https://doi.org/10.1016/0893-6080(89)90020-8

    Examples
    --------
    >>> from lamina.inspection import polynomial_exception
    >>> result = polynomial_exception(lambda x: np.sin(8 * x), degree=2)
    >>> result.ranks.tolist()
    [2, 3, 3, 3, 3, 3]
    """
    p = check_integer("degree", degree, 1)
    sizes = check_sizes("widths", widths)
    if not sizes:
        raise DataError("widths must hold at least one number. Got none.")
    low, high = check_interval("interval", interval)
    x = np.linspace(low, high, check_integer("n_points", n_points, 2))
    target = values_of(function, x)
    inside = (2 * x - low - high) / (high - low)  # to [-1, 1], where powers stay of size 1
    rng = np.random.default_rng(check_integer("random_state", random_state, 0))
    w, middle = rng.uniform(1.0, 8.0, max(sizes)), rng.uniform(-1.0, 1.0, max(sizes))
    before = w * (inside[:, None] - middle)  # (N, widest)
    power, squashed = (before / np.abs(before).max(axis=0)) ** p, np.tanh(before)
    of_power = [_fit(power[:, :n], target) for n in sizes]
    of_tanh = [_fit(squashed[:, :n], target) for n in sizes]
    powers = np.polynomial.chebyshev.chebvander(inside, p)[:, 1:]
    return PolynomialExceptionResult(
        degree=p,
        widths=np.array(sizes),
        ranks=np.array([rank for rank, _ in of_power]),
        tanh_ranks=np.array([rank for rank, _ in of_tanh]),
        errors=np.array([error for _, error in of_power]),
        tanh_errors=np.array([error for _, error in of_tanh]),
        polynomial_error=_fit(powers, target)[1],
    )


def _fit(features: FloatArray, target: FloatArray) -> tuple[int, float]:
    """Return how many functions are independent, and the error of their best sum."""
    design = np.column_stack([np.ones(len(target)), features])
    weights, _, rank, _ = np.linalg.lstsq(design, target, rcond=1e-12)
    residual = design @ weights - target
    return int(rank), float(np.sqrt(np.mean(residual**2)))
