"""Progress of training on a terminal, and the two steps of Ctrl-C."""

from __future__ import annotations

import io
import os
import re
import signal
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

import lamina
from lamina.cli._progress import Watch, watched
from lamina.stack import EpochReport


class Model:
    """What is needed of an estimator here."""

    def set_callbacks(self, *callbacks):
        self.callbacks = callbacks


def terminal():
    """A console of a terminal that is a buffer."""
    return Console(
        file=io.StringIO(), force_terminal=True, width=80, legacy_windows=False, color_system=None
    )


def report(epoch, *, group=0, n_groups=1, losses=(0.1, 0.3), held_out=(0.5, np.nan)):
    return EpochReport(
        members=(0, 1),
        group=group,
        n_groups=n_groups,
        epoch=epoch,
        max_epochs=10,
        train_loss=np.array(losses),
        valid_loss=np.array(held_out),
        valid_score=np.array([np.nan, np.nan]),
        learning_rate=np.array([0.1, 0.1]),
        networks=list,
    )


def watch_epochs(watch, *reports):
    """Let a watch see the begin, some epochs and the end of a fit."""
    root = SimpleNamespace(task_name="fit")
    watch.setup(None, root)
    watch.on_fit_task_begin(None, root)
    answers = [
        watch.on_fit_task_end(None, SimpleNamespace(task_name="epoch", report=each))
        for each in reports
    ]
    watch.on_fit_task_end(None, root)
    watch.teardown(None, root)
    return answers


def drawn_by(watch, console, *reports):
    """The last line that a watch has drawn."""
    watch_epochs(watch, *reports)
    return re.split(r"\r|\n", re.sub(r"\x1b\[[\d?]*\w", "", console.file.getvalue()).strip())[-1]


def test_a_terminal_shows_epoch_losses_and_time_left():
    console = terminal()
    line = drawn_by(Watch(console, show=True), console, report(2), report(3))
    assert re.fullmatch(
        r"[━╸╺ ]+ epoch 3 of 10, loss 0\.2, held out 0\.5 "
        r"at most \d\.\d s left",
        line,
    )


@pytest.mark.parametrize(
    ("group", "epoch", "factor"), [(0, 5, 3.0), (0, 10, 1.0), (1, 5, 1 / 3), (1, 10, 0.0)]
)
def test_time_left_grows_with_what_is_to_be_done(monkeypatch, group, epoch, factor):
    """Of two groups of 10 epochs, 5 are a quarter: three times as long is left."""
    clock = iter([0.0, 0.0, 12.0, 12.0])
    monkeypatch.setattr("lamina.cli._progress.time.monotonic", lambda: next(clock, 12.0))
    console = terminal()
    watch = Watch(console, show=True)
    line = drawn_by(watch, console, report(epoch, group=group, n_groups=2))
    assert line.endswith(f"at most {12 * factor:.1f} s left")


def test_time_left_is_bounded_by_the_limit():
    console = terminal()
    line = drawn_by(Watch(console, show=True, time_limit=1e-9), console, report(1))
    assert line.endswith("at most 0.0 s left")


def test_losses_that_are_not_finite_are_called_so():
    console = terminal()
    nan = (np.nan, np.nan)
    line = drawn_by(Watch(console, show=True), console, report(1, losses=nan, held_out=nan))
    assert "loss not finite at most" in " ".join(line.split())


def test_nothing_is_drawn_when_not_shown_and_no_epoch_is_empty():
    console = terminal()
    assert watch_epochs(Watch(console, show=False), report(1), None) == [False, False]
    assert console.file.getvalue() == ""
    watch_epochs(Watch(console, show=True), None)
    assert "epoch" not in console.file.getvalue()


def test_every_estimator_tells_a_callback_the_figures_of_each_epoch():
    class Keep:
        def __init__(self):
            self.reports = []

        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "epoch" and context.report is not None:
                self.reports.append(context.report)

    x = np.linspace(-1, 1, 40)[:, None]
    for model in (
        lamina.TableRegressor("fast", random_state=0),
        lamina.MLPRegressor(max_iter=3, tol=0, n_iter_no_change=50, random_state=0),
    ):
        keep = Keep()
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            model.set_callbacks(keep).fit(x, x[:, 0])
        losses = model.history_.groupby("epoch")["train_loss"].mean()
        np.testing.assert_allclose([r.train_loss.mean() for r in keep.reports], losses)


def test_the_first_ctrl_c_ends_with_the_epoch_and_the_second_quits():
    console, model = terminal(), Model()
    watch = Watch(console, show=False)
    answers = []

    def press_twice():
        with watched(model, watch):
            for _ in range(2):
                answers.extend(watch_epochs(watch, report(1)))
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
