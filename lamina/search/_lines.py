"""Word of a search for a terminal or a notebook: a line now and then."""

from __future__ import annotations

import math
import time

from ._report import SearchReport


class ProgressLines:
    """Print a line when a rung begins and ends, and every few seconds between.

    Parameters
    ----------
    every : float
        Seconds between two lines; 0 prints one for each shard.
    """

    def __init__(self, every: float) -> None:
        self._every = every
        self._last = -math.inf

    def __call__(self, report: SearchReport) -> None:
        """Print a line if it is time."""
        now = time.monotonic()
        if report.done < report.total and now - self._last < self._every:
            return
        self._last = now
        print(line_of(report), flush=True)


def line_of(report: SearchReport) -> str:
    """Return where a search stands as a line."""
    batch = f"batch {report.batch} of {report.n_batches}, " if report.n_batches > 1 else ""
    best = "none yet" if math.isnan(report.best_score) else f"{report.best_score:.6g}"
    return (
        f"{batch}rung {report.rung}: {report.n_alive} candidates alive, "
        f"{report.done} of {report.total} shards, best score {best}, "
        f"{duration(report.seconds)} so far, {duration(report.seconds_left)} left"
    )


def duration(seconds: float) -> str:
    """Return seconds in words: "unknown", "3 s", "4 min 10 s" or "2 h 05 min"."""
    if not math.isfinite(seconds):
        return "unknown time"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
