"""Wide counts against SciPy and mpmath, to the Poisson limit and beyond the float range."""

import mpmath
import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.heads import NegativeBinomial, Poisson


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def truth(m, a, y):
    """Return the error and both derivatives, to many digits."""
    with mpmath.workdps(40 + int(0.45 * (abs(m) + abs(a)))):
        m, a, y = mpmath.mpf(m), mpmath.mpf(a), mpmath.mpf(y)
        mean, r = mpmath.exp(m), mpmath.exp(-a)
        x = mean / r
        error = (
            mpmath.loggamma(r) + mpmath.loggamma(y + 1) - mpmath.loggamma(y + r)
            + r * mpmath.log1p(x) + y * (mpmath.log1p(x) - m - a)
        )  # fmt: skip
        d_mean = (mean - y) / (1 + x)
        slope = mpmath.psi(0, r) - mpmath.psi(0, y + r)
        d_dispersion = -r * (slope + mpmath.log1p(x) - x / (1 + x)) - y / (1 + x)
        return float(error), float(d_mean), float(d_dispersion)


def test_error_matches_scipy(rng):
    mean, dispersion = np.exp(rng.normal(size=(2, 9, 2)))
    y = rng.poisson(4.0, (9, 2))
    r = 1 / dispersion
    expected = -scipy.stats.nbinom.logpmf(y, r, r / (r + mean)).sum(1)
    raw = torch.from_numpy(np.log(np.concatenate([mean, dispersion], 1)))
    got = NegativeBinomial().error(raw, double(y.tolist()))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_mean_and_variance_are_those_named(rng):
    raw = torch.from_numpy(rng.normal(size=(5, 2)))
    mean, dispersion = raw.exp().chunk(2, -1)
    distribution = NegativeBinomial().distribution(raw)
    torch.testing.assert_close(distribution.mean, mean)
    torch.testing.assert_close(distribution.variance, mean + dispersion * mean**2)


@settings(max_examples=150)
@given(
    m=st.floats(-15, 12),
    a=st.floats(-12, 12),
    y=st.one_of(st.integers(0, 100_000), st.floats(0, 50)),
)
def test_values_and_gradients_match_mpmath(m, a, y):
    error, gradient = NegativeBinomial().error_and_gradient(double([[m, a]]), double([[float(y)]]))
    expected = truth(m, a, float(y))
    size = 1e-12 * (1.0 + y + np.exp(m))
    assert error.item() == pytest.approx(expected[0], rel=1e-11, abs=size)
    assert gradient[0].tolist() == pytest.approx(expected[1:], rel=1e-10, abs=size)


# Where r passes from the formula by lgamma to the series: ln 16 = 2.77.
@pytest.mark.parametrize("a", [-2.7725, -2.7726, -3.0, -20.0, -36.0, -40.0, -200.0])
@pytest.mark.parametrize("y", [0.0, 0.5, 1.0, 3.0, 1e4])
@pytest.mark.parametrize("m", [-3.0, 2.0])
def test_small_dispersions_keep_their_digits(a, y, m):
    error, gradient = NegativeBinomial().error_and_gradient(double([[m, a]]), double([[y]]))
    expected = truth(m, a, y)
    size = 1e-14 * (1.0 + y)
    assert error.item() == pytest.approx(expected[0], rel=1e-12, abs=size)
    assert gradient[0].tolist() == pytest.approx(expected[1:], rel=1e-10, abs=20 * size)


def test_the_limit_is_poissons(rng):
    m, y = torch.from_numpy(rng.normal(size=(8, 1))), double([[float(k)] for k in range(8)])
    raw = torch.cat([m, torch.full_like(m, -800.0)], 1)
    error, gradient = NegativeBinomial().error_and_gradient(raw, y)
    expected = Poisson().error_and_gradient(m, y)
    torch.testing.assert_close(error, expected[0], rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(gradient[:, :1], expected[1], rtol=1e-13, atol=1e-14)
    assert gradient[:, 1].abs().max() < 1e-13


@pytest.mark.parametrize("y", [0.0, 1.0, 7.0])
@pytest.mark.parametrize(("m", "a"), [(0.0, 800.0), (800.0, 0.0), (-800.0, 0.0), (-800.0, 800.0),
                                      (800.0, 800.0), (-800.0, -800.0)])  # fmt: skip
def test_extreme_raw_outputs_give_the_true_values(m, a, y):
    error, gradient = NegativeBinomial().error_and_gradient(double([[m, a]]), double([[y]]))
    expected = truth(m, a, y)
    assert error.item() == pytest.approx(expected[0], rel=1e-11, abs=1e-11)
    assert gradient[0].tolist() == pytest.approx(expected[1:], rel=1e-10, abs=1e-10)


def test_a_rate_beyond_the_range_stops_at_its_end():
    top = torch.finfo(torch.float64).max
    error, gradient = NegativeBinomial().error_and_gradient(double([[800.0, -800.0]]),
                                                            double([[3.0]]))  # fmt: skip
    assert error.item() > 0.1 * top
    assert gradient[0, 0] > 0.1 * top
    assert gradient.isfinite().all()


def test_the_start_has_the_moments_of_the_counts(rng):
    y = rng.negative_binomial(2.0, 0.2, (20_000, 1)).astype(float)
    mean, dispersion = np.exp(NegativeBinomial().start(y))
    assert mean == pytest.approx(8.0, rel=0.05)
    assert dispersion == pytest.approx(0.5, rel=0.1)
