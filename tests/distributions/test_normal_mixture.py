"""Mixtures of normals for one target, against SciPy, quadrature and the closed forms."""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lamina.distributions import NormalMixture

from .families import cdf, normal_mixtures, parts, pdf, quadrature

LEVELS = np.array([1e-9, 1e-3, 0.05, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9])


def integral(of, dist, *more):
    """Return a quadrature that does not complain where the integrand is next to nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quadrature(of, dist, *more)


def test_one_component_is_scipys_normal(rng):
    loc, scale, y = rng.normal(size=6), np.exp(rng.normal(size=6)), rng.normal(size=6)
    dist, truth = NormalMixture(loc, scale), stats.norm(loc, scale)
    np.testing.assert_allclose(dist.log_prob(y), truth.logpdf(y), rtol=1e-13)
    np.testing.assert_allclose(dist.cdf(y), truth.cdf(y), rtol=1e-13)
    np.testing.assert_allclose(dist.quantile(0.03), truth.ppf(0.03), rtol=1e-13)
    np.testing.assert_allclose(dist.entropy(), truth.entropy(), rtol=1e-13)
    np.testing.assert_array_equal(dist.mean(), loc)
    np.testing.assert_allclose(dist.std(), scale, rtol=1e-15)
    np.testing.assert_array_equal(dist.mode(), loc)


@given(normal_mixtures())
def test_a_quantile_is_where_the_cdf_reaches_it(dist):
    found = dist.quantile(LEVELS)[0]
    assert (np.diff(found) >= 0).all()
    for q, y in zip(LEVELS, found, strict=True):
        # The nearest float64 on either side is the best that y can say.
        low, high = np.nextafter(y, -np.inf), np.nextafter(y, np.inf)
        exact = abs(cdf(dist, y) - q) <= 1e-10
        assert exact or cdf(dist, low) <= q <= cdf(dist, high)
        assert exact or np.spacing(abs(y)) > 1e-3 * dist.scale.min()


@given(normal_mixtures())
def test_far_out_quantiles_keep_their_digits(dist):
    q = 1e-14
    loc, scale, weight = parts(dist)
    low, high = dist.quantile([q, 1 - 2.0**-50])[0]
    if np.spacing(abs(low)) < 1e-6 * dist.scale.min():
        assert weight @ stats.norm.cdf(low, loc, scale) == pytest.approx(q, rel=1e-4)
    if np.spacing(abs(high)) < 1e-6 * dist.scale.min():
        assert weight @ stats.norm.sf(high, loc, scale) == pytest.approx(2.0**-50, rel=1e-4)


def test_the_ends_of_the_line():
    dist = NormalMixture([[0.0, 3.0]], [[1.0, 2.0]])
    assert dist.quantile([0.0, 1.0]).tolist() == [[-np.inf, np.inf]]
    assert dist.cdf([[-np.inf, np.inf]]).tolist() == [[0.0, 1.0]]
    assert dist.pdf([[-np.inf, np.inf]]).tolist() == [[0.0, 0.0]]


@settings(max_examples=25)
@given(normal_mixtures(most=4))
def test_density_and_moments_are_those_of_quadrature(dist):
    assert integral(lambda y: float(dist.pdf(y)[0]), dist) == pytest.approx(1, abs=1e-6)
    scale = float(dist.std()[0]) + abs(float(dist.mean()[0]))
    mean = integral(lambda y: y * pdf(dist, y), dist)
    assert float(dist.mean()[0]) == pytest.approx(mean, abs=1e-7 * scale)
    variance = integral(lambda y: (y - mean) ** 2 * pdf(dist, y), dist)
    assert float(dist.variance()[0]) == pytest.approx(variance, rel=1e-6)


@settings(max_examples=25)
@given(normal_mixtures(most=3), st.floats(-30, 30))
def test_crps_is_its_integral(dist, y):
    def square(x):
        return (cdf(dist, x) - (x >= y)) ** 2

    loc, scale, _ = parts(dist)
    outside = max((loc - 40 * scale).min() - y, y - (loc + 40 * scale).max(), 0.0)
    inside = np.clip(y, (loc - 40 * scale).min(), (loc + 40 * scale).max())
    truth = integral(square, dist, inside) + outside
    assert float(dist.crps(y)[0]) == pytest.approx(truth, abs=1e-7, rel=1e-7)


def test_crps_of_the_published_example():
    # The rival's mixture of the bug report, whose value there was 0.7145.
    dist = NormalMixture([[-1.0, 1.0]], [[0.2, 0.5]])
    assert float(dist.crps(0.3)[0]) == pytest.approx(0.4196, abs=5e-5)
    standard = NormalMixture([0.0], [1.0]).crps(0.3)
    assert float(standard[0]) == pytest.approx(0.2693, abs=5e-5)


@settings(max_examples=25)
@given(normal_mixtures(most=4))
def test_entropy_is_its_integral(dist):
    def surprise(y):
        p = pdf(dist, y)
        return -p * np.log(p) if p > 0 else 0.0

    assert float(dist.entropy()[0]) == pytest.approx(integral(surprise, dist), abs=1e-6, rel=1e-6)


@given(normal_mixtures(), st.floats(-40, 40))
def test_log_density_has_all_digits_far_out(dist, y):
    loc, scale, weight = parts(dist)
    with mpmath.workdps(40):
        terms = [
            mpmath.mpf(w) * mpmath.npdf(mpmath.mpf(y), mpmath.mpf(m), mpmath.mpf(s))
            for m, s, w in zip(loc, scale, weight, strict=True)
        ]
        truth = float(mpmath.log(mpmath.fsum(terms)))
    assert float(dist.log_prob(y)[0]) == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_responsibilities_are_bayes_theorem(rng):
    dist = NormalMixture(
        rng.normal(size=(5, 3)), np.exp(rng.normal(size=(5, 3))), rng.normal(size=3)
    )
    y = rng.normal(size=5)
    joint = dist.weights * stats.norm.pdf(y[:, None], dist.loc, dist.scale)
    truth = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(dist.responsibilities(y), truth, rtol=1e-12)
    assert dist.responsibilities(np.zeros((5, 2))).shape == (5, 2, 3)


def test_responsibilities_beyond_the_float_range_are_the_weights():
    dist = NormalMixture([[0.0, 0.0]], [[1e-300, 1e-300]], np.log([[0.25, 0.75]]))
    np.testing.assert_allclose(dist.responsibilities(1.0), [[0.25, 0.75]])


def test_effective_number_of_components():
    logs = np.log([[0.5, 0.5, 1e-300], [1.0, 1e-300, 1e-300], [1 / 3, 1 / 3, 1 / 3]])
    dist = NormalMixture(np.zeros((3, 3)), np.ones((3, 3)), logs)
    np.testing.assert_allclose(dist.n_effective(), [2, 1, 3])


def test_a_component_without_weight_is_not_there(rng):
    loc, scale = rng.normal(size=(4, 2)), np.exp(rng.normal(size=(4, 2)))
    two = NormalMixture(loc, scale)
    three = NormalMixture(
        np.column_stack([loc, np.full(4, 50.0)]),
        np.column_stack([scale, np.ones(4)]),
        [0.0, 0.0, -np.inf],
    )
    y = rng.normal(size=4)
    for tell in ("mean", "std", "median", "mode", "n_effective"):
        np.testing.assert_allclose(getattr(three, tell)(), getattr(two, tell)(), rtol=1e-12)
    np.testing.assert_allclose(three.crps(y), two.crps(y), rtol=1e-10)
    np.testing.assert_allclose(three.entropy(), two.entropy(), rtol=1e-9)
    np.testing.assert_allclose(three.interval(), two.interval(), rtol=1e-12)


@pytest.mark.parametrize(("loc", "scale"), [(1e5, 1e4), (0, 1e-8), (0, 1e12), (1e12, 1e12)])
def test_everything_moves_with_the_units_of_y(rng, loc, scale):
    z = NormalMixture(rng.normal(size=(6, 3)) * 2, np.exp(rng.normal(size=(6, 3))))
    at = rng.normal(size=6)
    y = z.affine(loc, scale)

    def same(mine, truth):
        np.testing.assert_allclose(mine, truth, rtol=1e-9, atol=1e-9 * scale)

    same(y.mean(), loc + scale * z.mean())
    same(y.std(), scale * z.std())
    same(y.quantile([0.01, 0.5, 0.99]), loc + scale * z.quantile([0.01, 0.5, 0.99]))
    same(y.modes().locations, loc + scale * z.modes().locations)
    same(y.sample(20, 0), loc + scale * z.sample(20, 0))
    same(y.crps(loc + scale * at), scale * z.crps(at))
    np.testing.assert_allclose(y.entropy(), z.entropy() + np.log(scale), atol=1e-8)
    shifted = z.log_prob(at) - np.log(scale)
    np.testing.assert_allclose(y.log_prob(loc + scale * at), shifted, atol=1e-8)
    for mine, truth in zip(y.highest_density(), z.highest_density(), strict=True):
        same(mine, loc + scale * truth)


def test_large_and_small_scales_do_not_overflow():
    dist = NormalMixture([[1e200, -1e200]], [[1e200, 3e200]])
    assert float(dist.std()[0]) == pytest.approx(np.sqrt(6) * 1e200, rel=1e-12)
    assert np.isinf(dist.variance()[0])
    tiny = NormalMixture([[1e-200, -1e-200]], [[1e-200, 3e-200]])
    assert float(tiny.std()[0]) == pytest.approx(np.sqrt(6) * 1e-200, rel=1e-12)


def test_quantiles_are_not_cut_to_a_range():
    # A rival's grid of 100 points between the extremes of the data was wrong by 0.5 here.
    dist = NormalMixture([[0.0, 1.0]], [[0.6, 0.1]])
    assert cdf(dist, float(dist.quantile(1e-3)[0])) == pytest.approx(1e-3, rel=1e-10)
    assert float(dist.quantile(1e-12)[0]) < -3.9


def test_ten_thousand_rows_in_one_call(rng):
    dist = NormalMixture(rng.normal(size=(10_000, 5)), np.exp(rng.normal(size=(10_000, 5))))
    q = np.linspace(0.1, 0.9, 9)
    np.testing.assert_allclose(dist.cdf(dist.quantile(q)), np.tile(q, (10_000, 1)), atol=1e-12)
