"""Mixtures: the gradients written by hand, SciPy, responsibilities, starts and extremes."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from lamina.heads import Bernoulli, Mixture, MultivariateNormal, Normal


def tensor(array):
    return torch.from_numpy(np.asarray(array, dtype=np.float64))


@pytest.mark.parametrize("n_targets", [1, 2, 3])
@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_gradients_are_those_written_by_hand(n_targets, n_components, rng):
    logits = rng.normal(size=n_components)
    means = rng.normal(size=(n_components, n_targets))
    scales = rng.normal(size=n_components)
    y = rng.normal(size=n_targets)
    weights, sigma = scipy.special.softmax(logits), np.exp(scales)
    density = [
        weights[c] * np.prod(scipy.stats.norm.pdf(y, means[c], sigma[c]))
        for c in range(n_components)
    ]
    share = np.array(density) / sum(density)
    distance = ((y - means) ** 2).sum(1) / sigma**2
    expected = [
        *(weights - share),
        *(share[:, None] * (means - y) / sigma[:, None] ** 2).ravel(),
        *(share * (n_targets - distance)),
    ]
    head = Mixture(n_components, min_scale=0.0)
    raw = tensor([[*logits, *means.ravel(), *scales]])
    assert head.n_raw(n_targets) == (n_targets + 2) * n_components == raw.shape[1]
    error, gradient = head.error_and_gradient(raw, tensor([y]))
    assert error.item() == pytest.approx(-math.log(sum(density)), rel=1e-12)
    np.testing.assert_allclose(gradient[0], expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(head.responsibilities(raw, tensor([y]))[0], share, rtol=1e-11)


def test_the_full_and_the_diagonal_layout_match_scipy(rng):
    n_components, n_targets = 2, 2
    logits, means, y = rng.normal(size=2), rng.normal(size=(2, 2)), rng.normal(size=2)
    weights = scipy.special.softmax(logits)

    packed = rng.normal(size=(2, 3))
    tril = [np.array([[math.exp(a), 0], [b, math.exp(c)]]) for a, b, c in packed]
    density = sum(
        weights[c] * scipy.stats.multivariate_normal.pdf(y, means[c], tril[c] @ tril[c].T)
        for c in range(n_components)
    )
    full = Mixture(2, "full", min_scale=0.0)
    raw = tensor([[*logits, *means.ravel(), *packed.ravel()]])
    assert full.error(raw, tensor([y])).item() == pytest.approx(-math.log(density), rel=1e-12)

    density = sum(
        weights[c] * np.prod(scipy.stats.norm.pdf(y, means[c], np.exp(packed[c, :n_targets])))
        for c in range(n_components)
    )
    diagonal = Mixture(2, "diag", min_scale=0.0)
    raw = tensor([[*logits, *means.ravel(), *packed[:, :2].ravel()]])
    assert diagonal.error(raw, tensor([y])).item() == pytest.approx(-math.log(density))


def test_bits_match_scipy(rng):
    logits, odds = rng.normal(size=2), rng.normal(size=(2, 3))
    y = np.array([1.0, 0.0, 1.0])
    weights, p = scipy.special.softmax(logits), scipy.special.expit(odds)
    probability = sum(
        weights[c] * np.prod(scipy.stats.bernoulli.pmf(y.astype(int), p[c])) for c in range(2)
    )
    head, raw = Mixture(2, component="bernoulli"), tensor([[*logits, *odds.ravel()]])
    assert head.n_raw(3) == raw.shape[1] == 8
    error = head.error(raw, tensor([y]))
    assert error.item() == pytest.approx(-math.log(probability), rel=1e-12)
    np.testing.assert_allclose(head.mean(raw)[0], weights @ p, rtol=1e-12)
    assert head.metric_name == "accuracy"
    assert head.score(raw, (head.mean(raw) > 0.5).double()) == 1


@pytest.mark.parametrize("n_targets", [1, 3])
def test_one_component_is_the_distribution_itself(n_targets, rng):
    y = tensor(rng.normal(size=(5, n_targets)))
    pairs = [
        (Mixture(1, "diag"), Normal("per_row"), y),
        (Mixture(1, "full"), MultivariateNormal("per_row"), y),
        (Mixture(1, component="bernoulli"), Bernoulli(), (y > 0).double()),
    ]
    for head, plain, target in pairs:
        raw = tensor(rng.normal(size=(5, head.n_raw(n_targets))))
        got, expected = (
            head.error_and_gradient(raw, target),
            plain.error_and_gradient(raw[:, 1:], target),
        )
        torch.testing.assert_close(got[0], expected[0])
        torch.testing.assert_close(got[1][:, 1:], expected[1])
        assert (got[1][:, 0] == 0).all()


@pytest.mark.parametrize("distance", [1.0, 1e3, 1e9])
@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_equal_components_share_everything_evenly_however_far_the_target(kind, distance):
    one, five = Mixture(1, kind), Mixture(5, kind)
    y = torch.full((1, 2), distance, dtype=torch.float64)
    n = one.n_raw(2)
    raw = torch.linspace(-1, 1, n, dtype=torch.float64)[None]
    parts = raw.split([1, 2, n - 3], -1)
    many = torch.cat([p.repeat(1, 5) for p in parts], -1)
    error, gradient = five.error_and_gradient(many, y)
    alone = one.error_and_gradient(raw, y)
    torch.testing.assert_close(error, alone[0], rtol=1e-14, atol=1e-14)
    expected = torch.cat([p.repeat(1, 5) / 5 for p in alone[1].split([1, 2, n - 3], -1)], -1)
    torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("y", [0.0, 40.0, 1e6])
def test_extreme_raw_outputs_give_the_true_values(y):
    raw = [800.0, -800.0, 0.0, 3.0, 800.0, -5.0, -700.0, 0.3, 2.0]
    with mpmath.workdps(400):
        weights = [mpmath.exp(v) for v in raw[:3]]
        variance = [mpmath.mpf(1e-3) ** 2 + mpmath.exp(2 * mpmath.mpf(s)) for s in raw[6:]]
        distance = [mpmath.mpf(y) - m for m in raw[3:6]]
        joint = [
            w / sum(weights) * mpmath.exp(-(d**2) / (2 * v)) / mpmath.sqrt(2 * mpmath.pi * v)
            for w, d, v in zip(weights, distance, variance, strict=True)
        ]
        total = sum(joint)
        share = [p / total for p in joint]
        expected = [
            -mpmath.log(total),
            *(w / sum(weights) - g for w, g in zip(weights, share, strict=True)),
            *(-g * d / v for g, d, v in zip(share, distance, variance, strict=True)),
            *(
                g * (1 - d**2 / v) * mpmath.exp(2 * mpmath.mpf(s)) / v
                for g, d, v, s in zip(share, distance, variance, raw[6:], strict=True)
            ),
        ]
        expected = [float(v) for v in expected]
    error, gradient = Mixture(3).error_and_gradient(tensor([raw]), tensor([[y]]))
    got = [error.item(), *gradient[0].tolist()]
    assert got == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_the_gradient_is_alive_where_every_density_underflows():
    head, raw = Mixture(2), tensor([[0.0, 0.0, -1.0, 1.0, -4.0, -4.0]])
    y = tensor([[1e4]])
    naive = head.distribution(raw).component_distribution.log_prob(y[:, None]).exp()
    assert (naive == 0).all()
    error, gradient = head.error_and_gradient(raw, y)
    assert error.isfinite().all()
    assert gradient[0, 3] < -1e6  # the nearer mean is pulled to the target
    assert gradient[0, 2] == 0


def test_responsibilities_add_up_to_one_for_members_too(rng):
    head = Mixture(4, "diag")
    raw, y = tensor(rng.normal(size=(3, 6, head.n_raw(2)))), tensor(rng.normal(size=(6, 2)))
    share = head.responsibilities(raw, y)
    assert share.shape == (3, 6, 4)
    torch.testing.assert_close(share.sum(-1), torch.ones(3, 6, dtype=torch.float64))


@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_the_start_has_its_means_among_the_targets(kind, rng):
    y = np.concatenate([rng.normal(centre, 0.1, 100) for centre in (-5.0, 0.0, 5.0)])
    start = Mixture(3, kind).start(rng.permutation(y)[:, None])
    assert start[:3].tolist() == [0, 0, 0]
    np.testing.assert_allclose(start[3:6], [-5, 0, 5], atol=0.05)
    np.testing.assert_allclose(np.exp(start[6:]), 0.1, rtol=0.1)


def test_the_start_spreads_along_the_main_axis_whatever_the_order_of_rows(rng):
    direction = np.array([3.0, 4.0]) / 5
    y = np.linspace(-5, 5, 600)[:, None] * direction + rng.normal(0, 0.01, (600, 2))
    start = Mixture(2, "full").start(y)
    means = start[2:6].reshape(2, 2)
    np.testing.assert_allclose(means, [-2.5 * direction, 2.5 * direction], atol=0.02)
    order = rng.permutation(600)
    np.testing.assert_allclose(Mixture(2, "full").start(y[order]), start, atol=1e-9)


def test_more_components_than_rows_still_start_at_targets():
    start = Mixture(5).start(np.array([[1.0], [2.0]]))
    assert set(start[5:10]) <= {1.0, 2.0}
    assert {1.0, 2.0} <= set(start[5:10])


def test_starting_there_is_better_than_one_normal(rng):
    y = np.repeat([[-1.0], [1.0]], 200, axis=0) + rng.normal(0, 0.05, (400, 1))
    errors = []
    for head in (Mixture(2), Normal("shared")):
        raw = tensor(head.start(y)).expand(400, -1)
        errors.append(head.error(raw, tensor(y)).mean().item())
    assert errors[0] < errors[1] - 1
