r"""Barron's rate: an error that falls like 1/N in any number of dimensions.

The target is :math:`g(x) = e^{-|x|^2 / 2} = \mathrm E \cos(\omega \cdot x)` with Gaussian ω, for
which :math:`C = \mathrm E |\omega|` is known. With :math:`u = x \cdot \omega / |\omega|` and
:math:`|x| \le r`

.. math:: \cos(|\omega| u) - 1 = -\int_0^r |\omega| \sin(|\omega| t)
          \left( 1[u > t] + 1[-u > t] \right) dt

so that g is an average of steps. Drawing them in proportion to the size of their weights makes
all sizes equal, :math:`V / N` with :math:`V \le 2 r C`, and the mean squared error :math:`V^2 / N`
at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_real, check_sizes
from lamina._errors import DataError
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network

from ._approximation_arrays import outputs
from ._axes import axes_or_new
from ._balls import GaussianRadius
from ._geometry_rows import generator

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_LEAST_RADIUS = 1e-3
"""In a smaller ball the function is flat, and hardly a drawn pair is kept."""


@dataclass(frozen=True, eq=False)
class BarronResult:
    """Squared errors of networks of drawn steps, by their width.

    Attributes
    ----------
    n_features : int
        Dimension d.
    radius : float
        Radius r of the ball.
    constant : float
        Barron's constant C of the target: the mean length of its frequencies.
    widths : ndarray of int of shape (n_widths,)
        Hidden units N.
    errors : ndarray of shape (n_widths,)
        Mean squared error over the ball, averaged over draws of the units.
    bounds : ndarray of shape (n_widths,)
        (2rC)² / N.
    slope : float
        Slope of ln(error) against ln(N) by least squares.
    fixed_basis_slope : float
        -2/d: the fastest that any basis fixed beforehand can promise for all functions of one
        constant C.
    """

    n_features: int
    radius: float
    constant: float
    widths: IntArray
    errors: FloatArray
    bounds: FloatArray
    slope: float
    fixed_basis_slope: float

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for each width."""
        import pandas as pd

        return pd.DataFrame({"width": self.widths, "error": self.errors, "bound": self.bounds})

    def summary(self) -> str:
        """Return the slope beside that of a fixed basis."""
        return (
            f"{self.n_features} dimensions: squared error like width^{self.slope:.2f}, "
            f"{float((self.bounds / self.errors).min()):.1f} times or more below the bound; a "
            f"basis fixed beforehand promises width^{self.fixed_basis_slope:.2f} at best."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw error and bound against the width, both on logarithmic axes."""
        from ._approximation_pictures import draw_barron

        return draw_barron(self, axes_or_new(ax))


def barron_network(
    n_features: int, n_units: int, radius: float = 1.0, *, random_state: int | None = None
) -> Network:
    r"""Draw a network of steps that approximates exp(-|x|²/2) in a ball.

    .. math:: f_N(x) = 1 - \frac VN \sum_{j=1}^N s_j \, 1[a_j \cdot x > t_j], \qquad
              |a_j| = 1, \quad s_j = \pm 1

    No weight is trained: each unit is drawn on its own.

    Parameters
    ----------
    n_features : int
        Dimension d.
    n_units : int
        Hidden units N.
    radius : float, default=1.0
        Radius r of the ball around the origin.
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    Network
        One hidden layer of steps, in float64.

    Raises
    ------
    ParameterError
        If a size or the radius cannot be used.

    See Also
    --------
    barron_rate : its error by the number of units

    Examples
    --------
    >>> from lamina.inspection import barron_network
    >>> net = barron_network(5, 4000, random_state=0)
    >>> round(float(net.predict_raw([[0.5, 0.0, 0.0, 0.0, 0.0]])[0, 0]), 1)
    0.9
    """
    d = check_integer("n_features", n_features, 1)
    n = check_integer("n_units", n_units, 1)
    r = check_real("radius", radius, _LEAST_RADIUS)
    return _drawn(d, n, r, generator(random_state))


def barron_rate(
    n_features: int,
    widths: Any = (16, 64, 256, 1024),
    *,
    radius: float = 1.0,
    n_points: int = 500,
    n_repeats: int = 20,
    random_state: int = 0,
) -> BarronResult:
    r"""Measure how the error of `barron_network` falls with its width.

    .. math:: \lVert f_N - g \rVert^2 \le \frac{(2 r C)^2}{N}, \qquad
              C = \int |\omega| \, |\hat g(\omega)| \, d\omega

    in the mean square over a ball of radius r, whatever the dimension [1]_. For the Gaussian
    C is the mean length of a Gaussian vector, about √d: the dimension enters there.

    Parameters
    ----------
    n_features : int
        Dimension d.
    widths : sequence of int, default=(16, 64, 256, 1024)
        Numbers of units, at least two different ones.
    radius : float, default=1.0
        Radius r of the ball.
    n_points : int, default=500
        Points drawn evenly in the ball for the mean square.
    n_repeats : int, default=20
        Networks drawn for each width.
    random_state : int, default=0
        Seed of units and points.

    Returns
    -------
    BarronResult

    Raises
    ------
    DataError
        If there are not two different widths.

    References
    ----------
    .. [1] A. Barron, Universal approximation bounds for superpositions of a sigmoidal function,
       IEEE Trans. Information Theory 1993, https://doi.org/10.1109/18.256500

    Examples
    --------
    >>> from lamina.inspection import barron_rate
    >>> result = barron_rate(10, (16, 256))
    >>> round(result.slope), bool((result.errors < result.bounds).all())
    (-1, True)
    """
    d = check_integer("n_features", n_features, 1)
    sizes = check_sizes("widths", widths)
    if len(set(sizes)) < 2:
        raise DataError(f"widths must hold at least two different numbers. Got {list(sizes)}.")
    r = check_real("radius", radius, _LEAST_RADIUS)
    repeats = check_integer("n_repeats", n_repeats, 1)
    rng = np.random.default_rng(check_integer("random_state", random_state, 0))
    points = _in_ball(check_integer("n_points", n_points, 1), d, r, rng)
    truth = np.exp(-0.5 * np.square(points).sum(axis=1))
    errors = np.array(
        [
            np.mean(
                [
                    np.mean(np.square(outputs(_drawn(d, n, r, rng), points) - truth))
                    for _ in range(repeats)
                ]
            )
            for n in sizes
        ]
    )
    constant = GaussianRadius(d).mean
    return BarronResult(
        n_features=d,
        radius=r,
        constant=constant,
        widths=np.array(sizes),
        errors=errors,
        bounds=(2 * r * constant) ** 2 / np.array(sizes),
        slope=float(np.polyfit(np.log(sizes), np.log(errors), 1)[0]),
        fixed_basis_slope=-2 / d,
    )


def _drawn(d: int, n: int, r: float, rng: np.random.Generator) -> Network:
    """Return a network of n steps, each drawn in proportion to the size of its weight."""
    length, threshold = _frequencies(d, n, r, rng)
    direction = rng.standard_normal((n, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    signs = np.sign(np.sin(length * threshold))
    weights = -_total_weight(d, r) / n * signs
    return Network.from_arrays([(direction, -threshold), (weights[None], np.ones(1))], "step")


def _frequencies(
    d: int, n: int, r: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw n lengths ρ and thresholds t with a density like χ_d(ρ) ρ |sin(ρt)|, by rejection.

    ρ χ_d(ρ) is, up to a factor, the density of the length in one dimension more.
    """
    kept: list[FloatArray] = []
    while sum(len(pairs) for pairs in kept) < n:
        rho = np.sqrt(rng.chisquare(d + 1, 2 * n + 16))
        t = rng.uniform(0.0, r, rho.size)
        accepted = rng.random(rho.size) < np.abs(np.sin(rho * t))
        kept.append(np.column_stack([rho, t])[accepted])
    rho, t = np.concatenate(kept)[:n].T
    return rho, t


def _total_weight(d: int, r: float) -> float:
    """Return V = 2 E ∫₀ʳ ρ |sin(ρt)| dt over the length ρ of a Gaussian vector, at most 2rC."""
    law = GaussianRadius(d)
    rho = np.linspace(max(0.0, law.mean - 12), law.mean + 12, 20_001)
    half_turns, rest = np.divmod(rho * r, math.pi)
    inner = 2 * half_turns + 1 - np.cos(rest)  # the integral of |sin| from 0 to ρr
    return float(2 * np.trapezoid(np.exp(law.log_pdf(rho)) * inner, rho))


def _in_ball(n: int, d: int, r: float, rng: np.random.Generator) -> FloatArray:
    """Return points (n, d), even in the ball of radius r."""
    points = rng.standard_normal((n, d))
    points *= (r * rng.random(n) ** (1 / d) / np.linalg.norm(points, axis=1))[:, None]
    return points
