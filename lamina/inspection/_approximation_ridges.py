"""A network with one hidden layer, seen as a sum of ridge functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lamina._errors import ParameterError
from lamina._typing import FloatArray
from lamina.nn import Activation

from ._arrays import lengths
from ._as_network import as_network
from ._axes import axes_or_new

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RidgesResult:
    """The ridge function of each hidden unit.

    Attributes
    ----------
    activation : str
        The activation of the hidden layer.
    directions : ndarray of shape (n_units, n_features)
        Unit vectors along which the units vary; zeros where a unit is constant.
    steepness : ndarray of shape (n_units,)
        Length of each unit's weights.
    offsets : ndarray of shape (n_units,)
        Where along its direction a unit's pre-activation is 0: its kink, bend or middle. NaN
        where a unit is constant.
    weights : ndarray of shape (n_outputs, n_units)
        Outgoing weights.
    slope_changes : ndarray of shape (n_outputs, n_units) or None
        How much the slope of the output along the direction changes across the kink, for
        activations with one kink at 0; None for others.
    bias : ndarray of shape (n_outputs,)
        What the output starts from.
    """

    activation: str
    directions: FloatArray
    steepness: FloatArray
    offsets: FloatArray
    weights: FloatArray
    slope_changes: FloatArray | None
    bias: FloatArray

    def to_dataframe(self, output: int = 0) -> pd.DataFrame:
        """Return a table with a row for each unit, for one output."""
        import pandas as pd

        table = pd.DataFrame(
            self.directions, columns=[f"direction_{i}" for i in range(self.directions.shape[1])]
        )
        table["offset"] = self.offsets
        table["steepness"] = self.steepness
        table["weight"] = self.weights[output]
        if self.slope_changes is not None:
            table["slope_change"] = self.slope_changes[output]
        return table

    def summary(self) -> str:
        """Return the number of ridges and the largest one."""
        n_units, n_features = self.directions.shape
        constant = int((self.steepness == 0).sum())
        told = f", {constant} of them constant" if constant else ""
        size = np.abs(self.weights) * self.steepness
        unit = int(size.max(axis=0).argmax())
        text = f"Sum of {n_units} ridge functions ({self.activation}) of {n_features} inputs{told}"
        if constant == n_units:
            return f"{text}."
        return (
            f"{text}; the largest is unit {unit}, bending at {self.offsets[unit]:.4g} along its "
            "direction."
        )

    def plot(self, ax: Axes | None = None, *, output: int = 0) -> Axes:
        """Draw each unit's change of slope, or weight times steepness, at its offset."""
        from ._approximation_pictures import draw_ridges

        return draw_ridges(self, output, axes_or_new(ax))


def ridges(net: Any) -> RidgesResult:
    r"""Take a network with one hidden layer apart into its ridge functions.

    .. math:: f(x) = c + \sum_j v_j \, \sigma(|w_j| (u_j \cdot x - o_j)), \qquad
              u_j = w_j / |w_j|, \quad o_j = -b_j / |w_j|

    Each term varies along one direction and is constant across it. A ReLU unit is a hinge: the
    slope along :math:`u_j` changes by :math:`v_j |w_j|` at :math:`u_j \cdot x = o_j`.

    Parameters
    ----------
    net : Network or torch.nn.Module
        Anything with one hidden layer that `lamina.nn.Network.from_torch` reads.

    Returns
    -------
    RidgesResult

    Raises
    ------
    ParameterError
        If the network does not have one hidden layer and raw outputs.

    References
    ----------
    .. [1] A. Pinkus, Approximation theory of the MLP model in neural networks, Acta Numerica
       1999, https://doi.org/10.1017/S0962492900002919

    Examples
    --------
    >>> from lamina.inspection import ridges
    >>> from lamina.nn import Network
    >>> net = Network.from_arrays([([[3.0, 4.0]], [-10.0]), ([[2.0]], [1.0])], "relu")
    >>> result = ridges(net)
    >>> result.directions.tolist(), result.offsets.tolist(), result.slope_changes.tolist()
    ([[0.6, 0.8]], [2.0], [[10.0]])
    """
    network = as_network(net)
    if len(network.sizes) != 3 or network.activations[-1].name != "identity":
        raise ParameterError(
            "net must have one hidden layer and no activation after its outputs. "
            f"Got sizes {network.sizes}, and {network.activations[-1].name!r} after the outputs."
        )
    (W, b), (V, c) = network.layers()
    length = lengths(W)
    varies = length > 0
    safe = np.where(varies, length, 1.0)
    bends = _slope_change(network.activations[0], network.slopes[0])
    return RidgesResult(
        activation=network.activations[0].spec,
        directions=W / safe[:, None],
        steepness=length,
        offsets=np.where(varies, -b / safe, np.nan),
        weights=V,
        slope_changes=None if bends is None else V * length * bends,
        bias=c,
    )


def _slope_change(activation: Activation, slope: torch.Tensor | None) -> FloatArray | None:
    """Return f'(0+) - f'(0-) for each unit, or None where the one kink at 0 is not all."""
    if activation.breakpoints != (0.0,) or activation.name == "step":
        return None
    n = 1 if slope is None else len(slope)
    one = torch.ones(n, dtype=torch.float64)
    change = activation.derivative(one, slope) - activation.derivative(-one, slope)
    return change.numpy()
