"""Three promises: alone = together, nobody hurts a neighbour, resume = the whole run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lamina.stack import Checkpoint, Member, train

pytestmark = pytest.mark.usefixtures("backend")


def arrays(net) -> list[np.ndarray]:
    """Return weights and biases of a network."""
    return [array for layer in net.layers() for array in layer]


def assert_equal_bits(a, b) -> None:
    for x, y in zip(arrays(a), arrays(b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_each_of_24_members_equals_its_solo_run(mix, mixed_data):
    X, y = mixed_data
    members = mix()
    together = train(members, X, y, dtype="float64")
    assert {len(m.sizes) for m in members} == {0, 1, 2, 3, 4}
    assert min(int(n) for n in together.n_epochs) * 3 >= 50
    for k, member in enumerate(members):
        alone = train([member], X, y, dtype="float64")
        for a, b in zip(arrays(alone.networks[0]), arrays(together.networks[k]), strict=True):
            scale = max(1.0, float(np.abs(a).max()))
            assert np.abs(a - b).max() <= 1e-10 * scale, f"member {k}: {member}"
        mine = together.history[together.history["member"] == k]
        for name in ("train_loss", "valid_loss", "valid_score", "learning_rate"):
            np.testing.assert_allclose(mine[name], alone.history[name], rtol=1e-9, atol=1e-10)


def test_members_of_one_group_equal_their_solo_runs(mixed_data):
    X, y = mixed_data
    widths = [(20, 16), (24, 12), (17, 17), (16, 20), (24, 24)]
    members = [
        Member(w, activation, seed=i, batch_size=32, learning_rate=0.01, dropout=0.1 * (i % 3))
        for i, (w, activation) in enumerate(
            zip(widths, ["tanh", "sigmoid", "relu", "tanh", "gelu"], strict=True)
        )
    ]
    together = train([replace(m, max_epochs=10) for m in members], X, y, dtype="float64")
    for k, member in enumerate(members):
        alone = train([replace(member, max_epochs=10)], X, y, dtype="float64")
        for a, b in zip(arrays(alone.networks[0]), arrays(together.networks[k]), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def test_permuting_members_permutes_results(mix, mixed_data):
    X, y = mixed_data
    members = mix(12, max_epochs=4)
    order = np.random.default_rng(3).permutation(12)
    straight = train(members, X, y, dtype="float64")
    shuffled = train([members[i] for i in order], X, y, dtype="float64")
    for place, i in enumerate(order):
        for a, b in zip(
            arrays(straight.networks[i]), arrays(shuffled.networks[place]), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("victim", [1, 13])
def test_a_diverging_member_leaves_the_others_bits_alone(dtype, victim, mix, mixed_data):
    X, y = mixed_data
    members = mix(max_epochs=8)
    healthy = train(members, X, y, dtype=dtype)
    sick = list(members)
    sick[victim] = replace(
        members[victim], learning_rate=1e6, optimizer="sgd", schedule=None, clip_norm=None
    )
    if members[victim].optimizer.name != "sgd":
        healthy = train(
            [*members[:victim], replace(sick[victim], learning_rate=1e-6), *members[victim + 1 :]],
            X,
            y,
            dtype=dtype,
        )
    with pytest.warns(UserWarning, match=f"1 of 24 members diverged.*: {victim}\\."):
        ill = train(sick, X, y, dtype=dtype)
    assert ill.status[victim] == "diverged"
    assert all(np.isfinite(a).all() for a in arrays(ill.networks[victim]))
    for k in range(24):
        if k != victim:
            assert ill.status[k] == healthy.status[k] != "diverged"
            assert_equal_bits(healthy.networks[k], ill.networks[k])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_last_survivor_of_a_group_keeps_its_bits(dtype, mixed_data):
    X, y = mixed_data
    members = [Member((33,), "tanh", seed=i, batch_size=32, max_epochs=9) for i in range(4)]
    healthy = train(members, X, y, dtype=dtype)
    wild = [
        m if i == 1 else replace(m, optimizer="adam", learning_rate=1e200 if i else 1e30)
        for i, m in enumerate(members)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ill = train(wild, X, y, dtype=dtype)
    assert ill.status[1] == "epochs"
    assert ill.status.count("diverged") >= 2
    assert_equal_bits(healthy.networks[1], ill.networks[1])


_TRAINING = """
import sys, torch
sys.path.insert(0, {folder!r})
from conftest import mix, mixed_data
from lamina.stack import Checkpoint, train
torch.set_num_threads(1)
X, y = mixed_data()
def slowly(report):
    import time; time.sleep(0.01)
print("go", flush=True)
train(mix(24, 12), X, y, dtype="float64", checkpoint=Checkpoint({path!r}, every=0.0),
      backend={backend!r}, callbacks=[slowly])
print("done", flush=True)
"""


def _run_and_kill(path: Path, seconds: float, backend: str) -> bool:
    """Start the training in a process, kill it after some seconds of work; was it cut short?"""
    code = _TRAINING.format(folder=str(Path(__file__).parent), path=str(path), backend=backend)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        limit = time.monotonic() + 60
        while not path.exists() and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return "done" not in process.stdout.read()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_killed_and_resumed_equals_uninterrupted(backend, tmp_path, mix, mixed_data):
    X, y = mixed_data
    path = tmp_path / "stack.ckpt"
    cut = [_run_and_kill(path, seconds, backend) for seconds in (0.3, 0.8)]
    assert cut == [True, True]
    resumed = train(mix(24, 12), X, y, dtype="float64", checkpoint=Checkpoint(path, every=0.0))
    whole = train(mix(24, 12), X, y, dtype="float64")
    for a, b in zip(resumed.networks, whole.networks, strict=True):
        assert_equal_bits(a, b)
    assert resumed.status == whole.status
    columns = ["member", "epoch", "train_loss", "valid_loss", "valid_score", "learning_rate"]
    assert resumed.history[columns].equals(whole.history[columns])


def test_stopped_after_every_epoch_and_resumed_equals_uninterrupted(tmp_path, mix, mixed_data):
    X, y = mixed_data
    path = tmp_path / "stack.ckpt"
    members = mix(6, max_epochs=5)
    whole = train(members, X, y, dtype="float32")
    for _ in range(200):
        result = train(
            members,
            X,
            y,
            dtype="float32",
            checkpoint=Checkpoint(path, every=0.0),
            callbacks=[lambda report: True],
        )
        if "stopped" not in result.status:
            break
    for a, b in zip(result.networks, whole.networks, strict=True):
        assert_equal_bits(a, b)
