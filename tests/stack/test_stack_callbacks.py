"""What callbacks learn and may do, and that training leaves the world as it was."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from lamina._errors import DivergedWarning
from lamina.heads import Custom
from lamina.nn import Network
from lamina.stack import EpochReport, Member, train

pytestmark = pytest.mark.usefixtures("backend")
only_torch = pytest.mark.parametrize("backend", ["torch"], indirect=True)

N_SAMPLES = 40
X = np.random.default_rng(1).standard_normal((N_SAMPLES, 3))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1]


def members():
    """Return two groups: three members that run 2, 4 and 3 epochs, and two that run 3 and 5."""
    shallow = [
        Member((4,), "tanh", seed=i, batch_size=16, max_epochs=n) for i, n in enumerate((2, 4, 3))
    ]
    deep = [
        Member(
            (4, 3),
            seed=i,
            batch_size=16,
            max_epochs=n,
            rows=np.arange(30),
            validation_rows=np.arange(30, 40),
            schedule="invscaling",
        )
        for i, n in enumerate((3, 5))
    ]
    return [deep[0], *shallow, deep[1]]


def collected(**arguments):
    reports = []
    result = train(members(), X, Y, callbacks=[reports.append], **arguments)
    return reports, result


def same(net, other):
    return all(
        torch.equal(a, b) for a, b in zip(net.parameters(), other.parameters(), strict=True)
    )


@only_torch
def test_there_is_a_report_for_each_epoch_of_each_group():
    reports, _ = collected()
    assert all(isinstance(report, EpochReport) for report in reports)
    assert [(r.group, r.n_groups, r.epoch, r.max_epochs) for r in reports] == [
        *((0, 2, epoch, 5) for epoch in (1, 2, 3, 4, 5)),
        *((1, 2, epoch, 4) for epoch in (1, 2, 3, 4)),
    ]
    deep, shallow = ([set(r.members) for r in reports if r.group == g] for g in (0, 1))
    assert deep == [{0, 4}] * 3 + [{4}] * 2
    assert shallow == [{1, 2, 3}] * 2 + [{2, 3}, {2}]


@pytest.mark.parametrize("backend", ["cpu"], indirect=True)
def test_members_of_the_cpu_backend_report_together():
    reports, _ = collected()
    assert [(r.group, r.n_groups, r.epoch, r.max_epochs) for r in reports] == [
        (0, 1, epoch, 5) for epoch in (1, 2, 3, 4, 5)
    ]
    assert [r.members for r in reports] == [
        *((0, 1, 2, 3, 4), (0, 1, 2, 3, 4), (0, 2, 3, 4), (2, 4), (4,))
    ]


def test_figures_are_those_of_the_history():
    reports, result = collected(dtype="float64")
    history = result.history
    n_rows = 0
    for report in reports:
        for k, i in enumerate(report.members):
            row = history[(history["member"] == i) & (history["epoch"] == report.epoch)]
            for name in ("train_loss", "valid_loss", "valid_score", "learning_rate"):
                assert row[name].item() == pytest.approx(getattr(report, name)[k], nan_ok=True)
            n_rows += 1
    assert n_rows == len(history) == sum(result.n_epochs)
    assert (history["seconds"] > 0).all()
    assert list(history.columns) == [
        "member", "epoch", "train_loss", "valid_loss", "valid_score", "learning_rate", "seconds"
    ]  # fmt: skip
    order = history[["member", "epoch"]].to_numpy().tolist()
    assert order == sorted(order)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_networks_are_those_of_the_epoch(dtype):
    seen = {}

    def keep(report):
        for i, net in zip(report.members, report.networks(), strict=True):
            seen[i, report.epoch] = net

    train(members(), X, Y, dtype=dtype, callbacks=[keep])
    for (i, epoch), net in seen.items():
        assert isinstance(net, Network)
        assert str(net.dtype) == f"torch.{dtype}"
        stack = [m if k != i else Member(**{**vars(m), "max_epochs": epoch, "keep_best": False})
                 for k, m in enumerate(members())]  # fmt: skip
        assert same(net, train(stack, X, Y, dtype=dtype).networks[i])


def test_networks_are_copies():
    def spoil(report):
        with torch.no_grad():
            for net in report.networks():
                for p in net.parameters():
                    p.fill_(torch.nan)

    spoiled = train(members(), X, Y, callbacks=[spoil])
    clean = train(members(), X, Y)
    assert all(map(same, spoiled.networks, clean.networks))
    with torch.no_grad():
        next(iter(clean.networks[0].parameters())).zero_()
    assert clean.states[0].parameters[0].any()


def test_networks_can_be_asked_for_later():
    reports, result = collected()
    for report in reports:
        for i, net in zip(report.members, report.networks(), strict=True):
            last = result.states[i].parameters[0]
            np.testing.assert_array_equal(net.layers()[0][0], last)


@only_torch
@pytest.mark.parametrize("how", [True, np.True_, 1, "yes"])
def test_a_callback_stops_everything(how):
    calls = []

    def first(report):
        calls.append("first")
        return how if len(calls) == 5 else None

    def second(report):
        calls.append("second")

    result = train(members(), X, Y, callbacks=[first, second])
    assert calls == ["first", "second"] * 3
    assert result.status == ["epochs", "stopped", "stopped", "stopped", "stopped"]
    assert result.n_epochs == [3, 0, 0, 0, 3]
    assert not result.interrupted
    untouched = train([Member(**{**vars(m), "max_epochs": 0}) for m in members()], X, Y)
    assert all(same(result.networks[i], untouched.networks[i]) for i in (1, 2, 3))
    assert not same(result.networks[4], untouched.networks[4])


@pytest.mark.parametrize("nothing", [None, False, 0, "", np.False_])
def test_what_is_not_true_does_not_stop(nothing):
    assert train(members(), X, Y, callbacks=[lambda r: nothing]).status == ["epochs"] * 5


def test_callbacks_change_nothing():
    _, watched = collected()
    alone = train(members(), X, Y)
    assert all(map(same, watched.networks, alone.networks))


def test_an_error_in_a_callback_is_the_callers():
    def broken(report):
        raise LookupError("no such figure")

    with pytest.raises(LookupError, match="no such figure"):
        train(members(), X, Y, callbacks=[broken])


def test_a_callback_may_use_autograd():
    def gradients(report):
        (net, *_) = report.networks()
        net(torch.zeros(2, 3)).sum().backward()
        assert net.biases[-1].grad.item() == 2.0

    train(members(), X, Y, callbacks=[gradients])
    with torch.no_grad():
        train(members(), X, Y, callbacks=[lambda r: torch.is_grad_enabled()])


def test_a_report_of_a_member_that_diverges():
    reports = []

    def keep(report):
        reports.append((report, report.networks()))

    wild = Member((4,), optimizer="sgd", learning_rate=1e30, seed=3)
    with pytest.warns(DivergedWarning):
        result = train([wild, Member((4,), optimizer="sgd", max_epochs=3)], X, Y, callbacks=[keep])
    assert [set(report.members) for report, _ in reports] == [{0, 1}, {0, 1}, {1}]
    report, nets = reports[1]
    place = report.members.index(0)
    assert same(nets[place], result.networks[0])
    assert all(p.isfinite().all() for p in nets[place].parameters())


# What must not change


def world():
    return {
        "numpy": np.random.get_state()[1].tolist(),
        "torch": torch.get_rng_state().tolist(),
        "python": random.getstate(),
        "dtype": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "gradients": torch.is_grad_enabled(),
        "onednn": torch.backends.mkldnn.enabled,
        "errors": np.geterr(),
    }


def interrupt(report):
    raise KeyboardInterrupt


def fail(report):
    raise ZeroDivisionError


@pytest.mark.parametrize("callbacks", [[], [lambda r: True], [interrupt], [fail]])
@pytest.mark.parametrize("optimizer", ["adam", "lbfgs"])
def test_the_world_is_as_before(callbacks, optimizer):
    before = world()
    stack = [
        Member((4,), seed=i, optimizer=optimizer, max_epochs=3, dropout=0.1, init="orthogonal")
        for i in range(2)
    ]
    try:
        train(stack, X, Y, callbacks=callbacks)
    except ZeroDivisionError:
        assert callbacks == [fail]
    assert world() == before


def test_gradients_of_a_loss_of_ones_own_do_not_leave_a_graph():
    graphs = []

    def loss(raw, y):
        graphs.append(raw.requires_grad)
        return (raw - y).square().sum(-1)

    result = train([Member((4,), head=Custom(loss), max_epochs=2)], X, Y)
    assert graphs
    assert all(p.grad is None and p.is_leaf for p in result.networks[0].parameters())
