"""A search as seen from a terminal: who is alive, the best score, the time left, and Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from ._output import number, seconds
from ._progress import quit_at_once
from ._search_metrics import label, unsigned

if TYPE_CHECKING:
    from lamina.search import SearchReport


class SearchWatch:
    """Hears where a search stands and draws it, and passes on Ctrl-C.

    On a terminal it draws a line; elsewhere it says a sentence when a rung has ended.

    Parameters
    ----------
    console : Console
        Where to.
    quiet : bool
        Whether to say nothing.
    metric : str
        Name of the score, as the search knows it.
    time_limit : float or None
        Most seconds for the search.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C was pressed.
    last : SearchReport or None
        What was heard last.
    """

    def __init__(
        self, console: Console, *, quiet: bool, metric: str, time_limit: float | None
    ) -> None:
        self.interrupted = False
        self.last: SearchReport | None = None
        self._console, self._quiet = console, quiet
        self._metric, self._time_limit = metric, time_limit
        self._progress = _progress(console) if console.is_terminal and not quiet else None
        self._line = TaskID(0)

    def __call__(self, report: SearchReport) -> None:
        """Draw a report."""
        self.last = report
        if self._progress is not None:
            self._draw(self._progress, report)
        elif report.done == report.total and not self._quiet:
            self._console.print(self._told(report), soft_wrap=True)

    def start(self) -> None:
        """Begin to draw."""
        if self._progress is not None:
            self._line = self._progress.add_task("", total=1.0, told="beginning", until=math.nan)
            self._progress.start()

    def stop(self) -> None:
        """End to draw."""
        if self._progress is not None:
            self._progress.stop()

    def interrupt(self) -> None:
        """Say that the search ends, and what comes now."""
        self.interrupted = True
        self.stop()
        self._console.print(
            "Ending the search; the best so far is fitted on all rows. Ctrl-C again quits "
            "without saving.",
            soft_wrap=True,
        )

    def _draw(self, progress: Progress, report: SearchReport) -> None:
        """Move the line."""
        left = report.seconds_left
        if self._time_limit is not None:
            rest = max(0.0, self._time_limit - report.seconds)
            left = rest if math.isnan(left) else min(left, rest)
        share = report.seconds / (report.seconds + left) if left + report.seconds > 0 else 0.0
        progress.update(
            self._line,
            completed=0.0 if math.isnan(share) else share,
            told=f"{self._told(report)}, {report.done} of {report.total} shards",
            until=time.monotonic() + left,
        )

    def _told(self, report: SearchReport) -> str:
        """Return batch, rung, who is alive, and the best score."""
        batch = f"Batch {report.batch} of {report.n_batches}, " if report.n_batches > 1 else ""
        rung = f"rung {report.rung}: " if batch else f"Rung {report.rung}: "
        best = unsigned(self._metric, report.best_score)
        told = "no score yet" if math.isnan(best) else f"best {label(self._metric)} {number(best)}"
        alive = f"{report.n_alive} of {report.n_candidates} candidates"
        return f"{batch}{rung}{alive}, {told}"


class _TimeLeft(ProgressColumn):
    """Counts down between two reports."""

    def render(self, task: Task) -> Text:
        left = task.fields["until"] - time.monotonic()
        if math.isnan(left):
            return Text("time left unknown", style="dim")
        return Text(f"about {seconds(max(left, 0.0))} left", style="dim")


def _progress(console: Console) -> Progress:
    """Return the line that is drawn."""
    return Progress(
        BarColumn(bar_width=14),
        TextColumn("{task.fields[told]}"),
        _TimeLeft(),
        console=console,
        transient=True,
        refresh_per_second=2,
    )


@contextmanager
def watched_search(search: Any, watch: SearchWatch) -> Iterator[None]:
    """Search inside this block: reports go to the watch, and so does Ctrl-C."""

    def first(signal_number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, quit_at_once)
        watch.interrupt()
        raise KeyboardInterrupt

    search.set_listener(watch)
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, first) if in_main else None
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        if in_main:
            signal.signal(signal.SIGINT, before)
