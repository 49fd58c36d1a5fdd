"""Draws: from the right distribution, and each row from its own stream."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lamina.distributions import MultivariateNormalMixture, NormalMixture, mixture_of


def rows(rng, n=6):
    return NormalMixture(rng.normal(size=(n, 3)), np.exp(rng.normal(size=(n, 3))))


def test_draws_of_every_continuous_family_follow_the_cdf(continuous):
    draws = continuous.sample(4000, 7)
    for row in range(len(continuous)):
        # With a fixed seed; a sound program fails one seed in a thousand for each row.
        p = stats.kstest(continuous[row].cdf(draws[row][None])[0], "uniform").pvalue
        assert p > 1e-3


def test_draws_of_several_targets_follow_the_joint_density(rng):
    factor = np.tril(rng.normal(size=(1, 3, 2, 2))) + 2 * np.eye(2)
    dist = MultivariateNormalMixture(3 * rng.normal(size=(1, 3, 2)), factor)
    draws = dist.sample(20_000, 0)
    # Of the first target by itself, and of the second given the first (Rosenblatt's transform).
    first = dist.marginal(0).cdf(draws[..., 0])[0]
    second = np.concatenate([dist.condition({0: y0}).cdf(y1) for y0, y1 in draws[0, :3000]])
    assert stats.kstest(first, "uniform").pvalue > 1e-3
    assert stats.kstest(second, "uniform").pvalue > 1e-3
    # The mean log density of draws is minus the entropy.
    assert dist.log_prob(draws).mean() == pytest.approx(-dist.entropy()[0], abs=0.05)


@given(seed=st.integers(0, 2**40), n=st.integers(1, 9), data=st.data())
def test_a_rows_draws_depend_on_seed_row_and_parameters_alone(seed, n, data):
    dist = rows(np.random.default_rng(0))
    every = dist.sample(9, seed)
    picked = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    np.testing.assert_array_equal(dist[picked].sample(n, seed), every[picked, :n])


def test_slices_keep_the_numbers_of_the_rows(rng):
    dist = rows(rng)
    assert dist[2:].rows.tolist() == [2, 3, 4, 5]
    np.testing.assert_array_equal(dist[2:].sample(4, 0), dist.sample(4, 0)[2:])
    renamed = NormalMixture(dist.loc[2:], dist.scale[2:], rows=[2, 3, 4, 5])
    np.testing.assert_array_equal(renamed.sample(4, 0), dist[2:].sample(4, 0))


def test_rows_and_seeds_differ():
    dist = NormalMixture(np.zeros(3), np.ones(3))
    draws = np.concatenate([dist.sample(50, seed).ravel() for seed in (0, 1)])
    assert len(np.unique(draws)) == 300


def test_one_draw():
    assert NormalMixture([0.0], [1.0]).sample(1, 0).shape == (1, 1)
    assert NormalMixture([0.0], [1.0]).sample(random_state=0).shape == (1, 1)


def test_no_global_stream_is_touched(rng):
    dist = mixture_of([rows(rng), rows(rng)])
    before = np.random.get_state()[1].copy(), torch.get_rng_state(), random.getstate()
    assert not np.array_equal(dist.sample(3), dist.sample(3))
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
    assert random.getstate() == before[2]


def test_a_generator_moves_on_and_an_integer_does_not(rng):
    dist, generator = rows(rng), np.random.default_rng(5)
    assert not np.array_equal(dist.sample(3, generator), dist.sample(3, generator))
    np.testing.assert_array_equal(dist.sample(3, 5), dist.sample(3, np.int64(5)))
    old = np.random.RandomState(5)
    assert not np.array_equal(dist.sample(3, old), dist.sample(3, old))


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "many"])
def test_a_wrong_number_of_draws_gets_one_sentence(rng, n):
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        rows(rng).sample(n)


@pytest.mark.parametrize("seed", ["0", 1.5, True, [1]])
def test_a_wrong_seed_gets_one_sentence(rng, seed):
    with pytest.raises(ValueError, match="random_state must be None, an integer"):
        rows(rng).sample(2, seed)
