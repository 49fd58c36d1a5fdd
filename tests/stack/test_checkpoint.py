"""The file of a training under way: what it resumes, what it refuses, what it leaves behind."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
import torch
from safetensors.torch import load_file, save_file

from lamina._errors import FileError, ParameterError
from lamina.heads import Custom, Poisson
from lamina.nn import Gaussian, Network
from lamina.stack import OPTIMIZERS, Adaptive, Checkpoint, Member, train
from lamina.stack import _checkpoint as module

pytestmark = pytest.mark.usefixtures("backend")

N_SAMPLES = 50
X = np.random.default_rng(1).standard_normal((N_SAMPLES, 3))
Y = np.abs(np.sin(X[:, 0]) + 0.5 * X[:, 1])
COLUMNS = ["member", "epoch", "train_loss", "valid_loss", "valid_score", "learning_rate"]


def members(**settings):
    """Return members of three groups, one of which stops early and one is L-BFGS."""
    common = {"activation": "tanh", "batch_size": 16, "max_epochs": 5, "learning_rate": 0.01}
    held_out = {"rows": np.arange(40), "validation_rows": np.arange(40, 50)}
    return [
        Member((4,), seed=1, dropout=0.2, **(common | settings)),
        Member((4,), seed=2, patience=0, tol=9.0, **held_out, **(common | settings)),
        Member((4, 3), seed=3, schedule=Adaptive(), **held_out, **(common | settings)),
        Member((4,), seed=4, activation="tanh", optimizer="lbfgs", max_epochs=6),
    ]


def assert_same(one, two):
    assert one.status == two.status
    assert one.best_epoch == two.best_epoch
    assert one.n_epochs == two.n_epochs
    assert one.messages == two.messages
    assert one.history[COLUMNS].equals(two.history[COLUMNS])
    for a, b in zip(one.networks, two.networks, strict=True):
        for p, q in zip(a.parameters(), b.parameters(), strict=True):
            np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
    for a, b in zip(one.states, two.states, strict=True):
        assert (a.epoch, a.step, a.seen, a.lr_scale) == (b.epoch, b.step, b.seen, b.lr_scale)
        for p, q in zip([a.parameters, *a.moments], [b.parameters, *b.moments], strict=True):
            for m, n in zip(p, q, strict=True):
                np.testing.assert_array_equal(m, n)


class Stop:
    """A callback that stops at its n-th report."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self, report):
        self.calls += 1
        return self.calls == self.at


@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name != "lbfgs"])
@pytest.mark.parametrize("at", [1, 2, 5, 8, 10])
def test_resumed_equals_uninterrupted(optimizer, at, tmp_path):
    path = tmp_path / "run.ckpt"
    whole = train(members(optimizer=optimizer), X, Y)
    cut = train(members(optimizer=optimizer), X, Y, checkpoint=path, callbacks=[Stop(at)])
    assert "stopped" in cut.status
    resumed = train(members(optimizer=optimizer), X, Y, checkpoint=path)
    assert_same(resumed, whole)


def test_resumed_after_every_report_equals_uninterrupted(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=0.0)
    whole = train(members(), X, Y, dtype="float64")
    for _ in range(40):
        result = train(
            members(), X, Y, dtype="float64", checkpoint=checkpoint, callbacks=[Stop(3)]
        )
        if "stopped" not in result.status:
            break
    assert_same(train(members(), X, Y, dtype="float64", checkpoint=checkpoint), whole)


def test_after_the_end_the_same_result_comes_from_the_file(tmp_path):
    path = tmp_path / "run.ckpt"
    whole = train(members(), X, Y, checkpoint=path)
    reports = []
    again = train(members(), X, Y, checkpoint=path, callbacks=[reports.append])
    assert_same(again, whole)
    assert reports == []
    assert whole.messages[3]


def test_no_other_file_is_left(tmp_path):
    path = tmp_path / "run.ckpt"
    seen = set()
    train(
        members(),
        X,
        Y,
        checkpoint=Checkpoint(path, every=0.0),
        callbacks=[lambda report: seen.update(tmp_path.iterdir()) or False],
    )
    assert seen == {path}
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    train(members(), X, Y, checkpoint=path, callbacks=[Stop(3)])
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        train(members(), X, Y, checkpoint=path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_how_often_it_saves(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    path = tmp_path / "run.ckpt"
    saved = []

    def tick(report):
        now[0] += 1.0
        saved.append(path.stat().st_mtime_ns if path.exists() else 0)

    train([Member((2,), max_epochs=9)], X, Y, checkpoint=Checkpoint(path, 3.0), callbacks=[tick])
    # A report comes before the saving of its epoch: seconds 3, 6 and 9 save.
    assert [a != b for a, b in pairwise(saved)] == [
        False, False, True, False, False, True, False, False
    ]  # fmt: skip


DAMAGED = "is damaged or is not a checkpoint. Delete it to start anew."
FOREIGN = (
    "belongs to other members, data, dtype or backend. Delete it to start anew, or give another "
    "path."
)


def refused(path, sentence, *arguments, **keywords):
    text = re.escape(f"checkpoint {str(path)!r} {sentence}")
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(FileError, match=f"^{text}$"):
        train(*(arguments or (members(), X, Y)), checkpoint=path, **keywords)
    assert before is None or path.read_bytes() == before


@pytest.fixture
def path(tmp_path):
    """Return the file of a training that was stopped."""
    path = tmp_path / "run.ckpt"
    train(members(), X, Y, checkpoint=path, callbacks=[Stop(3)])
    return path


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"weights",
        lambda data: data[:-10],
        lambda data: data[: len(data) // 2],
        lambda data: data[:40] + bytes(40) + data[80:],
        lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
        lambda data: bytes(len(data)),
    ],
)
def test_damaged_files_are_refused(path, damage):
    path.write_bytes(damage(path.read_bytes()))
    refused(path, DAMAGED)


def test_a_missing_tensor_is_damage(path):
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors = load_file(path)
    del tensors["group0.theta"]
    save_file(tensors, path, metadata=metadata)
    refused(path, DAMAGED)


def test_a_folder_is_refused(tmp_path):
    refused(tmp_path, DAMAGED)


@pytest.mark.parametrize("metadata", [None, {"lamina_checkpoint": "0"}])
def test_files_of_others_are_refused(tmp_path, metadata):
    path = tmp_path / "model.safetensors"
    save_file({"weight": torch.zeros(3)}, path, metadata=metadata)
    refused(path, "is not one of this version of lamina. Delete it to start anew.")


CHANGES = {
    "seed": 9,
    "hidden_layer_sizes": (5,),
    "activation": "relu",
    "head": Poisson(),
    "init": "he",
    "rows": np.arange(1, 50),
    "validation_rows": np.arange(3),
    "sample_weight": np.linspace(1, 2, N_SAMPLES),
    "batch_size": 17,
    "optimizer": "adamw",
    "learning_rate": 0.02,
    "schedule": "cosine",
    "weight_decay": 0.1,
    "alpha": 0.1,
    "dropout": 0.3,
    "input_noise": 0.1,
    "clip_norm": 1.0,
    "max_epochs": 6,
    "patience": 3,
    "tol": 0.1,
    "monitor": "train_loss",
    "keep_best": True,
    "shuffle": False,
}


def test_every_setting_of_a_member_is_changed_in_this_test():
    assert set(CHANGES) == {field.name for field in dataclasses.fields(Member)}


@pytest.mark.parametrize("name", CHANGES)
def test_another_member_is_refused(path, name):
    first, *rest = members()
    refused(path, FOREIGN, [dataclasses.replace(first, **{name: CHANGES[name]}), *rest], X, Y)


def test_other_members_data_and_dtype_are_refused(path):
    first, second, third, last = members()
    refused(path, FOREIGN, [first, second, third], X, Y)
    refused(path, FOREIGN, [second, first, third, last], X, Y)
    other = X.copy()
    other[7, 2] = np.nextafter(other[7, 2], 9.0)
    refused(path, FOREIGN, members(), other, Y)
    refused(path, FOREIGN, members(), X, np.where(np.arange(N_SAMPLES) == 7, 0.0, Y))
    refused(path, FOREIGN, members(), scipy.sparse.csr_array(X), Y)
    refused(path, FOREIGN, members(), X, Y, dtype="float64")


def test_another_past_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    member = Member((4,), max_epochs=3)
    pasts = [train([Member((4,), seed=s, max_epochs=2)], X, Y).states for s in range(2)]
    train([member], X, Y, states=pasts[0], checkpoint=path, callbacks=[Stop(1)])
    refused(path, FOREIGN, [member], X, Y, states=pasts[1])
    refused(path, FOREIGN, [member], X, Y)
    train([member], X, Y, states=pasts[0], checkpoint=path)


def test_large_arrays_are_compared_in_full(tmp_path):
    # Their repr is cut short, and would be the same.
    n = 5000
    X, y = np.zeros((n, 1)), np.zeros(n)
    rows = np.arange(n)
    other = rows.copy()
    other[2500] = 0
    path = tmp_path / "run.ckpt"
    for make in (torch.tensor, list, np.array):
        path.unlink(missing_ok=True)
        train([Member((), rows=make(rows), max_epochs=1)], X, y, checkpoint=path)
        refused(path, FOREIGN, [Member((), rows=make(other), max_epochs=1)], X, y)


def test_first_weights_are_compared(tmp_path):
    path = tmp_path / "run.ckpt"
    net = Network((3, 4, 1), "prelu", random_state=0)
    same = Network.from_torch(net)
    member = Member((4,), "prelu", init=net, max_epochs=1)
    whole = train([member], X, Y, checkpoint=path)
    assert_same(train([dataclasses.replace(member, init=same)], X, Y, checkpoint=path), whole)
    with torch.no_grad():
        same.slopes[0][1] = 0.5
    refused(path, FOREIGN, [dataclasses.replace(member, init=same)], X, Y)
    refused(path, FOREIGN, [dataclasses.replace(member, init=Gaussian(0.1))], X, Y)


def test_a_loss_of_ones_own_is_known_again_by_its_name(tmp_path):
    def make():
        def absolute(raw, y):
            return (raw - y).abs().sum(-1)

        return Member((2,), head=Custom(absolute), max_epochs=4)

    path = tmp_path / "run.ckpt"
    # As in another process, the function lies at another address.
    first, second = make(), make()
    assert repr(first.head) != repr(second.head)
    train([first], X, Y, checkpoint=path, callbacks=[Stop(2)])
    assert_same(train([second], X, Y, checkpoint=path), train([first], X, Y))


def test_another_loss_of_ones_own_is_refused(tmp_path):
    def square(raw, y):
        return (raw - y).square().sum(-1)

    def absolute(raw, y):
        return (raw - y).abs().sum(-1)

    path = tmp_path / "run.ckpt"
    train([Member((2,), head=Custom(square), max_epochs=1)], X, Y, checkpoint=path)
    refused(path, FOREIGN, [Member((2,), head=Custom(absolute), max_epochs=1)], X, Y)


def test_wrong_intervals():
    with pytest.raises(ParameterError, match=r"^every must be a finite number in \[0, inf\]\."):
        Checkpoint("run.ckpt", every=-1)
