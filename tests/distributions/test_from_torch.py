"""What a head returns, in numbers: nothing is lost on the way from torch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from scipy import stats
from torch import distributions as td

from lamina.distributions import (
    MixtureOf,
    MultivariateNormalMixture,
    NormalMixture,
    TorchDistribution,
    mixture_of,
    predictive,
)


def test_log_density_is_torchs(case):
    dist, mine, z, y = case
    np.testing.assert_allclose(mine.log_prob(y), dist.log_prob(z).numpy(), rtol=1e-10, atol=1e-10)


def test_moments_are_torchs(case):
    dist, mine, _, _ = case
    try:
        mean, variance = dist.mean.numpy(), dist.variance.numpy()
    except NotImplementedError:
        pytest.skip("torch knows no moments")
    np.testing.assert_allclose(mine.mean(), mean.reshape(mine.mean().shape), rtol=1e-10)
    np.testing.assert_allclose(mine.variance(), variance.reshape(mine.mean().shape), rtol=1e-9)


def test_a_quantile_is_where_the_cdf_reaches_it(case):
    _, mine, _, _ = case
    q = np.array([1e-6, 0.1, 0.5, 0.9, 1 - 1e-6])
    for target in range(mine.n_targets):
        own = mine.marginal(target)
        at = own.quantile(q)
        if own.is_discrete:
            assert (own.cdf(at) >= q - 1e-12).all()
            assert (own.cdf(at - 1) < q).all()
        else:
            np.testing.assert_allclose(own.cdf(at), np.tile(q, (len(own), 1)), atol=1e-10)


def test_shapes(case):
    _, mine, _, y = case
    n, t = len(mine), mine.n_targets
    one = () if t == 1 else (t,)
    assert mine.mean().shape == mine.std().shape == mine.median().shape == (n, *one)
    assert mine.quantile([0.2, 0.4, 0.6]).shape == (n, 3, *one)
    assert mine.interval(0.5).shape == (n, 2, *one)
    assert mine.covariance().shape == (n, t, t)
    assert mine.sample(7, 0).shape == (n, 7, *one)
    assert mine.cdf(y).shape == mine.crps(y).shape == mine.log_marginal(y).shape == (n, *one)
    assert mine.log_prob(y).shape == mine.energy_score(y).shape == mine.entropy().shape == (n,)
    assert mine.mean().dtype == np.float64


def test_every_family_pickles(case):
    _, mine, _, y = case
    copy = pickle.loads(pickle.dumps(mine))
    np.testing.assert_array_equal(copy.log_prob(y), mine.log_prob(y))
    np.testing.assert_array_equal(copy.sample(3, 0), mine.sample(3, 0))


def test_rows_are_picked_and_nothing_depends_on_their_neighbours(case):
    _, mine, _, y = case
    back = np.arange(len(mine))[::-1]
    for tell in ("mean", "std", "median", "entropy"):
        np.testing.assert_array_equal(getattr(mine[back], tell)(), getattr(mine, tell)()[back])
    np.testing.assert_allclose(mine[back].log_prob(y[back]), mine.log_prob(y)[back], rtol=1e-14)
    assert len(mine[1]) == 1
    assert len(mine[[True, False, True, False]]) == 2
    assert [len(row) for row in mine] == [1] * len(mine)


def test_the_density_is_corrected_for_the_scale_of_the_target(case):
    _, mine, _, y = case
    if mine.is_discrete:
        with pytest.raises(ValueError, match="a count has no scale"):
            mine.affine(1.0, 2.0)
        assert np.array_equal(mine.affine().mean(), mine.mean())
        return
    moved = mine.affine(1e5, 1e4)
    shift = mine.n_targets * np.log(1e4)
    np.testing.assert_allclose(moved.log_prob(1e5 + 1e4 * y), mine.log_prob(y) - shift, atol=1e-8)
    np.testing.assert_allclose(moved.quantile(0.3), 1e5 + 1e4 * mine.quantile(0.3), rtol=1e-10)
    np.testing.assert_allclose(moved.sample(9, 1), 1e5 + 1e4 * mine.sample(9, 1), rtol=1e-10)
    np.testing.assert_allclose(moved.std(), 1e4 * mine.std(), rtol=1e-10)


def test_an_ensemble_of_one_family_is_the_mean_of_densities(case):
    _, mine, _, y = case
    half = len(mine) // 2
    first, second = mine[:half], mine[half:]
    both = mixture_of([first, second], weights=[3, 1])
    truth = np.logaddexp(
        np.log(0.75) + first.log_prob(y[:half]), np.log(0.25) + second.log_prob(y[:half])
    )
    np.testing.assert_allclose(both.log_prob(y[:half]), truth, rtol=1e-12)
    np.testing.assert_allclose(both.mean(), 0.75 * first.mean() + 0.25 * second.mean())
    assert both.sample(5, 0).shape == mine.sample(5, 0)[:half].shape


def test_float32_parameters_are_told_in_float64():
    mine = predictive(td.Gumbel(torch.zeros(3), torch.ones(3)))
    assert mine.mean().dtype == mine.quantile(0.3).dtype == np.float64
    assert mine.quantile(0.3)[0] == pytest.approx(-np.log(-np.log(0.3)), rel=1e-14)


def test_gradients_do_not_matter():
    loc = torch.zeros(2, requires_grad=True)
    assert predictive(td.Laplace(loc, torch.ones(2))).mean().tolist() == [0.0, 0.0]
    assert predictive(td.Normal(loc, torch.ones(2))).mean().tolist() == [0.0, 0.0]


def test_the_family_fits_the_kind():
    one, two = torch.zeros(3, 1), torch.zeros(3, 2)
    assert isinstance(predictive(td.Independent(td.Normal(one, one + 1), 1)), NormalMixture)
    joint = predictive(td.Independent(td.Normal(two, two + 1), 1))
    assert isinstance(joint, MultivariateNormalMixture)
    assert isinstance(predictive(td.Independent(td.Cauchy(one, one + 1), 1)), TorchDistribution)
    mixed = td.MixtureSameFamily(td.Categorical(logits=two), td.Laplace(two, two + 1))
    assert isinstance(predictive(mixed), MixtureOf)


def test_the_target_is_put_back_into_its_units():
    z = td.Independent(td.Normal(torch.zeros(2, 2), torch.ones(2, 2)), 1)
    mine = predictive(z, loc=[1.0, 2.0], scale=[10.0, 100.0])
    assert mine.mean().tolist() == [[1.0, 2.0]] * 2
    assert mine.std().tolist() == [[10.0, 100.0]] * 2


@pytest.mark.parametrize(
    ("dist", "message"),
    [
        (td.Normal(torch.zeros(3, 2), 1.0), r"batch shape \(N,\)"),
        (td.Normal(0.0, 1.0), r"batch shape \(N,\)"),
        (td.Normal(torch.zeros(0), torch.ones(0)), "N of at least 1"),
        (td.Categorical(torch.ones(3, 2)), "a class has no mean"),
        (td.Geometric(torch.full((3,), 0.5)), "is discrete"),
        (td.VonMises(torch.zeros(3), torch.ones(3)), "no cdf is known of VonMises"),
        (td.Dirichlet(torch.ones(3, 2)), "depend on one another"),
        ("normal", "Got str"),
    ],
)
def test_what_cannot_be_told_gets_one_sentence(dist, message):
    with pytest.raises(ValueError, match=message):
        predictive(dist)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, [1.0, 2.0], "wide"])
def test_a_wrong_scale_gets_one_sentence(scale):
    with pytest.raises(ValueError, match="scale must"):
        predictive(td.Normal(torch.zeros(3), torch.ones(3)), scale=scale)


class Logistic(td.Distribution):
    """A distribution as a user writes it: density and cdf, and nothing else."""

    arg_constraints = {"loc": td.constraints.real}  # noqa: RUF012 - torch's own way
    support = td.constraints.real

    def __init__(self, loc, validate_args=None):
        self.loc = loc
        super().__init__(loc.shape, validate_args=validate_args)

    def cdf(self, value):
        return torch.sigmoid(value - self.loc)

    def log_prob(self, value):
        z = value - self.loc
        return -z - 2 * torch.nn.functional.softplus(-z)


def test_a_users_own_distribution_needs_a_density_and_a_cdf():
    loc = np.array([0.0, 5.0])
    mine, truth = predictive(Logistic(torch.from_numpy(loc))), stats.logistic(loc)
    np.testing.assert_allclose(mine.mean(), truth.mean(), atol=1e-8)
    np.testing.assert_allclose(mine.std(), truth.std(), rtol=1e-7)
    np.testing.assert_allclose(mine.quantile(0.01), truth.ppf(0.01), rtol=1e-12)
    np.testing.assert_allclose(mine.mode(), loc, atol=1e-6)
    np.testing.assert_allclose(mine.entropy(), 2, rtol=1e-8)
    np.testing.assert_allclose(mine.crps(loc), 2 * np.log(2) - 1, rtol=1e-7)
    assert mine.quantile([0.0, 1.0]).tolist() == [[-np.inf, np.inf]] * 2


def test_moments_that_do_not_exist_are_not_made_up():
    mine = predictive(td.Cauchy(torch.zeros(1), torch.ones(1)))
    assert np.isnan(mine.mean()[0])
    assert not np.isfinite(mine.std()[0])


class Nameless(Logistic):
    """It does not say what its parameters are."""

    arg_constraints = {}  # noqa: RUF012


def test_rows_need_named_parameters():
    with pytest.raises(ValueError, match="Nameless does not say what its parameters are"):
        predictive(Nameless(torch.zeros(2)))
    flow = td.TransformedDistribution(
        td.Normal(torch.zeros(2), torch.ones(2)), [td.PowerTransform(torch.ones(2))]
    )
    with pytest.raises(ValueError, match="PowerTransform has parameters of its own"):
        predictive(flow)
    with pytest.raises(ValueError, match=r"batch shape \(N,\) and event shape \(\)"):
        TorchDistribution(td.Normal(torch.zeros(2, 2), 1.0))


def test_the_edge_of_a_support():
    mine = predictive(td.Exponential(torch.ones(1)))
    assert mine.cdf([[-1.0, 0.0, np.inf]]).tolist() == [[0.0, 0.0, 1.0]]
    assert mine.pdf([[-1.0]]).tolist() == [[0.0]]
    box = predictive(td.Uniform(torch.zeros(1), torch.ones(1)))
    assert box.cdf([[-1.0, 0.25, 2.0]]).tolist() == [[0.0, 0.25, 1.0]]
    assert box.quantile([0.0, 1.0]).tolist() == [[0.0, 1.0]]


def test_predicting_leaves_torchs_stream_alone(case):
    _, mine, _, _ = case
    before = torch.get_rng_state()
    mine.sample(3, 0)
    mine.sample(3)
    assert torch.equal(torch.get_rng_state(), before)
