"""What is known of each member while a stack trains: counters, best value, status, history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from lamina._typing import Array, FloatArray, IntArray

from ._schedules import Adaptive
from ._task import Task

Status: TypeAlias = Literal["running", "converged", "stopped", "epochs", "diverged"]
STATUSES: tuple[Status, ...] = get_args(Status)
RUNNING, CONVERGED, STOPPED, EPOCHS, DIVERGED = range(5)


@dataclass
class Ledger:
    """One entry per member, by the member's place in the user's list.

    Attributes
    ----------
    status : array of int
        Index into ``STATUSES``.
    epoch, step, seen : arrays of int
        Epochs, steps and samples so far, those of earlier trainings included.
    n_epochs : array of int
        Epochs of this training.
    lr_scale : array of float
        What the adaptive schedule has made of the learning rate.
    best : array of float
        Best monitored value; a score counts with its sign changed, so that smaller is better.
    best_epoch, idle : arrays of int
        Epoch of the best value, and epochs in a row without enough improvement.
    pause_at : int or None
        Epochs after which whoever still trains is to wait.
    """

    status: IntArray
    epoch: IntArray
    step: IntArray
    seen: IntArray
    n_epochs: IntArray
    lr_scale: FloatArray
    best: FloatArray
    best_epoch: IntArray
    idle: IntArray
    pause_at: int | None = None

    @classmethod
    def empty(cls, n: int, pause_at: int | None = None) -> Ledger:
        """Return the ledger of ``n`` members before the first epoch."""
        counts = (np.zeros(n, dtype=np.int64) for _ in range(5))
        status, epoch, step, seen, n_epochs = counts
        return cls(
            status=status,
            epoch=epoch,
            step=step,
            seen=seen,
            n_epochs=n_epochs,
            lr_scale=np.ones(n),
            best=np.full(n, np.inf),
            best_epoch=np.zeros(n, dtype=np.int64),
            idle=np.zeros(n, dtype=np.int64),
            pause_at=pause_at,
        )

    def arrays(self) -> dict[str, Array]:
        """Return all arrays by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "pause_at"}

    def count(self, members: Any, n_steps: int, n_rows: Any) -> None:
        """Enter that some members, or one, have ended an epoch."""
        self.epoch[members] += 1
        self.n_epochs[members] += 1
        self.step[members] += n_steps
        self.seen[members] += n_rows

    def going(self, members: IntArray) -> Array:
        """Return which members train: those that have not stopped, and are not to pause."""
        running: Array = self.status[members] == RUNNING
        if self.pause_at is not None:
            running &= self.n_epochs[members] < self.pause_at
        return running


@dataclass
class History:
    """Rows of the training history, one for each member and epoch, as growing columns."""

    columns: dict[str, list[Array]] = field(
        default_factory=lambda: {name: [] for name in HISTORY_COLUMNS}
    )

    def add(self, columns: Mapping[str, Array]) -> None:
        """Append one epoch of some members."""
        for name, values in columns.items():
            self.columns[name].append(values)

    def arrays(self) -> dict[str, Array]:
        """Return the columns as arrays, ordered by member and epoch."""
        whole = {
            name: np.concatenate(parts) if parts else np.zeros(0, HISTORY_COLUMNS[name])
            for name, parts in self.columns.items()
        }
        order = np.lexsort((whole["epoch"], whole["member"]))
        return {name: values[order] for name, values in whole.items()}


HISTORY_COLUMNS: dict[str, type] = {
    "member": np.int64,
    "epoch": np.int64,
    "train_loss": np.float64,
    "valid_loss": np.float64,
    "valid_score": np.float64,
    "learning_rate": np.float64,
    "seconds": np.float64,
}


def monitored(
    tasks: Sequence[Task], train: FloatArray, valid: FloatArray, score: FloatArray
) -> FloatArray:
    """Return each member's monitored value, smaller being better."""
    values = np.empty(len(tasks))
    for k, task in enumerate(tasks):
        monitor = task.member.monitor
        if monitor == "auto":
            monitor = "train_loss" if task.validation_rows is None else "valid_loss"
        values[k] = {"train_loss": train, "valid_loss": valid, "valid_score": -score}[monitor][k]
    return values


def judge(ledger: Ledger, tasks: Sequence[Task], value: FloatArray, bad: Array) -> Array:
    """Enter an epoch's values, decide who stops, and return who reached a new best.

    Parameters
    ----------
    ledger : Ledger
        Changed in place.
    tasks : sequence of Task
        The members that ran.
    value : ndarray of shape (k,)
        Monitored values; NaN and infinity are no improvement.
    bad : ndarray of bool of shape (k,)
        Members whose loss or weights are not finite.
    """
    ids = np.array([task.index for task in tasks])
    tol = np.array([task.member.tol for task in tasks])
    best = ledger.best[ids]
    enough = np.isfinite(value) & (value <= best - tol)
    idle = np.where(enough, 0, ledger.idle[ids] + 1)
    gained: Array = (value < best) & ~bad
    ledger.idle[ids] = idle
    ledger.best[ids] = np.where(gained, value, best)
    ledger.best_epoch[ids] = np.where(gained, ledger.epoch[ids], ledger.best_epoch[ids])
    for k, task in enumerate(tasks):
        if bad[k]:
            ledger.status[task.index] = DIVERGED
        else:
            _stop_or_go(ledger, task, int(idle[k]))
    return gained


def _stop_or_go(ledger: Ledger, task: Task, idle: int) -> None:
    """Set the status of a member whose numbers are finite."""
    i, member = task.index, task.member
    if member.patience is not None and idle > member.patience:
        schedule = member.schedule
        if not isinstance(schedule, Adaptive):
            ledger.status[i] = CONVERGED
            return
        if member.learning_rate * ledger.lr_scale[i] <= schedule.minimum:
            ledger.status[i] = CONVERGED
            return
        ledger.lr_scale[i] /= schedule.divisor
        ledger.idle[i] = 0
    if ledger.n_epochs[i] >= member.max_epochs:
        ledger.status[i] = EPOCHS
