"""Training as seen from a terminal: a line of progress, and a Ctrl-C that loses nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from ._output import number, seconds

if TYPE_CHECKING:
    from lamina._typing import FloatArray
    from lamina.stack import EpochReport

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


class Watch:
    """A callback for scikit-learn's ``set_callbacks``: shows epochs and passes on Ctrl-C.

    Parameters
    ----------
    console : Console
        Where the progress is drawn.
    show : bool
        Whether to draw it at all.
    time_limit : float or None
        Most seconds of training.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C was pressed; training then ends with the epoch.
    """

    part = "epoch"

    def __init__(self, console: Console, *, show: bool, time_limit: float | None = None) -> None:
        self.interrupted = False
        self._console = console
        self._time_limit = time_limit
        self._progress = _progress(console) if show else None
        self._line = TaskID(0)
        self._began = time.monotonic()

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin to draw."""
        self._began = time.monotonic()
        if self._progress is not None:
            self._line = self._progress.add_task("Training", total=1.0, epoch="", left="")
            self._progress.start()

    def teardown(self, estimator: Any, context: Any) -> None:
        """End to draw."""
        if self._progress is not None:
            self._progress.stop()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Take no notice: figures come when an epoch ends."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Draw an epoch; return whether training should end with it."""
        is_epoch = context.task_name == "epoch" and context.report is not None
        if is_epoch and self._progress is not None:
            self._draw(self._progress, context.report)
        return self.interrupted

    def interrupt(self) -> None:
        """Let training end with this epoch."""
        self.interrupted = True
        self._console.print(
            f"Ending with this {self.part}. Ctrl-C again quits without saving.", soft_wrap=True
        )

    def _draw(self, progress: Progress, report: EpochReport) -> None:
        """Move the line."""
        spent = time.monotonic() - self._began
        if self._time_limit is None:
            share = (report.group + report.epoch / report.max_epochs) / report.n_groups
            left = spent / share - spent
        else:
            share, left = spent / self._time_limit, self._time_limit - spent
        progress.update(
            self._line,
            completed=min(share, 1.0),
            epoch=_epoch(report),
            left=f"at most {seconds(max(left, 0.0))} left",
        )


class WatchRounds(Watch):
    """The same for encoders, whose training goes round by round over the rows."""

    part = "round"
    _ended = 0

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Draw a round; return whether training should end with it."""
        if context.task_name == self.part and self._progress is not None:
            self._ended += 1
            n_rounds = context.parent.max_subtasks
            spent = time.monotonic() - self._began
            left = spent * (n_rounds / self._ended - 1.0)
            self._progress.update(
                self._line,
                completed=self._ended / n_rounds,
                epoch=f"round {self._ended:,} of {n_rounds:,}",
                left=f"{seconds(max(left, 0.0))} left",
            )
        return self.interrupted


@contextmanager
def watched(model: Any, watch: Watch) -> Iterator[None]:
    """Fit inside this block: epochs go to the watch, and so does Ctrl-C."""
    model.set_callbacks(watch)

    def first(signal_number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, quit_at_once)
        watch.interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may listen to signals
        return
    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def quit_at_once(signal_number: int, frame: FrameType | None) -> NoReturn:
    """End the process, also where a KeyboardInterrupt would be taken for a wish to stop."""
    raise SystemExit(INTERRUPTED)


def _progress(console: Console) -> Progress:
    """Return the line that is drawn."""
    return Progress(
        BarColumn(bar_width=14),
        TextColumn("{task.fields[epoch]}"),
        TextColumn("{task.fields[left]}", style="dim"),
        console=console,
        transient=True,
    )


def _epoch(report: EpochReport) -> str:
    """Return the epoch, and the means of the networks' losses."""
    import numpy as np

    text = f"epoch {report.epoch} of {report.max_epochs}, loss {_mean(report.train_loss)}"
    if np.isfinite(report.valid_loss).any():
        text += f", held out {_mean(report.valid_loss)}"
    return text


def _mean(losses: FloatArray) -> str:
    """Return the mean of the losses that are numbers."""
    import numpy as np

    finite = losses[np.isfinite(losses)]
    return number(float(finite.mean())) if len(finite) else "not finite"


@contextmanager
def counted(console: Console, *, show: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that draws which of some things is being done."""
    if not show:
        yield lambda name, i, n: None
        return
    with Progress(
        TextColumn("{task.completed:.0f} of {task.total:.0f}"),
        BarColumn(bar_width=20),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    ) as progress:
        line = progress.add_task("")
        yield lambda name, i, n: progress.update(line, description=name, completed=i - 1, total=n)
