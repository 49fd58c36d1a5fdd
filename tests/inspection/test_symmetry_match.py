"""Matching units, against the symmetry that was applied, brute force over orders, and SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ParameterError
from lamina.inspection import (
    change_basis,
    flip_signs,
    match,
    merge,
    permute,
    rescale,
    same_function,
)
from lamina.nn import Network

from .symmetric import NAMES, gap, networks, parameter_gap, transformed

BENT = tuple(name for name in NAMES if name != "identity")


@given(networks(names=BENT), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_a_copy_is_found_exactly(net, seed):
    twin = transformed(net, np.random.default_rng(seed))
    result = match(net, twin)
    assert result.exact
    assert parameter_gap(net, result.network) <= 1e-12
    assert gap(twin, result.network) <= 1e-12


@given(networks(names=BENT), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_matched_network_keeps_its_function(net, seed):
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=W.shape), rng.normal(size=b.shape)) for W, b in net.layers()]
    hidden = net.activations[:-1]
    slopes = [None if s is None else rng.uniform(0.1, 2, len(s)) for s in net.slopes]
    other = Network.from_arrays(layers, hidden, slopes=slopes)
    result = match(net, other)
    assert gap(other, result.network) <= 1e-11


@pytest.mark.parametrize(
    ("name", "sizes"), [("relu", (784, 256, 256, 10)), ("tanh", (64, 128, 128, 4))]
)
def test_wide_copies_are_found_unit_by_unit(name, sizes, rng):
    net = Network(sizes, name, random_state=0)
    orders = [rng.permutation(n) for n in sizes[1:-1]]
    twin = net
    for layer, order in enumerate(orders, start=1):
        if name == "relu":
            twin = rescale(twin, np.exp(2 * rng.normal(size=len(order))), layer=layer)
        else:
            twin = flip_signs(twin, np.flatnonzero(rng.random(len(order)) < 0.5), layer=layer)
        twin = permute(twin, order, layer=layer)
    result = match(net, twin)
    assert result.exact
    # Unit k of the network went to the place where the order names it.
    for found, order in zip(result.orders, orders, strict=True):
        assert (found == np.argsort(order)).all()
    assert parameter_gap(net, result.network) <= (0 if name == "tanh" else 1e-14)
    assert result.distance_before > 1 > 1e-10 > result.distance_after


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("name", ["tanh", "relu", "gelu", "sigmoid"])
def test_units_that_differ_in_nothing_but_their_biases_are_matched(name, weight, rng):
    b = rng.normal(size=64)
    layers = [(np.full((64, 5), weight), b), (np.ones((1, 64)), [0.0])]
    net = Network.from_arrays(layers, name)
    order = rng.permutation(64)
    result = match(net, permute(net, order))
    assert result.exact
    if weight or name != "relu":  # without weights a rectified unit only has its size
        assert (result.orders[0] == np.argsort(order)).all()


def test_equal_units_are_told_apart_by_what_goes_out(rng):
    W = np.repeat(rng.normal(size=(4, 3)), 4, axis=0)
    W[1::4] *= -1  # and by their sign
    layers = [(W, np.zeros(16)), (rng.normal(size=(8, 16)), np.zeros(8))]
    layers.append((rng.normal(size=(2, 8)), np.zeros(2)))
    net = Network.from_arrays(layers, "tanh")
    for _ in range(5):
        result = match(net, transformed(net, rng))
        assert result.exact
        assert result.max_difference == 0


@pytest.mark.parametrize("name", ["tanh", "relu", "abs", "gelu"])
def test_noise_as_large_as_the_weights_hides_no_unit(name, rng):
    net = Network((100, 60, 5), name, random_state=0)
    (W, b), (V, c) = net.layers()
    noisy = Network.from_arrays(
        [(W + W.std() * rng.normal(size=W.shape), b), (V + V.std() * rng.normal(size=V.shape), c)],
        name,
    )
    order = rng.permutation(60)
    result = match(net, permute(noisy, order))
    assert result.optimality == "optimal"
    assert (result.orders[0] == np.argsort(order)).all()
    assert np.median(result.similarity[0]) > 0.5


@pytest.mark.parametrize("name", ["tanh", "gelu", "hard_tanh"])
def test_one_hidden_layer_is_matched_as_brute_force_does(name):
    a, b = (Network((3, 5, 2), name, random_state=seed) for seed in (0, 1))
    (W, r), (V, _) = a.layers()
    (U, s), (T, _) = b.layers()
    ours, theirs = np.column_stack([W, r, V.T]), np.column_stack([U, s, T.T])
    signs = (1, -1) if name != "gelu" else (1,)
    nearest = min(
        sum(min(np.square(ours[i] - g * theirs[k]).sum() for g in signs) for i, k in enumerate(p))
        for p in itertools.permutations(range(5))
    )
    result = match(a, b)
    assert result.optimality == "optimal"
    assert result.distance_after**2 == pytest.approx(nearest, rel=1e-12)


def test_two_hidden_layers_come_to_the_best_of_all_orders():
    a, b = (Network((3, 4, 4, 2), "gelu", random_state=seed) for seed in (0, 1))
    (W, r), (V, s), (U, _) = a.layers()
    (P, t), (Q, u), (R, _) = b.layers()
    orders = [list(order) for order in itertools.permutations(range(4))]
    best = min(
        np.square(W - P[i]).sum()
        + np.square(r - t[i]).sum()
        + np.square(V - Q[k][:, i]).sum()
        + np.square(s - u[k]).sum()
        + np.square(U - R[:, k]).sum()
        for i in orders
        for k in orders
    )
    result = match(a, b, n_starts=20)
    assert result.optimality == "local"
    assert result.distance_after**2 == pytest.approx(best, rel=1e-12)
    assert "Best of 20 starts" in result.summary()


def test_more_starts_are_never_worse():
    a, b = (Network((6, 12, 12, 12, 3), "tanh", random_state=seed) for seed in (0, 1))
    distances = [match(a, b, n_starts=n).distance_after for n in (1, 2, 5)]
    assert distances == sorted(distances, reverse=True)
    assert distances[0] < match(a, b).distance_before


def test_matching_is_the_same_whatever_order_the_second_comes_in(rng):
    a, b = (Network((6, 20, 3), "tanh", random_state=seed) for seed in (0, 1))
    distance = match(a, b).distance_after
    assert match(a, transformed(b, rng)).distance_after == pytest.approx(distance, rel=1e-12)


def test_linear_layers_are_matched_by_a_basis(rng):
    net = Network((6, 4, 5, 2), ["identity", "tanh"], random_state=0)
    twin = change_basis(net, rng.normal(size=(4, 4)))
    twin = permute(flip_signs(twin, [1, 3], layer=2), rng.permutation(5), layer=2)
    result = match(net, twin)
    assert result.exact
    assert parameter_gap(net, result.network) <= 1e-9
    wide = Network((2, 6, 1), "identity", random_state=0)  # more units than anything tells apart
    other = change_basis(wide, rng.normal(size=(6, 6)))
    result = match(wide, other)
    assert result.distance_after <= result.distance_before
    assert gap(other, result.network) <= 1e-9


def test_single_precision_copies_are_exact_to_their_rounding(rng):
    net = Network((30, 40, 40, 3), "relu", random_state=0, dtype="float32")
    result = match(net, transformed(net, rng))
    assert result.exact
    assert result.network.dtype == torch.float32
    assert parameter_gap(net, result.network) <= 1e-6


def test_merging_copies_gives_the_network_and_apart_the_mean(rng):
    net = Network((4, 8, 8, 2), "tanh", random_state=0)
    twin = transformed(net, rng)
    for share in (0.0, 0.3, 0.5, 1.0):
        assert parameter_gap(net, merge(net, twin, share=share)) == 0
    other = Network((4, 8, 8, 2), "tanh", random_state=1)
    mean = merge(net, other, share=0.25).layers()[0][0]
    matched = match(net, other).network.layers()[0][0]
    assert mean == pytest.approx(0.75 * net.layers()[0][0] + 0.25 * matched)
    assert same_function(other, merge(net, other, share=1.0)).verdict == "proved"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: match(a, Network((2, 4, 1))), r"the same sizes. Got \(2, 3, 1\) and \(2, 4, 1"),
        (lambda a: match(a, Network((2, 3, 1), "tanh")), r"the same activations.*same_function"),
        (lambda a: match(a, a, n_starts=0), r"n_starts must be an integer of at least 1"),
        (lambda a: match(a, "b"), r"b must be a Network or a torch module"),
        (lambda a: merge(a, a, share=2), r"share must be a finite number in \[0, 1\]"),
    ],
)
def test_a_wrong_call_gets_a_sentence(call, message):
    with pytest.raises(ParameterError, match=message):
        call(Network((2, 3, 1), random_state=0))


def test_networks_without_hidden_layers_are_compared_as_they_are():
    net = Network((3, 2), random_state=0)
    assert match(net, net).exact
    result = match(net, Network((3, 2), random_state=1))
    assert result.optimality == "optimal"
    assert result.orders == ()


def test_the_summary_and_the_picture_tell_the_cosines(rng):
    net = Network((4, 8, 6, 2), "tanh", random_state=0)
    result = match(net, transformed(net, rng))
    assert "Mean cosine of incoming weights by hidden layer: 1.000, 1.000." in result.summary()
    lines = result.plot().lines
    assert [len(line.get_ydata()) for line in lines] == [8, 6]
    assert lines[0].get_ydata() == pytest.approx(np.ones(8))


@pytest.mark.parametrize("name", NAMES)
def test_networks_of_zeros_are_matched_like_others(name):
    zero = Network.from_arrays([(np.zeros((4, 3)), np.zeros(4)), (np.zeros((2, 4)), [0, 0])], name)
    other = Network((3, 4, 2), name, random_state=0)
    assert match(zero, zero).exact
    for a, b in ((zero, other), (other, zero)):
        result = match(a, b)
        assert not result.exact
        assert np.isfinite(result.distance_after)


def test_other_numbers_of_equal_units_are_no_copy(rng):
    W = rng.normal(size=(3, 2))
    a, b = (
        Network.from_arrays([(W[list(rows)], np.zeros(4)), (np.ones((1, 4)), [0])], "tanh")
        for rows in ([0, 0, 1, 2], [0, 1, 1, 2])
    )
    result = match(a, b)
    assert result.optimality == "optimal"
    # Three units have their partner; the fourth stands for one that is not there.
    assert np.sum(result.similarity[0] > 1 - 1e-12) == 3
