"""Heads against SciPy, torch.nn.functional, automatic differentiation and closed forms."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from lamina.heads import HEADS, Bernoulli, Categorical, Custom, Head, Normal, Poisson


def draw(name, shape, rng, n_raw):
    if name == "categorical":
        return torch.from_numpy(rng.integers(0, n_raw, shape))
    size = (*shape, n_raw)
    values = {
        "normal": lambda: rng.normal(size=size),
        "custom": lambda: rng.normal(size=size),
        "bernoulli": lambda: rng.integers(0, 2, size).astype(float),
        "poisson": lambda: rng.poisson(2.0, size).astype(float),
    }
    return torch.from_numpy(values[name]())


def cosh_loss(raw, y):
    return (raw - y).cosh().log().sum(-1)


CASES = [
    Normal(),
    Bernoulli(),
    Categorical(),
    Categorical(label_smoothing=0.2),
    Poisson(),
    Custom(cosh_loss),
]


def case_id(head):
    # Without the address of a function, so that every process names a test alike.
    return repr(head).split(" at 0x")[0]


CANONICAL = [head for head in CASES if head.canonical]
WITH_DISTRIBUTION = [Normal(), Bernoulli(), Categorical(), Poisson()]


def expected_gradient(head, raw, y):
    leaf = raw.clone().requires_grad_()
    return torch.autograd.grad(head._error(leaf, y).sum(), leaf)[0]


def test_the_registry_has_every_head_by_its_name():
    assert {head.name for head in CASES} <= set(HEADS)
    assert all(kind.name == name for name, kind in HEADS.items())
    assert all(issubclass(kind, Head) for kind in HEADS.values())


@pytest.mark.parametrize("head", CASES, ids=case_id)
@pytest.mark.parametrize("lead", [(5,), (3, 5), (2, 3, 5)])
def test_gradient_matches_autograd(head, lead):
    rng = np.random.default_rng(1)
    raw = torch.from_numpy(3 * rng.normal(size=(*lead, 4)))
    y = draw(head.name, lead, rng, 4)
    error, gradient = head.error_and_gradient(raw.clone(), y)
    assert error.shape == lead
    torch.testing.assert_close(error, head.error(raw, y), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(gradient, expected_gradient(head, raw, y), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(head.gradient(raw, y), gradient, rtol=0, atol=0)


@pytest.mark.parametrize("n_classes", [2, 15, 16, 40])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_categorical_gradient_with_few_and_many_classes(n_classes, smoothing):
    rng = np.random.default_rng(13)
    raw = torch.from_numpy(3 * rng.normal(size=(3, 7, n_classes)))
    y, head = draw("categorical", (3, 7), rng, n_classes), Categorical(label_smoothing=smoothing)
    error, gradient = head.error_and_gradient(raw, y)
    assert gradient.is_contiguous()
    torch.testing.assert_close(error, head.error(raw, y), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(gradient, expected_gradient(head, raw, y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("head", CASES[:5], ids=case_id)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_rows", [3, 50, 201])
def test_a_member_is_bit_for_bit_the_same_alone(head, dtype, n_rows):
    rng = np.random.default_rng(14)
    raw = torch.from_numpy(3 * rng.normal(size=(5, n_rows, 3))).to(dtype)
    y = draw(head.name, (5, n_rows), rng, 3)
    y = y if head.name == "categorical" else y.to(dtype)
    error, gradient = head.error_and_gradient(raw, y)
    for k in range(5):
        alone = head.error_and_gradient(raw[[k]], y[[k]])
        assert torch.equal(error[k], alone[0][0])
        assert torch.equal(gradient[k], alone[1][0])


@pytest.mark.parametrize("head", CASES, ids=case_id)
def test_error_and_gradient_leaves_its_inputs_alone(head):
    rng = np.random.default_rng(2)
    raw, y = torch.from_numpy(rng.normal(size=(3, 5, 4))), draw(head.name, (3, 5), rng, 4)
    before = raw.clone(), y.clone()
    head.error_and_gradient(raw, y)
    assert torch.equal(raw, before[0])
    assert torch.equal(y, before[1])


@pytest.mark.parametrize("head", CASES, ids=case_id)
def test_members_share_targets_by_broadcasting(head):
    rng = np.random.default_rng(3)
    raw, y = torch.from_numpy(rng.normal(size=(3, 5, 4))), draw(head.name, (5,), rng, 4)
    together = head.error_and_gradient(raw, y)
    for k in range(3):
        alone = head.error_and_gradient(raw[k], y)
        torch.testing.assert_close(together[0][k], alone[0], rtol=1e-14, atol=1e-15)
        torch.testing.assert_close(together[1][k], alone[1], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("size", [30.0, 800.0, 1e4])
@pytest.mark.parametrize("head", [Bernoulli(), Categorical(), Categorical(label_smoothing=0.1)],
                         ids=case_id)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_classification_is_finite_and_right_at_extreme_logits(head, size, dtype):
    raw = torch.tensor([[size, 0.0], [-size, 0.0], [0.0, size], [size, size]], dtype=dtype)
    y = torch.tensor([0, 0, 0, 1]) if head.name == "categorical" else torch.ones(4, 2, dtype=dtype)
    error, gradient = head.error_and_gradient(raw, y)
    assert error.isfinite().all()
    assert gradient.isfinite().all()
    tolerance = 1e-12 if dtype == torch.float64 else 1e-6
    expected = expected_gradient(head, raw, y)
    torch.testing.assert_close(gradient, expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(head.error(raw, y).isfinite(), torch.ones(4, dtype=torch.bool))


def test_bernoulli_closed_values_at_extremes():
    raw = torch.tensor([[-800.0], [-30.0], [0.0], [30.0], [800.0]])
    y = torch.tensor([[1.0], [1.0], [1.0], [0.0], [0.0]])
    expected = torch.tensor([800.0, 30.0, math.log(2), 30.0, 800.0])
    torch.testing.assert_close(Bernoulli().error(raw, y), expected)
    naive = -torch.where(y > 0, raw.sigmoid().log(), (1 - raw.sigmoid()).log()).squeeze(-1)
    assert torch.equal(naive.isinf(), torch.tensor([True, False, False, True, True]))


def test_bernoulli_keeps_the_small_error_of_a_sure_answer():
    raw, y = torch.tensor([[30.0], [700.0]], dtype=torch.float64), torch.ones(2, 1).double()
    expected = torch.tensor([math.exp(-30.0), math.exp(-700.0)], dtype=torch.float64)
    torch.testing.assert_close(Bernoulli().error(raw, y), expected, rtol=1e-12, atol=0)


def test_categorical_survives_where_naive_softmax_is_nan():
    raw, y = torch.tensor([[1000.0, 1001.0, 1002.0]]), torch.tensor([2])
    naive = raw.exp() / raw.exp().sum(-1, keepdim=True)
    assert naive.isnan().all()
    expected = torch.tensor([[0.0900, 0.2447, 0.6652]])
    torch.testing.assert_close(Categorical().mean(raw), expected, atol=5e-5, rtol=0)
    assert Categorical().error(raw, y).item() == pytest.approx(0.4076, abs=5e-5)


def test_categorical_gradient_keeps_a_small_residual():
    raw, y = torch.tensor([[40.0, 0.0]], dtype=torch.float64), torch.tensor([0])
    gradient = Categorical().gradient(raw, y)
    assert gradient[0, 0].item() == pytest.approx(-math.exp(-40), rel=1e-6)


def test_poisson_at_extremes():
    raw, y = torch.tensor([[-1e4], [-800.0], [800.0]]), torch.tensor([[2.0], [0.0], [3.0]])
    error, gradient = Poisson().error_and_gradient(raw, y)
    assert error[0].item() == pytest.approx(2e4 + math.log(2))
    assert error[1].item() == 0
    assert math.isinf(error[2].item())
    assert math.isinf(gradient[2].item())
    naive = -scipy.stats.poisson.logpmf(2, np.exp(np.float64(-1e4)))
    assert math.isinf(naive)


def test_normal_at_extremes():
    raw, y = torch.tensor([[1e4], [-800.0]]), torch.zeros(2, 1)
    expected = torch.tensor([5e7, 320000.0]) + 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(Normal().error(raw, y), expected)


def test_normal_error_matches_scipy():
    rng = np.random.default_rng(4)
    raw, y = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6, 3))
    expected = -scipy.stats.norm.logpdf(y, loc=raw).sum(-1)
    got = Normal().error(torch.from_numpy(raw), torch.from_numpy(y))
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_bernoulli_error_matches_scipy():
    rng = np.random.default_rng(5)
    raw, y = 3 * rng.normal(size=(2, 6, 3)), rng.integers(0, 2, (2, 6, 3))
    expected = -scipy.stats.bernoulli.logpmf(y, scipy.special.expit(raw)).sum(-1)
    got = Bernoulli().error(torch.from_numpy(raw), torch.from_numpy(y.astype(float)))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_categorical_error_matches_scipy():
    rng = np.random.default_rng(6)
    raw, y = 3 * rng.normal(size=(7, 3)), rng.integers(0, 3, 7)
    p = scipy.special.softmax(raw, axis=-1)
    expected = -scipy.stats.multinomial.logpmf(np.eye(3)[y], n=1, p=p)
    got = Categorical().error(torch.from_numpy(raw), torch.from_numpy(y))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_poisson_error_matches_scipy():
    rng = np.random.default_rng(7)
    raw, y = rng.normal(size=(2, 6, 3)), rng.poisson(2.0, (2, 6, 3))
    expected = -scipy.stats.poisson.logpmf(y, np.exp(raw)).sum(-1)
    got = Poisson().error(torch.from_numpy(raw), torch.from_numpy(y.astype(float)))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_label_smoothing_matches_torch(smoothing):
    rng = np.random.default_rng(8)
    raw, y = torch.from_numpy(rng.normal(size=(9, 4))), torch.from_numpy(rng.integers(0, 4, 9))
    expected = F.cross_entropy(raw, y, reduction="none", label_smoothing=smoothing)
    head = Categorical(label_smoothing=smoothing)
    torch.testing.assert_close(head.error(raw, y), expected)
    torch.testing.assert_close(head.error_and_gradient(raw, y)[0], expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_one_hot_rows_equal_class_numbers(smoothing):
    rng = np.random.default_rng(9)
    raw, y = (
        torch.from_numpy(rng.normal(size=(2, 9, 4))),
        torch.from_numpy(rng.integers(0, 4, (2, 9))),
    )
    head, one_hot = Categorical(label_smoothing=smoothing), F.one_hot(y, 4).double()
    torch.testing.assert_close(head.error(raw, one_hot), head.error(raw, y))
    torch.testing.assert_close(head.gradient(raw, one_hot), head.gradient(raw, y))
    torch.testing.assert_close(head.score(raw, one_hot), head.score(raw, y))


@pytest.mark.parametrize("head", CANONICAL, ids=case_id)
def test_canonical_gradient_is_mean_minus_target(head):
    rng = np.random.default_rng(10)
    raw, y = torch.from_numpy(rng.normal(size=(2, 8, 4))), draw(head.name, (2, 8), rng, 4)
    target = F.one_hot(y, 4).double() if head.name == "categorical" else y
    share = head.label_smoothing if head.name == "categorical" else 0.0
    target = target * (1 - share) + share / 4
    expected = head.mean(raw) - target
    torch.testing.assert_close(head.gradient(raw, y), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("head", WITH_DISTRIBUTION, ids=case_id)
def test_distribution_agrees_with_error_and_mean(head):
    rng = np.random.default_rng(11)
    raw, y = torch.from_numpy(rng.normal(size=(2, 8, 4))), draw(head.name, (2, 8), rng, 4)
    distribution = head.distribution(raw)
    torch.testing.assert_close(distribution.log_prob(y), -head.error(raw, y))
    mean = distribution.probs if head.name == "categorical" else distribution.mean
    torch.testing.assert_close(head.mean(raw), mean)


def test_custom_mean_is_the_raw_output():
    raw = torch.ones(3, 2)
    assert Custom(cosh_loss).mean(raw) is raw


def test_multilabel_error_is_the_sum_of_binary_errors():
    rng = np.random.default_rng(12)
    raw, y = torch.from_numpy(rng.normal(size=(8, 3))), draw("bernoulli", (8,), rng, 3)
    one_by_one = sum(Bernoulli().error(raw[:, [q]], y[:, [q]]) for q in range(3))
    torch.testing.assert_close(Bernoulli().error(raw, y), one_by_one)


logits = st.lists(st.floats(-50, 50), min_size=2, max_size=6)


@settings(max_examples=60, deadline=None)
@given(logits=logits, shift=st.floats(-1e3, 1e3))
def test_softmax_does_not_see_a_shift(logits, shift):
    raw = torch.tensor([logits], dtype=torch.float64)
    y = torch.tensor([0])
    head = Categorical()
    torch.testing.assert_close(
        head._error(raw + shift, y), head._error(raw, y), rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(head.mean(raw + shift), head.mean(raw), rtol=1e-9, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(first=st.floats(-300, 300), second=st.floats(-300, 300), label=st.integers(0, 1))
def test_two_class_softmax_is_the_sigmoid_of_the_difference(first, second, label):
    raw = torch.tensor([[first, second]], dtype=torch.float64)
    difference = raw[:, 1:] - raw[:, :1]
    y = torch.tensor([label])
    torch.testing.assert_close(
        Categorical()._error(raw, y), Bernoulli()._error(difference, y[:, None].double()),
        rtol=1e-9, atol=1e-12,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(logits=logits, data=st.data())
def test_categorical_gradient_rows_add_up_to_zero(logits, data):
    y = torch.tensor([data.draw(st.integers(0, len(logits) - 1))])
    gradient = Categorical().gradient(torch.tensor([logits], dtype=torch.float64), y)
    assert abs(gradient.sum().item()) < 1e-12
