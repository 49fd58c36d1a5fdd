"""Who trains together: laws of the plan over random stacks."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.heads import Bernoulli, Categorical, Normal
from lamina.nn import PReLU
from lamina.stack import LBFGS, OPTIMIZERS, SGD, Adam, Member, train
from lamina.stack import _plan as module
from lamina.stack._layers import pieces_of, unit_mask
from lamina.stack._parameters import ALIGNMENT, Layout
from lamina.stack._plan import plan
from lamina.stack._task import make_task
from lamina.stack._threads import SMALL, largest_product, threads_for

N_SAMPLES, N_FEATURES = 100, 6

ACTIVATIONS = ["relu", "tanh", "sigmoid", "gelu", "prelu", "leaky_relu(0.2)"]


@st.composite
def members(draw):
    """Return a member that may differ in all that the plan looks at."""
    depth = draw(st.integers(0, 3))
    n_rows = draw(st.sampled_from([100, 97, 64, 5, 1]))
    return Member(
        [draw(st.sampled_from([1, 2, 15, 16, 17, 60, 64, 300])) for _ in range(depth)],
        [draw(st.sampled_from(ACTIVATIONS)) for _ in range(depth)],
        draw(st.sampled_from([Normal(), Bernoulli()])),
        rows=None if n_rows == 100 else np.arange(n_rows),
        batch_size=draw(st.sampled_from([1, 32, 33, 97, 200])),
        optimizer=draw(st.sampled_from([*OPTIMIZERS, Adam(0.5), SGD(0.1)])),
        shuffle=draw(st.booleans()),
    )


def tasks_of(stack):
    return [make_task(i, one, N_SAMPLES, N_FEATURES, 1) for i, one in enumerate(stack)]


def cost(sizes, batch_size):
    """Return the multiply-adds of a step, forward and twice backward, and its overhead."""
    return module.OVERHEAD + 3 * batch_size * sum(a * b for a, b in pairwise(sizes))


STACKS = st.lists(members(), min_size=1, max_size=25)


@given(STACKS)
@settings(max_examples=60)
def test_every_member_is_in_exactly_one_group(stack):
    groups = plan(tasks_of(stack), 4)
    found = sorted(task.index for group in groups for task in group.tasks)
    assert found == list(range(len(stack)))


@given(STACKS)
@settings(max_examples=60)
def test_members_of_a_group_share_what_a_step_needs(stack):
    for group in plan(tasks_of(stack), 4):
        first = group.tasks[0]
        for task in group.tasks:
            assert len(task.sizes) == len(group.sizes)
            assert task.head == first.head
            assert task.n_steps == first.n_steps
            assert task.n_steps == 1 or task.batch_size == first.batch_size
            assert task.member.optimizer == first.member.optimizer
            assert task.learned == first.learned
            assert isinstance(first.member.optimizer, LBFGS) <= (len(group.tasks) == 1)


@given(STACKS)
@settings(max_examples=60)
def test_padding_is_limited_and_only_as_wide_as_the_widest(stack):
    for group in plan(tasks_of(stack), 4):
        widths = zip(*(task.sizes for task in group.tasks), strict=True)
        assert group.sizes == tuple(max(layer) for layer in widths)
        assert group.padded == any(task.sizes != group.sizes for task in group.tasks)
        batch = max(task.batch_size for task in group.tasks)
        for task in group.tasks:
            own = cost(task.sizes, task.batch_size)
            assert cost(group.sizes, batch) <= module.PADDING * own * (1 + 1e-12)


@given(STACKS, st.sampled_from([0, 3]))
@settings(max_examples=60)
def test_one_activation_is_one_slice(stack, layer):
    for group in plan(tasks_of(stack), 4):
        if len(group.sizes) < 3:
            continue
        in_order = [task.member.activations for task in group.tasks]
        kinds = [kind for kind, _ in groupby(in_order)]
        assert len(kinds) == len(set(kinds))
        pieces = pieces_of(list(group.tasks), 0)
        assert len(pieces) == len({activations[0] for activations in in_order})
        assert [p.start for p in pieces] == [0, *(p.stop for p in pieces[:-1])]
        assert pieces[-1].stop == len(in_order)
        for piece in pieces:
            for activations in in_order[piece.start : piece.stop]:
                assert activations[0] == piece.activation


@given(STACKS)
@settings(max_examples=30)
def test_groups_do_not_depend_on_the_order_of_members(stack):
    straight, back = (plan(tasks_of(order), 4) for order in (stack, stack[::-1]))
    assert sorted(g.sizes for g in straight) == sorted(g.sizes for g in back)


def test_equal_members_are_cut_to_fit_the_cache():
    stack = [Member((256, 256), seed=i, batch_size=32) for i in range(40)]
    groups = plan(tasks_of(stack), 4)
    n_parameters = 6 * 256 + 256 + 256 * 256 + 256 + 256 + 1
    each = 4 * (4 * n_parameters + 2 * 32 * (6 + 256 + 256 + 1))
    most = module.GROUP_BYTES // each
    assert 1 < most < 40
    expected = [len(range(start, min(start + most, 40))) for start in range(0, 40, most)]
    assert [len(group.tasks) for group in groups] == expected


def test_a_member_larger_than_the_cache_is_alone():
    stack = [Member((2000, 2000), seed=i) for i in range(2)]
    assert [len(group.tasks) for group in plan(tasks_of(stack), 4)] == [1, 1]


def test_small_members_travel_with_much_wider_ones():
    # The overhead of a step hides the padding of small layers.
    (group,) = plan(tasks_of([Member((n,), batch_size=32) for n in (1, 5, 60)]), 4)
    assert group.sizes == (6, 60, 1)


# What lies in the buffers


@pytest.mark.parametrize("sizes", [(6, 1), (6, 5, 1), (3, 33, 7, 2)])
def test_blocks_are_aligned_and_do_not_overlap(sizes):
    layout = Layout(sizes, [True] * (len(sizes) - 2))
    ends = 0
    for block in layout.blocks:
        assert block.start % ALIGNMENT == 0
        assert block.start >= ends
        ends = block.start + block.size
    assert layout.n_total % ALIGNMENT == 0
    assert ends <= layout.n_total
    weights = [block for block in layout.blocks if block.kind == "weight"]
    assert weights[-1].start + weights[-1].size <= layout.n_weights
    others = [block for block in layout.blocks if block.kind != "weight"]
    assert min(block.start for block in others) == layout.n_weights


def test_packing_and_unpacking_give_the_same_arrays(rng):
    layout = Layout((6, 9, 4, 2), [True, False])
    shapes = [(5, 6), (4, 5), (2, 4), (5,), (4,), (2,), (5,)]
    arrays = [rng.standard_normal(shape) for shape in shapes]
    row = torch.full((layout.n_total,), torch.nan, dtype=torch.float64)
    layout.pack(arrays, row)
    for there, back in zip(arrays, layout.unpack(row, shapes), strict=True):
        np.testing.assert_array_equal(there, back)
    assert row.count_nonzero() == sum(array.size for array in arrays)


def test_padded_units_are_masked_only_where_they_would_speak():
    like = torch.zeros(0)
    stack = [Member((3,), "softplus"), Member((5,), "tanh"), Member((4,), "softplus")]
    mask = unit_mask(tasks_of(stack), 5, 0, like)
    assert mask.squeeze(1).tolist() == [[1, 1, 1, 0, 0], [1] * 5, [1, 1, 1, 1, 0]]
    assert unit_mask(tasks_of(stack), 5, 0, like).shape == (3, 1, 5)
    assert unit_mask(tasks_of([Member((3,), "relu"), Member((5,), "tanh")]), 5, 0, like) is None
    assert unit_mask(tasks_of([Member((5,), "softplus")]), 5, 0, like) is None


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "rmsprop", "muon"])
def test_padding_changes_nothing(optimizer):
    X = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES))
    y = X[:, 0] * X[:, 1]
    stack = [
        Member(
            (width, 30 - width),
            activation,
            seed=width,
            optimizer=optimizer,
            batch_size=32,
            learning_rate=0.01,
            weight_decay=0.01,
            alpha=0.1,
            clip_norm=1.0,
            dropout=0.1,
            max_epochs=12,
        )
        for width, activation in [
            (1, PReLU()), (29, PReLU()), (15, PReLU(0.5)),
            (1, "softplus"), (29, "sigmoid"), (15, "tanh"),
        ]
    ]  # fmt: skip
    groups = plan(tasks_of(stack), 8)
    assert [group.sizes for group in groups] == [(6, 29, 29, 1)] * 2
    result = train(stack, X, y, backend="torch", dtype="float64")
    for k, member in enumerate(stack):
        alone = train([member], X, y, backend="torch", dtype="float64")
        for a, b in zip(result.states[k].parameters, alone.states[0].parameters, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def test_threads_are_for_large_products_only():
    small, large = (
        plan(tasks_of([Member(widths, batch_size=64)] * 3), 4) for widths in ((10,), (3000, 3000))
    )
    assert largest_product(small) == 3 * 64 * 6 * 10 < SMALL
    assert largest_product(large) >= SMALL

    def fail_within(groups):
        with threads_for(groups):
            assert torch.get_num_threads() == 1
            raise ZeroDivisionError

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threads_for(large):
            assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError):
            fail_within(small)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_two_heads_of_one_target_are_two_groups():
    y = (np.arange(N_SAMPLES) % 2).astype(float)
    X = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES))
    stack = [Member((4,), head=h, max_epochs=2) for h in (Bernoulli(), Categorical(2), Normal())]
    groups = set()
    result = train(
        stack, X, y, backend="torch", callbacks=[lambda report: groups.add(report.group)]
    )
    assert groups == {0, 1, 2}
    assert [net.sizes[-1] for net in result.networks] == [1, 2, 1]
