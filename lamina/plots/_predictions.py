"""Predicted against measured values, and what is left over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import DataError
from lamina._typing import FloatArray

from ._style import TRUTH, axes_or_new, colour, margins, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_predictions(
    y: Any, predicted: Any, *, name: str = "target", unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draw predicted against measured values, with the line on which they are equal.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        What was measured and what the model says, in the same unit.
    name : str, default="target"
        What was measured.
    unit : str, default=""
        Its unit.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; its title has the root mean squared error.

    Examples
    --------
    >>> from lamina.plots import plot_predictions
    >>> plot_predictions([1, 2, 3], [1, 2, 5], unit="MPa").get_title()
    'RMSE 1.15 MPa'
    """
    measured, guessed = _check_pair(y, predicted)
    with style():
        ax = axes_or_new(ax)
        limits = margins(np.concatenate([measured, guessed]))
        ax.plot(limits, limits, color=TRUTH, linewidth=1.0, label="predicted = measured")
        ax.plot(measured, guessed, **_points(len(measured)))
        ax.set_xlim(limits)
        ax.set_ylim(limits)
        ax.set_aspect("equal", adjustable="box")
        rmse = float(np.sqrt(np.mean((measured - guessed) ** 2)))
        ax.set_title(f"RMSE {rmse:.3g} {unit}".rstrip())
        ax.set_xlabel(_label(f"measured {name}", unit))
        ax.set_ylabel(_label(f"predicted {name}", unit))
        ax.legend(loc="upper left")
    return ax


def plot_residuals(
    y: Any, predicted: Any, *, name: str = "target", unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draw measured minus predicted against the predicted values.

    A cloud that is level and as wide everywhere is what a good fit leaves; a bend or a funnel
    shows what the model has not learned.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        What was measured and what the model says, in the same unit.
    name : str, default="target"
        What was measured.
    unit : str, default=""
        Its unit.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from lamina.plots import plot_residuals
    >>> plot_residuals([1, 2, 3], [1, 2, 5], unit="MPa").get_ylabel()
    'measured − predicted (MPa)'
    """
    measured, guessed = _check_pair(y, predicted)
    with style():
        ax = axes_or_new(ax)
        ax.axhline(0.0, color=TRUTH, linewidth=1.0)
        ax.plot(guessed, measured - guessed, **_points(len(measured)))
        ax.set_title(f"mean residual {np.mean(measured - guessed):+.2g} {unit}".rstrip())
        ax.set_xlabel(_label(f"predicted {name}", unit))
        ax.set_ylabel(_label("measured − predicted", unit))
    return ax


def _check_pair(y: Any, predicted: Any) -> tuple[FloatArray, FloatArray]:
    """Return two arrays of numbers of one length."""
    measured = np.asarray(y, dtype=np.float64)
    guessed = np.asarray(predicted, dtype=np.float64)
    if measured.ndim != 1 or measured.shape != guessed.shape or not measured.size:
        raise DataError(
            "y and predicted must be one-dimensional and of one length of at least 1. "
            f"Got shapes {measured.shape} and {guessed.shape}."
        )
    return measured, guessed


def _points(n_samples: int) -> dict[str, Any]:
    """Return how points are drawn; the more there are, the fainter."""
    return {
        "linestyle": "none",
        "marker": "o",
        "markersize": 4 if n_samples < 2000 else 2,
        "markeredgewidth": 0,
        "color": colour(0),
        "alpha": float(np.clip(15 / np.sqrt(n_samples), 0.15, 0.8)),
        "label": "a row",
    }


def _label(what: str, unit: str) -> str:
    """Return an axis label with the unit in brackets."""
    return f"{what} ({unit})" if unit else what
