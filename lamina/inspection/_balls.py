r"""Balls, spheres and Gaussian vectors in many dimensions, in logarithms that never overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._errors import DataError
from lamina._typing import FloatArray

from ._arrays import numbers
from ._axes import axes_or_new
from ._geometry_rows import generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SERIES_FROM = 1000
"""Dimension from which the series in 1/D is exact to rounding, and the difference is not."""


def log_ball_volume(n_features: int, radius: float = 1.0) -> float:
    r"""Compute the natural logarithm of the volume of a ball.

    .. math:: V_D(r) = K_D r^D, \qquad K_D = \frac{\pi^{D/2}}{\Gamma(D/2 + 1)}

    Parameters
    ----------
    n_features : int
        Dimension D of the space.
    radius : float, default=1.0
        Radius r, over 0.

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the dimension is below 1 or the radius not over 0.

    References
    ----------
    .. [1] NIST Digital Library of Mathematical Functions, 5.19(iii),
       https://dlmf.nist.gov/5.19#iii

    Examples
    --------
    >>> import math
    >>> from lamina.inspection import log_ball_volume
    >>> round(math.exp(log_ball_volume(3)), 4)  # 4π/3
    4.1888
    >>> round(log_ball_volume(784) / math.log(10))  # about 10 to the power of
    -653
    """
    D = check_integer("n_features", n_features, 1)
    r = check_real("radius", radius, 0.0, open_minimum=True)
    unit = D / 2 * math.log(math.pi) - math.lgamma(D / 2 + 1)
    return unit + D * math.log(r)


def log_sphere_area(n_features: int, radius: float = 1.0) -> float:
    r"""Compute the natural logarithm of the surface of a ball.

    .. math:: S_D(r) = \frac{2 \pi^{D/2}}{\Gamma(D/2)} r^{D-1}

    Parameters
    ----------
    n_features : int
        Dimension D of the space around the sphere.
    radius : float, default=1.0
        Radius r, over 0.

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the dimension is below 1 or the radius not over 0.

    References
    ----------
    .. [1] NIST Digital Library of Mathematical Functions, 5.19(iii),
       https://dlmf.nist.gov/5.19#iii

    Examples
    --------
    >>> import math
    >>> from lamina.inspection import log_sphere_area
    >>> round(math.exp(log_sphere_area(2)), 4), round(math.exp(log_sphere_area(3, 2.0)), 4)
    (6.2832, 50.2655)
    """
    D = check_integer("n_features", n_features, 1)
    r = check_real("radius", radius, 0.0, open_minimum=True)
    unit = math.log(2) + D / 2 * math.log(math.pi) - math.lgamma(D / 2)
    return unit + (D - 1) * math.log(r)


def shell_fraction(n_features: int, thickness: float) -> float:
    r"""Compute which share of a ball lies in its outermost shell.

    .. math:: \frac{V_D(1) - V_D(1 - \varepsilon)}{V_D(1)} = 1 - (1 - \varepsilon)^D

    Parameters
    ----------
    n_features : int
        Dimension D of the space.
    thickness : float
        Thickness ε of the shell as a share of the radius, from 0 to 1.

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the dimension is below 1 or the thickness not between 0 and 1.

    References
    ----------
    .. [1] C. Bishop, Pattern Recognition and Machine Learning, section 1.4,
       https://www.microsoft.com/en-us/research/people/cmbishop/prml-book/

    Examples
    --------
    >>> from lamina.inspection import shell_fraction
    >>> [round(shell_fraction(D, 0.05), 4) for D in (1, 2, 10, 100)]
    [0.05, 0.0975, 0.4013, 0.9941]
    """
    D = check_integer("n_features", n_features, 1)
    eps = check_real("thickness", thickness, 0.0, 1.0)
    return 1.0 if eps == 1.0 else -math.expm1(D * math.log1p(-eps))


@dataclass(frozen=True)
class GaussianRadius:
    r"""The length of a standard Gaussian vector: a thin shell in many dimensions.

    .. math:: \ln p(r) = (D - 1) \ln r - \frac{r^2}{2} - \left(\frac D2 - 1\right) \ln 2
              - \ln \Gamma\left(\frac D2\right)

    The density of a point is highest at the origin, and hardly any point is near it: the volume
    at radius r grows like :math:`r^{D-1}`. Most lengths are within 0.7 or so of √(D − 1).

    Parameters
    ----------
    n_features : int
        Dimension D of the space.

    Raises
    ------
    ParameterError
        If the dimension is below 1.

    References
    ----------
    .. [1] N. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions 1, chapter
       18 (chi distribution), https://search.worldcat.org/title/29428092

    Examples
    --------
    >>> from lamina.inspection import GaussianRadius
    >>> radius = GaussianRadius(784)
    >>> round(radius.mode, 3), round(radius.mean, 3), round(radius.std, 3)
    (27.982, 27.991, 0.707)
    >>> round(radius.log10_density_ratio)
    170
    """

    n_features: int

    def __post_init__(self) -> None:
        check_integer("n_features", self.n_features, 1)

    @property
    def mode(self) -> float:
        """The most probable length √(D - 1)."""
        return math.sqrt(self.n_features - 1)

    @property
    def mean(self) -> float:
        """The mean length √2 Γ((D + 1)/2) / Γ(D/2)."""
        D = self.n_features
        if D >= _SERIES_FROM:
            return math.sqrt(D) * (1 - self._shortfall)
        return math.sqrt(2) * math.exp(math.lgamma((D + 1) / 2) - math.lgamma(D / 2))

    @property
    def std(self) -> float:
        """The standard deviation of the length, near 1/√2 in many dimensions."""
        D = self.n_features
        if D >= _SERIES_FROM:  # D - mean² without the difference of two near numbers
            return math.sqrt(D * self._shortfall * (2 - self._shortfall))
        return math.sqrt(D - self.mean**2)

    @property
    def _shortfall(self) -> float:
        """Return 1 - mean/√D by its series in 1/D."""
        q = 1 / self.n_features
        return q * (1 / 4 - q * (1 / 32 + q * (5 / 128 - q * 21 / 2048)))

    @property
    def log10_density_ratio(self) -> float:
        """Power of ten of the density at the origin over that at the most probable length."""
        return (self.n_features - 1) / 2 / math.log(10)

    def log_pdf(self, radius: Any) -> FloatArray:
        """Return the natural logarithm of the density of lengths, an array of their shape."""
        from scipy.special import xlogy  # slow to import, and only needed here

        r = numbers("radius", radius)
        if (r < 0).any():
            raise DataError(f"radius must not be negative. Got {r.min():g}.")
        D = self.n_features
        constant = (D / 2 - 1) * math.log(2) + math.lgamma(D / 2)
        with np.errstate(over="ignore"):  # far out the density is 0
            result: FloatArray = xlogy(D - 1, r) - r * r / 2 - constant
        return result

    def cdf(self, radius: Any) -> FloatArray:
        """Return the probability of at most each length, an array of their shape."""
        from scipy.special import gammainc

        r = np.maximum(numbers("radius", radius), 0.0)
        with np.errstate(over="ignore"):
            result: FloatArray = gammainc(self.n_features / 2, r * r / 2)
        return result

    def sample(self, n_samples: int, *, random_state: int | None = None) -> FloatArray:
        """Return lengths (n_samples,) of Gaussian vectors that are drawn, block by block."""
        n = check_integer("n_samples", n_samples, 1)
        rng, lengths = generator(random_state), np.empty(n)
        step = max(1, 2**21 // self.n_features)
        for start in range(0, n, step):
            stop = min(start + step, n)
            vectors = rng.standard_normal((stop - start, self.n_features))
            lengths[start:stop] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        return lengths

    def summary(self) -> str:
        """Return where the lengths are and how much denser the origin is."""
        return (
            f"A standard Gaussian vector in {self.n_features:,} dimensions has length "
            f"{self.mean:.3f} ± {self.std:.3f}, most probably {self.mode:.3f}. At the origin a "
            f"point is 10^{self.log10_density_ratio:.1f} times as dense, and almost none is there."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the density of the length over five standard deviations around its mean."""
        from ._geometry_pictures import draw_radii

        return draw_radii([self], axes_or_new(ax))
