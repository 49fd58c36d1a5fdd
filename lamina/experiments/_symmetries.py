"""Symmetries of hidden units: copies of one function, and what they mean for its minima."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from lamina._typing import FloatArray
from lamina.datasets import make_sine
from lamina.heads import Normal
from lamina.inspection import (
    compare,
    enumerate_symmetries,
    flip_signs,
    match,
    n_symmetries,
    permute,
    rescale,
    same_function,
    segment,
    twin,
)
from lamina.nn import Network
from lamina.stack import train

from ._registry import Values, experiment
from ._training import full_batch, largest_gap


def _random_network(activation: str, rng: np.random.Generator) -> Network:
    """Return a 2-3-1 network with normal weights and biases."""
    layers = [
        (rng.standard_normal((3, 2)), rng.standard_normal(3)),
        (rng.standard_normal((1, 3)), rng.standard_normal(1)),
    ]
    return Network.from_arrays(layers, activation)


@experiment("tanh-symmetries-48")
def tanh_symmetries() -> Values:
    """Write out all sign flips and orders of three tanh units and compare 50 outputs."""
    rng = np.random.default_rng(6)
    network, X = _random_network("tanh", rng), rng.standard_normal((50, 2))
    copies = enumerate_symmetries(network, X)
    return {
        "transformations": copies.n_transformations,
        "distinct": copies.n_distinct,
        "max_change": copies.max_change,
    }


@experiment("relu-flip-and-rescale")
def relu_flip_and_rescale() -> Values:
    """Flip the sign of a ReLU unit, which changes the outputs, and rescale it, which does not."""
    rng = np.random.default_rng(6)
    network, X = _random_network("relu", rng), rng.standard_normal((50, 2))
    y = network.predict_raw(X)
    flipped = flip_signs(network, 0, check=False)
    scaled = rescale(network, rng.uniform(0.1, 10.0, 3))
    return {
        "flip_change": largest_gap(y, flipped.predict_raw(X)),
        "rescale_change": largest_gap(y, scaled.predict_raw(X)),
    }


@experiment("symmetry-twin")
def symmetry_twin() -> Values:
    """Reorder and rescale the five units of a 3-5-1 ReLU network."""
    network = Network((3, 5, 1), init="torch", random_state=0)
    other = twin(network)
    return {
        "same_function": bool(same_function(network, other.network)) and other.max_change < 1e-12,
        "distance": other.distance,
        "permutations": n_symmetries(network).permutations,
    }


@experiment("symmetry-counts")
def symmetry_counts() -> Values:
    """Multiply orders and signs over hidden layers, for several activations."""
    tanh = n_symmetries(Network((2, 3, 4, 1), "tanh"))
    wide = n_symmetries(Network((784, 128, 64, 10), "relu"))
    return {
        "tanh_3_4": tanh.total,
        "sigmoid_3_4": n_symmetries(Network((2, 3, 4, 1), "sigmoid")).total,
        "gelu_3_4": n_symmetries(Network((2, 3, 4, 1), "gelu")).total,
        "relu_5": n_symmetries(Network((3, 5, 1), "relu")).total,
        "relu_5_scales": n_symmetries(Network((3, 5, 1), "relu")).n_scales,
        "digits_128_64": len(str(wide.total)),
    }


@experiment("match-finds-copies")
def match_finds_copies() -> Values:
    """Reorder with lognormal factors or flips, and 64 units unlike in their biases alone."""
    rng = np.random.default_rng(6)
    sizes = (784, 256, 256, 10)
    relu, tanh = (Network(sizes, name, random_state=0) for name in ("relu", "tanh"))
    scaled, flipped = relu, tanh
    for layer in (1, 2):
        scaled = rescale(scaled, np.exp(2 * rng.standard_normal(256)), layer=layer)
        scaled = permute(scaled, rng.permutation(256), layer=layer)
        flipped = flip_signs(flipped, np.flatnonzero(rng.random(256) < 0.5), layer=layer)
        flipped = permute(flipped, rng.permutation(256), layer=layer)
    alike = Network.from_arrays(
        [(np.ones((64, 1)), rng.standard_normal(64)), (np.ones((1, 64)), np.zeros(1))], "tanh"
    )
    order = rng.permutation(64)
    found = match(alike, permute(alike, order)).orders[0]
    return {
        "relu_exact": match(relu, scaled).exact,
        "tanh_exact": match(tanh, flipped).exact,
        "tanh_difference": match(tanh, flipped).max_difference,
        "units_found_by_bias": int((found == np.argsort(order)).sum()),
    }


@cache
def _trained_on_a_sine() -> tuple[list[Network], FloatArray, FloatArray]:
    """Return two 1-5-1 tanh networks of different seeds, and the data they were fitted to."""
    X, y = make_sine(random_state=189)
    members = [
        full_batch((5,), "tanh", Normal(), n_rows=len(X), seed=s, epochs=2000) for s in (0, 1)
    ]
    return train(members, X, y, dtype="float64").networks, X, y


@experiment("nonconvex-minima")
def nonconvex_minima() -> Values:
    """Go from a trained network to its copy with units reversed, and to the mean of all copies."""
    (network, _), X, y = _trained_on_a_sine()
    copy = permute(flip_signs(network, [0, 2]), [4, 3, 2, 1, 0])
    squares = torch.nn.MSELoss()
    line = segment(network, copy, X, y, squares)
    copies = enumerate_symmetries(network)
    mean = copies.mean_network()
    target = torch.tensor(np.asarray(y, dtype=np.float64)).reshape(-1, 1)
    error = float(squares(torch.tensor(mean.predict_raw(X)), target))
    return {
        "copies": copies.n_transformations,
        "loss": line.loss[0],
        "loss_of_copy": line.loss[-1],
        "midpoint": line.midpoint[0],
        "mean_of_all": error,
        "barrier_matched": line.matched_barrier,
    }


@experiment("networks-by-function")
def networks_by_function() -> Values:
    """Compare two runs of one network by outputs, by representations and by matched weights."""
    (first, second), X, y = _trained_on_a_sine()
    result = compare(first, second, X)
    assert result.matched is not None
    line = segment(first, second, X, y, torch.nn.MSELoss())
    return {
        "loss": [line.loss[0], line.loss[-1]],
        "output_difference": result.rms_difference / result.rms_output,
        "alignment": result.cka[0, 0],
        "distance": result.matched.distance_before,
        "distance_matched": result.matched.distance_after,
        "barrier": line.barrier,
        "barrier_matched": line.matched_barrier,
    }
