"""Wrong labels: the closed formula of the noisy cross-entropy, its tolerance, its limits."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special
import torch

from lamina._errors import DataError
from lamina.heads import Bernoulli, Categorical


def double(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("noise", [0.01, 0.2, 0.49])
def test_the_binary_error_is_the_closed_formula(noise, rng):
    a, t = rng.normal(size=(9, 2)) * 3, rng.integers(0, 2, (9, 2))
    y = scipy.special.expit(a)
    expected = -(
        t * np.log((1 - noise) * y + noise * (1 - y))
        + (1 - t) * np.log((1 - noise) * (1 - y) + noise * y)
    ).sum(1)
    got = Bernoulli(label_noise=noise).error(torch.from_numpy(a), double(t.tolist()))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("noise", [0.01, 0.2, 0.6])
def test_the_error_of_classes_is_the_closed_formula(noise, rng):
    a, t = rng.normal(size=(9, 4)) * 3, rng.integers(0, 4, 9)
    transition = np.full((4, 4), noise / 3)
    np.fill_diagonal(transition, 1 - noise)
    seen = scipy.special.softmax(a, -1) @ transition
    got = Categorical(label_noise=noise).error(torch.from_numpy(a), torch.from_numpy(t))
    np.testing.assert_allclose(got, -np.log(seen[range(9), t]), rtol=1e-12)


def test_two_classes_are_one_label(rng):
    a = torch.from_numpy(rng.normal(size=(7, 1)) * 4)
    t = torch.from_numpy(rng.integers(0, 2, 7))
    pair = torch.cat([torch.zeros_like(a), a], 1)
    for noise in (0.3, "learn"):
        extra = a[:, :0] if noise != "learn" else torch.full_like(a, -0.7)
        one = Bernoulli(label_noise=noise)._error(torch.cat([a, extra], 1), t[:, None].double())
        two = Categorical(label_noise=noise)._error(torch.cat([pair, extra], 1), t)
        torch.testing.assert_close(one, two)


def test_no_noise_is_the_plain_head(rng):
    raw, y = torch.from_numpy(rng.normal(size=(5, 3))), torch.tensor([0, 2, 1, 1, 0])
    tiny = Categorical(label_noise=1e-14)
    torch.testing.assert_close(tiny.error(raw, y), Categorical().error(raw, y))
    torch.testing.assert_close(tiny.gradient(raw, y), Categorical().gradient(raw, y))
    assert Categorical(label_noise=0.0) == Categorical()
    learnt = torch.cat([raw, torch.full((5, 1), -800.0, dtype=torch.float64)], 1)
    noisy = Categorical(label_noise="learn")
    torch.testing.assert_close(noisy.error(learnt, y), Categorical().error(raw, y))
    assert (noisy.gradient(learnt, y)[:, -1] == 0).all()


def test_a_wrong_label_costs_no_more_than_the_log_of_the_noise():
    raw, y = double([[-800.0], [-30.0], [800.0]]), double([[1.0], [1.0], [0.0]])
    error, gradient = Bernoulli(label_noise=0.01).error_and_gradient(raw, y)
    assert error.tolist() == pytest.approx([-math.log(0.01)] * 3, rel=1e-9)
    assert gradient[0, 0] == 0  # a sure network is not torn away by it
    plain, _ = Bernoulli().error_and_gradient(raw, y)
    assert plain.tolist() == pytest.approx([800.0, 30.0, 800.0])


@pytest.mark.parametrize("logit", [-800.0, -40.0, 0.5, 40.0, 700.0])
@pytest.mark.parametrize("noise", [-700.0, -40.0, 0.0, 40.0, 700.0])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_extremes_keep_their_digits(logit, noise, label):
    with mpmath.workdps(900):
        a, b = mpmath.mpf(logit), mpmath.mpf(noise)
        flip = 1 / (1 + mpmath.exp(-b)) / 2
        p = 1 / (1 + mpmath.exp(-a))
        right = p if label else 1 - p
        seen = (1 - flip) * right + flip * (1 - right)
        sign = 1 if label else -1
        d_logit = -sign * (1 - 2 * flip) * p * (1 - p) / seen
        d_noise = (2 * right - 1) / seen * flip * (1 - 2 * flip)
        expected = float(-mpmath.log(seen)), float(d_logit), float(d_noise)
    head = Bernoulli(label_noise="learn")
    error, gradient = head.error_and_gradient(double([[logit, noise]]), double([[label]]))
    got = error.item(), *gradient[0].tolist()
    assert got == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_the_right_share_of_noise_is_a_fixed_point():
    # 30 of 100 labels are 1; the network is sure of 0, so the noise must explain them
    y = double([[1.0]] * 30 + [[0.0]] * 70)
    noise = scipy.special.logit(2 * 0.3)
    raw = double([[-50.0, noise]] * 100)
    gradient = Bernoulli(label_noise="learn").gradient(raw, y).mean(0)
    assert gradient.abs().max() < 1e-12


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("noise", [0.1, "learn"])
def test_soft_targets_are_the_mean_over_their_classes(noise, share, rng):
    head = Categorical(label_smoothing=share, label_noise=noise)
    raw = torch.from_numpy(rng.normal(size=(2, 6, head.n_raw(3))))
    soft = torch.from_numpy(rng.dirichlet([1.0] * 3, (2, 6)))
    got = head.error_and_gradient(raw, soft)
    each = [
        head.error_and_gradient(raw, torch.full((2, 6), k, dtype=torch.long)) for k in range(3)
    ]
    torch.testing.assert_close(got[0], sum(soft[..., k] * each[k][0] for k in range(3)))
    torch.testing.assert_close(got[1], sum(soft[..., [k]] * each[k][1] for k in range(3)))


def test_means_and_scores_are_of_the_true_label():
    raw = double([[3.0, -1.0, 0.0, 0.0], [-2.0, 2.0, 0.0, 0.0]])
    y = double([[1.0, 0.0], [0.0, 1.0]])
    head = Bernoulli(label_noise="learn")
    torch.testing.assert_close(head.mean(raw), raw[:, :2].sigmoid())
    assert head.score(raw, y) == 1
    seen = head.distribution(raw).mean
    torch.testing.assert_close(seen, 0.75 * head.mean(raw) + 0.25 * (1 - head.mean(raw)))
    classes = Categorical(label_noise="learn")
    raw = double([[3.0, 0.0, 1.0, 9.0]])
    torch.testing.assert_close(classes.mean(raw), raw[:, :3].softmax(-1))
    assert classes.score(raw, torch.tensor([0])) == 1
    assert classes.n_raw(3) == 4


def test_the_start_has_the_shares_of_the_labels():
    start = Bernoulli(label_noise="learn").start(np.array([[1.0], [0.0], [0.0], [0.0]]))
    np.testing.assert_allclose(scipy.special.expit(start), [0.25, 0.75])
    start = Categorical(label_noise="learn").start(np.array([0, 0, 2]))
    np.testing.assert_allclose(np.exp(start[:3]), [0.5, 1 / 6, 1 / 3])
    assert Bernoulli().start(np.ones((3, 1))) is None


def test_labels_between_the_two_are_refused():
    with pytest.raises(DataError, match=r"^y must be 0 or 1 with label noise"):
        Bernoulli(label_noise=0.1).error(double([[4.0]]), double([[0.5]]))
