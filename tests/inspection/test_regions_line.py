"""Regions on a line, against brute force in fractions, closed forms and dense scans."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lamina._errors import DataError, ParameterError
from lamina.inspection import regions_on_line
from lamina.nn import Network

from ._exact_regions import PIECES, as_arrays, random_network, regions


def network_of(layers, names):
    return Network.from_arrays(as_arrays(layers), names[:-1], output_activation=names[-1])


def by_fractions(layers, names, start, end):
    """Return breakpoints and patterns of the regions on a segment, in order."""
    embedding = [[Fraction(b) - Fraction(a), Fraction(a)] for a, b in zip(start, end, strict=True)]
    unit = [(Fraction(0),), (Fraction(1),)]
    found = regions(layers, names, unit, embedding)
    ordered = sorted((min(ends), pattern) for pattern, ends in found.items())
    return [at for (at,), _ in ordered][1:], [pattern for _, pattern in ordered]


def sawtooth(depth):
    """The tent map, composed: exact in floating point on [0, 1]."""
    first = (np.array([[1.0], [1.0]]), np.array([0.0, -0.5]))
    middle = (np.array([[2.0, -4.0], [2.0, -4.0]]), np.array([0.0, -0.5]))
    last = (np.array([[2.0, -4.0]]), np.array([0.0]))
    return Network.from_arrays([first, *[middle] * (depth - 1), last])


@pytest.mark.parametrize("depth", [1, 2, 5, 11])
def test_the_sawtooth_bends_at_the_dyadic_points(depth):
    result = regions_on_line(sawtooth(depth), [0.0], [1.0])
    assert result.breakpoints.tolist() == [i / 2**depth for i in range(1, 2**depth)]
    assert result.n_regions == result.n_pieces == 2**depth
    assert result.certain
    np.testing.assert_array_equal(result.slopes[:, 0], 2.0**depth * (-1.0) ** np.arange(2**depth))
    np.testing.assert_array_equal(result.values[:, 0, 0], np.arange(2**depth) % 2)


@pytest.mark.parametrize("shift", range(-5, 6))
def test_rounding_of_what_cancelled_below_is_not_forgotten(shift):
    a, b = 1 / 3, 2 / 7
    level = a * 999 + b * 999 - (a + b) * 1000 + shift * 2**-45
    layers = [([[a, b]], [-(a + b) * 1000]), ([[1.0]], [-level])]
    result = regions_on_line(network_of(layers, ["identity", "relu"]), [999, 999], [1001, 1001])
    at, patterns = by_fractions(layers, ["identity", "relu"], [999, 999], [1001, 1001])
    assert result.certain
    assert result.n_regions == len(patterns)
    np.testing.assert_allclose(result.breakpoints, [float(t) for t in at], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.patterns, np.array(patterns)[:, 1:])


names = st.sampled_from(sorted(PIECES))


@settings(max_examples=150)
@given(
    st.integers(0, 10**9),
    st.lists(st.tuples(st.integers(1, 4), names), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([1, 2, 5]),
    names,
)
def test_small_whole_weights_agree_with_fractions(seed, hidden, n_inputs, bound, last):
    rng = np.random.default_rng(seed)
    sizes = [n_inputs, *(n for n, _ in hidden), 1]
    layers = random_network(rng, sizes, -bound, bound)
    activations = [*(name for _, name in hidden), last]
    start, end = rng.integers(-4, 5, n_inputs), rng.integers(-4, 5, n_inputs)
    end[0] = start[0] + 3
    result = regions_on_line(network_of(layers, activations), start, end)
    at, patterns = by_fractions(layers, activations, start.tolist(), end.tolist())
    assert result.certain
    np.testing.assert_allclose(result.breakpoints, [float(t) for t in at], rtol=0, atol=1e-14)
    bending = np.concatenate(
        [np.full(n, PIECES[name][0] != []) for n, name in zip(sizes[1:], activations, strict=True)]
    )
    want = np.array(patterns)[:, bending]
    np.testing.assert_array_equal(result.patterns, want)
    assert result.n_pieces <= result.n_regions


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "activation", ["relu", "leaky_relu(0.1)", "abs", "hard_tanh", "step", "prelu"]
)
def test_a_scan_never_sees_another_pattern_or_value(activation, bias, rng):
    network = Network((20, 16, 12, 8, 2), activation, init="torch", random_state=3)
    if not bias:
        network = Network.from_arrays([(W, 0 * b) for W, b in network.layers()], activation)
    start, end = rng.normal(size=20), rng.normal(size=20)
    result = regions_on_line(network, start, end)
    t = np.linspace(0, 1, 20_001)
    inside = t[np.abs(t[:, None] - np.r_[0, result.breakpoints, 1]).min(axis=1) > 1e-12]
    X = start + inside[:, None] * (end - start)
    region = np.searchsorted(result.breakpoints, inside)
    thresholds = network.activations[0].breakpoints
    codes = [sum((t < A).astype(int) for t in thresholds) for A in network.preactivations(X)[:-1]]
    np.testing.assert_array_equal(result.patterns[region], np.concatenate(codes, axis=1))
    ends = np.concatenate([[0.0], result.breakpoints, [1.0]])
    y = result.values[region, 0] + (inside - ends[region])[:, None] * result.slopes[region]
    np.testing.assert_allclose(y, network.predict_raw(X), rtol=0, atol=1e-12)


def test_units_that_are_multiples_bend_once():
    W = [[1.0, 2.0], [2.0, 4.0], [-0.5, -1.0], [0.1, 0.1]]
    network = Network.from_arrays([(W, [-0.3, -0.6, 0.15, 0.0]), ([[1.0] * 4], [0.0])])
    result = regions_on_line(network, [-1.0, 0.0], [1.0, 0.25])
    assert result.bends == (((1, 3),), ((1, 0), (1, 1), (1, 2)))
    # In floating point -0.7 and 0.21 are no exact multiples of 1 and -0.3: two lines, 1e-17 apart.
    W[2], b = [-0.7, -1.4], [-0.3, -0.6, 0.21, 0.0]
    network = Network.from_arrays([(W, b), ([[1.0] * 4], [0.0])])
    assert regions_on_line(network, [-1.0, 0.0], [1.0, 0.25]).n_regions == 4


def test_breakpoints_closer_than_rounding_are_told_apart():
    # x > 1/3 rounded, and 3x > 1: the two thresholds differ by less than 2e-17.
    network = Network.from_arrays([([[1.0], [3.0]], [-1 / 3, -1.0]), ([[1.0, 1.0]], [0.0])])
    result = regions_on_line(network, [0.0], [1.0])
    assert result.n_regions == 3
    assert result.certain
    assert [bends for bends in result.bends] == [((1, 0),), ((1, 1),)]
    np.testing.assert_allclose(result.breakpoints, [1 / 3, 1 / 3], rtol=1e-15)


def test_what_cannot_be_decided_is_said(monkeypatch):
    monkeypatch.setattr("lamina.inspection._region_exact.ALLOWANCE", 0)
    network = Network.from_arrays([([[1.0], [3.0]], [-1 / 3, -1.0]), ([[1.0, 1.0]], [0.0])])
    result = regions_on_line(network, [0.0], [1.0])
    assert not result.certain
    assert result.doubtful == ((1, 0), (1, 1))
    assert "unit 0 of layer 1, unit 1 of layer 1" in result.summary()


def test_slopes_are_those_of_autograd(rng):
    network = Network((6, 10, 10, 3), "leaky_relu", random_state=1)
    start, end = rng.normal(size=6), rng.normal(size=6)
    result = regions_on_line(network, start, end)
    ends = np.concatenate([[0.0], result.breakpoints, [1.0]])
    for i, t in enumerate((ends[1:] + ends[:-1]) / 2):
        at = torch.tensor(start + t * (end - start))
        J = torch.autograd.functional.jacobian(network, at).numpy()
        np.testing.assert_allclose(result.slopes[i], J @ (end - start), rtol=1e-10, atol=1e-12)


def test_pieces_are_fewer_than_regions_where_a_bend_does_not_reach_the_output():
    # Unit 1 has no way out, and units 2 and 3 bend at one place and cancel.
    W, b = [[1.0], [1.0], [2.0], [1.0]], [-0.25, -0.5, -1.0, -0.75]
    network = Network.from_arrays([(W, b), ([[0.0, 2.0, -1.0, 1.0]], [0.0])])
    result = regions_on_line(network, [0.0], [1.0])
    assert (result.n_regions, result.n_pieces) == (4, 2)
    assert result.bends == (((1, 0),), ((1, 1), (1, 2)), ((1, 3),))


def test_a_prelu_unit_of_slope_one_does_not_bend():
    layers = [([[1.0], [1.0]], [-0.25, -0.5]), ([[1.0, 1.0]], [0.0])]
    network = Network.from_arrays(layers, "prelu", slopes=[[1.0, 0.5], None])
    result = regions_on_line(network, [0.0], [1.0])
    assert result.breakpoints.tolist() == [0.5]
    assert result.slopes.ravel().tolist() == [1.5, 2.0]


def test_steps_jump():
    network = Network.from_arrays(
        [([[1.0], [-1.0]], [-0.25, 0.75]), ([[1.0, 2.0]], [0.0])], "step"
    )
    result = regions_on_line(network, [0.0], [1.0])
    assert result.breakpoints.tolist() == [0.25, 0.75]
    assert result.values[:, 0, 0].tolist() == [2.0, 3.0, 1.0]
    assert result.values[:, 1, 0].tolist() == [2.0, 3.0, 1.0]
    assert not result.slopes.any()


def test_float32_networks_of_torch_and_lines_without_a_bend(rng):
    module = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))
    result = regions_on_line(module, rng.normal(size=5), rng.normal(size=5))
    assert result.n_regions == len(result.breakpoints) + 1 == len(result.patterns)
    one = regions_on_line(nn.Sequential(nn.Linear(2, 2)), [0, 0], [1, 1])
    assert (one.n_regions, one.n_pieces, one.patterns.shape) == (1, 1, (1, 0))
    dead = Network.from_arrays([([[0.0], [1.0]], [0.0, -9.0]), ([[1.0, 1.0]], [0.5])])
    assert regions_on_line(dead, [0.0], [1.0]).n_regions == 1


def test_a_grid_sees_a_share(rng):
    network = Network((1, 200, 1), init="torch", random_state=0)
    result = regions_on_line(network, [-1.0], [1.0])
    t = np.linspace(0, 1, 50)
    A = network.preactivations(2 * t[:, None] - 1)[0]
    seen = len(np.unique(A > 0, axis=0))
    assert result.seen_by_grid(50) == seen / result.n_regions


def test_what_a_result_tells():
    result = regions_on_line(sawtooth(3), [0.0], [1.0])
    assert "8 activation regions" in result.summary()
    assert "exact for these weights" in result.summary()
    assert result.to_dataframe()["slope0"].tolist() == [8.0, -8.0] * 4
    assert result.points.ravel().tolist() == result.breakpoints.tolist()
    assert result.regions_by_layer == (2, 4, 8, 8)
    assert result.units == ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1))
    ax = result.plot()
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), result.breakpoints)
    assert ax.get_title() == "8 regions, 8 linear pieces"


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda n: regions_on_line(n, [0.0], [1.0, 1.0]), DataError, "start must have shape"),
        (lambda n: regions_on_line(n, [0, 0], [0, 0]), DataError, "end must be another point"),
        (lambda n: regions_on_line(n, [0, np.nan], [0, 0]), DataError, "start must be finite"),
        (lambda n: regions_on_line(n, "a", [0, 0]), DataError, "start must hold numbers"),
        (lambda n: regions_on_line(n, [-1e308] * 2, [1e308] * 2), DataError, "finite distance"),
        (lambda n: regions_on_line(None, [0, 0], [1, 1]), ParameterError, "net must be"),
        (lambda n: regions_on_line(Network((2, 3, 1), "tanh"), [0, 0], [1, 1]), ParameterError,
         "'tanh' in layer 1, which is curved .* 'hard_tanh'"),
    ],
)  # fmt: skip
def test_wrong_calls_get_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(Network((2, 3, 1), random_state=0))


def test_weights_too_large_are_refused():
    network = Network.from_arrays([([[1e300]], [0.0]), ([[1e300]], [0.0])])
    with pytest.raises(DataError, match="finite pre-activations"):
        regions_on_line(network, [1.0], [2.0])
