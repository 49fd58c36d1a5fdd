"""Multiply neighbouring layers without a nonlinearity out, and count what a bottleneck saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina._checks import check_integer
from lamina._typing import FloatArray
from lamina.nn import Network

from ._as_network import as_network
from ._rank import machine_rank, precision_of


@dataclass(frozen=True)
class BottleneckResult:
    r"""Weights of two linear layers with M units between them, and of one layer.

    Attributes
    ----------
    n_inputs, width, n_outputs : int
        D, M and K.
    """

    n_inputs: int
    width: int
    n_outputs: int

    @property
    def n_through(self) -> int:
        """Weights through the bottleneck, M(D + K)."""
        return self.width * (self.n_inputs + self.n_outputs)

    @property
    def n_direct(self) -> int:
        """Weights of the one matrix, DK."""
        return self.n_inputs * self.n_outputs

    @property
    def break_even(self) -> float:
        """The width DK/(D + K) below which the bottleneck saves weights."""
        return self.n_direct / (self.n_inputs + self.n_outputs)

    @property
    def saves(self) -> bool:
        """Whether the bottleneck has fewer weights."""
        return self.width < self.break_even

    @property
    def limits(self) -> bool:
        """Whether the bottleneck allows fewer maps: its rank is at most M, below D and K."""
        return self.width < min(self.n_inputs, self.n_outputs)

    def summary(self) -> str:
        """Return the bill as one sentence."""
        verb = "saves weights" if self.saves else "saves nothing"
        rank = min(self.width, self.n_inputs, self.n_outputs)
        return (
            f"{self.n_inputs} → {self.width} → {self.n_outputs}: {self.n_through:,} weights, and "
            f"{self.n_direct:,} without the middle; it {verb} (below a width of "
            f"{self.break_even:.4g} it would), and the rank is at most {rank}."
        )


def bottleneck(n_inputs: int, width: int, n_outputs: int) -> BottleneckResult:
    r"""Count what a linear bottleneck costs: M(D + K) weights against DK.

    Two linear layers D → M → K are one matrix of rank at most M. They save weights where

    .. math:: M(D + K) < DK \iff M < \frac{DK}{D + K}

    Parameters
    ----------
    n_inputs, width, n_outputs : int
        D, M and K.

    Returns
    -------
    BottleneckResult
        The two counts.

    Raises
    ------
    ParameterError
        If one of them is no positive whole number.

    Examples
    --------
    >>> from lamina.inspection import bottleneck
    >>> bill = bottleneck(6, 2, 5)
    >>> bill.n_through, bill.n_direct, bill.saves
    (22, 30, True)
    """
    return BottleneckResult(
        check_integer("n_inputs", n_inputs, 1),
        check_integer("width", width, 1),
        check_integer("n_outputs", n_outputs, 1),
    )


@dataclass(frozen=True, eq=False)
class AffineRun:
    """Neighbouring layers without a nonlinearity between them, as one affine map.

    Attributes
    ----------
    first, last : int
        The first and the last layer of weights, counted from 1.
    sizes : tuple of int
        Units from the inputs of the first to the outputs of the last.
    W, b : ndarray of shape (K, D) and (K,)
        The one map, in float64.
    rank : int
        Rank of W in the precision of the network.
    """

    first: int
    last: int
    sizes: tuple[int, ...]
    W: FloatArray
    b: FloatArray
    rank: int

    @property
    def width(self) -> int:
        """Units of the narrowest layer between, which the rank cannot exceed."""
        return min(self.sizes[1:-1])

    @property
    def bill(self) -> BottleneckResult:
        """What the narrowest layer alone would cost beside the one matrix."""
        return BottleneckResult(self.sizes[0], self.width, self.sizes[-1])

    @property
    def n_parameters(self) -> int:
        """Weights and biases of the layers as they are."""
        pairs = zip(self.sizes, self.sizes[1:], strict=False)
        return sum((below + 1) * above for below, above in pairs)

    @property
    def n_collapsed(self) -> int:
        """Weights and biases of the one map."""
        return self.W.size + self.b.size


@dataclass(frozen=True, eq=False)
class CollapseResult:
    """A network with its linear parts multiplied out.

    Attributes
    ----------
    network : Network
        The shorter network of the same function, in float64.
    runs : tuple of AffineRun
        The parts that were multiplied out, each of two layers or more.
    sizes : tuple of int
        Units of the network as it was.
    n_parameters : int
        Parameters of the network as it was.
    """

    network: Network
    runs: tuple[AffineRun, ...]
    sizes: tuple[int, ...]
    n_parameters: int

    @property
    def linear(self) -> bool:
        """Whether the whole network is one affine map, whatever its depth."""
        network = self.network
        return len(network.weights) == 1 and network.activations[0].breakpoints == ()

    def summary(self) -> str:
        """Return what was multiplied out, a line for each part."""
        before = "-".join(map(str, self.sizes))
        if not self.runs:
            return f"{before}: a nonlinearity stands between all layers; nothing collapses."
        after = "-".join(map(str, self.network.sizes))
        lines = [
            f"{before} computes what {after} does: {self.n_parameters:,} parameters, and "
            f"{self.network.n_parameters:,} multiplied out."
        ]
        lines += [
            f"layers {run.first} to {run.last}: one map {run.W.shape[1]} → {run.W.shape[0]} of "
            f"rank {run.rank}, narrowest layer {run.width}; {run.n_parameters:,} parameters, "
            f"{run.n_collapsed:,} multiplied out"
            for run in self.runs
        ]
        return "\n".join(lines)


def collapse(net: Any) -> CollapseResult:
    r"""Multiply out every part of a network that has no nonlinearity inside.

    .. math:: W^{(2)}(W^{(1)}x + b^{(1)}) + b^{(2)} = (W^{(2)}W^{(1)})\,x
              + (W^{(2)}b^{(1)} + b^{(2)})

    Depth adds nothing there but a bound on the rank, that of the narrowest layer, which saves
    parameters where the layer is narrow enough (`bottleneck`).

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.

    Returns
    -------
    CollapseResult
        The shorter network, and a record of each part.

    Raises
    ------
    ParameterError
        If ``net`` is no network that can be read.

    Examples
    --------
    >>> from lamina.inspection import collapse
    >>> from lamina.nn import Network
    >>> net = Network((6, 2, 5, 5), ["identity", "relu"], random_state=0)
    >>> result = collapse(net)
    >>> result.network.sizes, result.runs[0].rank, result.linear
    ((6, 5, 5), 2, False)
    """
    network = as_network(net)
    epsilon = precision_of(net)
    layers, activations, slopes, runs = [], [], [], []
    start = 0
    for i, activation in enumerate(network.activations):
        if activation.breakpoints == () and i + 1 < len(network.activations):
            continue
        W, b = _product(network, start, i)
        layers.append((W, b))
        activations.append(activation)
        slope = network.slopes[i]
        slopes.append(None if slope is None else slope.numpy())
        if i > start:
            sizes = network.sizes[start : i + 2]
            runs.append(AffineRun(start + 1, i + 1, sizes, W, b, machine_rank(W, epsilon)))
        start = i + 1
    *hidden, output = activations
    shorter = Network.from_arrays(
        layers, hidden or "identity", output_activation=output, slopes=slopes
    )
    return CollapseResult(shorter, tuple(runs), network.sizes, network.n_parameters)


def _product(net: Network, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
    """Return layers ``start`` to ``stop`` as one map."""
    W, b = net.weights[start].numpy(), net.biases[start].numpy()
    for i in range(start + 1, stop + 1):
        above = net.weights[i].numpy()
        W, b = above @ W, above @ b + net.biases[i].numpy()
    return np.array(W), np.array(b)
