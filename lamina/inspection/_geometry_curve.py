"""A curve of data, such as one image turned through many angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import FloatArray

from ._axes import axes_or_new
from ._geometry_components import ComponentsResult, principal_components
from ._geometry_rows import centred, matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CurveResult:
    """How long a curve of data is, how it bends, and how far other data are.

    Attributes
    ----------
    n_points : int
        Points of the curve.
    mean_step : float
        Mean distance between neighbours, in units of the data.
    length : float
        Sum of the steps.
    ends : float
        Straight distance between first and last point.
    nearest_other : float or None
        Distance from the chosen point to the nearest of the other rows; None without any.
    components : ComponentsResult
        How many straight directions the curve takes.
    plane : ndarray of shape (n_points, 2)
        The curve in its first two principal components.
    """

    n_points: int
    mean_step: float
    length: float
    ends: float
    nearest_other: float | None
    components: ComponentsResult
    plane: FloatArray

    def summary(self) -> str:
        """Return the distances and how many directions one parameter takes."""
        other = ""
        if self.nearest_other is not None:
            other = f" The nearest other row is {self.nearest_other:.4g} away."
        counts = ", ".join(
            f"{count} for {share:.4g}" for share, count in self.components.counts.items()
        )
        return (
            f"Curve of {self.n_points} points: mean step {self.mean_step:.4g}, length "
            f"{self.length:.4g}, ends {self.ends:.4g} apart.{other} One parameter, but the curve "
            f"bends: it takes {counts} of the variance in straight components."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve in its first two principal components, a shadow of its shape."""
        from ._geometry_pictures import draw_curve

        return draw_curve(self, axes_or_new(ax))


def curve_geometry(
    curve: Any,
    others: Any = None,
    *,
    origin: int | None = None,
    shares: tuple[float, ...] = (0.9, 0.99),
) -> CurveResult:
    r"""Measure a curve of data: its steps, its ends, and the directions it takes.

    .. math:: \text{step} = \frac{1}{N - 1} \sum_{n > 1} |x_n - x_{n - 1}|

    Parameters
    ----------
    curve : array-like of shape (n_points, n_features)
        Points in the order of the one parameter, at least two.
    others : array-like of shape (n_others, n_features), default=None
        Other data. Rows that equal the chosen point are left out.
    origin : int, default=None
        Row of the curve that is compared with the others; None takes the middle one.
    shares : tuple of float, default=(0.9, 0.99)
        Shares of the variance to count components for.

    Returns
    -------
    CurveResult

    Raises
    ------
    DataError
        If the shapes do not fit together.

    Examples
    --------
    >>> from lamina.inspection import curve_geometry
    >>> angle = np.linspace(0, np.pi, 181)
    >>> result = curve_geometry(np.column_stack([np.cos(angle), np.sin(angle)]))
    >>> round(result.length, 3), round(result.ends, 3), result.components.counts[0.99]
    (3.142, 2.0, 2)
    """
    points = matrix(curve, 2, name="curve")
    chosen = len(points) // 2 if origin is None else origin
    chosen = check_integer("origin", chosen, 0, len(points) - 1)
    together = points if others is None else np.concatenate([points, _others(others, points)])
    scaled, scale = centred(together)
    line, rest = scaled[: len(points)], scaled[len(points) :]
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    away = np.linalg.norm(rest - line[chosen], axis=1)
    away = away[away > 0]
    with np.errstate(over="ignore"):
        return CurveResult(
            n_points=len(points),
            mean_step=float(steps.mean() * scale),
            length=float(steps.sum() * scale),
            ends=float(np.linalg.norm(line[-1] - line[0]) * scale),
            nearest_other=float(away.min() * scale) if away.size else None,
            components=principal_components(points, shares),
            plane=_plane(line - line.mean(axis=0)) * scale,
        )


def _others(others: Any, points: FloatArray) -> FloatArray:
    """Return other rows, of as many columns as the curve."""
    rows = matrix(others, name="others")
    if rows.shape[1] != points.shape[1]:
        raise DataError(
            f"others must have {points.shape[1]} columns, as curve. Got {rows.shape[1]}."
        )
    return rows


def _plane(middle: FloatArray) -> FloatArray:
    """Return coordinates (N, 2) along the first two components, the first point's positive."""
    U, s, _ = np.linalg.svd(middle, full_matrices=False)
    plane = np.zeros((len(middle), 2))
    n = min(2, len(s))
    plane[:, :n] = U[:, :n] * s[:n]
    plane *= np.where(plane[0] < 0, -1.0, 1.0)  # the sign of a component is arbitrary
    return plane
