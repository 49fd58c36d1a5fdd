"""Epochs of one member in a row, where nothing is to be decided between them.

Between two epochs there is much to enter and to decide for a network so small that an epoch
takes less than that. Where nobody looks on, a member of the `cpu` backend runs several epochs
and enters them together. It stops short of every epoch that could end it, so that only the
ordinary path ends members.
"""

from __future__ import annotations

import math
import time

import numpy as np

from lamina._typing import Array

from ._ledger import judge
from ._run import GroupRun

MOST = 16
"""Epochs in a row."""


def quick_epochs(run: GroupRun) -> int:
    """Return how many epochs of a member may run in a row; 0 where each has to be looked at."""
    (task,) = run.group.tasks
    if task.validation_rows is not None or run.keeps_best[0]:
        return 0
    member, ledger, i = task.member, run.ledger, task.index
    last = member.max_epochs if ledger.pause_at is None else ledger.pause_at
    left = min(last, member.max_epochs) - int(ledger.n_epochs[i]) - 1
    if member.patience is not None:
        left = min(left, math.floor(min(member.patience, MOST + ledger.idle[i]) - ledger.idle[i]))
    return max(0, min(left, MOST))


def run_quick(run: GroupRun, n: int) -> dict[str, Array] | None:
    """Train a member for up to ``n`` epochs; return the rows of its history, if there are any.

    An epoch after which something is not finite is given up, and an epoch under way when all
    is stopped stays unfinished.
    """
    (task,) = run.group.tasks
    assert run.cpu is not None
    ledger, i = run.ledger, task.index
    rows: list[tuple[int, float, float, float]] = []
    for _ in range(n):
        start = time.perf_counter()
        run.begin_epoch()
        loss, rates = run.cpu.train_epoch()
        if run.stop.is_set():
            break
        if not (math.isfinite(loss[0]) and np.isfinite(run.theta.numpy()).all()):
            run.give_up_epoch()
            break
        run.in_epoch = False
        ledger.count(i, run.n_steps, task.n_rows)
        judge(ledger, [task], loss, np.zeros(1, dtype=bool))
        rows.append((int(ledger.epoch[i]), loss[0], rates[0], time.perf_counter() - start))
    if not rows:
        return None
    epoch, train_loss, learning_rate, seconds = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    nothing = np.full(len(rows), np.nan)
    return {
        "member": np.full(len(rows), i),
        "epoch": epoch,
        "train_loss": train_loss,
        "valid_loss": nothing,
        "valid_score": nothing,
        "learning_rate": learning_rate,
        "seconds": seconds,
    }
