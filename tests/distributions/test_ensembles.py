"""Mixtures of predictive distributions: exact where families agree, and where they do not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import distributions as td

from lamina.distributions import (
    BernoulliMixture,
    InterpolatedQuantiles,
    MixtureOf,
    MultivariateNormalMixture,
    NormalMixture,
    PoissonMixture,
    ProductMixture,
    mixture_of,
    predictive,
)


def unlike(rng):
    """Return a mixture of a normal mixture, a Laplace distribution and a row of quantiles."""
    normal = NormalMixture(rng.normal(size=(3, 2)), np.exp(rng.normal(size=(3, 2))))
    laplace = predictive(td.Laplace(torch.zeros(3).double(), torch.ones(3).double()))
    quantiles = InterpolatedQuantiles([0.1, 0.5, 0.9], np.sort(rng.normal(size=(3, 3)), axis=1))
    members = [normal, laplace, quantiles]
    return members, mixture_of(members, weights=[0.2, 0.3, 0.5])


def test_members_of_one_family_become_more_components(rng):
    first = NormalMixture(rng.normal(size=(4, 2)), np.ones((4, 2)), rng.normal(size=(4, 2)))
    second = NormalMixture(rng.normal(size=(4, 3)), np.ones((4, 3)))
    both = mixture_of([first, second])
    assert isinstance(both, NormalMixture)
    assert both.n_components == 5
    np.testing.assert_allclose(both.weights[:, :2].sum(axis=1), 0.5)
    y = rng.normal(size=4)
    np.testing.assert_allclose(both.pdf(y), (first.pdf(y) + second.pdf(y)) / 2, rtol=1e-13)
    np.testing.assert_allclose(both.cdf(y), (first.cdf(y) + second.cdf(y)) / 2, rtol=1e-13)


def test_the_variance_has_the_part_between_members():
    both = mixture_of([NormalMixture([0.0], [1.0]), NormalMixture([4.0], [1.0])], [1, 3])
    assert both.mean() == pytest.approx(3.0)
    assert both.variance() == pytest.approx(1 + 0.25 * 9 + 0.75 * 1)


def test_one_member_is_itself():
    alone = PoissonMixture([0.0])
    assert mixture_of([alone]) is alone


def test_joint_families_are_mixed_too(rng):
    def joint():
        return MultivariateNormalMixture(rng.normal(size=(2, 2)), np.tile(np.eye(2), (2, 1, 1)))

    def product():
        weights = rng.normal(size=(2, 2))
        return ProductMixture([PoissonMixture(rng.normal(size=(2, 2)), weights) for _ in range(2)])

    laplaces = predictive(td.Independent(td.Laplace(torch.zeros(2, 2), torch.ones(2, 2)), 1))
    y = np.array([[0.0, 1.0], [2.0, 0.0]])
    for members in ([joint(), joint()], [product(), product()], [laplaces, laplaces]):
        both = mixture_of(members)
        assert type(both) is type(members[0])
        truth = (members[0].pdf(y) + members[1].pdf(y)) / 2
        np.testing.assert_allclose(both.pdf(y), truth, rtol=1e-12)


def test_unlike_members_are_mixed_as_they_are(rng):
    members, both = unlike(rng)
    assert isinstance(both, MixtureOf)
    y = rng.normal(size=(3, 5))
    shares = np.array([0.2, 0.3, 0.5])
    pdf = np.stack([member.pdf(y) for member in members], axis=-1) @ shares
    cdf = np.stack([member.cdf(y) for member in members], axis=-1) @ shares
    np.testing.assert_allclose(both.pdf(y), pdf, rtol=1e-12)
    np.testing.assert_allclose(both.cdf(y), cdf, rtol=1e-12)
    np.testing.assert_allclose(
        both.mean(), np.stack([member.mean() for member in members], axis=-1) @ shares
    )


def test_quantiles_scores_and_entropy_of_unlike_members(rng):
    _, both = unlike(rng)
    q = np.array([1e-6, 0.1, 0.5, 0.9, 1 - 1e-6])
    np.testing.assert_allclose(both.cdf(both.quantile(q)), np.tile(q, (3, 1)), atol=1e-10)
    x = np.linspace(-60, 60, 1_200_001)
    cdf, pdf = both.cdf(x[None]), both.pdf(x[None])
    for y in (-1.0, 0.3, 4.0):
        truth = integrate.trapezoid((cdf - (x >= y)) ** 2, x)
        np.testing.assert_allclose(both.crps(y), truth, atol=2e-4)
    surprise = -pdf * np.log(np.where(pdf > 0, pdf, 1))
    np.testing.assert_allclose(both.entropy(), integrate.trapezoid(surprise, x), atol=1e-3)


def test_draws_of_unlike_members_follow_the_cdf(rng):
    _, both = unlike(rng)
    draws = both.sample(4000, 0)
    for row in range(3):
        assert stats.kstest(both[row].cdf(draws[row][None])[0], "uniform").pvalue > 1e-3
    np.testing.assert_array_equal(both[1:].sample(7, 0), draws[1:, :7])


def test_a_mixture_of_unlike_members_pickles_and_moves(rng):
    _, both = unlike(rng)
    copy = pickle.loads(pickle.dumps(both))
    np.testing.assert_array_equal(copy.quantile(0.3), both.quantile(0.3))
    moved = both.affine(5.0, 2.0)
    np.testing.assert_allclose(moved.quantile(0.3), 5 + 2 * both.quantile(0.3), rtol=1e-12)
    np.testing.assert_allclose(moved.log_prob(5.0), both.log_prob(0.0) - np.log(2), rtol=1e-12)


@pytest.mark.parametrize(
    ("members", "weights", "message"),
    [
        ([], None, "members must be a list of one or more"),
        ([3], None, "members must be a list of one or more"),
        ([NormalMixture([0.0], [1.0]), NormalMixture([0.0, 1], [1.0, 1])], None, "the same rows"),
        ([NormalMixture([0.0], [1.0]), PoissonMixture([0.0])], None, "must be of one family"),
        ([PoissonMixture([0.0]), BernoulliMixture([0.0])], None, "must be of one family"),
        ([PoissonMixture([0.0])] * 2, [1.0], "weights must be 2 numbers"),
        ([PoissonMixture([0.0])] * 2, [1.0, -1.0], "weights must be 2 numbers"),
        ([PoissonMixture([0.0])] * 2, [0.0, 0.0], "weights must be 2 numbers"),
        ([PoissonMixture([0.0])] * 2, [np.nan, 1.0], "weights must be 2 numbers"),
        ([PoissonMixture([0.0])] * 2, "even", "weights must hold numbers"),
    ],
)
def test_what_cannot_be_mixed_gets_one_sentence(members, weights, message):
    with pytest.raises(ValueError, match=message):
        mixture_of(members, weights)


def test_unlike_targets_of_products_are_refused():
    first = ProductMixture([PoissonMixture([0.0]), BernoulliMixture([0.0])])
    second = ProductMixture([BernoulliMixture([0.0]), PoissonMixture([0.0])])
    with pytest.raises(ValueError, match="same family for target 0"):
        mixture_of([first, second])
    with pytest.raises(ValueError, match="one continuous target"):
        MixtureOf([PoissonMixture([0.0])])
    with pytest.raises(ValueError, match="one distribution or more"):
        MixtureOf([])
