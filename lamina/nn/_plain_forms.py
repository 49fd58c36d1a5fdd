"""A network in two plain forms: sums written out, and matrices that contain the biases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch

from lamina._checks import shown
from lamina._errors import DataError
from lamina._typing import Array, FloatArray

from ._activation import Activation
from ._arrays import as_numpy, numeric_array
from ._network import Network

Slopes: TypeAlias = FloatArray | None


def _slopes(network: Network) -> list[Slopes]:
    """Return the learned slopes of each layer as float64 arrays."""
    return [
        None if slope is None else as_numpy(slope).astype(np.float64) for slope in network.slopes
    ]


def _activated(activation: Activation, a: Array, slope: Slopes) -> FloatArray:
    """Return an activation's values on a float64 array."""
    learned = None if slope is None else torch.from_numpy(slope)
    values: FloatArray = activation.forward(torch.from_numpy(np.asarray(a)), learned).numpy()
    return values


def nested_sums(network: Network, x: Sequence[float] | Array) -> list[float]:
    r"""Compute the outputs for one input with every sum written out.

    .. math::

        y_k = f_2\Big(b^{(2)}_k + \sum_j W^{(2)}_{kj}\,
              f_1\Big(b^{(1)}_j + \sum_i W^{(1)}_{ji}\, x_i\Big)\Big)

    and so on for more layers. Slow, in float64: meant for reading, and to check the matrix
    form against.

    Parameters
    ----------
    network : Network
        Any network.
    x : sequence or array of shape (D,)
        One input.

    Returns
    -------
    list of float
        The Q outputs.

    Raises
    ------
    DataError
        If ``x`` is not one input of the network.

    Examples
    --------
    >>> network = Network((3, 4, 2), "tanh", random_state=0)
    >>> x = [0.5, -1.0, 2.0]
    >>> bool(np.allclose(nested_sums(network, x), network.predict_raw(x)))
    True
    """
    values = [float(value) for value in numeric_array("x", x).reshape(-1)]
    if len(values) != network.sizes[0] or np.ndim(x) != 1:
        raise DataError(
            f"x must have shape ({network.sizes[0]},). Got shape {shown(np.shape(x))}."
        )
    slopes = _slopes(network)
    for l, (W, b) in enumerate(network.layers()):  # noqa: E741
        above = []
        for j in range(len(b)):
            a = float(b[j])
            for i, value in enumerate(values):
                a += float(W[j, i]) * value
            slope = slopes[l]
            unit_slope = None if slope is None else slope[j : j + 1]
            above.append(float(_activated(network.activations[l], np.array([a]), unit_slope)[0]))
        values = above
    return values


def absorb_biases(network: Network) -> list[FloatArray]:
    r"""Return one matrix a layer, with the biases as weights of a constant unit.

    .. math:: \tilde W^{(l)} = [\, b^{(l)} \;\; W^{(l)} \,], \qquad
              a^{(l)} = \tilde W^{(l)} \tilde h^{(l-1)}, \qquad
              \tilde h^{(l)} = (1, h^{(l)})

    Parameters
    ----------
    network : Network
        Any network.

    Returns
    -------
    list of arrays of shape (out, 1 + in)
        In float64; column 0 holds the biases.

    Examples
    --------
    >>> [W.shape for W in absorb_biases(Network((3, 4, 2)))]
    [(4, 4), (2, 5)]
    """
    return [np.column_stack([b, W]).astype(np.float64) for W, b in network.layers()]


def forward_with_constant_unit(network: Network, X: Array) -> FloatArray:
    """Compute the outputs from :func:`absorb_biases`, with a unit of value 1 in every layer.

    Parameters
    ----------
    network : Network
        Any network.
    X : array of shape (N, D)
        Inputs.

    Returns
    -------
    array of shape (N, Q)
        The outputs, in float64.

    Raises
    ------
    DataError
        If ``X`` is not a table of inputs of the network.

    Examples
    --------
    >>> network = Network((3, 4, 2), "tanh", random_state=0)
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> bool(np.allclose(forward_with_constant_unit(network, X), network.predict_raw(X)))
    True
    """
    H: FloatArray = numeric_array("X", X).astype(np.float64)
    if H.ndim != 2 or H.shape[1] != network.sizes[0]:
        raise DataError(f"X must have shape (N, {network.sizes[0]}). Got shape {H.shape}.")
    constant = np.ones((len(H), 1))
    for W, activation, slope in zip(
        absorb_biases(network), network.activations, _slopes(network), strict=True
    ):
        H = _activated(activation, np.hstack([constant, H]) @ W.T, slope)
    return H
