"""Laws of balls and Gaussian lengths against SciPy, quadrature and draws."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from lamina._errors import DataError, ParameterError
from lamina.inspection import GaussianRadius, log_ball_volume, log_sphere_area, shell_fraction

DIMENSIONS = [1, 2, 3, 10, 100, 784, 5000]


@pytest.mark.parametrize(
    ("n", "volume", "area"),
    [
        (1, 2, 2),
        (2, math.pi, 2 * math.pi),
        (3, 4 / 3 * math.pi, 4 * math.pi),
        (4, math.pi**2 / 2, 2 * math.pi**2),
    ],
)
def test_small_balls_are_those_of_school(n, volume, area):
    assert math.exp(log_ball_volume(n)) == pytest.approx(volume)
    assert math.exp(log_sphere_area(n)) == pytest.approx(area)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_the_surface_is_the_derivative_of_the_volume(n):
    # V = K r^D, so that ln S = ln V + ln(D / r)
    expected = log_ball_volume(n, 2.5) + math.log(n / 2.5)
    assert log_sphere_area(n, 2.5) == pytest.approx(expected, rel=1e-12)


def test_the_shell_is_what_a_smaller_ball_leaves():
    for n in DIMENSIONS:
        inner = math.exp(log_ball_volume(n, 0.99) - log_ball_volume(n))
        assert shell_fraction(n, 0.01) == pytest.approx(1 - inner, rel=1e-9)
    assert shell_fraction(3, 0.0) == 0
    assert shell_fraction(3, 1.0) == 1
    assert shell_fraction(10**6, 1e-12) == pytest.approx(1e-6, rel=1e-5)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_the_length_follows_the_chi_distribution(n):
    radius, chi = GaussianRadius(n), stats.chi(n)
    r = np.linspace(radius.mean * 0.2, radius.mean * 2, 30)
    np.testing.assert_allclose(radius.log_pdf(r), chi.logpdf(r), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(radius.cdf(r), chi.cdf(r), rtol=1e-9, atol=1e-12)
    assert radius.mean == pytest.approx(chi.mean(), rel=1e-9)
    low, high = max(0.0, radius.mean - 12), radius.mean + 12
    total = quad(lambda x: math.exp(radius.log_pdf(x)), low, high, points=[radius.mean])[0]
    assert total == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize("n", [1, 2, 10, 100, 784])
def test_mean_and_spread_are_those_of_quadrature(n):
    radius = GaussianRadius(n)
    low, high = max(0.0, radius.mean - 12), radius.mean + 12

    def moment(f):
        return quad(lambda x: f(x) * math.exp(radius.log_pdf(x)), low, high, points=[radius.mean])[
            0
        ]

    assert radius.mean == pytest.approx(moment(lambda x: x), rel=1e-8)
    variance = moment(lambda x: (x - radius.mean) ** 2)
    assert radius.std == pytest.approx(math.sqrt(variance), rel=1e-6)


def test_series_and_gamma_function_meet():
    before, after = GaussianRadius(999), GaussianRadius(1000)
    by_gamma = math.sqrt(2) * math.exp(math.lgamma(500.5) - math.lgamma(500))
    assert after.mean == pytest.approx(by_gamma, rel=1e-11)
    assert after.std == pytest.approx(before.std, abs=2e-7)
    assert GaussianRadius(10**12).std == pytest.approx(math.sqrt(0.5), rel=1e-9)


@pytest.mark.parametrize("n", [2, 10, 100])
def test_the_mode_is_where_the_density_peaks(n):
    radius = GaussianRadius(n)
    grid = np.linspace(1e-6, 15, 150_001)
    assert grid[np.argmax(radius.log_pdf(grid))] == pytest.approx(radius.mode, abs=1e-4)


def test_the_origin_is_denser_by_a_power_of_ten():
    radius = GaussianRadius(50)
    at_origin = stats.norm.logpdf(0) * 50
    at_mode = stats.norm.logpdf(radius.mode / math.sqrt(50)) * 50
    expected = (at_origin - at_mode) / math.log(10)
    assert radius.log10_density_ratio == pytest.approx(expected)
    assert math.isfinite(GaussianRadius(10**9).log10_density_ratio)


def test_drawn_lengths_have_mean_and_spread_of_the_law():
    radius = GaussianRadius(784)
    lengths = radius.sample(20_000, random_state=0)
    assert lengths.mean() == pytest.approx(radius.mean, abs=5 * 0.707 / 141)
    assert lengths.std() == pytest.approx(radius.std, rel=5 / 200)
    np.testing.assert_array_equal(lengths[:10], radius.sample(10, random_state=0))


def test_the_ends_are_finite_or_never():
    assert GaussianRadius(1).log_pdf(0.0) == pytest.approx(stats.chi(1).logpdf(0.0))
    assert GaussianRadius(2).log_pdf(0.0) == -math.inf
    assert GaussianRadius(3).log_pdf(1e200) == -math.inf
    assert GaussianRadius(3).cdf(1e200) == 1
    assert GaussianRadius(3).cdf(-1.0) == 0


def test_wrong_numbers_are_told():
    with pytest.raises(ParameterError, match="n_features"):
        GaussianRadius(0)
    with pytest.raises(ParameterError, match="radius"):
        log_ball_volume(3, 0.0)
    with pytest.raises(ParameterError, match="thickness"):
        shell_fraction(3, 1.5)
    with pytest.raises(DataError, match="radius must not be negative"):
        GaussianRadius(3).log_pdf([-1.0])


def test_the_summary_and_the_picture():
    radius = GaussianRadius(784)
    assert "10^170.0" in radius.summary()
    assert radius.plot().get_xlabel() == "distance from the origin"
