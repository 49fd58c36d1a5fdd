"""Networks written down in closed form, against np.interp, brute force and known rates."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from lamina._errors import DataError, ParameterError
from lamina.inspection import (
    GaussianRadius,
    barron_network,
    barron_rate,
    interpolant_errors,
    polynomial_exception,
    relu_grid_interpolant,
    relu_interpolant,
    ridges,
)
from lamina.inspection._approximation_barron import _frequencies, _total_weight
from lamina.nn import Network


def wave(x):
    return np.sin(2 * np.pi * x) + x / 2


@pytest.mark.parametrize("interval", [(0.0, 1.0), (-3.0, -1.0), (100.0, 101.5)])
@pytest.mark.parametrize("n_units", [1, 2, 7, 64])
def test_the_network_is_numpys_broken_line(n_units, interval):
    found = relu_interpolant(wave, n_units, interval, n_points=1000)
    knots = np.linspace(*interval, n_units + 1)
    x = np.linspace(*interval, 999)
    expected = np.interp(x, knots, wave(knots))
    np.testing.assert_allclose(found.network.predict_raw(x[:, None])[:, 0], expected, atol=1e-9)
    assert found.network.sizes == (1, n_units, 1)
    assert found.exact_at_knots


def test_errors_are_those_of_the_text_and_under_the_bound():
    for n, error in ((4, 0.2105137), (16, 0.0188463), (64, 0.00120309), (256, 7.52925e-5)):
        found = relu_interpolant(wave, n, max_curvature=4 * np.pi**2)
        assert found.max_error == pytest.approx(error, rel=1e-4)
        assert found.max_error <= found.bound * (1 + 1e-9)
        assert found.bound == pytest.approx(np.pi**2 / (2 * n**2))


def test_a_parabola_meets_the_bound():
    found = relu_interpolant(lambda x: 3 * x**2, 8, (-1.0, 1.0), max_curvature=6.0, n_points=161)
    assert found.max_error == pytest.approx(found.bound, rel=1e-12)


def test_the_error_falls_with_the_square_of_the_width():
    found = interpolant_errors(wave, [16, 64, 256, 512], max_curvature=4 * np.pi**2)
    assert found.slope == pytest.approx(-2, abs=0.01)
    assert (found.errors <= found.bounds).all()
    assert list(found.to_dataframe().columns) == ["width", "max_error", "bound"]
    assert "width^-1.99" in found.summary() or "width^-2.00" in found.summary()


def test_a_broken_line_has_no_rate():
    found = interpolant_errors(lambda x: np.zeros_like(x), [1, 2])
    assert math.isnan(found.slope)


def test_wrong_functions_are_told():
    with pytest.raises(ParameterError, match="function must be a function"):
        relu_interpolant("sin", 3)
    with pytest.raises(DataError, match=r"shape \(4,\). Got shape \(4, 2\)"):
        relu_interpolant(lambda x: np.ones((len(x), 2)), 3)
    with pytest.raises(DataError, match="finite"), np.errstate(divide="ignore"):
        relu_interpolant(lambda x: 1 / x, 3)
    with pytest.raises(ParameterError, match="low < high"):
        relu_interpolant(wave, 3, (1.0, 1.0))
    with pytest.raises(ParameterError, match="interval must be a pair"):
        relu_interpolant(wave, 3, 1.0)
    with pytest.raises(DataError, match="two different"):
        interpolant_errors(wave, [4])


def kuhn(function, x, n):
    """Interpolate at one point: sort its place in the cell, and walk along the axes."""
    scaled = np.minimum(x * n, n * (1 - 1e-15))
    corner = np.floor(scaled)
    inside = scaled - corner
    order = np.argsort(-inside)
    lengths = np.concatenate([[1.0], inside[order], [0.0]])
    value, vertex = 0.0, corner.copy()
    for k in range(len(x) + 1):
        if k:
            vertex[order[k - 1]] += 1
        value += (lengths[k] - lengths[k + 1]) * function(vertex[None] / n)[0]
    return value


def bump(X):
    return np.exp(-np.square(X - 0.3).sum(axis=1)) + X[:, 0]


@pytest.mark.parametrize(("n_features", "n_cells"), [(2, 1), (2, 5), (3, 3), (4, 2), (5, 1)])
def test_in_several_dimensions_the_network_is_kuhns_interpolant(n_features, n_cells):
    found = relu_grid_interpolant(bump, n_features, n_cells, n_points=500)
    X = np.random.default_rng(0).random((60, n_features))
    expected = [kuhn(bump, x, n_cells) for x in X]
    np.testing.assert_allclose(found.network.predict_raw(X)[:, 0], expected, atol=1e-12)
    assert found.exact_at_knots
    assert len(found.values) == (n_cells + 1) ** n_features
    n_maxima = math.ceil(math.log2(n_features))
    assert len(found.network.weights) == 3 + n_maxima


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_the_error_in_several_dimensions_stays_under_the_bound(n_features):
    # |x|² has the Hessian 2I and its largest error in the middle of the diagonal: the bound
    def square(X):
        return np.square(X).sum(axis=-1) if X.ndim == 2 else X**2

    found = relu_grid_interpolant(square, n_features, 2, max_curvature=2.0)
    assert found.bound == pytest.approx(n_features * 2 / 8 / 4)
    assert found.max_error == pytest.approx(found.bound, rel=1e-12)


def test_one_dimension_is_the_same_broken_line():
    deep = relu_grid_interpolant(wave, 1, 6)
    flat = relu_interpolant(wave, 6)
    x = np.linspace(0, 1, 200)[:, None]
    np.testing.assert_allclose(
        deep.network.predict_raw(x), flat.network.predict_raw(x), atol=1e-12
    )


def test_a_grid_in_many_dimensions_is_refused():
    with pytest.raises(ParameterError, match="at most 30,000,000 weights"):
        relu_grid_interpolant(bump, 10, 10)


def test_ridges_add_up_to_the_network():
    net = Network((3, 6, 2), "relu", random_state=0)
    found = ridges(net)
    X = np.random.default_rng(1).standard_normal((50, 3))
    along = X @ found.directions.T - found.offsets
    total = found.bias + np.maximum(0, along) @ found.slope_changes.T
    np.testing.assert_allclose(net.predict_raw(X), total, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=1), 1)
    assert list(found.to_dataframe(1)["slope_change"]) == list(found.slope_changes[1])


@pytest.mark.parametrize(
    ("activation", "change"), [("leaky_relu(0.1)", 0.9), ("abs", 2.0), ("prelu", 0.75)]
)
def test_the_change_of_slope_is_that_of_the_activation(activation, change):
    layers = [([[2.0]], [0.0]), ([[3.0]], [0.0])]
    slopes = [np.array([0.25]), None] if activation == "prelu" else None
    found = ridges(Network.from_arrays(layers, activation, slopes=slopes))
    assert found.slope_changes[0, 0] == pytest.approx(6 * change)


def test_smooth_units_have_offsets_and_no_kink():
    module = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    found = ridges(module)
    assert found.slope_changes is None
    assert "slope_change" not in found.to_dataframe()
    W = module[0].weight.detach().double().numpy()
    b = module[0].bias.detach().double().numpy()
    before = found.directions * found.offsets[:, None] @ W.T + b
    np.testing.assert_allclose(np.diag(before), 0, atol=1e-12)


def test_a_constant_unit_has_no_offset():
    found = ridges(Network.from_arrays([([[0.0], [1.0]], [1.0, 2.0]), ([[1.0, 1.0]], [0.0])]))
    assert np.isnan(found.offsets[0])
    assert found.offsets[1] == -2
    assert "1 of them constant" in found.summary()
    found.plot().figure.canvas.draw()


def test_deeper_networks_are_no_sums_of_ridges():
    with pytest.raises(ParameterError, match="one hidden layer"):
        ridges(Network((2, 3, 3, 1)))
    with pytest.raises(ParameterError, match="'sigmoid' after"):
        ridges(Network((2, 3, 1), output_activation="sigmoid"))


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_a_polynomial_activation_stops_at_the_best_polynomial(degree):
    found = polynomial_exception(lambda x: np.sin(8 * x), degree)
    assert found.ranks.tolist() == [min(n, degree) + 1 for n in (1, 2, 4, 8, 16, 32)]
    x = np.linspace(-1, 1, 400)
    residual = np.sin(8 * x) - np.polyval(np.polyfit(x, np.sin(8 * x), degree), x)
    floor = np.sqrt(np.mean(residual**2))
    assert found.polynomial_error == pytest.approx(floor, rel=1e-9)
    np.testing.assert_allclose(found.errors[found.widths >= 8], floor, rtol=1e-6)
    assert found.tanh_errors[-1] < floor / 100
    assert found.tanh_ranks[-1] > degree + 1


def test_the_interval_of_the_exception_may_be_anywhere():
    found = polynomial_exception(lambda x: (x - 100) ** 2, 2, interval=(99.0, 101.0))
    assert found.errors[-1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_drawn_steps_average_to_the_gaussian(d):
    # the mean of 400,000 steps is off by V/√N = 2rC/630 at most in standard deviation
    net = barron_network(d, 400_000, 1.0, random_state=0)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, d))
    X *= (rng.random(20) / np.linalg.norm(X, axis=1))[:, None]
    truth = np.exp(-0.5 * np.square(X).sum(1))
    spread = 2 * GaussianRadius(d).mean / 632
    assert np.abs(net.predict_raw(X)[:, 0] - truth).max() < 4 * spread


@pytest.mark.parametrize(("d", "r"), [(1, 1.0), (3, 2.0)])
def test_the_total_weight_is_that_of_quadrature(d, r):
    rho = np.linspace(0, d + 10, 4001)
    t = (np.arange(400) + 0.5) / 400 * r
    grid = 2 * stats.chi(d).pdf(rho)[:, None] * rho[:, None] * np.abs(np.sin(np.outer(rho, t)))
    expected = integrate.trapezoid(grid.mean(axis=1) * r, rho)
    assert _total_weight(d, r) == pytest.approx(expected, rel=1e-4)
    assert _total_weight(d, r) <= 2 * r * GaussianRadius(d).mean


def test_frequencies_are_drawn_in_proportion_to_their_weight():
    rho, t = _frequencies(3, 40_000, 1.0, np.random.default_rng(0))
    grid_rho, grid_t = np.linspace(0, 12, 2001)[:, None], (np.arange(500) + 0.5)[None] / 500
    density = stats.chi(3).pdf(grid_rho) * grid_rho * np.abs(np.sin(grid_rho * grid_t))
    density /= density.sum()
    # standard errors of the means: about 0.006 and 0.0013
    assert rho.mean() == pytest.approx((density * grid_rho).sum(), abs=0.03)
    assert t.mean() == pytest.approx((density * grid_t).sum(), abs=0.007)


@pytest.mark.parametrize("d", [1, 5, 20])
def test_the_rate_does_not_depend_on_the_dimension(d):
    found = barron_rate(d, (16, 64, 256, 1024))
    assert found.slope == pytest.approx(-1, abs=0.2)
    assert (found.errors < found.bounds).all()
    assert found.fixed_basis_slope == -2 / d
    assert list(found.to_dataframe()["width"]) == [16, 64, 256, 1024]


def test_every_picture_is_drawn_with_labelled_axes():
    found = [
        relu_interpolant(wave, 6),
        relu_grid_interpolant(bump, 2, 2),
        interpolant_errors(wave, [4, 8], max_curvature=40.0),
        polynomial_exception(wave),
        barron_rate(2, (4, 8), n_repeats=1),
        ridges(Network((1, 5, 1), "tanh")),
        ridges(Network((1, 5, 1), "relu")),
    ]
    for result in found:
        ax = result.plot()
        ax.figure.canvas.draw()
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert result.summary()


def test_all_maxima_are_pairs_of_what_is_not_negative():
    # every hidden value of a grid network is max(0, .) of what it stands for: no unit is lost
    found = relu_grid_interpolant(bump, 3, 1, n_points=10)
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    hats = found.network.hidden(corners)[-1]
    np.testing.assert_allclose(hats, np.eye(8), atol=1e-12)
