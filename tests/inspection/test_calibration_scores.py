"""Scores of distributions and of the baseline, against SciPy, double loops and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from lamina._errors import DataError, ParameterError
from lamina.distributions import BernoulliMixture, NormalMixture, PoissonMixture
from lamina.inspection import scores

Y = np.array([0.3, -1.0, 2.0, 5.0])
DIST = NormalMixture([0.0, 0.0, 1.0, 4.0], [1.0, 2.0, 0.5, 1.5])
targets = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12)


def crps_by_quadrature(cdf, y):
    """The integral that defines the score."""
    below = quad(lambda x: cdf(x) ** 2, y - 40, y, epsabs=1e-11, limit=200)[0]
    return below + quad(lambda x: (1 - cdf(x)) ** 2, y, y + 40, epsabs=1e-11, limit=200)[0]


def test_scores_are_those_of_scipy_and_of_the_integral():
    result = scores(DIST, Y)
    frozen = [stats.norm(m, s) for m, s in zip(DIST.loc[:, 0], DIST.scale[:, 0], strict=True)]
    nll = [-d.logpdf(y) for d, y in zip(frozen, Y, strict=True)]
    crps = [crps_by_quadrature(d.cdf, y) for d, y in zip(frozen, Y, strict=True)]
    np.testing.assert_allclose(result.row_nll, nll, rtol=1e-12)
    np.testing.assert_allclose(result.row_crps, crps, atol=1e-8)
    assert result.nll == pytest.approx(np.mean(nll))
    assert result.crps == pytest.approx(np.mean(crps))
    assert result.baseline_nll is result.crps_skill is result.nll_gain is None


def test_the_baseline_is_the_normal_and_the_empirical_distribution(rng):
    train = rng.gamma(2.0, size=37)
    result = scores(DIST, Y, baseline=train)
    expected = -stats.norm.logpdf(Y, train.mean(), train.std()).mean()
    assert result.baseline_nll == pytest.approx(expected, rel=1e-12)
    assert result.nll_gain == pytest.approx(expected - result.nll)
    pairs = np.abs(train[:, None] - train).mean()
    crps = np.mean([np.abs(train - y).mean() - pairs / 2 for y in Y])
    assert result.baseline_crps == pytest.approx(crps, rel=1e-12)
    assert result.crps_skill == pytest.approx(1 - result.crps / crps)


@given(targets, targets)
def test_the_empirical_score_is_the_double_sum(train, y):
    train, y = np.array(train), np.array(y)
    if train.std() == 0:
        train = np.append(train, train[0] + 1)
    dist = NormalMixture(np.zeros(len(y)), np.ones(len(y)))
    pairs = np.abs(train[:, None] - train).mean()
    expected = np.mean([np.abs(train - at).mean() - pairs / 2 for at in y])
    got = scores(dist, y, baseline=train).baseline_crps
    assert got == pytest.approx(max(expected, 0.0), rel=1e-9, abs=1e-9)


def test_the_baseline_is_exact_for_targets_far_from_zero(rng):
    train, far = rng.normal(size=50), 1e9
    near = scores(DIST, Y, baseline=train)
    moved = scores(DIST.affine(far, 1.0), far + Y, baseline=far + train)
    assert moved.baseline_crps == pytest.approx(near.baseline_crps, rel=1e-6)
    assert moved.baseline_nll == pytest.approx(near.baseline_nll, rel=1e-6)


def test_the_baseline_of_counts_is_their_frequencies():
    # Among 0 … 4: 0 once, 1 twice, 2 and 3 never, 4 once; each once more, of 4 + 5.
    dist = PoissonMixture(np.zeros(3))
    result = scores(dist, [1, 3, 0], baseline=[0, 1, 1, 4])
    assert result.baseline_nll == pytest.approx(-np.log([3 / 9, 1 / 9, 2 / 9]).mean())
    assert result.nll == pytest.approx(-stats.poisson.logpmf([1, 3, 0], 1).mean())
    beyond = scores(dist, [6, 6, 6], baseline=[0, 1, 1, 4])
    assert beyond.baseline_nll == pytest.approx(np.log(11))
    binary = scores(BernoulliMixture([0.0, 0.0]), [0, 1], baseline=[1, 1, 1])
    assert binary.baseline_nll == pytest.approx(-np.log([1 / 5, 4 / 5]).mean())


def test_another_distribution_is_a_baseline():
    wide = NormalMixture(np.zeros(4), 10 * np.ones(4))
    result = scores(DIST, Y, baseline=wide)
    assert result.baseline_nll == pytest.approx(-stats.norm.logpdf(Y, 0, 10).mean())
    assert result.baseline_crps == pytest.approx(wide.crps(Y).mean())
    assert scores(DIST, Y, baseline=DIST).crps_skill == 0.0


def test_rows_told_by_a_component_at_the_floor_are_counted():
    scale = np.array([[0.1, 1.0], [0.1, 1.0], [0.1005, 1.0], [0.2, 1.0]])
    dist = NormalMixture(np.tile([0.0, 5.0], (4, 1)), scale)
    y = [0.05, 5.0, 0.0, 0.0]  # the second row is told by its wide component
    result = scores(dist, y, min_scale=0.1)
    assert result.n_at_floor == 2
    assert "2 rows (50.0%) are told by a component at the floor" in result.summary()
    assert scores(dist, y, min_scale=np.array([0.01])).n_at_floor == 0
    assert scores(dist, y).n_at_floor is None


def test_effective_components_are_the_exponential_of_the_entropy():
    weights = np.array([[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.7, 0.2, 0.1]])
    with np.errstate(divide="ignore"):
        dist = NormalMixture(np.zeros((3, 3)), np.ones((3, 3)), np.log(weights + 1e-300))
    result = scores(dist, [0.0, 0.0, 0.0])
    expected = [2.0, 3.0, np.exp(stats.entropy([0.7, 0.2, 0.1]))]
    np.testing.assert_allclose(result.n_effective, expected, rtol=1e-9)
    assert result.n_components == 3
    assert "effective components of 3: median 2.23, from 2.00 to 3.00" in result.summary()


def test_an_impossible_target_is_told():
    result = scores(BernoulliMixture([0.0, 0.0]), [1, 2])
    assert result.nll == np.inf
    assert "1 rows have a target that was impossible" in result.summary()


def test_a_summary_holds_the_numbers():
    result = scores(DIST, Y, baseline=[0, 1, 2, 3])
    lines = result.summary().splitlines()
    gain = result.baseline_nll - result.nll
    assert lines[0] == "Scores on 4 rows"
    assert lines[1] == (
        f"NLL   {result.nll:.4f} nats  baseline {result.baseline_nll:.4f}, gain {gain:.4f}"
    )
    assert lines[2].endswith(f"skill {1 - result.crps / result.baseline_crps:.3f}")


class Plain:
    """Somebody else's distribution, with scores and nothing more."""

    def __len__(self):
        return 2

    def log_prob(self, y):
        return -np.asarray(y)

    def crps(self, y):
        return np.asarray(y)


def test_a_distribution_without_components_is_scored():
    result = scores(Plain(), [1.0, 2.0])
    assert (result.nll, result.crps) == (1.5, 1.5)
    assert result.n_effective is result.n_components is None
    with pytest.raises(ParameterError, match=r"min_scale must be None .* for Plain\."):
        scores(Plain(), [1.0, 2.0], min_scale=0.1)


def test_wrong_calls_get_one_sentence():
    with pytest.raises(DataError, match="baseline must hold at least two different targets"):
        scores(DIST, Y, baseline=[1.0, 1.0])
    with pytest.raises(DataError, match=r"baseline must be finite numbers\. Got nan in row 1"):
        scores(DIST, Y, baseline=[1.0, np.nan])
    with pytest.raises(DataError, match=r"y must have a value for each of the 4 rows"):
        scores(DIST, Y[:3])
    with pytest.raises(DataError, match="each of the 2 rows of dist"):
        scores(DIST, Y, baseline=DIST[:2])
    with pytest.raises(ParameterError, match="baseline must be whole numbers"):
        scores(PoissonMixture([0.0]), [1], baseline=[0.5, 1.0])
    with pytest.raises(ParameterError, match="min_scale must be a finite number in"):
        scores(DIST, Y, min_scale=-1.0)
