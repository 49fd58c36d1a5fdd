"""All activation functions beside their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from lamina._checks import check_integer
from lamina._errors import ParameterError
from lamina.nn import ACTIVATIONS, Activation, get_activation

from ._style import colour, line, panels, style


def plot_activations(
    activations: Sequence[str | Activation] | None = None,
    *,
    bounds: tuple[float, float] = (-4.0, 4.0),
    resolution: int = 401,
) -> Any:
    """Draw activation functions on the left and their derivatives on the right.

    Parameters
    ----------
    activations : sequence of str or Activation, default=None
        Which ones. None draws all.
    bounds : tuple of float, default=(-4.0, 4.0)
        Range of the pre-activation.
    resolution : int, default=401
        Points of each curve.

    Returns
    -------
    ndarray of Axes of shape (2,)
        The functions and the derivatives, on one vertical scale.

    Examples
    --------
    >>> from lamina.plots import plot_activations
    >>> functions, derivatives = plot_activations(["relu", "tanh"])
    >>> [curve.get_label() for curve in functions.lines]
    ['relu', 'tanh']
    """
    check_integer("resolution", resolution, 2)
    low, high = bounds
    if not low < high:
        raise ParameterError(f"bounds must be two growing numbers. Got {bounds!r}.")
    chosen = [get_activation(spec) for spec in (activations or list(ACTIVATIONS))]
    a = torch.linspace(low, high, resolution, dtype=torch.float64)
    axes = panels(1, 2, size=(4.6, 4.2))[0]
    with style():
        for i, activation in enumerate(chosen):
            slope = _first_slope(activation)
            curves = (activation.forward(a, slope), activation.derivative(a, slope))
            for ax, curve in zip(axes, curves, strict=True):
                ax.plot(a.numpy(), curve.numpy(), line(i), color=colour(i), label=activation.spec)
        _label(axes)
    return axes


def _first_slope(activation: Activation) -> torch.Tensor | None:
    """Return the slope that a learned activation starts with."""
    if not activation.learned:
        return None
    return torch.tensor(getattr(activation, "init"), dtype=torch.float64)  # noqa: B009


def _label(axes: Any) -> None:
    """Name both panels and put one legend below them."""
    functions, derivatives = axes
    functions.set_title("activation")
    derivatives.set_title("derivative")
    functions.set_ylabel("f(a)")
    derivatives.set_ylabel("f′(a)")
    for ax in axes:
        ax.set_xlabel("pre-activation a")
        ax.set_ylim(-1.5, 2.5)
    handles, labels = functions.get_legend_handles_labels()
    rows = int(np.ceil(len(labels) / 7))
    functions.figure.legend(
        handles, labels, loc="outside lower center", ncols=int(np.ceil(len(labels) / rows))
    )
