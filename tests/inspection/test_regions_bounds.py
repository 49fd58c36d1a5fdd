"""Bounds on regions against brute-force sums, enumeration by linear programs, and counts."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from torch import nn

from lamina._errors import DataError, ParameterError
from lamina.inspection import (
    count_arrangement,
    count_regions,
    region_bound,
    regions_on_line,
    sawtooth_network,
)
from lamina.nn import Network


def by_linear_programs(W, b):
    """Count sign vectors for which a point lies strictly on these sides."""
    count = 0
    for signs in itertools.product([-1, 1], repeat=len(b)):
        s = np.array(signs)
        # Maximise r with s (W x + b) >= r, r <= 1.
        A = np.column_stack([-s[:, None] * W, np.ones(len(b))])
        c = np.zeros(W.shape[1] + 1)
        c[-1] = -1
        bounds = [(None, None)] * W.shape[1] + [(None, 1)]
        found = linprog(c, A_ub=A, b_ub=s * b, bounds=bounds)
        count += bool(found.status == 0 and -found.fun > 1e-7)
    return count


@settings(max_examples=25)
@given(st.integers(0, 10**9), st.integers(1, 5), st.integers(1, 3))
def test_arrangements_of_whole_numbers_agree_with_linear_programs(seed, m, d):
    rng = np.random.default_rng(seed)
    W, b = rng.integers(-1, 2, (m, d)), rng.integers(-1, 2, m)
    keep = W.any(axis=1)
    if keep.any():
        assert count_arrangement(W, b) == by_linear_programs(W[keep], b[keep])


@pytest.mark.parametrize(("m", "d"), [(5, 2), (8, 2), (6, 3), (10, 4), (24, 2), (12, 5), (3, 7)])
def test_general_position_reaches_the_formula(m, d, rng):
    want = sum(comb(m, i) for i in range(d + 1))
    assert count_arrangement(rng.normal(size=(m, d)), rng.normal(size=m)) == want
    assert region_bound((d, m, 1)).upper == want
    assert region_bound((d, m, 1)).upper_relu == want
    assert region_bound((d, m, 1)).shallow == want


def test_arrangements_in_special_position():
    star = [[np.cos(a), np.sin(a)] for a in np.linspace(0, 3, 9)]
    assert count_arrangement(star, np.zeros(9)) == 18
    assert count_arrangement([[1, 0]] * 4, [0, 1, 2, 2]) == 4
    assert count_arrangement([[1, 0], [-2, 0], [0, 0]], [1, -2, 5]) == 2
    assert count_arrangement(np.zeros((0, 3)), []) == 1
    # The braid arrangement: x_i = x_j for i < j has d! regions.
    rows = [np.eye(4)[i] - np.eye(4)[j] for i, j in itertools.combinations(range(4), 2)]
    assert count_arrangement(rows, np.zeros(6)) == 24
    assert count_arrangement(np.eye(5), np.zeros(5)) == 32


def test_a_window_as_large_as_all_crossings_holds_the_arrangement(rng):
    W, b = rng.integers(-9, 10, (14, 2)), rng.integers(-9, 10, 14)
    W[W[:, 0] == 0, 0] = 1
    network = Network.from_arrays([(1.0 * W, 1.0 * b), (np.ones((1, 14)), [0.0])])
    window = ((-1e5, 1e5), (-1e5, 1e5))
    assert count_regions(network, window).n_regions == count_arrangement(W, b)


@pytest.mark.parametrize("sizes", [(2, 3, 4, 2, 1), (3, 2, 2, 1), (1, 5, 5, 1), (4, 3, 1)])
def test_the_sharper_bound_is_the_sum_over_all_choices(sizes):
    n_inputs, *hidden, _ = sizes
    total = 0
    for choice in itertools.product(*[range(n + 1) for n in hidden]):
        left, term = n_inputs, 1
        for n, j in zip(hidden, choice, strict=True):
            term *= comb(n, j) if j <= min(left, n) else 0
            left = min(left, n - j)
        total += term
    bound = region_bound(sizes)
    assert bound.upper_relu == total
    assert bound.reached <= total <= bound.upper


def test_one_input():
    bound = region_bound((1, 4, 4, 4, 1))
    assert (bound.upper, bound.shallow, bound.reached) == (125, 13, 4 * 4 * 5)
    assert region_bound((1, 4, 1), pieces_per_unit=3).upper == 9


@pytest.mark.parametrize("sizes", [(1, 3, 3, 1), (2, 4, 3, 1), (2, 3, 2, 2, 1), (3, 2, 1)])
def test_no_network_has_more(sizes):
    bound = region_bound(sizes)
    for seed in range(40):
        network = Network(sizes, init="he", random_state=seed)
        rng = np.random.default_rng(seed)
        network = Network.from_arrays([(W, rng.normal(size=len(b))) for W, b in network.layers()])
        start = rng.normal(size=sizes[0])
        assert regions_on_line(network, 50 * start, -50 * start).n_regions <= bound.upper_relu
        if sizes[0] == 2:
            assert count_regions(network, ((-50, 50), (-50, 50))).n_regions <= bound.upper_relu


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_the_two_sawtooths_are_the_tent_map_composed(depth):
    x = [Fraction(i, 2**10) for i in range(2**10 + 1)]
    y = x
    for _ in range(depth):
        y = [2 * t if 2 * t <= 1 else 2 - 2 * t for t in y]
    at = np.array([float(t) for t in x])[:, None]
    for shallow in (False, True):
        network = sawtooth_network(depth, shallow=shallow)
        assert network.predict_raw(at).ravel().tolist() == [float(t) for t in y]
        assert sum(network.sizes[1:-1]) == (2**depth if shallow else 2 * depth)


def test_what_a_bound_tells():
    bound = region_bound((2, 24, 1))
    assert "at most 301 activation regions" in bound.summary()
    assert "about 10^" in region_bound((5, 500, 500, 500, 500, 1)).summary()
    ax = region_bound((2, 500, 500, 500, 1)).plot()
    assert len(ax.patches) == 4


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: region_bound((2, 1)), ParameterError, "sizes must hold inputs"),
        (lambda: region_bound((2, 0, 1)), ParameterError, r"sizes\[1\]"),
        (lambda: region_bound((2, 4, 1), pieces_per_unit=1), ParameterError, "pieces_per_unit"),
        (lambda: count_arrangement([1, 2], [1, 2]), DataError, "W must have shape"),
        (lambda: count_arrangement([[1, 2]], [np.nan]), DataError, "b must be finite"),
        (lambda: sawtooth_network(0), ParameterError, "depth must be"),
        (lambda: sawtooth_network(20, shallow=True), ParameterError, "at most 16"),
    ],
)
def test_wrong_calls_get_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_wide_windows_are_counted_in_float64():
    """In single precision the same window has 7,873 regions, two of them made by rounding."""
    torch.manual_seed(0)
    layers = []
    for n_inputs, n_units in ((2, 64), (64, 64)):
        linear = nn.Linear(n_inputs, n_units)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        layers += [linear, nn.ReLU()]
    network = nn.Sequential(*layers, nn.Linear(64, 1)).double()
    result = count_regions(network, ((-2000, 2000), (-2000, 2000)))
    assert (result.n_regions, result.certain) == (7871, True)
