"""The losses that are reported: scikit-learn's numbers, the gradient of the likelihood."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.neural_network._base import LOSS_FUNCTIONS

from lamina.estimators._losses import HalfDeviance, HalfMeanSquare, reported
from lamina.heads import Bernoulli, Normal, Poisson

RAW = torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
Y = np.random.RandomState(0).poisson(1.5, size=(7, 3)).astype(float)
CASES = {"squared_error": HalfMeanSquare(), "poisson": HalfDeviance()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weight", [None, np.arange(1.0, 8.0)])
def test_the_reported_error_is_scikit_learns(name, weight):
    head = CASES[name]
    prediction = head.mean(RAW).numpy()
    wanted = LOSS_FUNCTIONS[name](Y, prediction, weight)
    errors = head.error(RAW, torch.from_numpy(Y)).numpy()
    assert np.average(errors, weights=weight) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_only_the_size_of_the_error_differs_from_the_head(name):
    head, y = CASES[name], torch.from_numpy(Y)
    own, plain = head.error_and_gradient(RAW, y), head.head.error_and_gradient(RAW, y)
    torch.testing.assert_close(own[0], head.error(RAW, y))
    torch.testing.assert_close(own[1], plain[1])
    torch.testing.assert_close(head.score(RAW, y), head.head.score(RAW, y))
    torch.testing.assert_close(head.distribution(RAW).mean, head.head.distribution(RAW).mean)
    np.testing.assert_array_equal(head.targets(Y), head.head.targets(Y))


def test_the_deviance_is_zero_where_the_fit_is_perfect():
    y = torch.tensor([[0.0, 1.0, 4.0]], dtype=torch.float64)
    raw = torch.tensor([[-800.0, 0.0, np.log(4.0)]], dtype=torch.float64)
    torch.testing.assert_close(HalfDeviance().error(raw, y), torch.zeros(1, dtype=torch.float64))


def test_which_head_is_trained():
    assert reported(Normal(), consistent=False) == HalfMeanSquare()
    assert reported(Normal(), consistent=True) == Normal()
    assert reported(Poisson(), consistent=True) == HalfDeviance()
    assert reported(Bernoulli(), consistent=False) == Bernoulli()
