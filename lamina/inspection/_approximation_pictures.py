"""Pictures of interpolating networks, their errors, ridges, and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ._approximation_arrays import outputs
from ._axes import BLACK, BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._approximation_barron import BarronResult
    from ._approximation_interpolant import InterpolantErrorsResult, InterpolantResult
    from ._approximation_polynomial import PolynomialExceptionResult
    from ._approximation_ridges import RidgesResult


def draw_interpolant(found: InterpolantResult, ax: Axes) -> Axes:
    """Draw function, network and knots; of several features, predictions against the truth."""
    n_units = found.network.sizes[-2]
    if found.points.shape[1] == 1:
        some = found.points[:: max(1, len(found.points) // 2000)]
        truth = found.truth[:: max(1, len(found.points) // 2000)]
        ax.plot(some[:, 0], truth, color=GREY, linewidth=2.0, label="function")
        ax.plot(some[:, 0], outputs(found.network, some), color=BLUE, label="ReLU network")
        ax.plot(found.knots[:, 0], found.values, "o", color=ORANGE, label="knots")
        ax.set_xlabel("x")
        ax.set_ylabel("value")
    else:
        got = outputs(found.network, found.points)
        ax.plot(found.truth, got, ".", color=BLUE, markersize=2, label="points")
        ends = [found.truth.min(), found.truth.max()]
        ax.plot(ends, ends, color=BLACK, linewidth=1.0, label="network = function")
        ax.set_xlabel("function")
        ax.set_ylabel("network")
    ax.set_title(f"{n_units} units: largest error {found.max_error:.3g}")
    ax.legend(loc="upper right")
    return ax


def draw_errors(found: InterpolantErrorsResult, ax: Axes) -> Axes:
    """Draw error and bound against the width, both on logarithmic axes."""
    ax.plot(found.widths, found.errors, "o-", color=BLUE, label="largest error")
    if found.bounds is not None:
        ax.plot(found.widths, found.bounds, "--", color=GREY, label="bound")
    return _logarithmic(ax, f"slope {found.slope:.3f}", "largest error")


def draw_barron(found: BarronResult, ax: Axes) -> Axes:
    """Draw squared error and bound against the width, both on logarithmic axes."""
    ax.plot(found.widths, found.errors, "o-", color=BLUE, label="drawn steps")
    ax.plot(found.widths, found.bounds, "--", color=GREY, label="bound (2rC)²/N")
    return _logarithmic(
        ax, f"{found.n_features} dimensions: slope {found.slope:.2f}", "mean squared error"
    )


def draw_exception(found: PolynomialExceptionResult, ax: Axes) -> Axes:
    """Draw the errors of polynomial and tanh units against the width, and the floor."""
    name = f"degree {found.degree}"
    ax.plot(found.widths, found.errors, "o-", color=ORANGE, label=f"activation of {name}")
    ax.plot(found.widths, found.tanh_errors, "s-", color=BLUE, label="tanh")
    ax.axhline(found.polynomial_error, color=GREY, linestyle="--", label=f"best of {name}")
    return _logarithmic(ax, "Polynomial units stop", "error (RMS)", "lower left")


def draw_ridges(found: RidgesResult, output: int, ax: Axes) -> Axes:
    """Draw each unit's change of slope, or weight times steepness, at its offset."""
    if found.slope_changes is None:
        height, name = found.weights[output] * found.steepness, "weight × steepness"
    else:
        height, name = found.slope_changes[output], "change of slope"
    varies = np.isfinite(found.offsets)
    offsets, height = found.offsets[varies], height[varies]
    ax.vlines(offsets, 0, height, color=GREY, linewidth=1.0)
    ax.plot(offsets, height, "o", color=BLUE, label=found.activation)
    ax.axhline(0, color=BLACK, linewidth=0.8)
    ax.set_xlabel("offset along the unit's direction")
    ax.set_ylabel(name)
    ax.legend(loc="upper right")
    return ax


def _logarithmic(
    ax: Axes, title: str, y: str, legend: Literal["upper right", "lower left"] = "upper right"
) -> Axes:
    """Finish a picture of errors against widths."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_title(title)
    ax.set_xlabel("hidden units")
    ax.set_ylabel(y)
    ax.legend(loc=legend)
    return ax
