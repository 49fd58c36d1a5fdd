"""Members of the `cpu` backend spread over cores: each worker takes the next one and finishes it.

Without callbacks there is no barrier: a member goes from epoch to epoch on its worker, and only
what all share (ledger, history, checkpoint) is touched one at a time. With callbacks the members
go from epoch to epoch together, so that a report tells of all of them, and whoever stops after a
while has trained them all. The caller's thread waits, so that Ctrl-C reaches it at once; it also
runs the callbacks, which may draw or print.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import torch

from ._extension import native
from ._ledger import History
from ._quick import quick_epochs, run_quick
from ._run import GroupRun
from ._steps import enter_epoch, run_epoch


class Pool:
    """Trains runs of one member each on several threads.

    Parameters
    ----------
    runs : sequence of GroupRun
        What to train.
    n_threads : int
        Most workers.
    history : History
        Where epochs are entered.
    save_if_due : callable or None
        Saves a checkpoint if it is time; called while nothing that is saved changes.
    report : callable or None
        Called in the caller's thread, after each epoch, with the runs that ran; True stops all.
    """

    def __init__(
        self,
        runs: Sequence[GroupRun],
        n_threads: int,
        history: History,
        save_if_due: Callable[[], None] | None,
        report: Callable[[Sequence[GroupRun]], bool] | None,
    ) -> None:
        # The longest first, so that the workers end together.
        self._runs = sorted(runs, key=_work, reverse=True)
        self._n_threads = min(n_threads, len(runs))
        self._history, self._save_if_due, self._report = history, save_if_due, report
        self._unwatched = report is None and save_if_due is None
        self._lock = threading.Lock()
        module = native()
        assert module is not None
        self._stop = module.StopFlag()

    def run(self) -> bool:
        """Train all; return whether a callback ended it."""
        stopped = False
        workers = ThreadPoolExecutor(self._n_threads, thread_name_prefix="lamina")
        try:
            while not stopped and (going := [run for run in self._runs if run.running]):
                self._turn(workers, going)
                stopped = self._report is not None and self._report(going)
                if self._save_if_due is not None:
                    self._save_if_due()
        finally:
            self._end(workers)
        return stopped

    def _turn(self, workers: ThreadPoolExecutor, going: Sequence[GroupRun]) -> None:
        """Let the workers train each of the runs, for one epoch if there are callbacks."""
        done, _ = wait([workers.submit(self._train, run) for run in going], None, FIRST_EXCEPTION)
        for future in done:
            future.result()

    def _end(self, workers: ThreadPoolExecutor) -> None:
        """Wait until no worker runs, however often Ctrl-C is pressed."""
        self._stop.set()
        ended = interrupted = False
        while not ended:
            try:
                workers.shutdown(cancel_futures=True)
                ended = True
            except KeyboardInterrupt:
                interrupted = True
        if interrupted:
            raise KeyboardInterrupt

    @torch.no_grad()
    def _train(self, run: GroupRun) -> None:
        """Train one member until it stops or all do, or for one epoch if there are callbacks."""
        if not run.live:
            run.stop = self._stop
            run.activate()
        while run.running:
            if self._unwatched and (n := quick_epochs(run)) > 1:
                rows = run_quick(run, n)
                with self._lock:
                    self._history.add(rows or {})
                if self._stop.is_set():
                    return
            figures = run_epoch(run)
            if self._stop.is_set():
                return
            with self._lock:
                enter_epoch(run, self._history, figures)
                if self._unwatched and run.running:
                    continue
                run.sync()
                if self._report is not None:
                    break
                if self._save_if_due is not None:
                    self._save_if_due()
        if not run.running:
            run.release()


def _work(run: GroupRun) -> float:
    """Return roughly how much a run's training is."""
    (task,) = run.group.tasks
    return run.layout.n_weights * task.n_rows * task.member.max_epochs
