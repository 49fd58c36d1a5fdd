"""Progress of training on a terminal, and the two steps of Ctrl-C."""

from __future__ import annotations

import io
import os
import re
import signal
import threading
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from rich.console import Console

from lamina.cli._progress import Watch, watched


class Model:
    """What is needed of an estimator here."""

    def set_callbacks(self, *callbacks):
        self.callbacks = callbacks


def terminal():
    """A console of a terminal that is a buffer."""
    return Console(
        file=io.StringIO(), force_terminal=True, width=100, legacy_windows=False, color_system=None
    )


def context(task_id, *, parent=None, max_subtasks=0, name="epoch"):
    return SimpleNamespace(
        task_id=task_id,
        parent=parent,
        max_subtasks=max_subtasks,
        task_name=name,
        init_time=datetime.now(UTC),
    )


def watch_epochs(watch, n, metadata=None, total=10):
    """Let a watch see the begin, some epochs and the end of a fit."""
    root = context(0, max_subtasks=total, name="fit")
    watch.setup(None, root)
    watch.on_fit_task_begin(None, root)
    answers = [
        watch.on_fit_task_end(None, context(i, parent=root), metadata=metadata) for i in range(n)
    ]
    watch.teardown(None, root)
    return answers


def test_a_terminal_shows_epoch_losses_and_time_left():
    console = terminal()
    watch = Watch(console, show=True)
    watch_epochs(watch, 3, {"train_loss": 0.12345, "valid_loss": 0.5})
    drawn = console.file.getvalue()
    assert re.search(
        r"Training .*epoch 3 loss 0\.1235  held out 0\.5 at most \d\.\d s left", drawn
    )


def test_time_left_is_bounded_by_the_limit():
    console = terminal()
    watch = Watch(console, show=True, time_limit=0.0)
    watch_epochs(watch, 1, total=None)
    assert "at most 0.0 s left" in console.file.getvalue()
    assert "loss" not in console.file.getvalue()


def test_nothing_is_drawn_when_not_shown():
    console = terminal()
    assert watch_epochs(Watch(console, show=False), 3) == [False] * 3
    assert console.file.getvalue() == ""


def test_an_end_that_is_no_epoch_is_not_drawn():
    console = terminal()
    watch = Watch(console, show=True)
    watch.setup(None, None)
    watch.on_fit_task_end(None, context(0, max_subtasks=5))
    watch.on_fit_task_end(None, context(0))
    watch.teardown(None, None)
    assert "epoch" not in console.file.getvalue()


def test_the_first_ctrl_c_ends_with_the_epoch_and_the_second_quits():
    console, model = terminal(), Model()
    watch = Watch(console, show=False)
    answers = []

    def press_twice():
        with watched(model, watch):
            for _ in range(2):
                answers.extend(watch_epochs(watch, 1))
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as caught:
        press_twice()
    assert caught.value.code == 130
    assert model.callbacks == (watch,)
    assert answers == [False, True]
    assert watch.interrupted
    assert signal.getsignal(signal.SIGINT) is before
    assert console.file.getvalue() == (
        "Ending with this epoch. Ctrl-C again quits without saving.\n"
    )


def test_in_another_thread_signals_are_left_alone():
    seen = []

    def work():
        before = signal.getsignal(signal.SIGINT)
        with watched(Model(), Watch(terminal(), show=False)):
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]
