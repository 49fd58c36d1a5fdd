"""The `cpu` backend as a program: threads, Ctrl-C, callbacks, checkpoints, fallbacks."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse
import torch

from lamina._errors import DivergedWarning, ParameterError
from lamina.heads import HEADS, Custom, Normal
from lamina.nn import ACTIVATIONS, ReLU
from lamina.stack import OPTIMIZERS, Checkpoint, Member, _cpu, _pool, engine_info, train
from lamina.stack import _extension as module

needs_native = pytest.mark.skipif(
    module.native() is None, reason="lamina was installed without its compiled part"
)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")

N_SAMPLES = 60
X = np.random.default_rng(1).standard_normal((N_SAMPLES, 4))
Y = np.sin(X @ [1.0, -1.0, 0.5, 0.0])
COLUMNS = ["member", "epoch", "train_loss", "valid_loss", "valid_score", "learning_rate"]


def numbers(result):
    """Return networks and states as lists of arrays."""
    parts = [p.detach().numpy() for net in result.networks for p in net.parameters()]
    for state in result.states:
        parts += [*state.parameters, *(array for moment in state.moments for array in moment)]
        parts.append(np.array([state.epoch, state.step, state.seen, state.lr_scale]))
    return parts


def assert_same_bits(one, two):
    assert one.status == two.status
    assert one.best_epoch == two.best_epoch
    for a, b in zip(numbers(one), numbers(two), strict=True):
        np.testing.assert_array_equal(a, b)
    for name in COLUMNS:
        np.testing.assert_array_equal(one.columns[name], two.columns[name])


@pytest.fixture
def n_threads():
    """Return a function that sets how many threads train."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    """Fail the test after which a thread runs that did not before."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


# The same bits


@needs_native
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_alone_is_together_bit_for_bit(dtype, mix, mixed_data):
    X, y = mixed_data
    members = mix(24, 6)
    together = train(members, X, y, backend="cpu", dtype=dtype)
    for k, member in enumerate(members):
        alone = train([member], X, y, backend="cpu", dtype=dtype)
        for a, b in zip(
            alone.networks[0].parameters(), together.networks[k].parameters(), strict=True
        ):
            assert torch.equal(a, b)
        mine = together.columns["member"] == k
        for name in COLUMNS[1:]:
            np.testing.assert_array_equal(together.columns[name][mine], alone.columns[name])


@needs_native
@pytest.mark.parametrize("callbacks", [[], [lambda report: None]])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_any_number_of_threads_gives_the_same_bits(dtype, callbacks, n_threads, mix, mixed_data):
    X, y = mixed_data
    results = []
    for n in (1, 2, 4):
        n_threads(n)
        results.append(train(mix(12, 6), X, y, backend="cpu", dtype=dtype, callbacks=callbacks))
        assert torch.get_num_threads() == n
    for other in results[1:]:
        assert_same_bits(results[0], other)


@needs_native
def test_threads_that_diverge_leave_the_others_alone(n_threads):
    members = [
        Member((6,), seed=i, optimizer="sgd", learning_rate=0.01, batch_size=16, max_epochs=20)
        for i in range(8)
    ]
    calm = train(members, X, Y, backend="cpu")
    wild = [Member(**{**vars(m), "learning_rate": 1e30}) if i % 3 == 0 else m
            for i, m in enumerate(members)]  # fmt: skip
    n_threads(4)
    with pytest.warns(DivergedWarning, match="3 of 8 members diverged"):
        ill = train(wild, X, Y, backend="cpu")
    assert [s == "diverged" for s in ill.status] == [i % 3 == 0 for i in range(8)]
    for i in (1, 2, 4, 5, 7):
        for a, b in zip(calm.networks[i].parameters(), ill.networks[i].parameters(), strict=True):
            assert torch.equal(a, b)


# Ctrl-C and errors


class Later:
    """Send a signal to this process some seconds after an event; knows when it did.

    Meanwhile no garbage is collected: an interrupt that meets a callback of the collector, as
    hypothesis has one, is swallowed there.
    """

    def __init__(self, seconds, signal_number=signal.SIGINT, after=None):
        self._seconds, self._number, self._after = seconds, signal_number, after
        self._thread = threading.Thread(target=self._send)
        self.at = None

    def _send(self):
        if self._after is not None:
            self._after.wait(60)
        time.sleep(self._seconds)
        self.at = time.monotonic()
        os.kill(os.getpid(), self._number)

    def __enter__(self):
        self._collects = gc.isenabled()
        gc.disable()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._thread.join()
        if self._collects:
            gc.enable()


@pytest.fixture
def epoch_begun(monkeypatch):
    """Return an event that is set whenever a member begins an epoch."""
    event, train_epoch = threading.Event(), _cpu.CpuMember.train_epoch

    def training(member):
        event.set()
        return train_epoch(member)

    monkeypatch.setattr(_cpu.CpuMember, "train_epoch", training)
    return event


@pytest.fixture
def epoch_ended(monkeypatch):
    """Return an event that is set whenever a member has ended an epoch."""
    event, enter = threading.Event(), _pool.enter_epoch

    def entering(*arguments):
        enter(*arguments)
        event.set()

    monkeypatch.setattr(_pool, "enter_epoch", entering)
    return event


def long_training(n_members, n=20_000, **settings):
    """Return members whose epochs take some hundredths of a second, and very many of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    common = {"batch_size": 100, "max_epochs": 10**6, "dropout": 0.1, "learning_rate": 1e-4}
    members = [Member((64, 64), seed=i, **(common | settings)) for i in range(n_members)]
    return members, X, X[:, 0] * X[:, 1]


@needs_native
@POSIX
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize(("n", "members_n"), [(1, 1), (2, 3)])
def test_ctrl_c_within_an_epoch_keeps_the_last_whole_one(
    n, members_n, watched, n_threads, tmp_path, epoch_ended
):
    members, X, y = long_training(members_n)
    path = tmp_path / "cut.ckpt"
    callbacks = [lambda report: None] if watched else []
    n_threads(n)
    with Later(0.1, after=epoch_ended) as later:
        cut = train(members, X, y, backend="cpu", checkpoint=path, callbacks=callbacks)
        waited = time.monotonic() - later.at
    # A step takes some 100 µs; the rest is for busy machines.
    assert waited < 10.0
    assert cut.interrupted
    assert cut.status == ["stopped"] * members_n
    assert max(cut.n_epochs) >= 1
    n_epochs = cut.n_epochs
    shorter = [
        Member(**{**vars(m), "max_epochs": e}) for m, e in zip(members, n_epochs, strict=True)
    ]
    whole = train(shorter, X, y, backend="cpu")
    for a, b in zip(numbers(cut), numbers(whole), strict=True):
        np.testing.assert_array_equal(a, b)
    # The checkpoint is that of the same epoch: stopped at once, it gives the same again.
    epoch_ended.clear()
    with Later(0.1, after=epoch_ended):
        again = train(members, X, y, backend="cpu", checkpoint=path)
    assert all(e >= n for e, n in zip(again.n_epochs, n_epochs, strict=True))
    longer = [
        Member(**{**vars(m), "max_epochs": e})
        for m, e in zip(members, again.n_epochs, strict=True)
    ]
    for a, b in zip(numbers(again), numbers(train(longer, X, y, backend="cpu")), strict=True):
        np.testing.assert_array_equal(a, b)


@needs_native
@POSIX
def test_ctrl_c_does_not_wait_for_the_end_of_a_long_epoch(n_threads, epoch_begun):
    # An epoch of 2000 steps of some hundredths of a second each.
    members, X, y = long_training(2, n=200_000)
    members = [Member(**{**vars(m), "hidden_layer_sizes": (1000, 1000)}) for m in members]
    start = train([Member(**{**vars(m), "max_epochs": 0}) for m in members], X, y)
    n_threads(2)
    with Later(0.3, after=epoch_begun) as later:
        cut = train(members, X, y, backend="cpu")
        waited = time.monotonic() - later.at
    assert waited < 10.0  # an epoch takes a minute
    assert cut.n_epochs == [0, 0]
    assert cut.status == ["stopped", "stopped"]
    for a, b in zip(numbers(cut), numbers(start), strict=True):
        np.testing.assert_array_equal(a, b)


@needs_native
@POSIX
def test_ctrl_c_over_and_over_leaves_no_thread(n_threads, epoch_begun):
    members, X, y = long_training(4)
    n_threads(2)
    heard = []

    def handler(signal_number, frame):
        heard.append(signal_number)
        if len(heard) <= 2:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    begun = threading.active_count()
    try:
        with contextlib.ExitStack() as several:
            for seconds in (0.2, 0.201, 0.202, 0.21):
                several.enter_context(Later(seconds, after=epoch_begun))
            # The second may quit for good, or come when training has ended.
            with contextlib.suppress(KeyboardInterrupt):
                with contextlib.suppress(KeyboardInterrupt):
                    assert train(members, X, y, backend="cpu").interrupted
                time.sleep(0.1)
        # One that comes within the handling of another may end the wait for the workers early.
        limit = time.monotonic() + 30
        while threading.active_count() > begun and time.monotonic() < limit:
            time.sleep(0.01)
        assert threading.active_count() == begun
        assert heard
    finally:
        signal.signal(signal.SIGINT, before)


@needs_native
@POSIX
def test_a_handler_of_ones_own_may_raise_what_it_likes(epoch_begun):
    def handler(signal_number, frame):
        raise TimeoutError("enough")

    members, X, y = long_training(2)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        ring = Later(0.2, signal.SIGUSR1, after=epoch_begun)
        with ring, pytest.raises(TimeoutError, match="enough"):
            train(members, X, y, backend="cpu")
    finally:
        signal.signal(signal.SIGUSR1, before)


@needs_native
@pytest.mark.parametrize("error", [LookupError, MemoryError, SystemExit, GeneratorExit])
def test_an_error_in_a_callback_is_the_callers(error, n_threads):
    n_threads(2)
    members = [Member((4,), seed=i, max_epochs=50) for i in range(4)]

    def broken(report):
        if report.epoch == 3:
            raise error("mine")

    with pytest.raises(error, match="mine"):
        train(members, X, Y, backend="cpu", callbacks=[broken])


@needs_native
def test_an_error_in_a_worker_is_the_callers(n_threads, monkeypatch, tmp_path):
    n_threads(2)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every=0.0)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    members = [Member((4,), seed=i, max_epochs=10**6) for i in range(4)]
    with pytest.raises(OSError, match="No space left"):
        train(members, X, Y, backend="cpu", checkpoint=checkpoint)


@needs_native
def test_callbacks_run_in_the_callers_thread_and_one_at_a_time(n_threads):
    n_threads(4)
    threads, inside = set(), []

    def look(report):
        assert not inside
        inside.append(report)
        threads.add(threading.get_ident())
        time.sleep(0.001)
        inside.pop()

    train([Member((4,), seed=i, max_epochs=5) for i in range(8)], X, Y, callbacks=[look])
    assert threads == {threading.get_ident()}


@needs_native
def test_a_callback_stops_all_members_after_the_same_epoch(n_threads):
    n_threads(2)
    members = [Member((4 + 10 * i,), seed=i, max_epochs=9) for i in range(5)]
    result = train(members, X, Y, backend="cpu", callbacks=[lambda report: report.epoch == 4])
    assert result.n_epochs == [4] * 5
    assert result.status == ["stopped"] * 5
    assert not result.interrupted


@needs_native
def test_training_within_training_and_in_other_threads():
    def inner(report):
        train([Member((3,), max_epochs=2)], X, Y, backend="cpu", callbacks=[lambda r: None])

    member = Member((4,), max_epochs=3)
    alone = train([member], X, Y, backend="cpu")
    results = [None] * 3

    def work(i):
        results[i] = train([member], X, Y, backend="cpu", callbacks=[inner])

    workers = [threading.Thread(target=work, args=[i]) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result in results:
        assert_same_bits(alone, result)


# Checkpoints


_TRAINING = """
import sys, torch
sys.path.insert(0, {folder!r})
from conftest import mix, mixed_data
from lamina.stack import Checkpoint, train
torch.set_num_threads(2)
X, y = mixed_data()
print("go", flush=True)
train(mix(24, 3000), X, y, backend="cpu", dtype="float32",
      checkpoint=Checkpoint({path!r}, every=0.0))
"""


@needs_native
@POSIX
@pytest.mark.slow
def test_killed_between_and_within_epochs_resumes_bit_for_bit(
    tmp_path, mix, mixed_data, epoch_begun
):
    X, y = mixed_data
    path = tmp_path / "run.ckpt"
    code = _TRAINING.format(folder=os.path.dirname(__file__), path=str(path))
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            seen = path.stat().st_mtime_ns if path.exists() else 0
            limit = time.monotonic() + 60
            while time.monotonic() < limit:
                if path.exists() and path.stat().st_mtime_ns > seen:
                    break
                time.sleep(0.005)
            time.sleep(0.3)
            process.send_signal(signal.SIGKILL)
    # Run on to some epoch, and compare with the same epochs in one piece.
    epoch_begun.clear()
    with Later(0.5, after=epoch_begun):
        resumed = train(mix(24, 3000), X, y, backend="cpu", checkpoint=path)
    assert resumed.interrupted
    assert max(resumed.n_epochs) > 3
    members = [
        Member(**{**vars(m), "max_epochs": 3000 if m.max_epochs == 3000 else 50})
        for m in mix(24, 3000)
    ]
    whole = train(
        members,
        X,
        y,
        backend="cpu",
        callbacks=[lambda report: report.epoch >= max(resumed.n_epochs)],
    )
    for k in range(24):
        n = resumed.n_epochs[k]
        ours = resumed.columns["train_loss"][resumed.columns["member"] == k]
        theirs = whole.columns["train_loss"][whole.columns["member"] == k]
        assert len(ours) == n
        np.testing.assert_array_equal(ours, theirs[:n])


@needs_native
def test_a_checkpoint_of_the_other_backend_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    member = Member((4,), max_epochs=2)
    train([member], X, Y, backend="torch", checkpoint=path)
    with pytest.raises(ValueError, match="belongs to other members, data, dtype or backend"):
        train([member], X, Y, backend="cpu", checkpoint=path)


# Who trains what


@dataclass(frozen=True)
class SteepReLU(ReLU):
    """An activation of a user's own under the name of another."""

    def forward(self, a, slope=None, out=None):
        return super().forward(2 * a, slope, out)


@dataclass(frozen=True)
class Doubled(Normal):
    """A head of a user's own that inherits the name of a kernel."""

    kernel_of_parent: ClassVar[str] = "normal"

    def error_and_gradient(self, raw, y):
        error, gradient = super().error_and_gradient(raw, y)
        return 2 * error, 2 * gradient


def absolute(raw, y):
    return (raw - y).abs().sum(-1)


OF_TORCH = {
    "custom head": {"head": Custom(absolute)},
    "subclass of a head": {"head": Doubled()},
    "subclass of an activation": {"activation": SteepReLU()},
    "one such layer": {"activation": ["relu", SteepReLU()], "hidden_layer_sizes": (4, 3)},
    "l-bfgs": {"optimizer": "lbfgs"},
}


@needs_native
@pytest.mark.parametrize("backend", ["auto", "cpu"])
@pytest.mark.parametrize("name", OF_TORCH)
def test_what_the_extension_does_not_know_goes_to_torch(name, backend):
    member = Member(**({"hidden_layer_sizes": (4,), "max_epochs": 3} | OF_TORCH[name]))
    plain = Member((4,), max_epochs=3)
    mixed = train([plain, member, plain], X, Y, backend=backend)
    assert mixed.backend == ["cpu", "torch", "cpu"]
    assert mixed.status == ["epochs"] * 3 or name == "l-bfgs"
    theirs = train([member], X, Y, backend="torch")
    for a, b in zip(mixed.networks[1].parameters(), theirs.networks[0].parameters(), strict=True):
        assert torch.equal(a, b)
    ours = train([plain], X, Y, backend="cpu")
    for k in (0, 2):
        for a, b in zip(
            mixed.networks[k].parameters(), ours.networks[0].parameters(), strict=True
        ):
            assert torch.equal(a, b)
    groups = []
    train([plain, member], X, Y, backend=backend,
          callbacks=[lambda r: groups.append((r.group, r.n_groups, r.members))])  # fmt: skip
    assert set(groups) == {(0, 2, (0,)), (1, 2, (1,))}


@needs_native
def test_the_extension_knows_all_but_second_order_methods_and_losses_of_ones_own():
    native = module.native()
    assert set(native.ACTIVATIONS) == set(ACTIVATIONS)
    assert set(native.OPTIMIZERS) == set(OPTIMIZERS) - {"lbfgs"}
    kernels = {vars(head).get("kernel") for head in HEADS.values()}
    assert kernels - {None} == set(native.HEADS) - {"half_mean_square", "half_deviance"}


@needs_native
@pytest.mark.parametrize(
    ("names", "known"),
    [("ACTIVATIONS", ["tanh"]), ("OPTIMIZERS", ["sgd"]), ("HEADS", ["poisson"])],
)
def test_what_is_new_and_not_compiled_goes_to_torch(names, known, monkeypatch):
    monkeypatch.setattr(module.native(), names, known)
    assert train([Member((4,), max_epochs=1)], X, Y).backend == ["torch"]


@needs_native
def test_sparse_rows_go_to_torch():
    result = train([Member((4,), max_epochs=2)] * 2, scipy.sparse.csr_array(X), Y, backend="cpu")
    assert result.backend == ["torch", "torch"]


@needs_native
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_auto_takes_the_extension_for_all_it_knows(optimizer):
    result = train([Member((4,), optimizer=optimizer, max_epochs=2)], X, Y)
    assert result.backend == ["torch" if optimizer == "lbfgs" else "cpu"]
    assert train([Member((4,), max_epochs=2)], X, Y, backend="torch").backend == ["torch"]


# Instruction sets, and no extension at all


@needs_native
def test_the_instruction_set_can_be_chosen(monkeypatch):
    names = module.instruction_sets()
    assert names[-1] == "baseline"
    assert module.instruction_set() == engine_info().instruction_set == names[0]
    monkeypatch.setenv(module.VARIABLE, "baseline")
    assert module.instruction_set() == engine_info().instruction_set == "baseline"
    monkeypatch.setenv(module.VARIABLE, "")
    assert module.instruction_set() == names[0]
    monkeypatch.setenv(module.VARIABLE, "avx9")
    choices = ", ".join(map(repr, sorted(names)))
    sentence = (
        f"The environment variable LAMINA_INSTRUCTION_SET must be one of {choices}. Got 'avx9'."
    )
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}"):
        train([Member((4,))], X, Y)


@needs_native
def test_what_there_is():
    info = engine_info()
    assert info.backend == "cpu"
    assert info.instruction_sets == module.instruction_sets()
    assert "_native" in info.file
    assert info.missing == ""


@pytest.fixture
def without(monkeypatch):
    """Make a function that lets the extension be missing for a reason."""

    def hide(reason):
        monkeypatch.setattr(module, "_loaded", lambda: (None, reason))
        module.instruction_sets.cache_clear()

    yield hide
    module.instruction_sets.cache_clear()


def test_without_the_extension_torch_trains(without):
    without("it was not built when lamina was installed")
    info = engine_info()
    assert (info.backend, info.instruction_set, info.instruction_sets) == ("torch", None, ())
    assert info.file is None
    assert info.missing == "it was not built when lamina was installed"
    assert train([Member((4,), max_epochs=2)], X, Y).backend == ["torch"]
    sentence = (
        "backend must be 'auto' or 'torch' where the compiled part of lamina is missing. "
        "Got 'cpu'. The command lamina doctor says why it is missing and how to get it."
    )
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}$"):
        train([Member((4,), max_epochs=2)], X, Y, backend="cpu")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named x"), "it was not built when lamina was installed"),
        (
            ImportError("libstdc++.so.6: version not found"),
            "it was built, and cannot be loaded here: libstdc++.so.6: version not found",
        ),
    ],
)
def test_why_the_extension_is_missing(error, reason, monkeypatch):
    def fail(name):
        assert name == "lamina.stack._native"
        raise error

    monkeypatch.setattr(module.importlib, "import_module", fail)
    assert module._loaded.__wrapped__() == (None, reason)


@pytest.mark.parametrize("stale", [SimpleNamespace(), SimpleNamespace(INTERFACE=-1)])
def test_an_extension_of_another_version_is_not_used(stale, monkeypatch):
    monkeypatch.setattr(module.importlib, "import_module", lambda name: stale)
    assert module._loaded.__wrapped__() == (None, "it was built from another version of lamina")
    right = SimpleNamespace(INTERFACE=module.INTERFACE)
    monkeypatch.setattr(module.importlib, "import_module", lambda name: right)
    assert module._loaded.__wrapped__() == (right, "")


# What the extension checks by itself


LAYER = (2, 1, 0, 32, -1, "identity", 0.0)


def spec(**changes):
    """Return what describes a linear model of two inputs and one output."""
    return {
        "layers": [LAYER],
        "n_weights": 32,
        "n_total": 64,
        "n_shared": 0,
        "n_components": 1,
        "n_scales": 1,
        "logits": False,
        "floor": 0.0,
        "head": "normal",
        "optimizer": "adam",
        "decoupled": False,
        "nesterov": False,
        "n_steps": 0,
        "keys": [0, 0, 0],
        "input_noise": 0.0,
        "noise_keys": [0, 0, 0],
        "noise_values": [],
        "batch_size": 4,
        "clip_norm": -1.0,
        **dict.fromkeys(
            ("smoothing", "momentum", "beta_1", "beta_2", "epsilon", "adamw_ratio"), 0.5
        ),
        **dict.fromkeys(("alpha", "weight_decay", "dropout"), 0.0),
        **changes,
    }


def arguments(**changes):
    """Return what an epoch of five rows in two steps needs."""
    given = {
        "theta": np.zeros(64),
        "first": np.zeros(64),
        "second": np.zeros(64),
        "order": np.arange(5, dtype=np.int32),
        "weights": None,
        "rates": np.full(2, 0.1),
        "plain": np.full(2, 0.1),
        "steps_before": 0,
        "stop": module.native().StopFlag(),
    }
    return given | changes


WRONG_ARRAYS = [
    ({"theta": np.zeros(65)}, "parameters"),
    ({"theta": np.zeros(64, np.float32)}, "dtype of parameters"),
    ({"first": np.zeros(63)}, "first moment"),
    ({"second": np.zeros(0)}, "second moment"),
    ({"order": np.array([0, 5], np.int32)}, "row numbers"),
    ({"order": np.array([0, -1], np.int32)}, "row numbers"),
    ({"weights": np.ones(4)}, "weights"),
    ({"rates": np.ones(3)}, "learning rates"),
    ({"plain": np.ones(1)}, "learning rates"),
]


@needs_native
@pytest.mark.parametrize(("changes", "what"), WRONG_ARRAYS)
def test_arrays_that_do_not_fit_the_member_are_refused(changes, what):
    x, y = np.ones((5, 2)), np.ones((5, 1))
    member = module.native().Member(spec(), x, y, "baseline")
    member.epoch(**arguments())
    with pytest.raises(ValueError, match=f"the arrays must fit the member: {what}$"):
        member.epoch(**arguments(**changes))


@needs_native
@pytest.mark.parametrize(
    ("changes", "x", "y", "what"),
    [
        ({"layers": []}, np.ones((5, 2)), np.ones((5, 1)), "sizes"),
        ({"batch_size": 0}, np.ones((5, 2)), np.ones((5, 1)), "sizes"),
        ({"layers": [LAYER, LAYER]}, np.ones((5, 2)), np.ones((5, 1)), "sizes of layers"),
        ({"n_weights": 1}, np.ones((5, 2)), np.ones((5, 1)), "place of weights"),
        ({"n_total": 63}, np.ones((5, 2)), np.ones((5, 1)), "place of biases"),
        ({}, np.ones((5, 3)), np.ones((5, 1)), "columns of x"),
        ({}, np.ones((5, 2)), np.ones((5, 2)), "columns of y"),
        ({}, np.ones((5, 2)), np.ones((4, 1)), "rows"),
        ({}, np.ones((5, 2), np.float32), np.ones((5, 1)), "dtype of y"),
        ({}, np.ones((5, 2), int), np.ones((5, 1)), "dtype of x"),
        ({"head": "categorical"}, np.ones((5, 2)), np.ones(5, np.int64), "classes"),
        ({"head": "categorical"}, np.ones((5, 2)), -np.ones(5, np.int64), "classes"),
        ({"input_noise": 1.0}, np.ones((5, 2)), np.ones((5, 1)), "noise values"),
        ({"n_shared": 2}, np.ones((5, 2)), np.ones((5, 1)), "shared outputs"),
        ({"head": "mixture"}, np.ones((5, 2)), np.ones((5, 1)), "columns of y"),
        (
            {"head": "mixture", "n_components": 2},
            np.ones((5, 2)),
            np.ones((5, 1)),
            "components",
        ),
        ({"head": "mixture", "n_scales": 3}, np.ones((5, 2)), np.ones((5, 2)), "scales"),
    ],
)
def test_data_that_do_not_fit_the_member_are_refused(changes, x, y, what):
    with pytest.raises(ValueError, match=f"the arrays must fit the member: {what}$"):
        module.native().Member(spec(**changes), x, y, "baseline")
