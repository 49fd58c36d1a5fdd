"""Regions in a plane, against brute force in fractions, known counts and the network itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.inspection import _plane_walk as plane_walk
from lamina.inspection import count_regions, regions_in_plane
from lamina.nn import Network

from ._exact_regions import PIECES, random_network, regions, size, square
from ._region_cases import WINDOW, check_mesh, codes_at, network_of, torch_network

KNOWN = {
    (24,): ((208, 178, 182), (48, 48, 48)),
    (12, 12): ((130, 135, 233), (48, 52, 48)),
    (8, 8, 8): ((89, 48, 81), (58, 48, 48)),
    (64, 64): ((5122, 4895, 4320), (260, 258, 250)),
    (128, 128, 128): ((39735, 40142, 37347), (762, 756, 730)),
}
"""Counts on which four other programs agree: PyTorch's initialisation, and zero biases."""


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("zero_biases", [False, True], ids=["torch", "zero biases"])
@pytest.mark.parametrize("widths", KNOWN, ids=str)
def test_known_counts(widths, zero_biases, seed):
    network = torch_network(widths, seed, zero_biases)
    want = KNOWN[widths][zero_biases][seed]
    counted = count_regions(network, WINDOW)
    assert (counted.n_regions, counted.certain, counted.doubtful) == (want, True, ())
    result = regions_in_plane(network, WINDOW)
    assert (result.n_regions, result.certain) == (want, True)
    assert result.regions_by_layer == counted.regions_by_layer
    if sum(widths) > 300 and seed:
        return  # enough of these to look at
    check_mesh(result)
    own = Network.from_torch(network)
    np.testing.assert_array_equal(codes_at(own, result.centroids), result.patterns)


names = st.sampled_from(sorted(PIECES))


def compare_with_fractions(layers, activations, low=-2, high=2, origin=None, axes=None):
    """Compare patterns and the area of each with brute force."""
    origin = [0, 0] if origin is None else origin
    axes = [[1, 0], [0, 1]] if axes is None else axes
    embedding = [[a, b, c] for a, b, c in zip(*axes, origin, strict=True)]
    found = regions(layers, activations, square(low, high), embedding)
    network = network_of(layers, activations)
    result = regions_in_plane(network, ((low, high), (low, high)), origin, axes)
    assert result.n_regions == len(found)
    assert result.certain
    counted = count_regions(network, ((low, high), (low, high)), origin, axes)
    assert counted.n_regions == len(found)
    check_mesh(result)
    widths = [len(b) for _, b in layers]
    bending = np.concatenate(
        [np.full(n, PIECES[name][0] != []) for n, name in zip(widths, activations, strict=True)]
    )
    area = {bytes(np.array(p, np.uint8)[bending]): float(size(found[p])) for p in found}
    for pattern, got in zip(result.patterns, result.areas, strict=True):
        assert got == pytest.approx(area[pattern.tobytes()], rel=1e-9, abs=1e-14)
    return result


@settings(max_examples=150)
@given(
    st.integers(0, 10**9),
    st.lists(st.tuples(st.integers(1, 4), names), min_size=1, max_size=3),
    st.sampled_from([1, 2, 5]),
    st.booleans(),
    names,
)
def test_small_whole_weights_agree_with_fractions(seed, hidden, bound, zero_biases, last):
    rng = np.random.default_rng(seed)
    layers = random_network(rng, [2, *(n for n, _ in hidden), 1], -bound, bound)
    if zero_biases:
        layers = [(W, [0.0] * len(b)) for W, b in layers]
    compare_with_fractions(layers, [*(name for _, name in hidden), last])


@settings(max_examples=40)
@given(st.integers(0, 10**9), names)
def test_slices_of_more_inputs_agree_with_fractions(seed, name):
    rng = np.random.default_rng(seed)
    layers = random_network(rng, [4, 4, 3, 2], denominator=2)
    origin, axes = rng.integers(-2, 3, 4), rng.integers(-2, 3, (2, 4))
    if np.linalg.matrix_rank(axes) == 2:
        compare_with_fractions(
            layers, [name, name, "identity"], -1, 3, origin.tolist(), axes.tolist()
        )


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.sampled_from(["relu", "leaky_relu(0.25)", "abs", "hard_tanh"]))
def test_the_two_ways_agree_in_general_position(seed, name):
    rng = np.random.default_rng(seed)
    network = Network((2, 9, 7, 5, 1), name, init="torch", random_state=int(rng.integers(10**6)))
    fast = regions_in_plane(network, WINDOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plane_walk, "find_crossings", lambda *_: None)
        slow = regions_in_plane(network, WINDOW)
    assert fast.regions_by_layer == slow.regions_by_layer
    order = [np.lexsort(result.patterns.T) for result in (fast, slow)]
    np.testing.assert_array_equal(fast.patterns[order[0]], slow.patterns[order[1]])
    np.testing.assert_allclose(fast.areas[order[0]], slow.areas[order[1]], rtol=1e-6, atol=1e-12)


ONE = ([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]], [0.0])
FIVE = (
    [[1.0, 0.3], [0.2, -1.0], [1.0, 1.0], [-0.5, 1.0], [0.7, 0.1]],
    [0.1, 0.3, -0.4, 0.2, -0.9],
)
DEGENERATE = {
    "duplicated": ([1.0, 0.3], 0.1),
    "negated": ([-1.0, -0.3], -0.1),
    "proportional": ([4.0, 1.2], 0.4),
    "dead": ([0.0, 0.0], -1.0),
    "all zero": ([0.0, 0.0], 0.0),
    "always on": ([0.0, 0.0], 1.0),
    "never in the window": ([1.0, 1.0], 9.0),
    "along the border": ([1.0, 0.0], 2.0),
    "through a corner": ([1.0, 1.0], 4.0),
    "along the diagonal": ([1.0, -1.0], 0.0),
    "nearly parallel": ([1.0, 0.3 + 1e-7], 0.1),
    "nearly the same": ([1.0, 0.3 + 1e-15], 0.1),
    "shifted by rounding": ([1.0, 0.3], 0.1 + 2**-56),
    "far too steep": ([1e150, 3e149], 1e149),
    "tiny": ([1e-150, 3e-151], 0.5e-150),
}


@pytest.mark.parametrize("what", DEGENERATE)
def test_a_sixth_unit_in_special_position(what):
    weights, bias = DEGENERATE[what]
    W, b = [*FIVE[0], weights], [*FIVE[1], bias]
    compare_with_fractions([(W, b), ONE], ["relu", "identity"])


def test_units_that_only_agree_on_part_of_the_plane():
    # Layer 2 repeats a line of layer 1 within the half plane where unit 0 is on.
    layers = [([[1, 0], [0, 1]], [0, 0]), ([[1, 0], [2, 0], [1, -1], [-1, 1]], [0, 0, 0, 0])]
    compare_with_fractions(layers, ["relu", "relu"])


def test_many_lines_through_one_point_that_is_no_float():
    third = [[3, 0], [0, 3], [3, 3], [3, -3], [6, 3], [3, 6]]
    layers = [
        (third, [-1, -1, -2, 0, -3, -3]),
        ([[1, -1, 1, -1, 1, -1], [1, 1, 1, 1, 1, 1]], [0, -1]),
    ]
    result = compare_with_fractions(layers, ["relu", "relu"])
    assert not all(plane_walk.walk_plane(result._mesh.__class__.of_window(
        result._mesh.exact, result.bounds, result.origin, result.axes)).generic)  # fmt: skip


def test_lines_a_hair_apart_are_counted_as_they_are():
    # 0.1 + 0.2 is not 0.3 in floating point: the third line misses the crossing of the others.
    layers = [([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [-0.1, -0.2, -0.3]), ([[1.0] * 3], [0.0])]
    result = compare_with_fractions(layers, ["relu", "identity"])
    assert result.n_regions == 7
    exact = [([[8, 0], [0, 8], [8, 8]], [-1, -2, -3]), ([[1, 1, 1]], [0])]
    assert compare_with_fractions(exact, ["relu", "identity"]).n_regions == 6


@pytest.mark.parametrize("shift", range(-5, 6))
def test_rounding_of_what_cancelled_below_is_not_forgotten(shift):
    # Sums of 600 leave 0.6 at most in the window, wrong by as much as 600 can be; the next
    # layer's line misses a corner by as little as that, on one side or the other.
    a, b = 1 / 3, 2 / 7
    level = a * 999 + b * 999 - (a + b) * 1000 + shift * 2**-45
    layers = [([[a, b]], [-(a + b) * 1000]), ([[1.0], [-1.0]], [-level, 0.0])]
    compare_with_fractions(layers, ["identity", "relu"], 999, 1001)


def test_what_cannot_be_decided_is_said(monkeypatch):
    monkeypatch.setattr("lamina.inspection._region_exact.ALLOWANCE", 0)
    layers = [([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [-0.1, -0.2, -0.3]), ([[1.0] * 3], [0.0])]
    result = regions_in_plane(network_of(layers, ["relu", "identity"]), WINDOW)
    assert (result.n_regions, result.certain) == (6, False)
    assert result.doubtful == ((1, 2),)
    assert "unit 2 of layer 1" in result.summary()
    assert (
        "unit 2 of layer 1"
        in count_regions(network_of(layers, ["relu", "identity"]), WINDOW).summary()
    )


def test_left_open_signs_never_break_the_mesh(monkeypatch):
    monkeypatch.setattr("lamina.inspection._region_exact.ALLOWANCE", 0)
    rng = np.random.default_rng(5)
    for _ in range(30):
        layers = random_network(rng, [2, 6, 5, 4, 1], -1, 1)
        shaken = [(np.array(W) + 1e-15 * rng.normal(size=np.shape(W)), b) for W, b in layers]
        network = network_of(shaken, ["relu", "relu", "relu", "identity"])
        result = regions_in_plane(network, WINDOW)
        assert len(result.vertices) - len(result.edges) + result.n_regions == 1
        assert result.areas.sum() == pytest.approx(16, rel=1e-9)


def test_a_window_far_away_or_tiny(rng):
    network = Network((2, 20, 20, 1), init="torch", random_state=1)
    everything = regions_in_plane(network, ((-1e6, 1e6), (-1e6, 1e6)))
    check_mesh(everything)
    inside = everything.centroids[np.abs(everything.centroids).max(axis=1) < 1e5]
    np.testing.assert_array_equal(
        codes_at(network, inside),
        everything.patterns[np.abs(everything.centroids).max(axis=1) < 1e5],
    )
    vertex = everything.vertices[np.abs(everything.vertices).max(axis=1) < 1][0]
    tiny = regions_in_plane(
        network, ((vertex[0] - 1e-9, vertex[0] + 1e-9), (vertex[1] - 1e-9, vertex[1] + 1e-9))
    )
    assert tiny.n_regions == 4
    assert tiny.areas.sum() == pytest.approx(4e-18)
