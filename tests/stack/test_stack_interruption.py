"""Ctrl-C at any place: the last whole epoch is kept, and training can go on from there."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.heads import Custom
from lamina.stack import OPTIMIZERS, Checkpoint, Member, train

N_SAMPLES, BATCH, N_STEPS, N_EPOCHS = 70, 16, 5, 6


def data():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_SAMPLES, 4))
    return X, np.sin(X @ [1.0, -1.0, 0.5, 0.0])


class Bomb:
    """A squared error that is interrupted at its n-th call."""

    def __init__(self):
        self.calls, self.at = 0, None

    def __call__(self, raw, y):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return (raw - y).square().sum(-1)


def members(optimizer, bomb, max_epochs=N_EPOCHS):
    head = Custom(bomb, name="bomb")
    return [
        Member(
            (6, 5),
            "tanh",
            head,
            seed=i,
            optimizer=optimizer,
            batch_size=BATCH,
            learning_rate=0.01,
            dropout=0.0 if optimizer == "lbfgs" else 0.2,
            max_epochs=max_epochs,
        )
        for i in range(2)
    ]


def numbers(result):
    """Return networks and states as lists of arrays."""
    parts = [p.detach().numpy() for net in result.networks for p in net.parameters()]
    for state in result.states:
        parts += [*state.parameters, *(array for moment in state.moments for array in moment)]
        parts.append(np.array([state.epoch, state.step, state.seen, state.lr_scale]))
    return parts


def assert_same(one, two):
    for a, b in zip(numbers(one), numbers(two), strict=True):
        np.testing.assert_array_equal(a, b)


STEPWISE = [name for name in OPTIMIZERS if name != "lbfgs"]


@pytest.mark.parametrize("place", ["first step", "within an epoch", "last step"])
@pytest.mark.parametrize("optimizer", STEPWISE)
def test_ctrl_c_within_an_epoch_keeps_the_last_whole_one(optimizer, place, tmp_path):
    X, y = data()
    path = tmp_path / "cut.ckpt"
    bomb = Bomb()
    n_whole = 3
    bomb.at = n_whole * N_STEPS + {"first step": 1, "within an epoch": 3, "last step": 5}[place]
    cut = train(members(optimizer, bomb), X, y, checkpoint=path)
    assert cut.interrupted
    assert cut.status == ["stopped", "stopped"]
    assert cut.n_epochs == [n_whole, n_whole]
    assert len(cut.history) == 2 * n_whole

    bomb.at = None
    assert_same(cut, train(members(optimizer, bomb, n_whole), X, y))
    whole = train(members(optimizer, bomb), X, y)
    assert_same(whole, train(members(optimizer, bomb), X, y, checkpoint=path))
    assert_same(
        whole, train(members(optimizer, bomb, N_EPOCHS - n_whole), X, y, states=cut.states)
    )


@pytest.mark.parametrize("at", [1, 4, N_EPOCHS])
@pytest.mark.parametrize("optimizer", STEPWISE)
def test_ctrl_c_in_a_callback_keeps_the_epoch_that_was_done(optimizer, at, tmp_path):
    X, y = data()
    path = tmp_path / "cut.ckpt"

    def interrupt(report):
        if report.epoch == at:
            raise KeyboardInterrupt

    bomb = Bomb()
    cut = train(members(optimizer, bomb), X, y, checkpoint=path, callbacks=[interrupt])
    assert cut.interrupted
    assert cut.n_epochs == [at, at]
    assert_same(cut, train(members(optimizer, bomb, at), X, y))
    assert_same(
        train(members(optimizer, bomb), X, y),
        train(members(optimizer, bomb), X, y, checkpoint=path),
    )


def test_ctrl_c_after_the_last_epoch_returns_what_was_trained():
    X, y = data()

    def interrupt(report):
        if report.epoch == report.max_epochs:
            raise KeyboardInterrupt

    cut = train(members("adam", Bomb()), X, y, callbacks=[interrupt])
    whole = train(members("adam", Bomb()), X, y)
    assert cut.status == ["epochs", "epochs"]
    assert_same(cut, whole)


@pytest.mark.parametrize("way", ["loss", "callback", "stop"])
def test_lbfgs_that_was_cut_short_starts_anew_from_a_checkpoint(way, tmp_path):
    X, y = data()
    checkpoint = Checkpoint(tmp_path / "cut.ckpt", every=0.0)
    bomb = Bomb()
    reports = []

    def cut_short(report):
        reports.append(report)
        if len(reports) == N_EPOCHS + 2:
            if way == "callback":
                raise KeyboardInterrupt
            bomb.at = bomb.calls + 1 if way == "loss" else None
            return way == "stop"
        return False

    whole = train(members("lbfgs", bomb), X, y)
    cut = train(members("lbfgs", bomb), X, y, checkpoint=checkpoint, callbacks=[cut_short])
    assert cut.interrupted == (way != "stop")
    assert cut.status == ["epochs", "stopped"]
    assert cut.n_epochs == [N_EPOCHS, 2]
    bomb.at = None
    resumed = train(members("lbfgs", bomb), X, y, checkpoint=checkpoint)
    assert_same(whole, resumed)
    assert resumed.status == whole.status
    columns = ["member", "epoch", "train_loss"]
    assert resumed.history[columns].equals(whole.history[columns])
