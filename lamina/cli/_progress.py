"""Training as seen from a terminal: a line of progress, and a Ctrl-C that loses nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from ._output import number, seconds

QUIT = 130
"""Exit status after a second Ctrl-C."""


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

    def __init__(self, console: Console, *, show: bool, time_limit: float | None = None) -> None:
        self.interrupted = False
        self._console = console
        self._time_limit = time_limit
        self._progress = _progress(console) if show else None
        self._lines: dict[int, TaskID] = {}
        self._began = time.monotonic()

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin to draw."""
        self._began = time.monotonic()
        if self._progress is not None:
            self._progress.start()

    def teardown(self, estimator: Any, context: Any) -> None:
        """End to draw."""
        if self._progress is not None:
            self._progress.stop()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Draw nothing yet: a line appears with the first epoch that ends."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """Draw an epoch; return whether training should end with it."""
        is_epoch = context.max_subtasks == 0 and context.parent is not None
        if is_epoch and self._progress is not None:
            self._draw(self._progress, context, metadata or {})
        return self.interrupted

    def interrupt(self) -> None:
        """Let training end with this epoch."""
        self.interrupted = True
        self._console.print(
            "Ending with this epoch. Ctrl-C again quits without saving.", soft_wrap=True
        )

    def _draw(self, progress: Progress, context: Any, metadata: Mapping[str, Any]) -> None:
        """Move the line of the epoch's parent: one for each group of networks."""
        parent = context.parent
        done = context.task_id + 1
        if id(parent) not in self._lines:
            self._lines[id(parent)] = progress.add_task(
                _title(parent), total=parent.max_subtasks, loss="", left=""
            )
        progress.update(
            self._lines[id(parent)],
            completed=done,
            loss=_losses(metadata),
            left=self._left(done, parent),
        )

    def _left(self, done: int, parent: Any) -> str:
        """Return the longest that it can still take."""
        from datetime import UTC, datetime

        spent = (datetime.now(UTC) - parent.init_time).total_seconds()
        left = spent / done * (parent.max_subtasks - done) if parent.max_subtasks else None
        if self._time_limit is not None:
            until_limit = max(0.0, self._time_limit - (time.monotonic() - self._began))
            left = until_limit if left is None else min(left, until_limit)
        return "" if left is None else f"at most {seconds(left)} left"


@contextmanager
def watched(model: Any, watch: Watch) -> Iterator[None]:
    """Fit inside this block: epochs go to the watch, and so does Ctrl-C."""
    model.set_callbacks(watch)

    def first(signal_number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, _quit)
        watch.interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may listen to signals
        return
    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _quit(signal_number: int, frame: FrameType | None) -> NoReturn:
    """End the process, also where a KeyboardInterrupt would be taken for a wish to stop."""
    raise SystemExit(QUIT)


def _progress(console: Console) -> Progress:
    """Return the line that is drawn."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("epoch {task.completed:.0f}"),
        TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[left]}", style="dim"),
        console=console,
        transient=True,
    )


def _title(context: Any) -> str:
    """Return what the line is about."""
    return "Training" if context.parent is None else f"Training {context.task_name}"


def _losses(metadata: Mapping[str, Any]) -> str:
    """Return the losses that the epoch reported."""
    names = {"train_loss": "loss", "valid_loss": "held out"}
    return "  ".join(
        f"{label} {number(float(metadata[key]), 4)}"
        for key, label in names.items()
        if metadata.get(key) is not None
    )


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
