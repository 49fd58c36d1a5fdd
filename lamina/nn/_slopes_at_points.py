"""Derivatives of activations as numbers: a table, and central differences to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from lamina._checks import check_real

from ._activation import Activation
from ._activations import ACTIVATIONS, get_activation
from ._arrays import numeric_array

if TYPE_CHECKING:
    import pandas as pd


def derivative_table(
    points: Sequence[float] = (-5.0, -1.0, 0.5, 1.0, 5.0),
    activations: Sequence[str | Activation] | None = None,
) -> pd.DataFrame:
    """Tabulate exact derivatives at a few points, to see where a function saturates.

    Parameters
    ----------
    points : sequence of float, default=(-5, -1, 0.5, 1, 5)
        Pre-activations.
    activations : sequence of (str or Activation), optional
        Which; by default all of :data:`ACTIVATIONS`.

    Returns
    -------
    DataFrame
        A row for each activation, indexed by its name, and a column for each point.

    Raises
    ------
    DataError
        If ``points`` are not numbers.
    ParameterError
        If there is no such activation.

    Examples
    --------
    >>> print(derivative_table([-5, 0.5, 5], ["logistic", "relu", "silu"]).round(4))
                  -5.0    0.5     5.0
    activation
    sigmoid     0.0066  0.235  0.0066
    relu        0.0000  1.000  1.0000
    silu       -0.0265  0.740  1.0265
    """
    a = torch.from_numpy(numeric_array("points", points).astype(np.float64).reshape(-1))
    chosen = [get_activation(spec) for spec in activations or ACTIVATIONS]
    import pandas as pd

    table = pd.DataFrame([f.derivative(a).numpy() for f in chosen], columns=a.tolist())
    table.index = pd.Index([f.spec for f in chosen], name="activation")
    return table


def central_difference(activation: str | Activation, a: Tensor, step: float = 1e-5) -> Tensor:
    r"""Approximate a derivative from two values of the function.

    .. math:: f'(a) \approx \frac{f(a + \epsilon) - f(a - \epsilon)}{2 \epsilon}

    Meant as a check of :meth:`Activation.derivative`. In ``float64`` the error is near
    :math:`10^{-9}`. In ``float32`` it is useless where a function saturates or grows: with a
    step of .001, the rounding of a value near 5 alone makes noise of 2e-4. Within a step of a
    kink it mixes the slopes of both sides.

    Parameters
    ----------
    activation : str or Activation
        The function.
    a : Tensor of any shape
        Where.
    step : float, default=1e-5
        The distance :math:`\epsilon > 0`.

    Returns
    -------
    Tensor of the shape of ``a``
        The approximate derivative.

    Raises
    ------
    ParameterError
        If there is no such activation, or the step is not positive.

    Examples
    --------
    >>> a = torch.tensor([-1.0, 5.0], dtype=torch.float64)
    >>> central_difference("gelu", a)
    tensor([-0.0833,  1.0000], dtype=torch.float64)
    """
    step = check_real("step", step, 0.0, open_minimum=True)
    f = get_activation(activation)
    return (f(a + step) - f(a - step)) / (2.0 * step)
