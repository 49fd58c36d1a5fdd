"""Learnt scales of the normal heads: SciPy, the floor, β, and limits at huge raw outputs."""

import math

import mpmath
import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina.heads import MultivariateNormal, Normal


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def test_error_matches_scipy(rng):
    loc, scale, y = rng.normal(size=(3, 6, 2))
    sigma = np.sqrt(0.3**2 + np.exp(2 * scale))
    expected = -scipy.stats.norm.logpdf(y, loc, sigma).sum(-1)
    raw = torch.from_numpy(np.concatenate([loc, scale], 1))
    for kind in ("shared", "per_row"):
        got = Normal(kind, min_scale=0.3).error(raw, torch.from_numpy(y))
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("n_targets", [1, 2, 4])
def test_full_covariance_matches_scipy(n_targets, rng):
    head = MultivariateNormal(min_scale=0.2)
    raw, y = rng.normal(size=head.n_raw(n_targets)), rng.normal(size=n_targets)
    tril = np.zeros((n_targets, n_targets))
    tril[np.tril_indices(n_targets)] = raw[n_targets:]
    diagonal = np.diag_indices(n_targets)
    tril[diagonal] = np.sqrt(0.04 + np.exp(2 * tril[diagonal]))
    expected = -scipy.stats.multivariate_normal.logpdf(y, raw[:n_targets], tril @ tril.T)
    got = head.error(torch.from_numpy(raw)[None], torch.from_numpy(y)[None])
    assert got.item() == pytest.approx(expected, rel=1e-12)
    made = head.distribution(torch.from_numpy(raw)[None])
    np.testing.assert_allclose(made.scale_tril[0], tril, rtol=1e-12)


def test_independent_targets_are_a_diagonal_factor(rng):
    loc, scale, y = (torch.from_numpy(a) for a in rng.normal(size=(3, 5, 3)))
    zero = torch.zeros(5, dtype=torch.float64)
    packed = torch.stack([scale[:, 0], zero, scale[:, 1], zero, zero, scale[:, 2]], 1)
    full = MultivariateNormal().error_and_gradient(torch.cat([loc, packed], 1), y)
    plain = Normal("per_row").error_and_gradient(torch.cat([loc, scale], 1), y)
    torch.testing.assert_close(full[0], plain[0])
    torch.testing.assert_close(full[1][:, [0, 1, 2, 3, 5, 8]], plain[1])


@pytest.mark.parametrize("beta", [0.25, 0.5, 1.0])
def test_beta_multiplies_the_gradient_and_not_the_error(beta, rng):
    raw, y = torch.from_numpy(rng.normal(size=(7, 4))), torch.from_numpy(rng.normal(size=(7, 2)))
    plain = Normal("per_row").error_and_gradient(raw, y)
    weighted = Normal("per_row", beta=beta).error_and_gradient(raw, y)
    variance = 1e-6 + (2 * raw[:, 2:]).exp()
    torch.testing.assert_close(weighted[0], plain[0], rtol=0, atol=0)
    torch.testing.assert_close(weighted[1], plain[1] * variance.repeat(1, 2) ** beta)


def test_full_beta_gives_the_mean_the_gradient_of_least_squares():
    raw, y = double([[1.0, -3.0], [1.0, 4.0]]), double([[3.0], [3.0]])
    gradient = Normal("per_row", beta=1.0, min_scale=0.0).gradient(raw, y)
    torch.testing.assert_close(gradient[:, :1], Normal().gradient(raw[:, :1], y))


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_smallest_scale_is_the_floor(beta):
    head = Normal("per_row", beta=beta, min_scale=0.01)
    raw = double([[0.0, -800.0], [0.0, -30.0]])
    scale = head.distribution(raw).base_dist.scale
    assert scale.flatten().tolist() == pytest.approx([0.01, 0.01], rel=1e-12)
    error, gradient = head.error_and_gradient(raw, double([[0.02], [0.02]]))
    expected = 2.0 + math.log(0.01) + 0.5 * math.log(2 * math.pi)
    assert error.tolist() == pytest.approx([expected] * 2, rel=1e-12)
    assert gradient[0, 1] == 0
    assert gradient[0, 0].item() == pytest.approx(-0.02 / 0.01**2 * 0.01 ** (2 * beta))


raws = st.floats(-800, 800)


@given(loc=raws, scale=raws, y=st.floats(-1e6, 1e6), floor=st.sampled_from([0.0, 1e-3, 2.0]))
def test_every_raw_output_gives_the_true_value_or_the_end_of_the_range(loc, scale, y, floor):
    with mpmath.workdps(60):
        m, a, d = mpmath.mpf(floor), mpmath.mpf(scale), mpmath.mpf(loc) - mpmath.mpf(y)
        variance = m**2 + mpmath.exp(2 * a)
        log_scale = mpmath.log(variance) / 2
        squares = d**2 / variance
        top = mpmath.mpf(np.finfo(float).max)
        truth = [
            squares / 2 + log_scale + mpmath.log(2 * mpmath.pi) / 2,
            d / variance,
            (1 - squares) * mpmath.exp(2 * a) / variance,
        ]
        expected = [float(min(max(v, -top), top)) for v in truth]
    head = Normal("per_row", min_scale=floor)
    error, gradient = head.error_and_gradient(double([[loc, scale]]), double([[y]]))
    got = [error.item(), *gradient[0].tolist()]
    # what saturates is a product of two factors, either of which may stop first
    near = [abs(e) if abs(e) < 1e307 else math.inf for e in expected]
    for value, wanted, size in zip(got, expected, near, strict=True):
        if math.isinf(size):
            assert math.isfinite(value)
            assert abs(value) > 1e306
            assert (value > 0) == (wanted > 0)
        else:
            assert value == pytest.approx(wanted, rel=1e-11, abs=1e-11)


def test_an_exact_hit_at_a_tiny_scale_is_no_nan():
    raw = double([[2.0, -800.0]])
    error, gradient = Normal("per_row", min_scale=0.0).error_and_gradient(raw, double([[2.0]]))
    assert error.item() == pytest.approx(-800 + 0.5 * math.log(2 * math.pi))
    assert gradient.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("head", [Normal("shared"), MultivariateNormal()])
def test_the_start_is_the_best_constant(head, rng):
    y = rng.normal([3.0, -1.0], [2.0, 0.5], size=(500, 2)) @ np.array([[1.0, 0.4], [0.0, 1.0]])
    raw = torch.from_numpy(head.start(y)).expand(500, -1)
    gradient = head.gradient(raw, torch.from_numpy(y)).mean(0)
    assert gradient.abs().max() < 1e-3


def test_scores_and_means_are_of_the_first_outputs(rng):
    y, raw = (torch.from_numpy(rng.normal(size=(9, n))) for n in (2, 5))
    head = MultivariateNormal()
    assert torch.equal(head.mean(raw), raw[:, :2])
    assert head.score(raw, y) == Normal().score(raw[:, :2], y)
    wide = Normal("per_row")
    assert wide.score(raw[:, :4], y) == Normal().score(raw[:, :2], y)
