"""Counts: Poisson, negative binomial and Bernoulli mixtures against SciPy and plain sums."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lamina.distributions import BernoulliMixture, NegativeBinomialMixture, PoissonMixture

K = np.arange(4000.0)


def families(rng):
    weights = rng.normal(size=(5, 3))
    logs = rng.normal(size=(5, 3)) + 2
    return {
        "poisson": PoissonMixture(logs, weights),
        "negative binomial": NegativeBinomialMixture(logs, rng.normal(size=(5, 3)) - 1, weights),
        "bernoulli": BernoulliMixture(rng.normal(size=(5, 3)), weights),
    }


def scipy_components(dist):
    """Return SciPy's distributions with batch shape (N, 1, C)."""
    if isinstance(dist, PoissonMixture):
        return stats.poisson(np.exp(dist.log_rate)[:, None])
    if isinstance(dist, NegativeBinomialMixture):
        mean, size = np.exp(dist.log_mean), np.exp(-dist.log_dispersion)
        return stats.nbinom(size[:, None], (size / (mean + size))[:, None])
    return stats.bernoulli((1 / (1 + np.exp(-dist.logits)))[:, None])


@pytest.fixture(params=["poisson", "negative binomial", "bernoulli"])
def counted(request, rng):
    """Return a distribution, and its probabilities at K by SciPy."""
    dist = families(rng)[request.param]
    p = np.einsum("nkc,nc->nk", scipy_components(dist).pmf(K[None, :, None]), dist.weights)
    return dist, p


def test_probabilities_and_cdf_are_scipys(counted):
    dist, p = counted
    np.testing.assert_allclose(dist.pdf(K[None]), p, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(dist.cdf(K[None, :200]), p.cumsum(axis=1)[:, :200], rtol=1e-10)
    assert dist.pdf([[-1.0, 0.5, np.inf, -np.inf]]).tolist() == [[0.0] * 4] * 5
    assert dist.cdf([[-1.0, -0.5, np.inf, -np.inf]]).tolist() == [[0.0, 0.0, 1.0, 0.0]] * 5
    np.testing.assert_array_equal(dist.cdf(0.5), dist.cdf(0.0))


def test_moments_entropy_and_crps_are_sums(counted):
    dist, p = counted
    mean = p @ K
    np.testing.assert_allclose(dist.mean(), mean, rtol=1e-9)
    np.testing.assert_allclose(dist.variance(), p @ K**2 - mean**2, rtol=1e-6)
    logs = np.log(np.where(p > 0, p, 1))
    np.testing.assert_allclose(dist.entropy(), -(p * logs).sum(axis=1), rtol=1e-9)
    cdf = p.cumsum(axis=1)
    for y in (0.0, 1.0, 7.0):
        truth = ((cdf - (y <= K)) ** 2).sum(axis=1)
        np.testing.assert_allclose(dist.crps(y), truth, rtol=1e-9)
    # Between integers the score is linear; below 0 it grows with the distance.
    np.testing.assert_allclose(dist.crps(-2.0), dist.crps(0.0) + 2, rtol=1e-9)


def test_quantiles_are_the_first_count_that_reaches_them(counted):
    dist, p = counted
    q = np.array([0.0, 1e-6, 0.2, 0.5, 0.9, 0.999])
    truth = (p.cumsum(axis=1)[:, None] < q[:, None]).sum(axis=2)
    np.testing.assert_array_equal(dist.quantile(q), truth)
    assert (dist.quantile(1.0) == (1 if isinstance(dist, BernoulliMixture) else np.inf)).all()


def test_modes_are_the_local_maxima(counted):
    dist, p = counted
    modes = dist.modes()
    padded = np.pad(p, ((0, 0), (1, 1)))
    for row in range(5):
        at = (padded[row, 1:-1] > padded[row, :-2]) & (padded[row, 1:-1] >= padded[row, 2:])
        truth = np.flatnonzero(at & (p[row] > 1e-290))
        found = modes.locations[row][~np.isnan(modes.locations[row])]
        assert sorted(found) == truth.tolist()
        assert modes.heights[row, 0] == pytest.approx(p[row].max(), rel=1e-9)


def test_regions_are_the_most_probable_counts(counted):
    dist, p = counted
    for row, pieces in enumerate(dist.highest_density(0.7)):
        inside = np.concatenate([np.arange(low, high + 1) for low, high in pieces])
        order = np.argsort(-p[row], kind="stable")
        needed = 1 + int((p[row][order].cumsum() < 0.7).sum())
        assert set(inside) == set(order[:needed].astype(float))


def test_draws_have_the_probabilities(counted):
    dist, p = counted
    draws = dist.sample(20_000, 3)
    seen = np.array([(draws == k).mean(axis=1) for k in K[:40]]).T
    # Standard errors are at most 0.0035; five of them.
    np.testing.assert_allclose(seen, p[:, :40], atol=0.018)


@pytest.mark.parametrize("rate", [1e-5, 3.0, 1e4, 1e8, 1e12])
def test_poisson_of_any_size(rate):
    dist = PoissonMixture([np.log(rate)])
    for k in (np.floor(rate), np.floor(rate + 5 * np.sqrt(rate) + 3)):
        with mpmath.workdps(50):
            m = mpmath.exp(mpmath.mpf(float(dist.log_rate[0, 0])))
            truth = float(k * mpmath.log(m) - m - mpmath.loggamma(k + 1))
        # The rate itself has an error of a few units in its last place.
        tolerance = 1e-13 + 10 * np.sqrt(rate) * 1e-15
        assert float(dist.log_prob(k)[0]) == pytest.approx(truth, rel=1e-12, abs=tolerance)
    if rate > 1e3:
        half_log = 0.5 * np.log(2 * np.pi * np.e * rate)
        assert float(dist.entropy()[0]) == pytest.approx(half_log, abs=1e-4)
        normal = np.sqrt(rate) * (np.sqrt(2) - 1) / np.sqrt(np.pi)
        assert float(dist.crps(np.floor(rate))[0]) == pytest.approx(normal, rel=2e-3)
        assert float(dist.mode()[0]) == pytest.approx(rate, abs=1.0 + 2e-11 * rate)
        ((low, high),) = dist.highest_density(0.9)[0]
        half = stats.norm.ppf(0.95) * np.sqrt(rate)
        assert [rate - low, high - rate] == pytest.approx([half, half], rel=0.06)


@given(st.floats(-3, 8), st.floats(-12, 3), st.integers(0, 10_000))
def test_negative_binomial_of_any_dispersion(log_mean, log_dispersion, k):
    dist = NegativeBinomialMixture([log_mean], [log_dispersion])
    with mpmath.workdps(50):
        m = mpmath.exp(mpmath.mpf(log_mean))
        r = mpmath.exp(-mpmath.mpf(log_dispersion))
        truth = float(
            mpmath.loggamma(k + r)
            - mpmath.loggamma(k + 1)
            - mpmath.loggamma(r)
            + r * mpmath.log(r / (r + m))
            + k * mpmath.log(m / (r + m))
        )
    assert float(dist.log_prob(float(k))[0]) == pytest.approx(truth, rel=1e-10, abs=1e-10)


def test_a_negative_binomial_with_a_heavy_head():
    # The mean is a million, and yet 0 is the most frequent count.
    dist = NegativeBinomialMixture([np.log(1e6)], [np.log(3.0)])
    truth = stats.nbinom(1 / 3, 1 / 3 / (1e6 + 1 / 3))
    assert dist.mode().tolist() == [0.0]
    ((low, high),) = dist.highest_density(0.9)[0]
    assert low == 0
    assert truth.cdf(high) == pytest.approx(0.9, abs=2e-3)
    assert float(dist.quantile(0.9)[0]) == truth.ppf(0.9)


def test_of_equally_probable_neighbours_the_smaller_is_the_mode():
    assert PoissonMixture([np.log(3.0)]).modes().locations.tolist() == [[2.0]]
    assert BernoulliMixture([0.0]).mode().tolist() == [0.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PoissonMixture([800.0]), "log_rate must be between -690 and 690"),
        (lambda: PoissonMixture([np.nan]), "log_rate must be finite"),
        (lambda: PoissonMixture([[0.0, 1.0]], [[0.0, 1.0, 2.0]]), "log_weights must have shape"),
        (lambda: PoissonMixture([[0.0, 1.0]], [[0.0, np.nan]]), "log_weights must be finite"),
        (lambda: NegativeBinomialMixture([0.0], [[0.0, 1.0]]), "must have the same shape"),
        (lambda: BernoulliMixture(["x"]), "logits must hold numbers"),
        (lambda: BernoulliMixture([]), r"logits must have shape \(N, C\)"),
    ],
)
def test_a_wrong_parameter_gets_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
