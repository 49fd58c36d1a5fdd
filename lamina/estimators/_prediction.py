"""Raw outputs and means of fitted networks for any number of rows, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.distributions import Independent, Normal

from lamina._typing import Array, FloatArray
from lamina.distributions import Predictive, mixture_of, predictive
from lamina.heads import Head
from lamina.nn import Network

CELLS = 2**22
"""Largest number of values of a layer that is held at a time: 32 MB in float64."""


def raw_outputs(network: Network, X: Any) -> FloatArray:
    """Return the raw outputs (N, Q) of an array or CSR matrix, in the network's dtype."""
    sparse = sp.issparse(X)
    run = _SparseRun(network) if sparse else network.predict_raw
    step = max(1, CELLS // max(network.sizes[1:] if sparse else network.sizes))
    parts = [run(X[start : start + step]) for start in range(0, X.shape[0], step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def mean_over_members(networks: Sequence[Network], head: Head, X: Any) -> FloatArray:
    """Return the mean (N, Q) of the members' conditional means: E[y | x] or probabilities."""
    total = _mean(networks[0], head, X)
    for network in networks[1:]:
        total += _mean(network, head, X)
    return total / len(networks) if len(networks) > 1 else total


def _mean(network: Network, head: Head, X: Any) -> FloatArray:
    mean: FloatArray = head.mean(torch.from_numpy(raw_outputs(network, X))).numpy()
    return mean


def predictive_distribution(
    networks: Sequence[Network],
    head: Head,
    X: Any,
    *,
    loc: Any = 0.0,
    scale: Any = 1.0,
    noise: FloatArray | None = None,
) -> Predictive:
    """Return the mixture of the members' distributions of y = loc + scale·z, in float64.

    Parameters
    ----------
    networks : sequence of Network
        The members; their head speaks of z.
    head : Head
        What their raw outputs mean.
    X : ndarray or CSR of shape (N, D)
        Inputs.
    loc, scale : float or array-like of shape (T,)
        How the target was standardised.
    noise : ndarray of shape (T,) or None
        For least squares, the standard deviation of z around the raw outputs.
    """
    members = []
    for network in networks:
        raw = torch.from_numpy(raw_outputs(network, X)).double()
        if noise is None:
            dist = head.distribution(raw)
        else:
            dist = Independent(Normal(raw, torch.from_numpy(noise).expand_as(raw)), 1)
        members.append(predictive(dist, loc=loc, scale=scale))
    return mixture_of(members)


def noise_scale(
    networks: Sequence[Network], X: Any, y: FloatArray, weight: FloatArray | None
) -> FloatArray:
    """Return the root mean squared residual (T,) over rows and members, never quite 0.

    It is at least the rounding error of the largest target, so that a perfect fit has a density.
    """
    largest = np.abs(y).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    mean = np.zeros(y.shape[1])
    for network in networks:
        residual = (raw_outputs(network, X).astype(np.float64) - y) / unit
        mean += np.average(residual**2, axis=0, weights=weight) / len(networks)
    rounding = float(np.finfo(networks[0].layers()[0][0].dtype).eps)
    noise: FloatArray = unit * np.maximum(np.sqrt(mean), rounding)
    return noise


class _SparseRun:
    """A network whose first layer multiplies a sparse matrix as it is."""

    def __init__(self, network: Network) -> None:
        layers = network.layers()
        self._first, self._bias = np.ascontiguousarray(layers[0][0].T), layers[0][1]
        self._activation = network.activations[0]
        self._slope = cast("Tensor | None", network.slopes[0])
        self._rest = None
        if len(layers) > 1:
            *between, last = network.activations[1:]
            self._rest = Network.from_arrays(
                layers[1:], between, output_activation=last, slopes=network.slopes[1:]
            )

    def __call__(self, X: Any) -> FloatArray:
        """Return the raw outputs of a CSR matrix."""
        first: Array = np.asarray(X.astype(self._first.dtype) @ self._first) + self._bias
        with torch.no_grad():
            h: FloatArray = self._activation.forward(torch.from_numpy(first), self._slope).numpy()
        return h if self._rest is None else self._rest.predict_raw(h)
