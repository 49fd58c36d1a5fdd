"""Several targets: joint densities, conditions, modes, energy scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from lamina.distributions import (
    BernoulliMixture,
    MultivariateNormalMixture,
    NormalMixture,
    PoissonMixture,
    ProductMixture,
)


def mixture(rng, n_rows=4, n_components=3, n_targets=3):
    loc = 2 * rng.normal(size=(n_rows, n_components, n_targets))
    factor = np.tril(rng.normal(size=(n_rows, n_components, n_targets, n_targets)))
    place = np.arange(n_targets)
    factor[..., place, place] = np.exp(0.5 * factor[..., place, place])
    return MultivariateNormalMixture(loc, factor, rng.normal(size=(n_rows, n_components)))


def scipy_pdf(dist, row, y):
    """Return the joint density of one row by SciPy."""
    factors = dist.scale_tril[row]
    return sum(
        weight * stats.multivariate_normal(loc, factor @ factor.T).pdf(y)
        for weight, loc, factor in zip(dist.weights[row], dist.loc[row], factors, strict=True)
    )


def test_the_joint_density_is_scipys(rng):
    dist = mixture(rng)
    y = rng.normal(size=(4, 3))
    truth = [scipy_pdf(dist, row, y[row]) for row in range(4)]
    np.testing.assert_allclose(dist.pdf(y), truth, rtol=1e-10)
    assert dist.log_prob(y).shape == (4,)
    assert dist.log_prob(np.zeros((1, 5, 3))).shape == (4, 5)


def test_moments_are_those_of_many_draws(rng):
    dist = mixture(rng, n_rows=1)
    draws = dist.sample(400_000, 0)[0]
    # Standard errors below 0.01; five of them.
    np.testing.assert_allclose(dist.mean()[0], draws.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(dist.covariance()[0], np.cov(draws.T), atol=0.15)
    np.testing.assert_allclose(dist.std()[0] ** 2, np.diag(dist.covariance()[0]), rtol=1e-12)


def test_a_marginal_is_the_integral_over_the_other(rng):
    dist = mixture(rng, n_rows=1, n_targets=2)
    for y in (-1.0, 0.5):
        truth, _ = integrate.quad(lambda x, y=y: scipy_pdf(dist, 0, [x, y]), -40, 40, limit=200)
        assert float(dist.marginal(1).pdf(y)[0]) == pytest.approx(truth, rel=1e-6)
    assert dist.log_marginal([[0.0, 0.5]])[0, 1] == dist.marginal(1).log_prob(0.5)[0]


def test_a_condition_is_joint_over_marginal(rng):
    dist = mixture(rng)
    y = rng.normal(size=(4, 3))
    one = dist.condition({0: y[:, 0], 2: y[:, 2]})
    assert isinstance(one, NormalMixture)
    known = MultivariateNormalMixture(
        dist.loc[..., [0, 2]],
        np.linalg.cholesky(
            (dist.scale_tril @ dist.scale_tril.swapaxes(2, 3))[..., [0, 2], :][..., [0, 2]]
        ),
        dist.log_weights,
    )
    truth = dist.log_prob(y) - known.log_prob(y[:, [0, 2]])
    np.testing.assert_allclose(one.log_prob(y[:, 1]), truth, rtol=1e-9)
    two = dist.condition({1: y[:, 1]})
    truth = dist.log_prob(y) - dist.marginal(1).log_prob(y[:, 1])
    np.testing.assert_allclose(two.log_prob(y[:, [0, 2]]), truth, rtol=1e-9)
    assert dist.condition({1: 0.0}).n_targets == 2


def test_a_condition_far_from_every_component_stays_finite():
    dist = MultivariateNormalMixture([[[0.0, 0.0], [1.0, 1.0]]], np.tile(np.eye(2), (1, 2, 1, 1)))
    assert np.isfinite(dist.condition({0: 1e200}).mean()).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "given must be a dict of target numbers"),
        ({5: 0.0}, "given must be a dict of target numbers"),
        ({"a": 0.0}, "given must be a dict of target numbers"),
        ([0.0], "given must be a dict of target numbers"),
        ({0: 0.0, 1: 0.0}, "must leave a target free"),
        ({0: np.nan}, r"given\[0\] must be finite"),
        ({0: np.zeros(7)}, r"given\[0\] must be a number or have shape"),
    ],
)
def test_a_wrong_condition_gets_one_sentence(rng, given, message):
    with pytest.raises(ValueError, match=message):
        mixture(rng, n_targets=2).condition(given)


def test_energy_score_of_a_round_normal_is_the_closed_form():
    dist = MultivariateNormalMixture([[1.0, 2.0, 3.0]], [np.eye(3) * 0.7])
    length = 0.7 * math.sqrt(2) * math.gamma(2) / math.gamma(1.5)
    truth = length - 0.5 * math.sqrt(2) * length
    assert float(dist.energy_score([[1.0, 2.0, 3.0]])[0]) == pytest.approx(truth, rel=1e-10)


def test_energy_score_on_a_line_is_the_crps(rng):
    # The second target hardly moves, so that lengths are distances on a line.
    factor = np.array([[[[0.7, 0.0], [0.0, 1e-12]], [[1.5, 0.0], [0.0, 1e-12]]]])
    flat = MultivariateNormalMixture([[[0.0, 0.0], [3.0, 0.0]]], factor)
    line = NormalMixture([[0.0, 3.0]], [[0.7, 1.5]])
    for y in (-4.0, 0.0, 1.7, 30.0):
        assert float(flat.energy_score([[y, 0.0]])[0]) == pytest.approx(line.crps(y)[0], rel=1e-9)


def test_energy_score_is_that_of_many_draws(rng):
    dist, y = mixture(rng), rng.normal(size=(4, 3))
    first, second = dist.sample(200_000, 0), dist.sample(200_000, 1)
    away = np.linalg.norm(first - y[:, None], axis=2).mean(axis=1)
    truth = away - 0.5 * np.linalg.norm(first - second, axis=2).mean(axis=1)
    # Standard errors are about 0.005.
    np.testing.assert_allclose(dist.energy_score(y), truth, atol=0.03)
    assert dist.energy_score(y[:, None].repeat(2, axis=1)).shape == (4, 2)


def test_entropy_of_one_normal_is_scipys(rng):
    dist = mixture(rng, n_components=1)
    truth = [stats.multivariate_normal(cov=cov).entropy() for cov in dist.covariance()]
    np.testing.assert_allclose(dist.entropy(), truth, rtol=1e-12)


def test_entropy_of_a_mixture_is_its_integral(rng):
    dist = mixture(rng, n_rows=3, n_targets=2)
    x = np.linspace(-25, 25, 1001)
    places = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    for row in range(3):
        p = scipy_pdf(dist, row, places)
        truth = -(p * np.log(np.maximum(p, 1e-300))).sum() * (x[1] - x[0]) ** 2
        assert float(dist.entropy()[row]) == pytest.approx(truth, abs=5e-3)


def test_modes_are_the_maxima_of_a_grid(rng):
    dist = mixture(rng, n_rows=6, n_targets=2)
    modes = dist.modes()
    x = np.linspace(-12, 12, 481)
    for row in range(6):
        p = scipy_pdf(dist, row, np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1))
        core = p[1:-1, 1:-1]
        around = [
            p[1 + i : 480 + i, 1 + j : 480 + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        ]
        tops = np.argwhere(np.all([core > side for side in around], axis=0)) + 1
        found = modes.locations[row][~np.isnan(modes.heights[row])]
        for top in tops:
            # A slanting ridge has maxima on the grid that are none: climb on from there.
            climb = optimize.minimize(
                lambda y, row=row: -np.log(scipy_pdf(dist, row, y)), x[top], tol=1e-10
            )
            assert np.abs(found - climb.x).max(axis=1).min() < 1e-3
        assert modes.heights[row, 0] >= p.max()


def test_two_crossing_ridges_make_a_third_mode():
    # More modes than components, which one target cannot have.
    factor = np.array([[np.diag([10.0, 0.1]), np.diag([0.1, 10.0])]])
    modes = MultivariateNormalMixture([[[0.0, 0.0], [5.0, 5.0]]], factor).modes()
    assert modes.locations.shape == (1, 3, 2)
    np.testing.assert_allclose(modes.locations[0, 0], [5.0, 0.0], atol=0.01)


def test_a_saddle_is_no_mode():
    dist = MultivariateNormalMixture([[[-3.0, 0.0], [3.0, 0.0]]], np.tile(np.eye(2), (1, 2, 1, 1)))
    found = dist.modes().locations[0]
    np.testing.assert_allclose(np.sort(found[:, 0]), [-3.0, 3.0], atol=1e-6)


def test_a_region_of_several_targets_is_refused(rng):
    with pytest.raises(ValueError, match="so it needs one target"):
        mixture(rng).highest_density(0.9)


def test_responsibilities_are_bayes_theorem(rng):
    dist, y = mixture(rng), rng.normal(size=(4, 3))
    for row in range(4):
        factors = dist.scale_tril[row]
        joint = [
            weight * stats.multivariate_normal(loc, factor @ factor.T).pdf(y[row])
            for weight, loc, factor in zip(dist.weights[row], dist.loc[row], factors, strict=True)
        ]
        np.testing.assert_allclose(dist.responsibilities(y)[row], np.array(joint) / np.sum(joint))


@pytest.mark.parametrize(
    ("loc", "tril", "message"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3, 3)), "must have shape"),
        (np.zeros((2, 2)), np.zeros((2, 2, 2)), "the diagonal of scale_tril must be above 0"),
        (np.zeros((1, 2)), np.ones((1, 2, 2)), "must be a lower triangle"),
        (np.full((1, 2), np.nan), np.eye(2)[None], "loc must be finite"),
        ([["a", "b"]], np.eye(2)[None], "loc must hold numbers"),
    ],
)
def test_a_wrong_parameter_gets_one_sentence(loc, tril, message):
    with pytest.raises(ValueError, match=message):
        MultivariateNormalMixture(loc, tril)


def products(rng):
    weights = rng.normal(size=(3, 2))
    logits = rng.normal(size=(3, 2))
    rates = rng.normal(size=(3, 2)) + 1
    return ProductMixture([BernoulliMixture(logits, weights), PoissonMixture(rates, weights)])


def test_a_product_mixture_is_the_sum_over_its_components(rng):
    dist = products(rng)
    one, count = dist.targets
    total = np.zeros(3)
    for y in (0.0, 1.0):
        for k in range(60):
            each = np.where(y, 1 / (1 + np.exp(-one.logits)), 1 / (1 + np.exp(one.logits)))
            truth = (dist.weights * each * stats.poisson.pmf(k, np.exp(count.log_rate))).sum(
                axis=1
            )
            at = np.tile([y, float(k)], (3, 1))
            np.testing.assert_allclose(dist.pdf(at), truth, rtol=1e-9, atol=1e-300)
            total += truth
    np.testing.assert_allclose(total, 1, rtol=1e-9)


def test_targets_of_a_product_mixture_depend_through_the_component(rng):
    dist = products(rng)
    p = np.array(
        [[dist.pdf(np.tile([y, float(k)], (3, 1))) for k in range(60)] for y in (0.0, 1.0)]
    )
    mean = np.einsum("ykn,k->n", p, np.arange(60.0))
    cross = np.einsum("kn,k->n", p[1], np.arange(60.0))
    truth = cross - p[1].sum(axis=0) * mean
    np.testing.assert_allclose(dist.covariance()[:, 0, 1], truth, atol=1e-9)
    known = dist.condition({0: 1.0})
    np.testing.assert_allclose(known.mean(), cross / p[1].sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(dist.responsibilities([[1.0, 2.0]] * 3).sum(axis=1), 1)


def test_entropy_and_energy_score_of_a_product_mixture_are_close(rng):
    dist = products(rng)
    places = np.array([[y, float(k)] for y in (0, 1) for k in range(60)])
    p = dist.pdf(places[None])
    truth = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(dist.entropy(), truth, rtol=0.02)
    lengths = np.linalg.norm(places[:, None] - places[None], axis=2)
    y = places[2]
    score = p @ np.linalg.norm(places - y, axis=1) - 0.5 * np.einsum("na,nb,ab->n", p, p, lengths)
    np.testing.assert_allclose(dist.energy_score(np.tile(y, (3, 1))), score, rtol=0.05)


def test_a_product_needs_shared_weights(rng):
    with pytest.raises(ValueError, match="same rows and weights"):
        ProductMixture([PoissonMixture([[0.0, 1.0]]), PoissonMixture([[0.0, 1.0]], [0.0, 1.0])])
    with pytest.raises(ValueError, match="modes of 2 targets together"):
        products(rng).modes()
