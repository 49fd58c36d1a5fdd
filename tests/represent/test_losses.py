"""Values against plain loops, gradients against autograd, and what breaks elsewhere."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import DataError, DataWarning, ParameterError
from lamina.represent import (
    alignment,
    collapse_value,
    cross_modal,
    denoising,
    floor_value,
    in_batch_info_nce,
    info_nce,
    normalise,
    supervised_contrastive,
)

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 7, 5))
NEGATIVES = RNG.normal(size=(6, 5))
OWN_NEGATIVES = RNG.normal(size=(7, 3, 5))
LABELS = [0, 1, 0, 2, 1, 0, 3]  # 2 and 3 are met once
IDS = [0, 0, 1, 2, 3, 3, 3]


def cosine(u, v):
    """Return the cosine of two lists of numbers."""
    dot = sum(x * y for x, y in zip(u, v, strict=True))
    return dot / math.sqrt(sum(x * x for x in u)) / math.sqrt(sum(y * y for y in v))


def loop_info_nce(a, p, negatives, tau):
    total = 0.0
    for i in range(len(a)):
        own = negatives if np.ndim(negatives) == 2 else negatives[i]
        terms = [math.exp(cosine(a[i], n) / tau) for n in own]
        good = math.exp(cosine(a[i], p[i]) / tau)
        total -= math.log(good / (good + sum(terms)))
    return total / len(a)


def loop_pairs(a, b, tau, ids, two_sided):
    def one_way(u, v):
        losses = []
        for i in range(len(u)):
            terms = [math.exp(cosine(u[i], v[j]) / tau) for j in range(len(v))]
            good = sum(t for j, t in enumerate(terms) if ids[j] == ids[i])
            if len(set(ids)) > 1:
                losses.append(-math.log(good / sum(terms)))
        return sum(losses) / len(losses)

    forth = one_way(a, b)
    return 0.5 * (forth + one_way(b, a)) if two_sided else forth


def loop_supervised(z, labels, tau):
    losses = []
    for i in range(len(z)):
        others = [j for j in range(len(z)) if j != i]
        total = sum(math.exp(cosine(z[i], z[j]) / tau) for j in others)
        good = [j for j in others if labels[j] == labels[i]]
        if good:
            logs = [math.log(math.exp(cosine(z[i], z[j]) / tau) / total) for j in good]
            losses.append(-sum(logs) / len(good))
    return sum(losses) / len(losses)


def loop_denoising(x_hat, logits, clean, mask, weight):
    total = 0.0
    for index in np.ndindex(x_hat.shape):
        p = 1 / (1 + math.exp(-logits[index]))
        total += (x_hat[index] - clean[index]) ** 2
        total -= weight * math.log(p if mask[index] else 1 - p)
    return total / x_hat.size


MASK = RNG.random((7, 5)) < 0.3
CASES = {
    "info_nce shared": (
        lambda a, p, n: info_nce(a, p, n, 0.3),
        (A, B, NEGATIVES),
        lambda: loop_info_nce(A, B, NEGATIVES, 0.3),
    ),
    "info_nce own": (
        lambda a, p, n: info_nce(a, p, n, 0.3),
        (A, B, OWN_NEGATIVES),
        lambda: loop_info_nce(A, B, OWN_NEGATIVES, 0.3),
    ),
    "info_nce one anchor": (
        lambda a, p, n: info_nce(a, p, n, 1.0),
        (A[0], B[0], NEGATIVES),
        lambda: loop_info_nce(A[:1], B[:1], NEGATIVES, 1.0),
    ),
    "pairs two-sided": (
        lambda a, b: in_batch_info_nce(a, b, 0.2),
        (A, B),
        lambda: loop_pairs(A, B, 0.2, range(7), True),
    ),
    "pairs one-sided": (
        lambda a, b: in_batch_info_nce(a, b, 0.2, two_sided=False),
        (A, B),
        lambda: loop_pairs(A, B, 0.2, range(7), False),
    ),
    "pairs with ids": (
        lambda a, b: in_batch_info_nce(a, b, 0.2, ids=IDS),
        (A, B),
        lambda: loop_pairs(A, B, 0.2, IDS, True),
    ),
    "supervised": (
        lambda z: supervised_contrastive(z, LABELS, 0.2),
        (A,),
        lambda: loop_supervised(A, LABELS, 0.2),
    ),
    "supervised, one class": (
        lambda z: supervised_contrastive(z, ["a"] * 7, 0.2),
        (A,),
        lambda: loop_supervised(A, ["a"] * 7, 0.2),
    ),
    "cross-modal": (
        lambda a, b, t: cross_modal(a, b, t),
        (A, B, np.array(1.5)),
        lambda: loop_pairs(A, B, math.exp(-1.5), range(7), True),
    ),
    "cross-modal with ids": (
        lambda a, b, t: cross_modal(a, b, t, ids=IDS),
        (A, B, np.array(1.5)),
        lambda: loop_pairs(A, B, math.exp(-1.5), IDS, True),
    ),
    "denoising": (
        lambda x, m: denoising(x, m, A, MASK, mask_weight=0.7),
        (B, A[::-1].copy()),
        lambda: loop_denoising(B, A[::-1], A, MASK, 0.7),
    ),
    "alignment": (
        alignment,
        (A, B),
        lambda: sum(2 - 2 * cosine(a, b) for a, b in zip(A, B, strict=True)) / 7,
    ),
}
each_case = pytest.mark.parametrize("name", CASES)
pytestmark = pytest.mark.filterwarnings("ignore:.*anchors are left out")


def tensors(name, dtype=torch.float64):
    return [torch.tensor(x, dtype=dtype, requires_grad=True) for x in CASES[name][1]]


@each_case
def test_value_equals_a_plain_loop(name):
    loss, inputs, loop = CASES[name]
    assert float(loss(*inputs)) == pytest.approx(loop(), rel=1e-12)


@each_case
def test_gradients_equal_finite_differences(name):
    loss, inputs, _ = CASES[name]
    found = loss(*tensors(name)).gradients
    for k, gradient in enumerate(found):
        assert gradient.shape == np.shape(inputs[k])
        for index in np.ndindex(np.shape(inputs[k])):
            ends = []
            for h in (1e-6, -1e-6):
                moved = [np.array(x) for x in inputs]
                moved[k][index] += h
                ends.append(float(loss(*moved)))
            slope = (ends[0] - ends[1]) / 2e-6
            assert gradient[index].item() == pytest.approx(slope, rel=1e-6, abs=2e-8)


@each_case
def test_autograd_uses_the_closed_form(name):
    inputs = tensors(name)
    loss = CASES[name][0](*inputs)
    (3.0 * loss.value).backward()
    for x, gradient in zip(inputs, loss.gradients, strict=True):
        torch.testing.assert_close(x.grad, 3.0 * gradient)


@each_case
def test_second_derivatives_are_refused_and_never_wrong(name):
    inputs = tensors(name)
    value = CASES[name][0](*inputs).value
    product = value * sum(x.square().sum() for x in inputs)
    first = torch.autograd.grad(product, inputs, create_graph=True)
    plain = torch.autograd.grad(product, inputs, retain_graph=True)
    for ours, expected in zip(first, plain, strict=True):
        torch.testing.assert_close(ours.detach(), expected)
    with pytest.raises(RuntimeError, match=r"must be differentiated once\. Got a second"):
        torch.autograd.grad(sum(x.square().sum() for x in first), inputs)


def autograd_pairs(a, b, log_scale, ids, two_sided=True):
    """The loss as autograd would have it."""
    logits = torch.nn.functional.normalize(a) @ torch.nn.functional.normalize(b).mT
    logits = logits * log_scale.exp()
    same = torch.tensor(ids)[:, None] == torch.tensor(ids)[None]
    sides = (logits, logits.mT) if two_sided else (logits,)
    each = [side.logsumexp(1) - side.masked_fill(~same, -math.inf).logsumexp(1) for side in sides]
    return torch.stack(each).mean()


@pytest.mark.parametrize("ids", [list(range(7)), IDS])
@pytest.mark.parametrize("tau", [0.01, 0.1, 1.0])
def test_gradients_equal_autograds(ids, tau):
    a, b, _ = tensors("cross-modal")
    t = torch.tensor(-math.log(tau), dtype=torch.float64, requires_grad=True)
    value = autograd_pairs(a, b, t, ids)
    expected = torch.autograd.grad(value, (a, b, t))
    loss = cross_modal(a, b, t.detach() - 1e-15, ids=ids)
    torch.testing.assert_close(loss.value, value.detach())
    for ours, theirs in zip(loss.gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
    plain = in_batch_info_nce(a.detach(), b.detach(), tau, two_sided=False, ids=ids)
    value = autograd_pairs(a, b, t, ids, two_sided=False)
    for ours, theirs in zip(plain.gradients, torch.autograd.grad(value, (a, b)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_supervised_gradient_equals_autograds():
    (z,) = tensors("supervised")
    units = torch.nn.functional.normalize(z)
    log_p = (units @ units.mT / 0.2).masked_fill(torch.eye(7, dtype=bool), -math.inf)
    log_p = log_p.log_softmax(1)
    good = torch.tensor(LABELS)[:, None] == torch.tensor(LABELS)[None]
    good = good & ~torch.eye(7, dtype=bool)
    anchors = good.any(1)
    value = -torch.stack([log_p[i][good[i]].mean() for i in range(7) if anchors[i]]).mean()
    expected = torch.autograd.grad(value, z)[0]
    found = supervised_contrastive(z, LABELS, 0.2).gradients[0]
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-15)


# Reference values


def test_reference_values_of_collapse_and_floor():
    assert collapse_value(31) == pytest.approx(math.log(32))
    assert floor_value(31) == pytest.approx(math.log(1 + 31 * math.exp(-2)))
    assert floor_value(31, 0.1) == pytest.approx(31 * math.exp(-20), rel=1e-6)
    ones = np.ones((8, 3))
    for loss in (
        info_nce(ones[0], ones[0], ones, 0.05),
        in_batch_info_nce(ones, ones, 0.05),
        in_batch_info_nce(ones, ones, 0.05, ids=[0, 0, 1, 2, 3, 4, 5, 6]),
        supervised_contrastive(ones, [0, 0, 0, 0, 1, 1, 1, 1], 0.05),
    ):
        assert float(loss) == pytest.approx(loss.collapse)


def test_the_floor_is_reached_with_opposite_negatives():
    loss = info_nce([1.0, 0.0], [2.0, 0.0], [[-1.0, 0.0]] * 5, 0.7)
    assert float(loss) == pytest.approx(loss.floor)
    z = np.array([[1.0, 0.0]] * 3 + [[-1.0, 0.0]] * 3)
    supervised = supervised_contrastive(z, [0, 0, 0, 1, 1, 1], 0.7)
    assert float(supervised) == pytest.approx(supervised.floor)
    pairs = in_batch_info_nce(z, z, 0.7, ids=[0, 0, 0, 1, 1, 1])
    assert float(pairs) == pytest.approx(pairs.floor)


@given(st.integers(2, 12), st.floats(0.02, 2.0), st.integers(0, 10_000))
def test_no_loss_falls_below_its_floor(n, tau, seed):
    a, b = np.random.default_rng(seed).normal(size=(2, n, 3))
    loss = in_batch_info_nce(a, b, tau)
    assert float(loss) >= loss.floor - 1e-12


@given(st.floats(1e-3, 1e3), st.floats(0.02, 2.0))
def test_the_length_of_embeddings_does_not_matter(factor, tau):
    ours = float(in_batch_info_nce(factor * A, B, tau))
    assert ours == pytest.approx(float(in_batch_info_nce(A, B, tau)), rel=1e-12)


# What breaks elsewhere


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("tau", [0.01, 0.07])
@pytest.mark.parametrize("name", ["pairs", "supervised", "info_nce", "cross-modal"])
def test_low_temperatures_are_finite_in_every_precision(dtype, tau, name):
    a, b = (torch.tensor(z).to(dtype).requires_grad_() for z in (A, B))
    loss = {
        "pairs": lambda: in_batch_info_nce(a, b, tau),
        "supervised": lambda: supervised_contrastive(a, LABELS, tau),
        "info_nce": lambda: info_nce(a, b, torch.tensor(NEGATIVES).to(dtype), tau),
        "cross-modal": lambda: cross_modal(a, b, -math.log(tau)),
    }[name]()
    assert loss.value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert torch.isfinite(loss.value)
    loss.value.backward()
    assert a.grad.dtype == dtype
    assert torch.isfinite(a.grad).all()
    wide = a.detach().double(), b.detach().double()
    expected = {
        "pairs": lambda: in_batch_info_nce(*wide, tau),
        "supervised": lambda: supervised_contrastive(wide[0], LABELS, tau),
        "info_nce": lambda: info_nce(*wide, torch.tensor(NEGATIVES).to(dtype).double(), tau),
        "cross-modal": lambda: cross_modal(*wide, -math.log(tau)),
    }[name]()
    assert float(loss) == pytest.approx(float(expected), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_huge_and_tiny_embeddings(factor):
    assert float(in_batch_info_nce(A * factor, B)) == pytest.approx(float(in_batch_info_nce(A, B)))
    np.testing.assert_allclose(normalise(A * factor), normalise(A), rtol=1e-12)


def test_zero_rows_have_cosine_and_gradient_0_and_are_counted():
    z = torch.tensor(A).clone()
    z[2] = 0.0
    with pytest.warns(DataWarning, match="1 rows of embeddings are zero"):
        loss = in_batch_info_nce(z, B)
    assert loss.n_zero_rows == 1
    assert torch.isfinite(loss.gradients[0]).all()
    assert (loss.gradients[0][2] == 0).all()
    assert (normalise(z)[2] == 0).all()


def test_a_batch_of_one_is_counted_and_told():
    a = torch.tensor(A[:1], requires_grad=True)
    with pytest.warns(DataWarning, match="2 of 2 anchors are left out of the loss: .*no negative"):
        loss = in_batch_info_nce(a, B[:1])
    assert (loss.n_anchors, loss.n_skipped, float(loss)) == (0, 2, 0.0)
    loss.value.backward()  # attached to the graph
    assert (a.grad == 0).all()
    with pytest.warns(DataWarning, match="1 of 1 anchors"):
        supervised = supervised_contrastive(A[:1], [0])
    assert float(supervised) == 0.0
    assert torch.isfinite(supervised.gradients[0]).all()


def test_a_class_met_once_is_left_out_of_the_mean_and_still_a_negative():
    with pytest.warns(DataWarning, match="2 of 7 anchors are left out"):
        loss = supervised_contrastive(A, LABELS)
    assert (loss.n_anchors, loss.n_skipped) == (5, 2)
    assert (loss.gradients[0][3] != 0).any()


def test_all_different_labels_give_zero_and_say_so():
    z = torch.tensor(A, requires_grad=True)
    with pytest.warns(DataWarning, match="7 of 7"):
        loss = supervised_contrastive(z, np.arange(7))
    assert float(loss) == 0.0
    loss.value.backward()
    assert (z.grad == 0).all()


def test_one_class_has_a_loss_and_a_gradient():
    loss = supervised_contrastive(A, np.zeros(7))
    assert loss.n_anchors == 7
    assert float(loss) > math.log(6) - 1e-12  # positives only, so spread evenly at best
    assert loss.gradients[0].abs().max() > 1e-3


def test_equal_captions_are_not_negatives_of_each_other():
    captions = np.eye(8)[[0, 0, 0, 0, 1, 2, 3, 4]]
    ids = [0, 0, 0, 0, 1, 2, 3, 4]
    apart = cross_modal(captions, captions, math.log(100))
    shared = cross_modal(captions, captions, math.log(100), ids=ids)
    assert float(apart) > 0.5
    assert float(shared) < 1e-12


def test_ids_of_two_columns_share_where_one_agrees():
    two = np.stack([[0, 0, 1, 2, 3, 4, 5], [9, 8, 8, 7, 6, 5, 4]], axis=1)
    loss = in_batch_info_nce(A, B, 0.2, ids=two)
    same = (two[:, None] == two[None]).any(2)
    logits = normalise(A) @ normalise(B).T / 0.2
    each = [
        np.log(np.exp(side).sum(1)) - np.log((np.exp(side) * same).sum(1))
        for side in (logits, logits.T)
    ]
    assert float(loss) == pytest.approx(np.mean(each))


def test_anchors_and_positives_are_never_swapped():
    """Perfect clusters have a loss near its floor, and bad ones a large one."""
    z = np.repeat(np.eye(4), 3, axis=0)
    y = np.repeat(np.arange(4), 3)
    good = supervised_contrastive(z, y, 0.1)
    assert float(good) - math.log(2) < 1e-3
    assert float(supervised_contrastive(z, np.tile(np.arange(4), 3), 0.1)) > 5.0


def test_large_logits_do_not_overflow_the_mask():
    loss = denoising([[0.0]], [[1e4]], [[0.0]], [[False]])
    assert loss.mask_error == pytest.approx(1e4)
    assert denoising([[0.0]], [[1e4]], [[0.0]], [[True]]).mask_error == 0.0


def test_numbers_without_a_direction_do_not_warn_twice_in_a_loop():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(5):
            supervised_contrastive(A, LABELS)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: in_batch_info_nce(A, B[:3]), "b must have shape (7, 5). Got (3, 5)."),
        (lambda: in_batch_info_nce(A[0], B[0]), "a must be real numbers in a 2-D array"),
        (lambda: in_batch_info_nce(A * np.inf, B), "a must hold finite numbers."),
        (lambda: in_batch_info_nce(A, B, ids=[1]), "ids must have one entry for each of the 7"),
        (lambda: in_batch_info_nce([["x"]], B), "a must hold real numbers. Got dtype <U1."),
        (lambda: supervised_contrastive(A, [1.0] * 6 + [np.nan]), "labels must not be missing."),
        (lambda: info_nce(A, B, OWN_NEGATIVES[:2]), "negatives must be for 7 anchors. Got 2."),
        (lambda: info_nce(A, B, np.ones((3, 4))), "negatives must have 5 columns. Got 4."),
        (lambda: info_nce(A, B[0], NEGATIVES), "positive must have shape (7, 5)."),
        (lambda: denoising(A, B, A[:2], MASK), "clean must have shape (7, 5). Got (2, 5)."),
        (lambda: alignment(A, B[:2]), "b must have shape (7, 5). Got (2, 5)."),
    ],
)
def test_wrong_data_get_one_sentence(call, sentence):
    with pytest.raises(DataError) as caught:
        call()
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("tau", [0.0, -1.0, np.nan, "warm"])
def test_temperature_must_be_above_0(tau):
    for call in (
        lambda: in_batch_info_nce(A, B, tau),
        lambda: info_nce(A, B, NEGATIVES, tau),
        lambda: supervised_contrastive(A, LABELS, tau),
        lambda: floor_value(3, tau),
    ):
        with pytest.raises(ParameterError, match="temperature must be a finite number in"):
            call()


def test_a_scale_that_is_no_number_is_refused():
    with pytest.raises(ParameterError, match="log_scale must be"):
        cross_modal(A, B, math.inf)


def test_the_scale_counts_as_100_at_most():
    capped = cross_modal(A, B, 50.0)
    assert float(capped) == pytest.approx(float(cross_modal(A, B, math.log(100.0))))
    assert capped.gradients[2] == 0.0
