"""Quantiles: never crossing, the pinball loss by hand, the distribution they make."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import mean_pinball_loss

from lamina._errors import ParameterError
from lamina.heads import Quantiles

LEVELS = (0.1, 0.25, 0.5, 0.8, 0.9)


@given(
    raw=hnp.arrays(np.float64, (3, 10), elements=st.floats(-1e3, 1e3)),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_quantiles_never_cross(raw, dtype):
    head = Quantiles(LEVELS)
    quantiles = head.quantiles(torch.from_numpy(raw).to(dtype))
    assert quantiles.shape == (3, 2, 5)
    assert (quantiles.diff(dim=-1) >= 0).all()
    head.distribution(torch.from_numpy(raw).to(dtype))  # which checks the order itself


@pytest.mark.parametrize("n_levels", [1, 2, 3, 6])
def test_the_raw_outputs_are_steps_from_the_middle(n_levels, rng):
    head = Quantiles(np.linspace(0.1, 0.9, n_levels))
    raw = rng.normal(size=(4, 2 * n_levels))
    got = head.quantiles(torch.from_numpy(raw)).numpy()
    steps, middle = np.log1p(np.exp(raw)), n_levels // 2
    for t in range(2):
        for j in range(n_levels):
            first = t * n_levels
            expected = raw[:, first + middle].copy()
            for i in range(middle + 1, j + 1):
                expected += steps[:, first + i]
            for i in range(j, middle):
                expected -= steps[:, first + i]
            np.testing.assert_allclose(got[:, t, j], expected, rtol=1e-12, atol=1e-13)


def test_the_error_is_scikit_learns_pinball_loss(rng):
    head = Quantiles(LEVELS)
    raw, y = rng.normal(size=(30, 10)), rng.normal(size=(30, 2))
    quantiles = head.quantiles(torch.from_numpy(raw)).numpy()
    expected = np.mean([
        sum(mean_pinball_loss(y[:, t], quantiles[:, t, j], alpha=level) for t in range(2))
        for j, level in enumerate(LEVELS)
    ])  # fmt: skip
    error = head.error(torch.from_numpy(raw), torch.from_numpy(y))
    assert error.mean().item() == pytest.approx(expected, rel=1e-12)
    score = head.score(torch.from_numpy(raw), torch.from_numpy(y))
    assert score.item() == pytest.approx(-expected, rel=1e-12)


def test_a_target_on_a_quantile_pulls_by_the_mean_of_both_slopes():
    raw, y = torch.tensor([[2.0]], dtype=torch.float64), torch.tensor([[2.0]])
    gradient = Quantiles((0.3,)).gradient(raw, y.double())
    assert gradient.item() == pytest.approx(0.5 - 0.3)


def test_the_start_has_the_quantiles_of_the_targets(rng):
    y = np.column_stack([rng.normal(size=2000), rng.gamma(2.0, 5.0, 2000)])
    head = Quantiles(LEVELS)
    raw = torch.from_numpy(head.start(y)).expand(1, -1)
    expected = np.quantile(y, LEVELS, axis=0).T
    np.testing.assert_allclose(head.quantiles(raw)[0], expected, rtol=1e-12, atol=1e-14)


def test_the_distribution_has_these_quantiles(rng):
    head = Quantiles(LEVELS)
    raw = torch.from_numpy(rng.normal(size=(2, 3, 10)))
    distribution = head.distribution(raw)
    assert distribution.event_shape == (2,)
    levels = torch.tensor(LEVELS, dtype=torch.float64)
    for j, level in enumerate(levels):
        torch.testing.assert_close(distribution.base_dist.icdf(level), head.quantiles(raw)[..., j])


def test_a_single_level_has_no_distribution_but_a_mean():
    head, raw = Quantiles((0.5,)), torch.ones(3, 2)
    assert head.mean(raw) is raw
    with pytest.raises(ParameterError, match=r"^levels must be at least two for a distribution"):
        head.distribution(raw)
