"""What each unit of a network does on data."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lamina._checks import check_real
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray, IntArray
from lamina.nn import Activation, Network

from ._arrays import lengths
from ._as_network import as_network
from ._axes import axes_or_new
from ._units_blocks import Block, blocks, data_matrix
from ._units_pairs import earlier_twins
from ._units_slopes import saturation_scale

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_CONSTANT = 1e-10
"""Largest change of a constant unit, beside its own size: what float64 products leave."""


@dataclass(frozen=True, eq=False)
class UnitLayer:
    """What the units of one layer do on data; each array has one entry a unit, counted from 0.

    Attributes
    ----------
    layer : int
        The layer of weights below the units, counted from 1.
    activation : str
        Name of the function.
    lowest, highest : ndarray of shape (n_units,)
        Smallest and largest pre-activation.
    mean, std : ndarray of shape (n_units,)
        Mean and standard deviation of the activation.
    saturated_share : ndarray of shape (n_units,)
        Share of the rows on which the slope is small beside the largest one of the function.
    dead : ndarray of bool of shape (n_units,)
        The slope is exactly 0 on every row: no gradient reaches the unit's weights.
    always_on : ndarray of bool of shape (n_units,)
        Every row lies on the piece of largest slope of a function with kinks, so that the unit
        passes an affine map on. Of curved functions it is never so.
    constant : ndarray of bool of shape (n_units,)
        The activation is the same on every row, to rounding.
    twin, opposite : ndarray of int of shape (n_units,)
        The first earlier unit with the same, or the negated, weights and bias; -1 without one.
        Where the activation passes a positive scale, weights may differ by one.
    moved : ndarray of shape (n_units,) or None
        Distance of weights and bias from those of the initial network.
    """

    layer: int
    activation: str
    lowest: FloatArray
    highest: FloatArray
    mean: FloatArray
    std: FloatArray
    saturated_share: FloatArray
    dead: Array
    always_on: Array
    constant: Array
    twin: IntArray
    opposite: IntArray
    moved: FloatArray | None

    @property
    def n_units(self) -> int:
        """How many units the layer has."""
        return len(self.mean)


@dataclass(frozen=True, eq=False)
class UnitsResult:
    """What each unit of a network does on data.

    Attributes
    ----------
    n_samples : int
        Rows.
    saturation : float
        The share of the largest slope below which a unit counts as saturated.
    layers : tuple of UnitLayer
        A record for each layer, the output's last.
    """

    n_samples: int
    saturation: float
    layers: tuple[UnitLayer, ...]

    @property
    def dead(self) -> list[tuple[int, int]]:
        """The dead hidden units: (layer, unit), layers counted from 1 and units from 0."""
        return [
            (layer.layer, unit)
            for layer in self.layers[:-1]
            for unit in np.flatnonzero(layer.dead).tolist()
        ]

    @property
    def n_hidden(self) -> int:
        """How many hidden units there are."""
        return sum(layer.n_units for layer in self.layers[:-1])

    @property
    def table(self) -> pd.DataFrame:
        """A table with a row for each unit, the outputs included."""
        import pandas as pd

        names = [field.name for field in dataclasses.fields(UnitLayer)][2:]
        parts = []
        for layer in self.layers:
            columns = {name: getattr(layer, name) for name in names}
            told = {name: values for name, values in columns.items() if values is not None}
            head = {"layer": layer.layer, "unit": np.arange(layer.n_units)}
            parts.append(pd.DataFrame(head | told))
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> str:
        """Return a line for each layer as a short text."""
        lines = [
            f"{self.n_hidden} hidden units on {self.n_samples} rows; saturated: slope below "
            f"{self.saturation:g} of the largest",
            f"{'layer':<6}{'units':>6}{'dead':>6}{'always on':>11}{'constant':>10}"
            f"{'twins':>7}{'opposite':>10}{'saturated':>11}{'mean':>10}{'spread':>10}",
        ]
        for layer in self.layers:
            name = "output" if layer is self.layers[-1] else str(layer.layer)
            lines.append(
                f"{name:<6}{layer.n_units:>6}{layer.dead.sum():>6}{layer.always_on.sum():>11}"
                f"{layer.constant.sum():>10}{(layer.twin >= 0).sum():>7}"
                f"{(layer.opposite >= 0).sum():>10}{layer.saturated_share.mean():>11.1%}"
                f"{layer.mean.mean():>10.3g}{layer.std.mean():>10.3g}"
            )
        moved = [layer for layer in self.layers[:-1] if layer.moved is not None]
        lines += [
            f"layer {layer.layer}: weights moved by {np.min(layer.moved):.3g} to "
            f"{np.max(layer.moved):.3g} a unit"
            for layer in moved
            if layer.moved is not None
        ]
        return "\n".join(lines)

    def plot(
        self,
        kind: Literal["heat", "saturation", "moved"] = "heat",
        *,
        layer: int = 1,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the units.

        Parameters
        ----------
        kind : {"heat", "saturation", "moved"}, default="heat"
            A map of the spread of each unit, with a cross on dead ones; a strip of each layer's
            saturated shares; or bars of how far each unit of a layer moved.
        layer : int, default=1
            The layer of "moved", counted from 1.
        ax : Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        Axes
            The axes drawn into.
        """
        from ._units_pictures import draw_units

        return draw_units(self, kind, layer, axes_or_new(ax))


def units(
    net: Any, X: Any, *, initial: Any = None, saturation: float = 0.05, tolerance: float = 1e-9
) -> UnitsResult:
    r"""Tell what each unit of a network does on data: dead, always on, constant, saturated.

    Unit j of layer l computes :math:`h_j = f(a_j)`. It is dead on the rows :math:`x_n` where

    .. math:: f'(a_j(x_n)) = 0 \quad\text{for every } n,

    for a ReLU where no pre-activation is positive. The gradient on its incoming weights is then
    exactly 0 and gradient descent cannot bring it back [1]_; a leaky slope can. Before training
    (``units(Network(...), X)``) this shows the units that are dead by chance of the draw.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network; numbers are float64.
    X : array-like of shape (n_samples, n_features)
        Rows to look at, at least 2: those of the training, or others of their kind.
    initial : Network or torch module, default=None
        The network before training: `moved` is then
        :math:`\lVert (w_j, b_j) - (w_j^0, b_j^0) \rVert`.
    saturation : float, default=0.05
        Below which share of the largest slope of the activation a row counts as saturated.
    tolerance : float, default=1e-9
        How much two units' weights and biases, scaled to norm 1, may differ for twins.

    Returns
    -------
    UnitsResult
        A record for each layer.

    Raises
    ------
    ParameterError
        If ``net`` is no network that can be read, or ``initial`` one of other sizes.
    DataError
        If ``X`` has the wrong shape, is not finite, or all its rows are equal.

    References
    ----------
    .. [1] L. Lu et al., Dying ReLU and initialization, 2020, https://arxiv.org/abs/1903.06733

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.inspection import units
    >>> from lamina.nn import Network
    >>> net = Network.from_arrays([([[1.0], [1.0]], [0.0, -10.0]), ([[1.0, 1.0]], [0.0])])
    >>> result = units(net, np.linspace(-1, 1, 5)[:, None])
    >>> result.dead, result.layers[0].highest.tolist()
    ([(1, 1)], [1.0, -9.0])
    """
    saturation = check_real("saturation", saturation, 0.0, 1.0)
    tolerance = check_real("tolerance", tolerance, 0.0, 0.1)
    network = as_network(net)
    start = None if initial is None else _initial(initial, network)
    rows = data_matrix(network, X, minimum=2)
    if (rows == rows[0]).all():
        raise DataError("X must have rows that differ. Got equal ones, which tell nothing.")
    found = [_Statistics(network, i, saturation) for i in range(len(network.activations))]
    for block in blocks(network, rows):
        for statistics in found:
            statistics.add(block)
    layers = tuple(_record(network, start, statistics, tolerance) for statistics in found)
    return UnitsResult(len(rows), saturation, layers)


def _initial(initial: Any, network: Network) -> Network:
    """Return the initial network, if it is one of the same sizes."""
    start = as_network(initial, "initial")
    if start.sizes != network.sizes:
        raise ParameterError(
            f"initial must have the sizes {network.sizes} of net. Got {start.sizes}."
        )
    return start


class _Statistics:
    """What is known of the units of one layer after some rows."""

    def __init__(self, net: Network, i: int, saturation: float) -> None:
        n_units = net.sizes[i + 1]
        self.index, self.n = i, 0
        self.activation = net.activations[i]
        slope = net.slopes[i]
        self.limit = saturation * saturation_scale(self.activation, slope, n_units)
        self.lowest, self.highest = np.full(n_units, np.inf), np.full(n_units, -np.inf)
        self.least, self.most = self.lowest.copy(), self.highest.copy()
        self.mean, self.squares = np.zeros(n_units), np.zeros(n_units)
        self.flat, self.saturated = np.zeros(n_units), np.zeros(n_units)

    def add(self, block: Block) -> None:
        """Take some rows in; means and squares by the pairwise update of Chan et al."""
        a = block.before[self.index].numpy()
        h = block.after[self.index].numpy()
        slope = np.abs(block.slopes[self.index].numpy())
        np.minimum(self.lowest, a.min(0), out=self.lowest)
        np.maximum(self.highest, a.max(0), out=self.highest)
        np.minimum(self.least, h.min(0), out=self.least)
        np.maximum(self.most, h.max(0), out=self.most)
        self.flat += (slope == 0).sum(0)
        self.saturated += (slope <= self.limit).sum(0)
        mean, total = h.mean(0), self.n + len(h)
        change = mean - self.mean
        self.squares += ((h - mean) ** 2).sum(0) + change**2 * (self.n * len(h) / total)
        self.mean += change * (len(h) / total)
        self.n = total


def _record(
    net: Network, start: Network | None, found: _Statistics, tolerance: float
) -> UnitLayer:
    """Return what the statistics and the weights of one layer tell."""
    i = found.index
    rows = _incoming(net, i)
    size = np.maximum(np.abs(found.least), np.abs(found.most))
    slope = net.slopes[i]
    learned = None if slope is None else slope.numpy()
    twin, opposite = earlier_twins(
        rows, tolerance, scaled=found.activation.symmetry == "scale", also_equal=learned
    )
    constant = found.most - found.least <= _CONSTANT * size
    dead = found.flat == found.n
    if found.activation.name == "step":
        dead &= constant  # a step is flat on both sides, and fires or not
    return UnitLayer(
        layer=i + 1,
        activation=found.activation.spec,
        lowest=found.lowest,
        highest=found.highest,
        mean=found.mean,
        std=np.sqrt(found.squares / found.n),
        saturated_share=found.saturated / found.n,
        dead=dead,
        always_on=_always_on(found.activation, found.lowest, found.highest),
        constant=constant,
        twin=twin,
        opposite=opposite,
        moved=None if start is None else lengths(rows - _incoming(start, i)),
    )


def _incoming(net: Network, i: int) -> FloatArray:
    """Return weights and bias of each unit of a layer, (n_units, n_inputs + 1)."""
    return np.column_stack([net.weights[i].numpy(), net.biases[i].numpy()])


def _always_on(activation: Activation, lowest: FloatArray, highest: FloatArray) -> Array:
    """Tell which units have all rows on the steep piece of a function with kinks."""
    kinks = activation.breakpoints
    if not kinks or activation.name == "step":
        return np.zeros(len(lowest), dtype=bool)
    # From the last kink upwards for the ReLU family; between the kinks of hard tanh.
    pieces = list(itertools.pairwise(kinks)) or [(kinks[-1], np.inf)]
    inside = np.zeros(len(lowest), dtype=bool)
    for low, high in pieces:
        inside |= (lowest > low) & (highest < high)
    return inside
