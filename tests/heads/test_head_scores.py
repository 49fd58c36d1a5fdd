"""Scores against scikit-learn's metrics, with weights, padding and values that are not finite."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, r2_score

from lamina.heads import (
    Bernoulli,
    Categorical,
    Custom,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
)

RNG = np.random.default_rng(20)
WEIGHTS = [None, RNG.uniform(0.1, 2, 12), np.r_[np.ones(7), np.zeros(5)]]


def as_tensor(array):
    return None if array is None else torch.from_numpy(np.asarray(array))


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_normal_score_is_sklearns_r2(weight, n_outputs):
    y, raw = RNG.normal(size=(12, n_outputs)), RNG.normal(size=(12, n_outputs))
    got = Normal().score(as_tensor(raw), as_tensor(y), as_tensor(weight))
    assert got.item() == pytest.approx(r2_score(y, raw, sample_weight=weight), rel=1e-12)


def test_poisson_score_is_r2_of_the_rate():
    y, raw = RNG.poisson(3.0, (12, 1)).astype(float), RNG.normal(size=(12, 1))
    got = Poisson().score(as_tensor(raw), as_tensor(y))
    assert got.item() == pytest.approx(r2_score(y, np.exp(raw)), rel=1e-12)


def test_r2_of_constant_targets_follows_sklearn():
    y = np.column_stack([np.full(5, 2.0), np.full(5, 3.0), np.arange(5.0)])
    raw = np.column_stack([np.full(5, 2.0), np.arange(5.0), np.arange(5.0) + 0.3])
    for columns in ([0], [1], [0, 1], [0, 1, 2]):
        got = Normal().score(as_tensor(raw[:, columns]), as_tensor(y[:, columns]))
        assert got.item() == pytest.approx(r2_score(y[:, columns], raw[:, columns]))


def test_r2_of_one_row_is_nan_as_in_sklearn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        assert np.isnan(r2_score([1.0], [1.0]))
    assert Normal().score(torch.ones(1, 1), torch.ones(1, 1)).isnan()


@pytest.mark.parametrize("weight", WEIGHTS)
def test_categorical_score_is_sklearns_accuracy(weight):
    y, raw = RNG.integers(0, 3, 12), RNG.normal(size=(12, 3))
    got = Categorical().score(as_tensor(raw), as_tensor(y), as_tensor(weight))
    expected = accuracy_score(y, raw.argmax(1), sample_weight=weight)
    assert got.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("n_labels", [1, 2])
def test_bernoulli_score_is_sklearns_subset_accuracy(weight, n_labels):
    y, raw = RNG.integers(0, 2, (12, n_labels)), RNG.normal(size=(12, n_labels))
    got = Bernoulli().score(as_tensor(raw), as_tensor(y.astype(float)), as_tensor(weight))
    expected = accuracy_score(y, (raw > 0).astype(int), sample_weight=weight)
    assert got.item() == pytest.approx(expected, rel=1e-12)


def test_custom_score_is_minus_the_mean_loss():
    head = Custom(lambda raw, y: (raw - y).abs().sum(-1))
    y, raw = RNG.normal(size=(12, 2)), RNG.normal(size=(12, 2))
    got = head.score(as_tensor(raw), as_tensor(y))
    assert got.item() == pytest.approx(-np.abs(raw - y).sum(1).mean())


CASES = [
    (Normal(), torch.randn),
    (Poisson(), torch.rand),
    (Bernoulli(), lambda *s: torch.randint(0, 2, s).float()),
    (Categorical(), lambda *s: torch.randint(0, s[-1], s[:-1])),
    (Custom(lambda raw, y: (raw - y).square().sum(-1)), torch.randn),
]


@pytest.mark.parametrize(("head", "draw"), CASES, ids=lambda value: getattr(value, "name", ""))
def test_scores_of_members_are_those_of_each_alone(head, draw):
    raw, y, weight = torch.randn(4, 9, 3), draw(4, 9, 3), torch.rand(4, 9)
    together = head.score(raw, y, weight)
    assert together.shape == (4,)
    for k in range(4):
        torch.testing.assert_close(together[k], head.score(raw[k], y[k], weight[k]))


@pytest.mark.parametrize(("head", "draw"), CASES, ids=lambda value: getattr(value, "name", ""))
def test_rows_of_weight_zero_have_no_influence(head, draw):
    raw, y, weight = torch.randn(2, 9, 3), draw(2, 9, 3), torch.ones(2, 9)
    raw[:, 6:] = torch.nan
    weight[:, 6:] = 0
    torch.testing.assert_close(head.score(raw, y, weight), head.score(raw[:, :6], y[:, :6]))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize(("head", "draw"), CASES[:4], ids=lambda value: getattr(value, "name", ""))
def test_a_prediction_that_is_not_finite_makes_the_score_nan(head, draw, value):
    raw, y = torch.randn(2, 9, 3), draw(2, 9, 3)
    raw[1, 4, 2] = value
    score = head.score(raw, y)
    assert score.isnan().tolist() == [False, True]


def test_no_weight_at_all_makes_the_score_nan():
    assert Normal().score(torch.rand(4, 1), torch.rand(4, 1), torch.zeros(4)).isnan()
    assert Bernoulli().score(torch.rand(4, 1), torch.ones(4, 1), torch.zeros(4)).isnan()


def test_mixture_and_count_scores_are_r2_of_the_mean():
    y, raw = RNG.poisson(3.0, (12, 2)).astype(float), RNG.normal(size=(12, 12))
    for head, n_raw in ((Mixture(3), 12), (NegativeBinomial(), 4)):
        mean = head.mean(as_tensor(raw[:, :n_raw])).numpy()
        got = head.score(as_tensor(raw[:, :n_raw]), as_tensor(y))
        assert got.item() == pytest.approx(r2_score(y, mean), rel=1e-12)
