"""Networks to cut, and what must hold of every mesh."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lamina.nn import Network

from ._exact_regions import as_arrays

WINDOW = ((-2, 2), (-2, 2))


def torch_network(widths, seed, zero_biases=False):
    """PyTorch's own initialisation, or Kaiming-normal weights without biases, in float64."""
    torch.manual_seed(seed)
    modules = []
    for n, m in zip([2, *widths], [*widths, 1], strict=True):
        linear = nn.Linear(n, m)
        if zero_biases:
            nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
            nn.init.zeros_(linear.bias)
        modules += [linear, nn.ReLU()]
    return nn.Sequential(*modules[:-1]).double()


def network_of(layers, names):
    return Network.from_arrays(as_arrays(layers), names[:-1], output_activation=names[-1])


def codes_at(network, X):
    """The codes of all units that bend, from torch's own forward pass."""
    codes = [
        sum((t < A).astype(np.uint8) for t in f.breakpoints)
        for A, f in zip(network.preactivations(X), network.activations, strict=True)
        if f.breakpoints
    ]
    return np.concatenate(codes, axis=1)


def check_mesh(result):
    """What must hold of any mesh of convex faces that fill a window."""
    (left, right), (low, high) = result.bounds
    assert len(result.vertices) - len(result.edges) + result.n_regions == 1
    assert result.areas.sum() == pytest.approx((right - left) * (high - low), rel=1e-12)
    assert len({row.tobytes() for row in result.patterns}) == result.n_regions
    vertices = np.concatenate(result.faces)
    assert np.bincount(vertices, minlength=len(result.vertices)).min() > 0
    inner = (result.edge_faces >= 0).all(axis=1)
    assert ((result.edge_units[:, 0] > 0) == inner).all()
    # Neighbours differ in exactly the units of the edges between them, or twins of these.
    a, b = result.edge_faces[inner].T
    differ = result.patterns[a] != result.patterns[b]
    at = {unit: j for j, unit in enumerate(result.units)}
    column = [at[tuple(unit)] for unit in result.edge_units[inner].tolist()]
    assert differ[np.arange(len(a)), column].all()
