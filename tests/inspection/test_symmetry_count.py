"""Counting and enumerating symmetries, twins, equality of functions, comparison of networks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import DataError, ParameterError
from lamina.inspection import (
    compare,
    enumerate_symmetries,
    flip_signs,
    n_symmetries,
    rescale,
    same_function,
    segment,
    twin,
)
from lamina.nn import Network, tanh_to_logistic

from .symmetric import gap, networks, transformed


@pytest.mark.parametrize(
    ("sizes", "name", "total", "scales"),
    [
        ((2, 3, 1), "tanh", 48, 0),
        ((3, 5, 1), "relu", 120, 5),
        ((2, 3, 4, 1), "sigmoid", 48 * 384, 0),
        ((2, 3, 4, 1), "gelu", 6 * 24, 0),
        ((2, 3, 1), "prelu", 48, 3),
        ((2, 3, 1), "abs", 48, 3),
        ((2, 3, 1), "identity", 48, 9),
        ((2, 1), "tanh", 1, 0),
    ],
)
def test_counts_are_products_over_layers(sizes, name, total, scales):
    result = n_symmetries(Network(sizes, name))
    assert result.total == total == result.permutations * result.flips
    assert result.n_scales == scales


def test_scales_are_told_as_families():
    summary = n_symmetries(Network((3, 5, 1))).summary()
    assert "5! = 120 weight vectors" in summary
    assert "each in a family of 5 continuous parameters" in summary
    net = Network((3, 5, 1), "prelu", random_state=0)
    net.slopes[0].data[:2] = 0.0  # these two have one sign
    assert twin(net).max_change <= 1e-12


def test_large_counts_are_exact_integers():
    result = n_symmetries(Network((2, 256, 256, 1), "tanh"))
    assert result.total == (2**256 * math.factorial(256)) ** 2
    assert "2^256 · 256! · 2^256 · 256! = about 10^1168.0 weight vectors" in result.summary()
    assert "not identifiable" in result.summary()
    assert [bar.get_height() for bar in result.plot().patches] == pytest.approx(
        2 * [256 * math.log10(2) + math.lgamma(257) / math.log(10)]
    )


def test_a_slope_of_zero_has_one_sign():
    slopes = [[0.0, 0.5], None]
    net = Network.from_arrays([(np.ones((2, 1)), [0, 1]), ([[1, 1]], [0])], "prelu", slopes=slopes)
    assert n_symmetries(net).total == 4
    result = enumerate_symmetries(net)
    assert (result.n_transformations, result.n_distinct) == (4, 4)
    assert result.max_change <= 1e-14


@given(networks(names=("tanh", "relu", "sigmoid", "prelu", "abs", "silu")))
@settings(max_examples=20)
def test_every_copy_computes_the_same(net):
    if n_symmetries(net).total > 500:
        return
    result = enumerate_symmetries(net)
    assert result.n_transformations == n_symmetries(net).total
    assert result.max_change <= 1e-12 * max(1, np.abs(result.parameters).max())
    assert (result.network(0).weights[0] == net.weights[0]).all()


def test_copies_of_a_tanh_network_are_all_different(rng):
    net = Network.from_arrays(
        [(rng.normal(size=(3, 2)), rng.normal(size=3)), (rng.normal(size=(1, 3)), [0.3])], "tanh"
    )
    result = enumerate_symmetries(net, rng.normal(size=(20, 2)))
    assert (result.n_transformations, result.n_distinct, result.n_inputs) == (48, 48, 20)
    mean = result.mean_network()
    # Signs cancel: the mean over all copies knows its output bias only.
    assert mean.predict_raw([1.0, 2.0]) == pytest.approx(0.3, abs=1e-15)
    assert "48 orders and signs of hidden units give 48 different" in result.summary()
    assert sum(bar.get_height() for bar in result.plot().patches) == 48


def test_equal_units_make_fewer_weight_vectors():
    net = Network.from_arrays([(np.ones((3, 1)), np.ones(3)), (np.ones((1, 3)), [0])], "gelu")
    result = enumerate_symmetries(net)
    assert (result.n_transformations, result.n_distinct) == (6, 1)


def test_what_cannot_be_written_out_is_said():
    with pytest.raises(ParameterError, match=r"at most limit = 10000 orders.*Got 3628800\."):
        enumerate_symmetries(Network((2, 10, 1)))
    with pytest.raises(ParameterError, match=r"about 10\^"):
        enumerate_symmetries(Network((2, 100, 1)))
    with pytest.raises(DataError, match=r"X must have shape \(n_inputs, 2\)"):
        enumerate_symmetries(Network((2, 2, 1)), np.zeros((3, 3)))


def test_a_twin_is_far_away_and_the_same():
    net = Network((3, 5, 1), init="torch", random_state=0)
    result = twin(net)
    pairs = zip(net.layers(), result.network.layers(), strict=True)
    gaps = [np.square(p - q).sum() for layers in pairs for p, q in zip(*layers, strict=True)]
    assert result.distance == pytest.approx(np.sqrt(sum(gaps)))
    assert result.distance > 0.5
    assert result.max_change <= 1e-12
    assert "parameters are" in result.summary()
    assert gap(net, result.network) <= 1e-12
    points = result.plot().lines[1]
    assert points.get_xdata() == pytest.approx(points.get_ydata())
    assert twin(net).distance == result.distance != twin(net, random_state=1).distance


def test_equality_is_proved_whatever_the_form(rng):
    net = Network((3, 6, 4, 2), "tanh", random_state=0)
    assert same_function(net, transformed(net, rng)).verdict == "proved"
    assert same_function(net, tanh_to_logistic(net))
    (W, b), (V, c) = Network((3, 4, 2), random_state=0).layers()
    # A unit twice with half its weight, one that is heard by nobody, and one that never moves.
    wide = Network.from_arrays(
        [
            (np.vstack([W, W[:1], rng.normal(size=(1, 3)), np.zeros((1, 3))]), [*b, b[0], 1, 2]),
            (np.column_stack([V[:, 0] / 2, V[:, 1:], V[:, 0] / 2, [0, 0], [1, 1]]), c - 2),
        ]
    )
    result = same_function(Network.from_arrays([(W, b), (V, c)]), wide)
    assert result.verdict == "proved"
    assert result.largest_difference <= 1e-13


def test_units_too_close_to_sort_are_still_proved_equal(rng):
    W = rng.normal(size=(40, 3))
    W[20:, 0] = W[:20, 0] * (1 + 1e-12 * rng.normal(size=20))
    net = Network.from_arrays([(W, np.zeros(40)), (rng.normal(size=(2, 40)), [0, 0])], "gelu")
    for _ in range(5):
        assert same_function(net, transformed(net, rng)).verdict == "proved"


def test_a_difference_is_found_and_told_where():
    net = Network((2, 5, 1), "relu", random_state=0)
    other = flip_signs(net, check=False)
    result = same_function(net, other)
    assert result.verdict == "different"
    assert not result
    gap_there = net.predict_raw(result.where) - other.predict_raw(result.where)
    assert abs(gap_there[result.output]) == pytest.approx(result.largest_difference)
    assert result.largest_difference >= result.differences.max()
    assert "The networks are different functions." in result.summary()
    assert len(result.plot().lines[0].get_ydata()) == result.n_inputs == 3001


def test_a_bump_between_the_samples_is_climbed():
    # A bump of height 1 and width .02 at x = .5, on which no input lies.
    layers = [(np.ones((3, 1)), [-0.49, -0.5, -0.51]), ([[100.0, -200.0, 100.0]], [0.0])]
    bump = Network.from_arrays(layers)
    flat = Network.from_arrays([(np.ones((3, 1)), [0, 0, 0]), (np.zeros((1, 3)), [0.0])])
    X = np.array([[-1.0], [0.492], [2.0]])
    assert same_function(bump, flat, X).largest_difference > 0.9


@pytest.mark.parametrize("name", ["step", "tanh"])
def test_networks_without_slopes_are_compared_too(name):
    still = Network.from_arrays([(np.zeros((2, 2)), [1, 1]), ([[1, 1]], [0])], name)
    assert same_function(still, still, n_inputs=5).verdict == "proved"
    other = Network((2, 3, 1), name, init="torch", random_state=0)
    assert same_function(still, other, n_inputs=5).verdict == "different"


def test_a_hidden_symmetry_is_undecided():
    # relu(x) - relu(-x) = x, written with another split: equal, but not by symmetry of units.
    a = Network.from_arrays([([[1.0], [-1.0]], [0, 0]), ([[1.0, -1.0]], [0])])
    b = Network.from_arrays(
        [([[1.0], [-1.0], [1.0], [-1.0]], [1, -1, 0, 0]), ([[1, -1, 0, 0]], [-1])]
    )
    result = same_function(a, b)
    assert result.verdict == "undecided"
    assert result.largest_difference <= 1e-14
    assert "undecided" in result.summary()


@given(networks(names=("tanh", "relu")), st.floats(1e-3, 1))
@settings(max_examples=20)
def test_a_changed_weight_is_never_proved_equal(net, change):
    W, b = net.layers()[-1]
    layers = [*net.layers()[:-1], (W, b + change)]
    other = Network.from_arrays(layers, net.activations[:-1])
    result = same_function(net, other, n_inputs=10)
    assert result.verdict == "different"
    assert result.largest_difference == pytest.approx(change, rel=1e-6)


def test_comparing_copies_finds_equal_representations(rng):
    net = Network((4, 8, 6, 2), "tanh", random_state=0)
    result = compare(net, transformed(net, rng), rng.normal(size=(50, 4)))
    assert result.max_difference <= 1e-13
    assert np.diagonal(result.cka) == pytest.approx(1)
    for correlation in result.unit_correlation:
        assert correlation == pytest.approx(1)
    assert "0.0% of their spread" in result.summary()
    assert len(result.plot().collections) == 1


def test_alignment_is_that_of_centred_kernels(rng):
    a, b = (
        Network((4, 8, 6, 2), "relu", random_state=0),
        Network((4, 5, 2), "tanh", random_state=1),
    )
    for n in (7, 100):
        X = rng.normal(size=(n, 4))
        result = compare(a, b, X)
        H = np.eye(n) - 1 / n
        K, L = (H @ h @ h.T @ H for h in (a.hidden(X)[1], b.hidden(X)[0]))
        expected = (K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum())
        assert result.cka[1, 0] == pytest.approx(expected)
        assert result.unit_correlation is None
        gaps = a.predict_raw(X) - b.predict_raw(X)
        assert result.rms_difference == pytest.approx(np.sqrt((gaps**2).mean()))


def test_constant_representations_have_no_alignment():
    dead = Network.from_arrays([(np.ones((2, 1)), [-9, -9]), ([[1, 1]], [0])])
    result = compare(dead, dead, [[0.0], [1.0]])
    assert np.isnan(result.cka).all()
    assert np.isnan(result.unit_correlation[0]).all()
    assert "by hidden layer: constant." in result.summary()


def test_bad_calls_of_comparisons_are_named():
    net, X = Network((2, 3, 1), random_state=0), np.eye(2)
    with pytest.raises(ParameterError, match="the same numbers of inputs and outputs"):
        same_function(net, Network((3, 3, 1)))
    with pytest.raises(ParameterError, match="the same numbers of inputs and outputs"):
        compare(net, Network((2, 3, 2)), [[0.0, 0.0]])
    with pytest.raises(DataError, match="X must have at least 2 rows"):
        compare(net, net, [[0.0, 0.0]])
    with pytest.raises(DataError, match="X must be finite"):
        same_function(net, net, [[np.nan, 0.0]])
    big = Network.from_arrays([(1e200 * W, b) for W, b in net.layers()])
    for call in (lambda: same_function(big, big), lambda: twin(big), lambda: compare(big, big, X)):
        with pytest.raises(DataError, match="The outputs must be finite to be compared"):
            call()
    with pytest.raises(ParameterError, match="log_scale must be a finite number"):
        twin(net, log_scale=-1)
    with pytest.raises(ParameterError, match="n_points must be an integer of at least 3"):
        segment(net, net, [[0.0, 0.0]], [0.0], lambda raw, y: 0.0, n_points=2)


def test_rescaling_leaves_and_flipping_changes_relu():
    net = Network((2, 6, 1), "relu", random_state=0)
    assert same_function(net, rescale(net, 3.0)).verdict == "proved"
    assert same_function(net, flip_signs(net, [0], check=False)).verdict == "different"
