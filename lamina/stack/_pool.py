"""Members of the `cpu` backend spread over cores: each worker takes the next one and finishes it.

There is no barrier: a member goes from epoch to epoch on its own worker, and only what all share
(ledger, history, checkpoint) is touched one at a time. The caller's thread waits, so that Ctrl-C
reaches it at once; it also runs the callbacks, which may draw or print.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._extension import native
from ._ledger import History
from ._run import GroupRun
from ._steps import enter_epoch, run_epoch


class Pool:
    """Trains runs of one member each on several threads.

    Parameters
    ----------
    runs : sequence of (int, GroupRun)
        What to train, each with its number.
    n_threads : int
        Most workers.
    history : History
        Where epochs are entered.
    save_if_due : callable
        Saves a checkpoint if it is time; called while nothing else changes.
    report : callable or None
        Called in the caller's thread after each epoch, with number and run; True stops all.
    """

    def __init__(
        self,
        runs: Sequence[tuple[int, GroupRun]],
        n_threads: int,
        history: History,
        save_if_due: Callable[[], None],
        report: Callable[[int, GroupRun], bool] | None,
    ) -> None:
        # The longest first, so that the workers end together.
        self._todo = iter(sorted(runs, key=lambda one: -_work(one[1])))
        self._n_threads = min(n_threads, len(runs))
        self._history, self._save_if_due, self._report = history, save_if_due, report
        self._lock = threading.Lock()
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        module = native()
        assert module is not None
        self._stop = module.StopFlag()

    def run(self) -> bool:
        """Train all; return whether a callback ended it."""
        workers = [threading.Thread(target=self._worker) for _ in range(self._n_threads)]
        stopped, going = False, len(workers)
        try:
            for worker in workers:
                worker.start()
            while going:
                news = self._news.get()
                if news is None:
                    going -= 1
                elif isinstance(news, BaseException):
                    raise news
                else:
                    stopped |= self._answer(*news) if not stopped else self._let_go(*news)
        finally:
            self._end(workers)
        return stopped

    def _end(self, workers: Sequence[threading.Thread]) -> None:
        """Wait until no worker runs, however often Ctrl-C is pressed."""
        self._stop.set()
        interrupted = False
        while any(worker.is_alive() for worker in workers):
            try:
                self._clear()
            except KeyboardInterrupt:
                interrupted = True
        if interrupted:
            raise KeyboardInterrupt

    def _answer(self, i: int, run: GroupRun, answer: queue.SimpleQueue[None]) -> bool:
        """Tell the callbacks of an epoch, and let its worker go on; return whether all stop."""
        assert self._report is not None
        try:
            wish = self._report(i, run)
            if wish:
                self._stop.set()
            return wish
        except BaseException:
            self._stop.set()
            raise
        finally:
            answer.put(None)

    def _let_go(self, i: int, run: GroupRun, answer: queue.SimpleQueue[None]) -> bool:
        """Let a worker go on whose epoch nobody wants to hear of any more."""
        answer.put(None)
        return True

    def _clear(self) -> None:
        """Take what workers still have to say after the end."""
        try:
            news = self._news.get(timeout=0.01)
        except queue.Empty:
            return
        if isinstance(news, tuple):
            self._let_go(*news)

    def _worker(self) -> None:
        try:
            with torch.no_grad():
                while (one := self._next()) is not None:
                    self._train(*one)
        except BaseException as error:
            self._news.put(error)
        self._news.put(None)

    def _next(self) -> tuple[int, GroupRun] | None:
        with self._lock:
            return None if self._stop.is_set() else next(self._todo, None)

    def _train(self, i: int, run: GroupRun) -> None:
        """Train one member until it stops or all do."""
        answer: queue.SimpleQueue[None] = queue.SimpleQueue()
        run.stop, run.guard = self._stop, self._lock
        run.activate()
        while run.running and not self._stop.is_set():
            figures = run_epoch(run)
            if self._stop.is_set():
                run.give_up_epoch()
                break
            with self._lock:
                enter_epoch(run, self._history, figures)
                run.sync()
                self._save_if_due()
            if self._report is not None:
                self._news.put((i, run, answer))
                answer.get()
        run.release()


def _work(run: GroupRun) -> float:
    """Return roughly how much a run's training is."""
    (task,) = run.group.tasks
    return run.layout.n_weights * task.n_rows * task.member.max_epochs
