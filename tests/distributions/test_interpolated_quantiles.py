"""Rows of quantiles as distributions, against torch's, plain integrals and sums by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina.distributions import InterpolatedQuantiles, QuantileFunction

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def rows(rng, n=4):
    return InterpolatedQuantiles(LEVELS, np.sort(rng.normal(size=(n, 5)), axis=1))


def as_torch(dist):
    return QuantileFunction(torch.from_numpy(LEVELS), torch.from_numpy(dist.quantiles[:, 0]))


def test_it_is_the_torch_distribution_of_the_head(rng):
    mine = rows(rng)
    theirs = as_torch(mine)
    y = np.linspace(-5, 5, 101)
    torch_y = torch.from_numpy(y)[:, None]
    np.testing.assert_allclose(mine.cdf(y[None]), theirs.cdf(torch_y).T.numpy(), rtol=1e-12)
    np.testing.assert_allclose(mine.log_prob(y[None]), theirs.log_prob(torch_y).T, rtol=1e-12)
    for q in (1e-4, 0.05, 0.3, 0.5, 0.99):
        np.testing.assert_allclose(
            mine.quantile(q), theirs.icdf(torch.tensor(q, dtype=torch.float64))
        )
    np.testing.assert_allclose(mine.mean(), theirs.mean)
    np.testing.assert_allclose(mine.variance(), theirs.variance)
    np.testing.assert_allclose(mine.entropy(), theirs.entropy())


def test_its_quantiles_are_given_back_and_never_cross(rng):
    mine = rows(rng)
    np.testing.assert_allclose(mine.quantile(LEVELS), mine.quantiles[:, 0], rtol=1e-14)
    assert (np.diff(mine.quantile(np.linspace(0.001, 0.999, 999)), axis=1) >= 0).all()


def test_crps_is_its_integral(rng):
    mine = rows(rng)
    x = np.linspace(-60, 60, 1_200_001)
    cdf = mine.cdf(x[None])
    for y in (-3.0, 0.1, 2.0):
        truth = np.trapezoid((cdf - (x >= y)) ** 2, x, axis=1)
        np.testing.assert_allclose(mine.crps(y), truth, atol=2e-4)


@given(st.floats(0.02, 0.99), st.integers(0, 10_000))
def test_the_region_is_the_smallest_at_its_height(level, seed):
    dist = rows(np.random.default_rng(seed), 1)
    (pieces,) = dist.highest_density(level)
    inside = sum(float((dist.cdf(high) - dist.cdf(low))[0]) for low, high in pieces)
    assert inside >= level - 1e-12
    # Everything inside is at least as dense as everything outside.
    y = np.linspace(-9, 9, 3001)
    density = dist.pdf(y[None])[0]
    within = ((y[:, None] >= pieces[:, 0]) & (y[:, None] <= pieces[:, 1])).any(axis=1)
    if within.any() and not within.all():
        assert density[within].min() >= density[~within].max() * (1 - 1e-9)


def test_modes_are_the_middles_of_the_narrow_pieces():
    dist = InterpolatedQuantiles(LEVELS, [[-3.0, -2.0, 1.0, 1.5, 5.0]])
    # Heights 0.2, 0.083, 0.5, 0.057: two maxima.
    modes = dist.modes()
    assert modes.locations.tolist() == [[1.25, -2.5]]
    np.testing.assert_allclose(modes.heights, [[0.5, 0.2]])


def test_equal_quantiles_hold_probability_in_a_point():
    dist = InterpolatedQuantiles(LEVELS, [[0.0, 1.0, 1.0, 2.0, 3.0]])
    assert dist.quantile([0.3, 0.5]).tolist() == [[1.0, 1.0]]
    assert dist.cdf([[0.999999999, 1.0]]).round(6).tolist() == [[0.25, 0.5]]
    assert dist.log_prob(1.0).tolist() == [np.inf]
    assert dist.entropy().tolist() == [-np.inf]
    assert np.isfinite(dist.crps(1.0)).all()
    assert dist.mode().tolist() == [1.0]
    flat = InterpolatedQuantiles([0.25, 0.75], [[2.0, 2.0]])
    assert flat.cdf([[1.9, 2.0, 2.1]]).tolist() == [[0.0, 0.75, 1.0]]
    assert flat.quantile([0.1, 0.9]).tolist() == [[2.0, 2.0]]
    assert flat.std().tolist() == [0.0]


def test_mixtures_of_rows_are_exact(rng):
    values = np.sort(rng.normal(size=(3, 2, 5)), axis=2)
    both = InterpolatedQuantiles(LEVELS, values, np.log([0.25, 0.75]))
    parts = [InterpolatedQuantiles(LEVELS, values[:, c]) for c in range(2)]
    y = rng.normal(size=3)
    np.testing.assert_allclose(both.cdf(y), 0.25 * parts[0].cdf(y) + 0.75 * parts[1].cdf(y))
    q = np.array([0.01, 0.3, 0.5, 0.99])
    np.testing.assert_allclose(both.cdf(both.quantile(q)), np.tile(q, (3, 1)), atol=1e-10)
    for pieces, row in zip(both.highest_density(0.8), both, strict=True):
        inside = sum(float((row.cdf(high) - row.cdf(low))[0]) for low, high in pieces)
        assert inside >= 0.8 - 1e-9


@pytest.mark.parametrize(
    ("levels", "quantiles", "message"),
    [
        ([0.5], [[1.0]], "levels must be two or more increasing"),
        ([0.5, 0.4], [[1.0, 2.0]], "levels must be two or more increasing"),
        ([0.0, 0.4], [[1.0, 2.0]], "levels must be two or more increasing"),
        ([[0.1, 0.4]], [[1.0, 2.0]], "levels must be two or more increasing"),
        ([0.1, 0.4], [1.0, 2.0], r"quantiles must have shape \(N, 2\)"),
        ([0.1, 0.4], [[2.0, 1.0]], "quantiles must be in order"),
        ([0.1, 0.4], [[np.nan, 1.0]], "quantiles must be finite"),
    ],
)
def test_a_wrong_parameter_gets_one_sentence(levels, quantiles, message):
    with pytest.raises(ValueError, match=message):
        InterpolatedQuantiles(levels, quantiles)
