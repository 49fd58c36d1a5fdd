"""Random networks and random symmetries of them, for the tests of symmetries."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from lamina.inspection import change_basis, flip_signs, permute, rescale
from lamina.nn import ACTIVATIONS, Network

FLIPS = {"tanh", "sigmoid", "hard_tanh", "abs", "prelu", "identity"}
NAMES = tuple(sorted(ACTIVATIONS))
SCALES = {"relu", "leaky_relu", "prelu", "abs", "identity", "step"}


@st.composite
def networks(draw, names=NAMES, degenerate=True):
    """Return a small network, sometimes with zero biases, equal, opposite or constant units."""
    name = draw(st.sampled_from(names))
    sizes = (
        draw(st.integers(1, 4)),
        *draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)),
        draw(st.integers(1, 3)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layers = []
    for below, above in itertools.pairwise(sizes):
        W, b = rng.normal(size=(above, below)), rng.normal(size=above)
        if degenerate:
            disturb(W, b, draw(st.sampled_from(["", "zero biases", "equal", "opposite", "still"])))
        layers.append((W / np.sqrt(below), b))
    slopes = None
    if name == "prelu":
        slopes = [rng.uniform(0.1, 2.0, n) * rng.choice([-1, 1], n) for n in sizes[1:-1]] + [None]
    return Network.from_arrays(layers, name, slopes=slopes)


def disturb(W, b, how):
    """Change the incoming weights of a layer in place, so that units are degenerate."""
    if how == "zero biases":
        b[:] = 0
    elif how == "still":
        W[0] = 0
    elif how and len(b) > 1:
        sign = 1 if how == "equal" else -1
        W[1], b[1] = sign * W[0], sign * b[0]


def transformed(net, rng, log_sd=2.0):
    """Return a network with a random symmetry of every hidden layer."""
    for layer, activation in enumerate(net.activations[:-1], start=1):
        n = net.sizes[layer]
        if activation.name in FLIPS:
            net = flip_signs(net, np.flatnonzero(rng.random(n) < 0.5), layer=layer)
        # A rotation between factors that differ much would lose digits by cancellation.
        if activation.name in SCALES - {"identity"}:
            net = rescale(net, np.exp(log_sd * rng.normal(size=n)), layer=layer)
        if activation.name == "identity":
            rotation, _ = np.linalg.qr(rng.normal(size=(n, n)))
            net = change_basis(net, rotation, layer=layer)
        net = permute(net, rng.permutation(n), layer=layer)
    return net


def gap(a, b, n_inputs=40):
    """Return the largest difference of outputs, as a share of the largest output."""
    X = np.random.default_rng(3).normal(size=(n_inputs, a.sizes[0]))
    y = a.predict_raw(X)
    return np.abs(y - b.predict_raw(X)).max() / max(1.0, np.abs(y).max())


def parameter_gap(a, b):
    """Return the largest difference of parameters, as a share of the largest of its tensor."""
    pairs = zip(a.parameters(), b.parameters(), strict=True)
    tensors = [(p.detach().numpy(), q.detach().numpy()) for p, q in pairs]
    return max(np.abs(p - q).max() / max(1.0, np.abs(p).max()) for p, q in tensors)
