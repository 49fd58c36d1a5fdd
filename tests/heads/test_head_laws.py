"""Every head with learnt parameters against torch.distributions and automatic differentiation."""

import dataclasses
import pickle

import numpy as np
import pytest
import torch
from torch import distributions as td
from torch.nn import functional as F

from lamina._errors import DataError
from lamina.heads import (
    HEADS,
    Bernoulli,
    Categorical,
    FromDistribution,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Quantiles,
    head_from_config,
)

LEVELS = torch.tensor([0.05, 0.3, 0.5, 0.9], dtype=torch.float64)


def scale_of(raw, floor):
    return (floor**2 + (2 * raw).exp()).sqrt()


def factor_of(raw, n_targets, floor):
    """Fill the triangle entry by entry."""
    rows, place = [], 0
    for i in range(n_targets):
        row = [raw[..., place + j] for j in range(i)]
        row.append(scale_of(raw[..., place + i], floor))
        place += i + 1
        rows.append(torch.stack(row + [torch.zeros_like(row[0])] * (n_targets - i - 1), -1))
    return torch.stack(rows, -2)


def normal(head, raw, y):
    loc, scale = raw.chunk(2, -1)
    return td.Normal(loc, scale_of(scale, head.min_scale)).log_prob(y).sum(-1)


def multivariate(head, raw, y):
    n = y.shape[-1]
    tril = factor_of(raw[..., n:], n, head.min_scale)
    return td.MultivariateNormal(raw[..., :n], scale_tril=tril).log_prob(y)


def mixture(head, raw, y):
    c, n = head.n_components, y.shape[-1]
    loc = raw[..., c : c + c * n].unflatten(-1, (c, n))
    scale = raw[..., c + c * n :]
    if head.component == "bernoulli":
        component = td.Independent(td.Bernoulli(logits=loc), 1)
    elif head.covariance_type == "full":
        tril = factor_of(scale.unflatten(-1, (c, -1)), n, head.min_scale)
        component = td.MultivariateNormal(loc, scale_tril=tril)
    else:
        each = scale.unflatten(-1, (c, -1)).expand(loc.shape)
        component = td.Independent(td.Normal(loc, scale_of(each, head.min_scale)), 1)
    return td.MixtureSameFamily(td.Categorical(logits=raw[..., :c]), component).log_prob(y)


def negative_binomial(head, raw, y):
    mean, dispersion = raw.exp().chunk(2, -1)
    p = dispersion * mean / (1 + dispersion * mean)
    return td.NegativeBinomial(1 / dispersion, probs=p).log_prob(y).sum(-1)


def bernoulli(head, raw, y):
    learnt = head.label_noise == "learn"
    logit, noise = raw.chunk(2, -1) if learnt else (raw, None)
    noise = noise.sigmoid() / 2 if learnt else head.label_noise
    p = (1 - noise) * logit.sigmoid() + noise * (-logit).sigmoid()
    return td.Bernoulli(p).log_prob(y).sum(-1)


def categorical(head, raw, y):
    learnt = head.label_noise == "learn"
    logits = raw[..., :-1] if learnt else raw
    k = logits.shape[-1]
    noise = raw[..., -1:].sigmoid() * (k - 1) / k if learnt else head.label_noise
    p = logits.softmax(-1)
    p = (1 - noise) * p + noise / (k - 1) * (1 - p)
    target = (
        F.one_hot(y.long(), k).double() * (1 - head.label_smoothing) + head.label_smoothing / k
    )
    return (target * p.log()).sum(-1)


def quantiles(head, raw, y):
    total = 0.0
    for t in range(y.shape[-1]):
        a = raw[..., 4 * t : 4 * t + 4]
        up, steps = a[..., 2], F.softplus(a, threshold=500)
        q = [up - steps[..., 1] - steps[..., 0], up - steps[..., 1], up, up + steps[..., 3]]
        for level, value in zip(LEVELS, q, strict=True):
            gap = y[..., t] - value
            total = total - torch.where(gap > 0, level * gap, (level - 1) * gap) / 4
    return total


def laplace(raw):
    loc, scale = raw.chunk(2, -1)
    return td.Independent(td.Laplace(loc, F.softplus(scale) + 1e-3), 1)


def from_laplace(head, raw, y):
    return laplace(raw).log_prob(y)


CASES = {}
for _t in (1, 2, 3):
    for _floor in (0.0, 1e-3, 0.5):
        CASES[f"shared {_t} {_floor}"] = Normal("shared", min_scale=_floor), _t, normal
        CASES[f"per row {_t} {_floor}"] = Normal("per_row", min_scale=_floor), _t, normal
        CASES[f"full {_t} {_floor}"] = (
            MultivariateNormal("per_row", _floor), _t, multivariate)  # fmt: skip
    CASES[f"shared full {_t}"] = MultivariateNormal(), _t, multivariate
    for _c in (1, 2, 5):
        for _kind in ("spherical", "diag", "full"):
            CASES[f"mixture {_t} {_c} {_kind}"] = Mixture(_c, _kind), _t, mixture
            CASES[f"mixture {_t} {_c} {_kind} no floor"] = (
                Mixture(_c, _kind, min_scale=0.0), _t, mixture)  # fmt: skip
        CASES[f"bits {_t} {_c}"] = Mixture(_c, component="bernoulli"), _t, mixture
    CASES[f"counts {_t}"] = NegativeBinomial(), _t, negative_binomial
    CASES[f"counts {_t} per row"] = NegativeBinomial(shared=False), _t, negative_binomial
    CASES[f"flipped {_t}"] = Bernoulli(label_noise=0.1), _t, bernoulli
    CASES[f"flipped {_t} learnt"] = Bernoulli(label_noise="learn"), _t, bernoulli
    CASES[f"quantiles {_t}"] = Quantiles(LEVELS.tolist()), _t, quantiles
    CASES[f"laplace {_t}"] = FromDistribution(laplace, 2 * _t), _t, from_laplace
for _k in (2, 3, 5):
    CASES[f"wrong class {_k}"] = Categorical(label_noise=0.3), _k, categorical
    CASES[f"wrong class {_k} learnt"] = Categorical(label_noise="learn"), _k, categorical
    CASES[f"wrong class {_k} smoothed"] = (
        Categorical(label_smoothing=0.2, label_noise="learn"), _k, categorical)  # fmt: skip

each_case = pytest.mark.parametrize("case", CASES)
CLOSED = [case for case in CASES if "laplace" not in case]
each_closed_case = pytest.mark.parametrize("case", CLOSED)


def draw(head, n_targets, shape, rng):
    if head.name == "categorical":
        return torch.from_numpy(rng.integers(0, n_targets, shape))
    size = (*shape, n_targets)
    if head.name == "bernoulli" or getattr(head, "component", "") == "bernoulli":
        return torch.from_numpy(rng.integers(0, 2, size).astype(float))
    if head.name == "negative_binomial":
        return torch.from_numpy(rng.poisson(4.0, size).astype(float))
    return torch.from_numpy(rng.normal(size=size))


def example(case, lead, seed=0):
    head, n_targets, log_prob = CASES[case]
    rng = np.random.default_rng(seed)
    raw = torch.from_numpy(rng.normal(size=(*lead, head.n_raw(n_targets))))
    return head, raw, draw(head, n_targets, lead, rng), log_prob


def test_every_head_has_its_law_here_or_among_the_plain_ones():
    assert {head.name for head, _, _ in CASES.values()} == set(HEADS) - {"poisson", "custom"}


@each_case
@pytest.mark.parametrize("lead", [(7,), (3, 5), (2, 3, 5)])
def test_error_and_gradient_are_those_of_torchs_log_prob(case, lead):
    head, raw, y, log_prob = example(case, lead)
    leaf = raw.clone().requires_grad_()
    expected = -log_prob(head, leaf, y)
    (slope,) = torch.autograd.grad(expected.sum(), leaf)
    before = raw.clone(), y.clone()
    error, gradient = head.error_and_gradient(raw, y)
    torch.testing.assert_close(error, expected.detach(), rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(gradient, slope, rtol=1e-10, atol=1e-12)
    assert gradient.is_contiguous()
    torch.testing.assert_close(head.error(raw, y), error, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(head.gradient(raw, y), gradient, rtol=0, atol=0)
    assert torch.equal(raw, before[0])
    assert torch.equal(y, before[1])


@each_case
def test_the_error_is_differentiable_with_the_same_gradient(case):
    head, raw, y, _ = example(case, (3, 5), seed=1)
    leaf = raw.clone().requires_grad_()
    (slope,) = torch.autograd.grad(head._error(leaf, y).sum(), leaf)
    torch.testing.assert_close(head.gradient(raw, y), slope, rtol=1e-10, atol=1e-12)


@each_case
@pytest.mark.parametrize("raw", [0.0, np.log(1e-3)])
def test_the_gradient_is_right_where_its_formulas_change_branch(case, raw):
    head, at, y, log_prob = example(case, (4,))
    if head.name == "mixture" and raw:
        pytest.skip("torch's responsibilities are lost in rounding there")
    leaf = torch.full_like(at, float(raw)).requires_grad_()
    (slope,) = torch.autograd.grad(-log_prob(head, leaf, y).sum(), leaf)
    gradient = head.gradient(leaf.detach(), y)
    torch.testing.assert_close(gradient, slope, rtol=1e-9, atol=1e-12)


@each_closed_case
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_rows", [1, 50, 201])
def test_a_member_is_bit_for_bit_the_same_alone(case, dtype, n_rows):
    head, raw, y, _ = example(case, (5, n_rows), seed=2)
    raw, y = (3 * raw).to(dtype), y if head.name == "categorical" else y.to(dtype)
    error, gradient = head.error_and_gradient(raw, y)
    assert error.dtype == gradient.dtype == dtype
    for k in range(5):
        alone = head.error_and_gradient(raw[[k]], y[[k]])
        assert torch.equal(error[k], alone[0][0])
        assert torch.equal(gradient[k], alone[1][0])


@each_case
def test_members_share_targets_by_broadcasting(case):
    head, raw, _, _ = example(case, (3, 5))
    y = draw(head, CASES[case][1], (5,), np.random.default_rng(3))
    together = head.error_and_gradient(raw, y)
    for k in range(3):
        alone = head.error_and_gradient(raw[k], y)
        torch.testing.assert_close(together[0][k], alone[0], rtol=1e-13, atol=1e-14)
        torch.testing.assert_close(together[1][k], alone[1], rtol=1e-13, atol=1e-14)


@each_closed_case
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("factor", [0.0, 1.0, 1e6])
def test_everything_is_finite_at_raw_outputs_of_800(case, dtype, factor):
    head, n_targets, _ = CASES[case]
    rng = np.random.default_rng(4)
    n_raw = head.n_raw(n_targets)
    sign = torch.from_numpy(rng.choice([-800.0, 800.0], (40, n_raw)))
    some = torch.from_numpy(rng.normal(size=(40, n_raw)))
    mixed = torch.where(torch.from_numpy(rng.random((40, n_raw)) < 0.5), sign, some)
    y = draw(head, n_targets, (120,), rng)
    if head.name in ("normal", "multivariate_normal", "quantiles", "negative_binomial") or (
        head.name == "mixture" and head.component == "normal"
    ):
        y = (y * factor).to(dtype)
    elif head.name != "categorical":
        y = y.to(dtype)
    raw = torch.cat([sign, -sign, mixed]).to(dtype)
    error, gradient = head.error_and_gradient(raw, y)
    assert error.isfinite().all()
    assert gradient.isfinite().all()
    assert head.error(raw, y).isfinite().all()


@each_closed_case
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_raw_outputs_of_800_make_a_valid_distribution(case, dtype):
    head, n_targets, _ = CASES[case]
    sign = np.random.default_rng(6).choice([-800.0, 800.0], (40, head.n_raw(n_targets)))
    raw = torch.from_numpy(sign).to(dtype)
    distribution = head.distribution(raw)  # which checks its parameters
    assert distribution.batch_shape == (40,)
    assert not head.mean(raw).isnan().any()


@each_closed_case
def test_raw_outputs_that_are_nan_stay_visible(case):
    head, raw, y, _ = example(case, (4,))
    raw[1] = torch.nan
    error, gradient = head.error_and_gradient(raw, y)
    assert error.isnan().tolist() == [False, True, False, False]
    assert gradient.isnan().any(-1).tolist() == [False, True, False, False]


@each_case
def test_the_distribution_has_the_errors_density_and_the_heads_mean(case):
    head, raw, y, _ = example(case, (2, 6))
    distribution = head.distribution(raw)
    assert distribution.batch_shape == (2, 6)
    if head.name == "quantiles":
        torch.testing.assert_close(head.mean(raw), distribution.mean)
        return
    if not getattr(head, "label_smoothing", 0.0):
        torch.testing.assert_close(
            distribution.log_prob(y), -head.error(raw, y), rtol=1e-9, atol=1e-10
        )
    if not getattr(head, "label_noise", 0.0):
        torch.testing.assert_close(head.mean(raw), distribution.mean, rtol=1e-12, atol=1e-12)


@each_closed_case
def test_configurations_and_pickles_return(case):
    head = CASES[case][0]
    assert head_from_config(head._to_config()) == head
    again = pickle.loads(pickle.dumps(head))
    assert again == head
    assert again.kernel == head.kernel
    assert again.canonical is False
    assert hash(again) == hash(head)
    assert repr(again) == repr(head)


@each_closed_case
@pytest.mark.parametrize("n_rows", [1, 2, 30])
def test_training_starts_at_finite_biases_of_the_right_number(case, n_rows):
    head, n_targets, _ = CASES[case]
    y = draw(head, n_targets, (n_rows,), np.random.default_rng(5)).numpy()
    if head.name == "categorical":
        y[0] = n_targets - 1
    start = head.start(y)
    if getattr(head, "label_noise", None) not in (None, "learn"):
        assert start is None
        return
    n_raw = head.n_raw(n_targets)
    assert start.shape == (n_raw,)
    assert np.isfinite(start).all()
    assert np.array_equal(start, head.start(y))
    assert 0 <= head.shared_raw(n_targets) <= n_raw
    raw = torch.from_numpy(start).expand(n_rows, n_raw)
    assert head.error(raw, torch.from_numpy(y)).isfinite().all()


@each_closed_case
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_targets_give_a_start_too(case, value):
    head, n_targets, _ = CASES[case]
    if "wrong class" in case or "flipped" in case or "bits" in case:
        value = min(value, 1.0)
    y = np.full(20 if head.name == "categorical" else (20, n_targets), value)
    start = head.start(y.astype(int) if head.name == "categorical" else y)
    assert start is None or np.isfinite(start).all()


@each_case
def test_wrong_numbers_of_raw_outputs_are_refused(case):
    head, raw, y, _ = example(case, (4,))
    wrong = torch.cat([raw, raw], -1)
    if head.name == "categorical":
        wrong, y = raw[:2], y[:3]
    with pytest.raises(DataError, match=r"^raw (and y )?must (both )?have shape"):
        head.error(wrong, y)


def test_shared_parameters_come_last_and_are_counted():
    counts = [
        (Normal(), 3, 0), (Normal("per_row"), 3, 0), (Normal("shared"), 3, 3),
        (MultivariateNormal("per_row"), 3, 0), (MultivariateNormal(), 3, 6),
        (NegativeBinomial(), 2, 2), (NegativeBinomial(shared=False), 2, 0),
        (Bernoulli(label_noise="learn"), 2, 2), (Bernoulli(label_noise=0.1), 2, 0),
        (Categorical(label_noise="learn"), 4, 1), (Categorical(label_noise=0.1), 4, 0),
        (Mixture(), 2, 0), (Quantiles(), 2, 0),
    ]  # fmt: skip
    assert [head.shared_raw(t) for head, t, _ in counts] == [n for _, _, n in counts]


KERNELS = [
    (Normal(), "normal"), (Bernoulli(), "bernoulli"), (Categorical(), "categorical"),
    (Categorical(label_smoothing=0.1), "categorical"),
    (Normal("shared"), "mixture"), (Normal("per_row"), "mixture"),
    (Mixture(), "mixture"), (Mixture(2, "diag"), "mixture"),
    (Normal("per_row", beta=0.5), None), (Mixture(2, "full"), None),
    (Mixture(2, component="bernoulli"), None), (MultivariateNormal(), None),
    (Bernoulli(label_noise=0.1), None), (Categorical(label_noise="learn"), None),
    (NegativeBinomial(), None), (Quantiles(), None),
]  # fmt: skip


@pytest.mark.parametrize(("head", "kernel"), KERNELS)
def test_only_what_machine_code_computes_names_a_kernel(head, kernel):
    assert head.kernel == kernel
    parameters = {f.name: getattr(head, f.name) for f in dataclasses.fields(head)}
    own = type("Own", (type(head),), {})(**parameters)
    assert own.kernel is None


def test_the_gradient_is_mean_minus_target_only_where_a_head_says_so():
    canonical = [head for head, _ in KERNELS if head.canonical]
    assert canonical == [Normal(), Bernoulli(), Categorical(), Categorical(label_smoothing=0.1)]
