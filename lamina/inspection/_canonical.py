"""One network for all that are the same up to order, signs, scales and superfluous units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lamina._checks import check_real
from lamina._typing import IntArray
from lamina.nn import Network

from ._axes import BLACK, BLUE, GREY, ORANGE, axes_or_new
from ._canonical_reduction import Reduction, reduce
from ._symmetry_layers import Layers, finite_outputs, layers_of, network_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CanonicalResult:
    """The canonical form of a network, and what was taken out on the way.

    Attributes
    ----------
    network : Network
        The canonical form, in float64.
    sizes : tuple of int
        Numbers of units of the network that it was made of.
    n_constant, n_silent, n_merged : ndarray of shape (hidden layers,)
        Units of each hidden layer without incoming weights, without outgoing weights, and equal
        to another one; that many were taken out.
    collapsed : tuple of int
        Linear hidden layers, counted from 1, that were multiplied into the layer above.
    layers : tuple of int
        Which hidden layer, counted from 1, each one of `network` was.
    units : tuple of ndarray of shape (units,)
        Which unit, counted from 0, each one of `network` was; of merged ones any.
    certain : bool
        Whether no decision (equal or not, before or after) was as close as rounding may put it.
        Where it was, equal networks may have forms that differ in the order of units.
    max_change : float
        Largest difference of outputs on 64 standard normal inputs, as a share of the largest
        output: rounding, unless weights are huge.
    """

    network: Network
    sizes: tuple[int, ...]
    n_constant: IntArray
    n_silent: IntArray
    n_merged: IntArray
    collapsed: tuple[int, ...]
    layers: tuple[int, ...]
    units: tuple[IntArray, ...]
    certain: bool
    max_change: float

    @property
    def n_removed(self) -> int:
        """The number of superfluous units, those of linear layers not counted."""
        return int((self.n_constant + self.n_silent + self.n_merged).sum())

    def summary(self) -> str:
        """Return what was done as a short text."""
        before, after = ("-".join(map(str, s)) for s in (self.sizes, self.network.sizes))
        counts = {
            "constant": self.n_constant.sum(),
            "without outgoing weights": self.n_silent.sum(),
            "equal to another": self.n_merged.sum(),
        }
        gone = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        text = f"Canonical form {after} of {before}: {self.n_removed} superfluous units"
        text += f" ({gone})" if gone else ""
        if self.collapsed:
            text += f"; linear layers {', '.join(map(str, self.collapsed))} multiplied out"
        text += f". Outputs change by {self.max_change:.1e} of the largest."
        if not self.certain:
            text += " Some units lie so close that rounding may change their order."
        return text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many units of each hidden layer are kept, and why the others are not."""
        axes = axes_or_new(ax)
        layer = np.arange(1, len(self.sizes) - 1)
        kept = np.zeros(len(layer), dtype=int)
        for where, units in zip(self.layers, self.units, strict=True):
            kept[where - 1] = len(units)
        below = np.zeros(len(layer), dtype=int)
        rows = [("kept", kept, BLUE), ("merged", self.n_merged, ORANGE)]
        rows += [("constant", self.n_constant, GREY), ("silent", self.n_silent, BLACK)]
        for label, counts, colour in rows:
            axes.bar(layer, counts, 0.7, bottom=below, color=colour, label=label)
            below = below + counts
        axes.set_xticks(layer)
        axes.set_xlabel("hidden layer")
        axes.set_ylabel("units")
        axes.legend()
        return axes


def canonical(net: Any, *, tolerance: float | None = None) -> CanonicalResult:
    r"""Return one network for all those of the same function by symmetry.

    From the first hidden layer to the last,

    1. activations that differ by affine maps become one: logistic units become tanh units,
       a leaky ReLU of slope 0 a ReLU, and linear layers are multiplied out;
    2. units without incoming weights move into the biases above, units without outgoing ones
       go;
    3. where every :math:`c > 0` passes, :math:`(w, b)` gets length 1; where a flip passes, the
       first weight is positive; slopes of parametric ReLUs lie within [-1, 1];
    4. units with the same :math:`(w, b)` become one with the sum of their outgoing weights;
    5. units are sorted by bias, then weights.

    Two networks with equal forms compute the same function. For tanh the converse holds too [1]_;
    ReLU networks have further symmetries, see `same_function`.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    tolerance : float, default=None
        Two units are the same if no weight differs by more than this share of the largest one of
        the same input. None takes 1e-12 for float64 and 1e-5 for float32.

    Returns
    -------
    CanonicalResult
        The network, what was taken out, and whether rounding may have decided something.

    Raises
    ------
    DataError
        If weights are not finite, or leave float64 on the way.

    Notes
    -----
    Order, signs and powers of two change no bit of a function, dividing by a length does. Of a
    ReLU unit that never or always fires on some data nothing is known here.

    References
    ----------
    .. [1] H. J. Sussmann, Uniqueness of the weights for minimal feedforward nets with a given
       input-output map, Neural Networks 1992, https://doi.org/10.1016/S0893-6080(05)80037-1
    .. [2] M. Phuong, C. H. Lampert, Functional vs. parametric equivalence of ReLU networks, ICLR
       2020, https://openreview.net/forum?id=Bylx-TNKvH

    Examples
    --------
    Two of three units are the same, up to a factor:

    >>> from lamina.inspection import canonical
    >>> from lamina.nn import Network
    >>> net = Network.from_arrays([([[3.0], [6.0], [1.0]], [4.0, 8.0, 0.0]), ([[1, 1, 1]], [0])])
    >>> result = canonical(net)
    >>> result.network.sizes, result.network.weights[1].tolist()
    ((1, 2, 1), [[1.0, 15.0]])
    """
    layers = layers_of(net)
    before = network_of(layers, torch.float64)
    state = reduced(layers, tolerance)
    network = network_of(state.layers, torch.float64)
    return CanonicalResult(
        network=network,
        sizes=before.sizes,
        n_constant=state.constant,
        n_silent=state.silent,
        n_merged=state.merged,
        collapsed=tuple(i + 1 for i in state.collapsed),
        layers=tuple(i + 1 for i in state.places),
        units=tuple(state.units),
        certain=state.certain,
        max_change=_share(before, network),
    )


def reduced(layers: Layers, tolerance: float | None) -> Reduction:
    """Return the canonical form of arrays, which are changed."""
    usual = 1e-12 if layers.dtype == torch.float64 else 1e-5
    given = usual if tolerance is None else check_real("tolerance", tolerance, 0.0, 0.1)
    return reduce(layers, given)


def _share(a: Network, b: Network) -> float:
    """Return the largest difference of outputs as a share of the largest output."""
    X = np.random.default_rng(0).standard_normal((64, a.sizes[0]))
    outputs = finite_outputs(a, X)
    gap = float(np.abs(outputs - finite_outputs(b, X)).max())
    return gap / (float(np.abs(outputs).max()) or 1.0)
