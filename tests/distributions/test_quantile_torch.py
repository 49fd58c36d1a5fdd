"""The distribution between quantiles against quadrature and torch.distributions."""

import itertools

import numpy as np
import pytest
import scipy.integrate
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributions as td

from lamina._errors import ParameterError
from lamina.distributions import QuantileFunction

LEVELS = torch.tensor([0.1, 0.3, 0.5, 0.95], dtype=torch.float64)
VALUES = torch.tensor([[-2.0, 0.0, 0.5, 4.0], [10.0, 10.5, 12.0, 12.25]], dtype=torch.float64)


def pieces(row):
    """Yield the intervals on which the density is smooth, with ends far in the tails."""
    ends = [row[0] - 60 * (row[1] - row[0]), *row, row[-1] + 60 * (row[-1] - row[-2])]
    yield from itertools.pairwise(ends)


def integral(function, i, end=np.inf):
    dist = QuantileFunction(LEVELS, VALUES[i])

    def integrand(y):
        y = torch.tensor(y, dtype=torch.float64)
        return (function(y) * dist.log_prob(y).exp()).item()

    return sum(
        scipy.integrate.quad(integrand, a, min(b, end), epsabs=1e-12, limit=200)[0]
        for a, b in pieces(VALUES[i].tolist())
        if a < end
    )


@pytest.mark.parametrize("i", [0, 1])
def test_moments_and_entropy_match_quadrature(i):
    dist = QuantileFunction(LEVELS, VALUES)
    mean = dist.mean[i].item()
    assert integral(torch.ones_like, i) == pytest.approx(1.0, abs=1e-9)
    assert mean == pytest.approx(integral(lambda y: y, i), rel=1e-9)
    assert dist.variance[i].item() == pytest.approx(integral(lambda y: (y - mean) ** 2, i))
    alone = QuantileFunction(LEVELS, VALUES[i])
    assert dist.entropy()[i].item() == pytest.approx(integral(lambda y: -alone.log_prob(y), i))


@pytest.mark.parametrize("i", [0, 1])
def test_the_cdf_is_the_integral_of_the_density(i):
    dist, row = QuantileFunction(LEVELS, VALUES[i]), VALUES[i].tolist()
    for y in (row[0] - 1.0, row[0], 0.5 * (row[1] + row[2]), row[3] + 0.3):
        at = torch.tensor(y, dtype=torch.float64)
        got = integral(torch.ones_like, i, end=y)
        assert dist.cdf(at).item() == pytest.approx(got, abs=1e-9)


def test_quantiles_and_cdf_are_inverse():
    p = torch.linspace(1e-9, 1 - 1e-9, 501, dtype=torch.float64)[:, None]
    dist = QuantileFunction(LEVELS, VALUES)
    y = dist.icdf(p)
    assert y.shape == (501, 2)
    assert (y.diff(dim=0) > 0).all()
    torch.testing.assert_close(dist.cdf(y), p.expand(501, 2), rtol=0, atol=1e-12)
    torch.testing.assert_close(dist.icdf(LEVELS[:, None]), VALUES.T)


def test_the_density_does_not_jump_into_the_tails():
    dist = QuantileFunction(LEVELS, VALUES)
    for end, inwards in ((0, 1e-9), (-1, -1e-9)):
        inside = dist.log_prob(VALUES[:, end] + inwards)
        torch.testing.assert_close(dist.log_prob(VALUES[:, end] - inwards), inside)


def test_evenly_spread_levels_are_uniform_inside():
    levels = torch.linspace(0.1, 0.9, 9, dtype=torch.float64)
    dist = QuantileFunction(levels, levels * 4 - 1)
    y = torch.linspace(-0.6, 2.6, 50, dtype=torch.float64)
    uniform = td.Uniform(torch.tensor(-1.0).double(), torch.tensor(3.0).double())
    torch.testing.assert_close(dist.log_prob(y), uniform.log_prob(y))
    torch.testing.assert_close(dist.cdf(y), uniform.cdf(y))
    assert dist.mean.item() == pytest.approx(1.0)


def test_ends_and_values_outside():
    dist = QuantileFunction(LEVELS, VALUES)
    assert dist.icdf(torch.tensor(0.0)).tolist() == [-np.inf, -np.inf]
    assert dist.icdf(torch.tensor(1.0)).tolist() == [np.inf, np.inf]
    assert dist.icdf(torch.tensor(1.5)).isnan().all()
    assert dist.cdf(torch.tensor([-1e9, 1e9])).tolist() == [0.0, 1.0]


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4))
def test_ties_hold_their_probability_in_a_point(values):
    row = torch.tensor(sorted(values), dtype=torch.float64)
    row[2] = row[1]
    dist = QuantileFunction(LEVELS, row)
    assert dist.log_prob(row[1]).item() == np.inf
    assert dist.cdf(row[1]).item() >= 0.5 - 1e-12
    assert dist.cdf(row[1] - 1e-6).item() <= 0.3 + 1e-12
    assert dist.icdf(torch.tensor(0.4)).item() == row[1].item()
    assert dist.mean.isfinite()


def test_one_value_for_all_levels_is_a_point():
    dist = QuantileFunction(LEVELS, torch.full((4,), 2.0, dtype=torch.float64))
    assert dist.mean.item() == 2.0
    assert dist.variance.item() == 0.0
    assert dist.sample((5,)).tolist() == [2.0] * 5
    y = torch.tensor([1.9, 2.0, 2.1], dtype=torch.float64)
    assert dist.cdf(y).tolist() == [0.0, 1.0, 1.0]
    assert dist.log_prob(y).tolist() == [-np.inf, np.inf, -np.inf]


def test_samples_follow_the_cdf():
    dist = QuantileFunction(LEVELS, VALUES)
    sample = dist.sample((20_000,))
    assert sample.shape == (20_000, 2)
    uniform = dist.cdf(sample).sort(0).values
    expected = torch.linspace(0, 1, 20_000, dtype=torch.float64)[:, None]
    assert (uniform - expected).abs().max() < 1.63 / 20_000**0.5  # Kolmogorov, 1 %


def test_batches_broadcast_and_expand():
    dist = QuantileFunction(LEVELS, VALUES).expand((3, 2))
    assert dist.batch_shape == (3, 2)
    assert dist.mean.shape == (3, 2)
    joint = td.Independent(dist, 1)
    y = torch.zeros(3, 2, dtype=torch.float64)
    torch.testing.assert_close(joint.log_prob(y), dist.log_prob(y).sum(-1))


@pytest.mark.parametrize(
    ("levels", "values", "sentence"),
    [
        ([0.5], [1.0], "levels must be two or more increasing numbers"),
        ([0.5, 0.2], [1.0, 2.0], "levels must be two or more increasing numbers"),
        ([0.0, 0.2], [1.0, 2.0], "levels must be two or more increasing numbers"),
        ([0.1, 0.2], [1.0, 2.0, 3.0], "quantiles must have shape"),
        ([0.1, 0.2], [2.0, 1.0], "quantiles must not decrease"),
        ([0.1, 0.2], [np.nan, 1.0], "quantiles must not decrease"),
    ],
)
def test_wrong_parameters_get_one_sentence(levels, values, sentence):
    with pytest.raises(ParameterError, match=f"^{sentence}"):
        QuantileFunction(torch.tensor(levels), torch.tensor(values))
