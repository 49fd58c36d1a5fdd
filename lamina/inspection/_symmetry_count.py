"""How many networks of one shape compute the same: counted exactly, and written out if few."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network

from ._arrays import numbers
from ._axes import BLUE, axes_or_new
from ._match_arrays import gathered
from ._symmetry_group import group_of
from ._symmetry_layers import Layers, layers_of, network_of, outputs_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CONSEQUENCES = (
    "An error that depends on the outputs alone has every minimum, and a posterior every mode, "
    "in as many copies: weights are not identifiable. Compare networks by their outputs or "
    "representations."
)


@dataclass(frozen=True)
class LayerSymmetry:
    """The symmetries of one hidden layer.

    Attributes
    ----------
    layer : int
        The hidden layer, counted from 1.
    n_units : int
        Its width d.
    activation : str
        Name of its activation.
    permutations : int
        Orders of its units, d!.
    flips : int
        Choices of signs: 2**d where a flip passes the activation, else 1.
    n_scales : int
        Continuous parameters that change nothing: d where every positive factor passes, d**2 in
        a linear layer, else 0.
    """

    layer: int
    n_units: int
    activation: str
    permutations: int
    flips: int
    n_scales: int


@dataclass(frozen=True)
class SymmetryCountResult:
    """How many weight vectors have one function, by order and signs of hidden units.

    Attributes
    ----------
    layers : tuple of LayerSymmetry
        Each hidden layer.
    """

    layers: tuple[LayerSymmetry, ...]

    @property
    def permutations(self) -> int:
        """The number of orders of all layers, an exact integer."""
        return math.prod(layer.permutations for layer in self.layers)

    @property
    def flips(self) -> int:
        """The number of choices of signs of all layers, an exact integer."""
        return math.prod(layer.flips for layer in self.layers)

    @property
    def total(self) -> int:
        """The number of orders with signs of all layers, an exact integer."""
        return self.permutations * self.flips

    @property
    def n_scales(self) -> int:
        """The number of continuous parameters that change nothing."""
        return sum(layer.n_scales for layer in self.layers)

    def summary(self) -> str:
        """Return the count, and what follows from it."""
        factors = " · ".join(
            (f"2^{layer.n_units} · " if layer.flips > 1 else "") + f"{layer.n_units}!"
            for layer in self.layers
        )
        count = str(self.total) if self.total < 10**12 else f"about 10^{_log10(self.total):.1f}"
        lines = f"{factors or 'no hidden layer: 1'} = {count} weight vectors have this function"
        if self.n_scales:
            lines += f", each in a family of {self.n_scales} continuous parameters"
        return f"{lines}. {_CONSEQUENCES}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the logarithm of the count of each hidden layer."""
        axes = axes_or_new(ax)
        heights = [_log10(layer.permutations * layer.flips) for layer in self.layers]
        places = [layer.layer for layer in self.layers]
        axes.bar(places, heights, 0.7, color=BLUE)
        axes.set_xticks(places)
        axes.set_xlabel("hidden layer")
        axes.set_ylabel("log10 of orders and signs")
        return axes


def _log10(count: int) -> float:
    """Return log10 of an integer of any size."""
    return math.log2(count) * math.log10(2.0)


def n_symmetries(net: Any) -> SymmetryCountResult:
    r"""Count the orders and signs of hidden units that leave a network's function.

    .. math:: \prod_{l=1}^{L-1} 2^{d_l}\, d_l! \quad\text{where a flip passes, else}\quad
              \prod_{l=1}^{L-1} d_l!

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.

    Returns
    -------
    SymmetryCountResult
        ``total``, ``permutations`` and ``flips`` as exact integers, and those of each layer.

    Notes
    -----
    Of transformations, not of different weight vectors: a network with equal units or zero
    weights is its own copy under some, see `enumerate_symmetries`. Positive factors come on
    top, as continuous families.

    References
    ----------
    .. [1] A. M. Chen, H. Lu, R. Hecht-Nielsen, On the geometry of feedforward neural network
       error surfaces, Neural Computation 1993, https://doi.org/10.1162/neco.1993.5.6.910

    Examples
    --------
    >>> from lamina.inspection import n_symmetries
    >>> from lamina.nn import Network
    >>> n_symmetries(Network((2, 3, 1), "tanh")).total, n_symmetries(Network((3, 5, 1))).total
    (48, 120)
    """
    layers = layers_of(net)
    found = []
    for i in range(layers.n_hidden):
        n, group = len(layers.biases[i]), group_of(layers.activations[i])
        scales = n * n if group.linear else n if group.scales else 0
        flips = 2 ** int(_may_flip(layers, i).sum())
        spec = layers.activations[i].spec
        found.append(LayerSymmetry(i + 1, n, spec, math.factorial(n), flips, scales))
    return SymmetryCountResult(tuple(found))


def _may_flip(layers: Layers, i: int) -> IntArray:
    """Return which units of a layer (units,) may turn their signs."""
    group, slopes = group_of(layers.activations[i]), layers.slopes[i]
    if group.inverts and slopes is not None:
        return np.asarray(slopes != 0, dtype=np.intp)
    return np.full(len(layers.biases[i]), int(group.flips), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class EnumerationResult:
    """Every network that is the same up to order and signs of its hidden units.

    Attributes
    ----------
    parameters : ndarray of shape (n_transformations, n_parameters)
        A row for each: weights of all layers, then biases, then slopes. The first is the
        network itself.
    n_distinct : int
        Different rows.
    max_change : float
        Largest difference of an output from that of the network.
    n_inputs : int
        Inputs on which outputs were compared.
    original : Network
        The network itself.
    """

    parameters: FloatArray
    n_distinct: int
    max_change: float
    n_inputs: int
    original: Network

    @property
    def n_transformations(self) -> int:
        """The number of orders with signs."""
        return len(self.parameters)

    def network(self, k: int) -> Network:
        """Return the network of row k."""
        rows = len(self.parameters)
        return network_of(
            with_parameters(
                layers_of(self.original), self.parameters[check_integer("k", k, 0, rows - 1)]
            )
        )

    def mean_network(self) -> Network:
        """Return the network whose parameters are the mean over all rows.

        All hidden units of a layer are then equal; with flips their weights are zero.
        """
        return network_of(with_parameters(layers_of(self.original), self.parameters.mean(axis=0)))

    def summary(self) -> str:
        """Return the counts as a short text."""
        return (
            f"{self.n_transformations} orders and signs of hidden units give {self.n_distinct} "
            f"different weight vectors. On {self.n_inputs} inputs outputs change by at most "
            f"{self.max_change:.1e}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how far each copy is from the network, as a histogram of distances."""
        axes = axes_or_new(ax)
        gaps = np.sqrt(np.square(self.parameters - self.parameters[0]).sum(axis=1))
        axes.hist(gaps, bins=min(30, max(1, len(gaps) // 4)), color=BLUE)
        axes.set_xlabel("distance from the network")
        axes.set_ylabel("copies")
        return axes


def enumerate_symmetries(net: Any, X: Any = None, *, limit: int = 10_000) -> EnumerationResult:
    """Write out every order and choice of signs of the hidden units of a small network.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    X : array-like of shape (n_inputs, n_features), default=None
        Where outputs are compared. None takes 50 standard normal inputs.
    limit : int, default=10000
        The largest number of copies that are made.

    Returns
    -------
    EnumerationResult
        Parameters of every copy, how many differ, and the largest change of an output.

    Raises
    ------
    ParameterError
        If there are more copies than ``limit``.

    Examples
    --------
    >>> from lamina.inspection import enumerate_symmetries
    >>> from lamina.nn import Network
    >>> result = enumerate_symmetries(Network((1, 2, 1), "tanh", random_state=0))
    >>> result.n_transformations, result.n_distinct, result.max_change < 1e-13
    (8, 8, True)
    """
    layers, total = layers_of(net), n_symmetries(net).total
    if total > check_integer("limit", limit, 1):
        count = str(total) if total < 10**12 else f"about 10^{_log10(total):.0f}"
        raise ParameterError(
            f"net must have at most limit = {limit} orders and signs of hidden units. "
            f"Got {count}. n_symmetries counts without writing them out."
        )
    inputs = sample_inputs(layers, X, 50)
    before = outputs_of(layers, inputs)
    rows, change = [], 0.0
    for orders, factors in _elements(layers):
        copy = gathered(layers, dict(enumerate(orders)), dict(enumerate(factors)))
        rows.append(copy.parameters())
        change = max(change, float(np.abs(outputs_of(copy, inputs) - before).max()))
    parameters = np.array(rows)
    return EnumerationResult(
        parameters=parameters,
        n_distinct=len(np.unique(parameters, axis=0)),
        max_change=change,
        n_inputs=len(inputs),
        original=network_of(layers),
    )


def _elements(layers: Layers) -> Iterator[tuple[list[IntArray], list[FloatArray]]]:
    """Yield orders and signs of all hidden layers, those that change nothing first."""
    per_layer = []
    for i in range(layers.n_hidden):
        may = _may_flip(layers, i)
        orders = [np.array(order) for order in itertools.permutations(range(len(may)))]
        signs = [
            np.where(np.isin(np.arange(len(may)), chosen), -1.0, 1.0)
            for size in range(int(may.sum()) + 1)
            for chosen in itertools.combinations(np.flatnonzero(may).tolist(), size)
        ]
        # Signs belong to the old units, so that each choice goes with its unit.
        per_layer.append([(order, sign[order]) for order in orders for sign in signs])
    for chosen in itertools.product(*per_layer):
        yield [order for order, _ in chosen], [sign for _, sign in chosen]


def sample_inputs(layers: Layers, X: Any, n_inputs: int) -> FloatArray:
    """Return the inputs given, (N, D), or standard normal ones."""
    n_features = layers.sizes[0]
    if X is None:
        return np.random.default_rng(0).standard_normal((n_inputs, n_features))
    inputs = numbers("X", X)
    if inputs.ndim != 2 or inputs.shape[1] != n_features or not len(inputs):
        raise DataError(
            f"X must have shape (n_inputs, {n_features}) with at least one row. "
            f"Got {shown(inputs.shape)}."
        )
    return inputs


def with_parameters(layers: Layers, parameters: FloatArray) -> Layers:
    """Return arrays of the same shapes with other numbers, in the order of `parameters`."""
    copy, at = layers.copy(), 0
    slopes = [s for s in copy.slopes if s is not None]
    for part in (*copy.weights, *copy.biases, *slopes):
        part.flat[:] = parameters[at : at + part.size]
        at += part.size
    return copy
