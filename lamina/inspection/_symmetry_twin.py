"""A network of the same function whose weights are far away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network

from ._arrays import lengths
from ._axes import BLUE, GREY, axes_or_new
from ._match_arrays import compare_arrays, gathered
from ._symmetry_count import sample_inputs
from ._symmetry_group import group_of
from ._symmetry_layers import Layers, finite_outputs, layers_of, network_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class TwinResult:
    """A network of the same function, and how far away its weights are.

    Attributes
    ----------
    network : Network
        The twin, in the dtype of the network.
    distance : float
        Euclidean distance of all parameters.
    norm : float
        Euclidean length of all parameters of the network.
    max_change : float
        Largest difference of an output.
    n_inputs : int
        Inputs on which outputs were compared.
    orders : tuple of ndarray of shape (units,)
        Which unit of the network each unit of the twin is, in each hidden layer.
    factors : tuple of ndarray of shape (units,)
        What its pre-activation was multiplied by.
    outputs : ndarray of shape (n_inputs, n_outputs, 2)
        Outputs of the network and of the twin.
    """

    network: Network
    distance: float
    norm: float
    max_change: float
    n_inputs: int
    orders: tuple[IntArray, ...]
    factors: tuple[FloatArray, ...]
    outputs: FloatArray

    def summary(self) -> str:
        """Return distance and change as a short text."""
        return (
            f"The twin's parameters are {self.distance:.4g} away from the network's, whose length "
            f"is {self.norm:.4g}. On {self.n_inputs} inputs outputs differ by at most "
            f"{self.max_change:.1e}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the outputs of the twin against those of the network."""
        axes = axes_or_new(ax)
        first, second = self.outputs[..., 0].ravel(), self.outputs[..., 1].ravel()
        ends = [float(first.min()), float(first.max())]
        axes.plot(ends, ends, color=GREY, label="equal")
        axes.plot(first, second, ".", color=BLUE, label="twin")
        axes.set_xlabel("output of the network")
        axes.set_ylabel("output of the twin")
        axes.legend()
        return axes


def twin(
    net: Any, *, log_scale: float = 0.5, random_state: int = 0, n_inputs: int = 1000
) -> TwinResult:
    """Return a network with the same function and other weights, by a random symmetry.

    Units of each hidden layer are put into a random order, flipped by chance where a flip
    passes the activation, and multiplied by lognormal factors where a scale is free.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    log_scale : float, default=0.5
        Standard deviation of the logarithm of the factors, at most 100. Only used where a scale is
        free.
    random_state : int, default=0
        Seed.
    n_inputs : int, default=1000
        Standard normal inputs on which outputs are compared.

    Returns
    -------
    TwinResult
        The twin, the distance of the parameters and the largest change of an output.

    Examples
    --------
    >>> from lamina.inspection import twin
    >>> from lamina.nn import Network
    >>> result = twin(Network((3, 5, 1), random_state=0))
    >>> result.distance > 1, result.max_change < 1e-12
    (True, True)
    """
    spread = check_real("log_scale", log_scale, 0.0, 100.0)
    n = check_integer("n_inputs", n_inputs, 1)
    rng = np.random.default_rng(check_integer("random_state", random_state, 0))
    layers = layers_of(net)
    drawn = [_draw(layers, i, spread, rng) for i in range(layers.n_hidden)]
    orders, factors = [order for order, _ in drawn], [factor for _, factor in drawn]
    other = gathered(layers, dict(enumerate(orders)), dict(enumerate(factors)))
    inputs = sample_inputs(layers, None, n)
    network = network_of(other)
    both = finite_outputs(network_of(layers), inputs), finite_outputs(network, inputs)
    outputs = np.stack(both, axis=-1)
    return TwinResult(
        network=network,
        distance=compare_arrays(layers, other).distance,
        norm=float(lengths(layers.parameters()[None])[0]),
        max_change=float(np.abs(outputs[..., 0] - outputs[..., 1]).max()),
        n_inputs=n,
        orders=tuple(orders),
        factors=tuple(factors),
        outputs=outputs,
    )


def _draw(
    layers: Layers, i: int, spread: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return a random order of a layer, and factors that pass its activation."""
    n, group = len(layers.biases[i]), group_of(layers.activations[i])
    order = rng.permutation(n)
    signs = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    slopes = layers.slopes[i]
    may = np.full(n, group.flips)
    if group.inverts and slopes is not None:
        may &= slopes[order] != 0
    factors = np.where(may, signs, 1.0)
    return order, factors * np.exp(spread * rng.standard_normal(n)) if group.scales else factors
