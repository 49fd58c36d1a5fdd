"""Linear parts, ranks and Lipschitz bounds, against closed forms and sums by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import ParameterError
from lamina.inspection import bottleneck, collapse, lipschitz, rank, regions_on_line
from lamina.inspection._as_network import as_network
from lamina.inspection._lipschitz import jacobian_norms, spectral_norm
from lamina.inspection._plane import regions_in_plane
from lamina.nn import ACTIVATIONS, Network

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 4))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_network_without_a_nonlinearity_is_one_map(depth):
    network = Network((4, *[6] * depth, 3), "identity", random_state=0)
    result = collapse(network)
    W, b = result.runs[0].W, result.runs[0].b
    assert result.linear
    assert result.network.sizes == (4, 3)
    np.testing.assert_allclose(X @ W.T + b, network.predict_raw(X), rtol=1e-12, atol=1e-12)
    expected_W, expected_b = network.collapse()
    np.testing.assert_allclose(W, expected_W, rtol=1e-12)
    np.testing.assert_allclose(b, expected_b, rtol=1e-12, atol=1e-15)


def test_only_the_linear_parts_are_multiplied_out():
    activations = ["identity", "relu", "leaky_relu(1)", "identity", "prelu"]
    network = Network((4, 7, 6, 5, 4, 3, 2), activations, random_state=0)
    result = collapse(network)
    assert [(run.first, run.last) for run in result.runs] == [(1, 2), (3, 5)]
    assert result.network.sizes == (4, 6, 3, 2)
    assert not result.linear
    np.testing.assert_allclose(
        result.network.predict_raw(X), network.predict_raw(X), rtol=1e-12, atol=1e-13
    )
    assert result.runs[1].n_parameters == 7 * 5 + 6 * 4 + 5 * 3
    assert result.runs[1].n_collapsed == 7 * 3
    assert "layers 3 to 5: one map 6 → 3 of rank 3" in result.summary()


def test_a_network_of_nonlinear_layers_stays_as_it_is():
    network = Network((4, 5, 2), "tanh", random_state=0)
    result = collapse(network)
    assert result.runs == ()
    np.testing.assert_array_equal(result.network.predict_raw(X), network.predict_raw(X))
    assert "nothing collapses" in result.summary()
    assert collapse(Network((4, 2), random_state=0)).linear


def test_the_output_s_activation_stays():
    network = Network((4, 5, 2), "identity", output_activation="sigmoid", random_state=0)
    result = collapse(network)
    assert not result.linear
    np.testing.assert_allclose(result.network.predict_raw(X), network.predict_raw(X), rtol=1e-13)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60))
def test_a_bottleneck_saves_below_its_break_even(D, M, K):
    bill = bottleneck(D, M, K)
    through, direct = Network((D, M, K), "identity"), Network((D, K))
    assert bill.n_through == sum(W.size for W, _ in through.layers())
    assert bill.n_direct == sum(W.size for W, _ in direct.layers())
    assert bill.saves == (bill.n_through < bill.n_direct) == (bill.width < bill.break_even)
    assert bill.limits == (min(D, M, K) < min(D, K))


def test_a_bottleneck_bounds_the_rank_in_the_network_s_own_precision():
    for dtype in ("float32", "float64"):
        network = Network((30, 3, 20), "identity", random_state=0, dtype=dtype)
        assert collapse(network).runs[0].rank == 3
        assert "rank is at most 3" in collapse(network).runs[0].bill.summary()
    W = (RNG.standard_normal((30, 5)) @ RNG.standard_normal((5, 40))).astype(np.float32)
    network = Network.from_arrays([(W, np.zeros(30, dtype=np.float32))])
    found = rank(network)
    assert found.layers[0].rank == 5
    assert found.layers[0].n_factored == 5 * 70
    assert "two factors of rank 5 have 350 weights instead of 1,200" in found.summary()


def test_ranks_of_known_singular_values():
    Q, _ = np.linalg.qr(RNG.standard_normal((6, 6)))
    W = Q @ np.diag([4.0, 2.0, 2.0, 0.0, 0.0, 0.0])
    found = rank(Network.from_arrays([(W, np.zeros(6))])).layers[0]
    assert found.rank == 3
    assert found.stable_rank == pytest.approx(24 / 16)
    shares = np.array([0.5, 0.25, 0.25])
    assert found.effective_rank == pytest.approx(np.exp(-(shares * np.log(shares)).sum()))


def test_the_features_rank_is_that_of_the_centred_activations():
    line = np.linspace(-1, 1, 9)[:, None] + 5.0
    network = Network.from_arrays([(np.ones((4, 1)), np.arange(4.0))])
    assert rank(network, line).layers[0].feature_rank == pytest.approx(1.0)
    network = Network.from_arrays([(np.zeros((4, 1)), np.arange(4.0))])
    found = rank(network, line).layers[0]
    assert (found.rank, found.effective_rank, found.stable_rank) == (0, 0.0, 0.0)
    assert found.feature_rank == 0.0


# Lipschitz


def test_the_linear_network_s_constant_is_its_largest_singular_value():
    network = Network((4, 6, 3), "identity", random_state=0)
    W, _ = network.collapse()
    result = lipschitz(network, X)
    assert result.lower == pytest.approx(np.linalg.norm(W, 2), rel=1e-12)
    assert result.upper >= result.lower
    first, second = (np.linalg.norm(W, 2) for W, _ in network.layers())
    assert result.upper == pytest.approx(first * second, rel=1e-11)


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"step"}))
def test_jacobian_norms_are_those_of_central_differences(name):
    network = Network((4, 6, 5, 3), name, random_state=0, output_activation="tanh")
    points, step = X[:5], 1e-6
    norms = jacobian_norms(as_network(network), points)
    for x, norm in zip(points, norms, strict=True):
        J = np.array(
            [
                (network.predict_raw(x + step * e) - network.predict_raw(x - step * e))
                / (2 * step)
                for e in np.eye(4)
            ]
        ).T
        assert norm == pytest.approx(np.linalg.norm(J, 2), rel=1e-6)


def test_jacobian_norms_from_either_end_are_the_same():
    wide = Network((3, 6, 9), "tanh", random_state=0)
    points = RNG.standard_normal((4, 3))
    (W1, _), (W2, _) = wide.layers()
    slopes = 1 - np.tanh(wide.preactivations(points)[0]) ** 2
    expected = [np.linalg.norm(W2 @ (s[:, None] * W1), 2) for s in slopes]
    np.testing.assert_allclose(jacobian_norms(as_network(wide), points), expected, rtol=1e-10)


@given(
    st.sampled_from([*sorted(set(ACTIVATIONS) - {"step"}), "leaky_relu(-2)", "elu(3)"]),
    st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_no_two_points_are_further_apart_than_the_upper_bound_says(name, seed):
    rng = np.random.default_rng(seed)
    network = Network((2, 4, 3, 2), name, init="torch", random_state=seed % 1000)
    a, b = 3 * rng.standard_normal((2, 50, 2))
    rise = np.linalg.norm(network.predict_raw(a) - network.predict_raw(b), axis=1)
    result = lipschitz(network, a)
    assert (rise <= result.upper * np.linalg.norm(a - b, axis=1)).all()
    assert result.lower <= result.upper
    assert result.gap >= 1.0


def tent(times):
    """The tent map on [0, 1], composed: slopes of ±2 become ±2^times."""
    first = (np.array([[1.0], [1.0]]), np.array([0.0, -0.5]))
    inner = (np.array([[2.0, -4.0], [2.0, -4.0]]), np.array([0.0, -0.5]))
    return Network.from_arrays([first, *[inner] * (times - 1), ([[2.0, -4.0]], [0.0])])


def test_a_network_whose_constant_on_the_segment_is_4():
    network = tent(2)
    line = regions_on_line(network, [0.0], [1.0])
    result = lipschitz(network, np.linspace(0, 1, 7)[:, None], regions=line)
    assert result.on_slice == pytest.approx(4.0, rel=1e-12)
    assert result.lower == pytest.approx(4.0, rel=1e-12)
    assert result.upper >= 4.0
    for label in ("upper bound", "lower bound", "exact on the line alone"):
        assert label in result.summary()


def test_the_rate_on_a_line_is_per_unit_of_length():
    network = Network((4, 8, 2), "relu", random_state=0)
    start, end = X[0], X[0] + 10 * (X[1] - X[0])
    result = lipschitz(network, X, regions=regions_on_line(network, start, end))
    t = np.linspace(0, 1, 20_001)[:, None]
    values = network.predict_raw(start + t * (end - start))
    rates = np.linalg.norm(np.diff(values, axis=0), axis=1) / np.linalg.norm(
        (end - start) / 20_000
    )
    assert result.on_slice == pytest.approx(rates.max(), rel=1e-6)
    assert result.on_slice <= result.upper


def test_the_rate_in_a_plane_is_that_of_the_jacobian_along_it():
    network = Network((4, 8, 6, 2), "relu", random_state=0)
    axes = np.array([[1.0, 2.0, 0.0, 0.0], [3.0, 0.0, 1.0, 1.0]])
    plane = regions_in_plane(network, ((-1, 1), (-2, 2)), X[0], axes)
    result = lipschitz(network, X, regions=plane)
    points = plane.points(plane.centroids)
    orthonormal = np.linalg.qr(axes.T)[0].T
    expected = jacobian_norms(as_network(network), points, orthonormal)
    assert result.on_slice == pytest.approx(expected.max(), rel=1e-9)
    assert result.on_slice <= result.upper
    assert "exact on the plane alone" in result.summary()
    with pytest.raises(ParameterError, match="another network"):
        lipschitz(Network((4, 8, 6, 2), "relu", random_state=1), regions=plane)


def test_a_point_on_a_kink_gives_no_rate_that_does_not_exist():
    # 100 near 0, where the convention of slope 0 at a kink would give a rate of 1.
    network = Network.from_arrays(
        [([[1.0], [1.0], [-1.0]], [100.0, 0.0, 0.0]), ([[1.0, -1.0, 1.0]], [0.0])]
    )
    assert lipschitz(network, [[0.0]]).lower == 0.0


def test_a_step_has_no_constant():
    network = Network((2, 3, 1), "step", random_state=0)
    result = lipschitz(network, X[:, :2])
    assert result.upper == np.inf
    assert result.lower == 0.0


def test_learned_slopes_count():
    network = Network.from_arrays(
        [(np.eye(2), np.zeros(2)), (np.eye(2), np.zeros(2))], "prelu", slopes=[[-3.0, 0.5], None]
    )
    result = lipschitz(network, [[-1.0, -1.0]])
    assert result.lower == pytest.approx(3.0)
    assert result.upper == pytest.approx(3.0)


@pytest.mark.parametrize("shape", [(300, 400), (400, 300), (300, 300)])
def test_the_norm_of_a_large_matrix_is_numpy_s(shape):
    W = RNG.standard_normal(shape)
    assert spectral_norm(W) == pytest.approx(np.linalg.norm(W, 2), rel=1e-12)
    assert spectral_norm(1e-200 * W) == pytest.approx(1e-200 * np.linalg.norm(W, 2), rel=1e-12)
    assert spectral_norm(0 * W) == 0.0


def test_many_rows_are_thinned_and_no_rows_give_no_lower_bound():
    network = Network((4, 5, 2), "tanh", random_state=0)
    assert lipschitz(network, X, max_points=7).n_points == 7
    result = lipschitz(network)
    assert result.lower is None
    assert np.isnan(result.gap)
    assert "lower" not in result.summary()


def test_regions_of_another_network_are_refused():
    network, other = (Network((4, 5, 2), "relu", random_state=seed) for seed in (0, 1))
    line = regions_on_line(other, X[0], X[1])
    with pytest.raises(ParameterError, match="those of another network"):
        lipschitz(network, X, regions=line)
    with pytest.raises(ParameterError, match="regions must be a result"):
        lipschitz(network, X, regions=[1, 2])


def test_singular_values_are_drawn_beside_the_largest():
    network = Network((4, 6, 3), "tanh", random_state=0)
    result = rank(network)
    ax = result.plot()
    for line, layer in zip(ax.lines, result.layers, strict=True):
        expected = layer.singular_values / layer.singular_values.max()
        np.testing.assert_allclose(line.get_ydata(), expected)
    zero = rank(Network.from_arrays([(np.zeros((3, 2)), np.zeros(3))]))
    zero.plot().figure.canvas.draw()


def test_doubt_about_regions_is_carried_over(monkeypatch):
    layers = [([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [-0.1, -0.2, -0.3]), ([[1.0] * 3], [0.0])]
    network, window = Network.from_arrays(layers), ((-1, 1), (-1, 1))
    for doubted in (False, True):
        if doubted:
            monkeypatch.setattr("lamina.inspection._region_exact.ALLOWANCE", 0)
        line = regions_on_line(network, [0.1, 0.0], [0.1, 0.4])
        for regions in (line, regions_in_plane(network, window)):
            found = lipschitz(network, regions=regions)
            assert (found.certain, found.doubtful) == (regions.certain, regions.doubtful)
            assert found.certain != doubted
            kind = "lower bound" if doubted else "exact"
            assert f"{kind} on the {found.slice} alone" in found.summary()
            assert ("unit 2 of layer 1" in found.summary()) == doubted


def test_a_function_without_slope_has_no_gap_to_tell():
    flat = Network.from_arrays([(np.zeros((4, 2)), np.zeros(4)), (np.ones((1, 4)), [0.0])])
    step = Network((2, 4, 1), "step", random_state=0)
    for network in (flat, step):
        result = lipschitz(network, np.eye(2))
        assert np.isnan(result.gap)
        assert "times the true constant" not in result.summary()
    assert lipschitz(flat).upper == 0.0
