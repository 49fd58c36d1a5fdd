"""L-BFGS for a group of one: SciPy moves the flat buffer, the engine gives loss and gradient."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.optimize
import torch
from scipy.optimize import OptimizeResult

from lamina._typing import FloatArray

from ._ledger import CONVERGED, DIVERGED, EPOCHS, RUNNING, STOPPED, History, judge, monitored
from ._optimizers import LBFGS
from ._run import BEST, GroupRun
from ._steps import measure, objective
from ._update import add_scaled_


def run_lbfgs(run: GroupRun, history: History, report: Callable[[], bool]) -> str:
    """Minimise the objective of a group's one member; return SciPy's last word.

    ``report`` is called after each iteration, which counts as an epoch; it returns True to stop.
    """
    (task,) = run.tasks
    optimizer = task.member.optimizer
    assert isinstance(optimizer, LBFGS)
    (batch,) = run.batches.epoch(np.zeros(1, dtype=np.int64))
    clock = [time.perf_counter()]
    run.begin_epoch()

    def loss_and_gradient(vector: FloatArray) -> tuple[float, FloatArray]:
        run.theta[0] = torch.from_numpy(vector)
        loss = float(objective(run, batch, None))
        if run.decays:
            add_scaled_(run.weight_grads, run.weights, run.decay)
            loss += 0.5 * float(run.decay) * float(run.weights.square().sum())
        return loss, run.grad[0].cpu().numpy().astype(np.float64)

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        now = time.perf_counter()
        run.theta[0] = torch.from_numpy(intermediate_result.x)
        _enter(run, history, float(intermediate_result.fun), now - clock[0])
        clock[0] = now
        if report() or run.ledger.status[task.index] != RUNNING:
            raise StopIteration

    result = scipy.optimize.minimize(
        loss_and_gradient,
        run.theta[0].cpu().numpy().astype(np.float64),
        method="L-BFGS-B",
        jac=True,
        callback=after_iteration,
        options={
            "maxiter": task.member.max_epochs,
            "maxfun": optimizer.max_fun,
            "gtol": optimizer.gtol,
        },
    )
    _finish(run, result)
    return str(result.message)


def _enter(run: GroupRun, history: History, loss: float, seconds: float) -> None:
    """Enter one iteration into ledger and history."""
    ledger, ids = run.ledger, run.ids
    train = np.array([loss])
    valid, score = measure(run)
    ledger.count(ids, 0, run.batches.counts)
    value = monitored(run.tasks, train, valid, score)
    gained = judge(ledger, run.tasks, value, ~np.isfinite(train))
    if ledger.status[ids[0]] == EPOCHS:
        ledger.status[ids] = RUNNING  # SciPy counts the iterations itself
    if ledger.status[ids[0]] != DIVERGED:
        run.begin_epoch()
    if gained[0] and run.keeps_best[0]:
        run.buffers[BEST].copy_(run.theta)
    run.last = {
        "member": ids,
        "epoch": ledger.epoch[ids].copy(),
        "train_loss": train,
        "valid_loss": valid,
        "valid_score": score,
        "learning_rate": np.full(1, np.nan),
        "seconds": np.array([seconds]),
    }
    history.add(run.last)


def _finish(run: GroupRun, result: OptimizeResult) -> None:
    """Take SciPy's result into the store and set the status."""
    ledger, (i,) = run.ledger, run.ids
    finite = np.isfinite(result.fun) and np.isfinite(result.x).all()
    if finite:
        run.theta[0] = torch.from_numpy(np.asarray(result.x))
        run.in_epoch = False
    run.give_up_epoch()
    if ledger.status[i] == RUNNING:
        stopped = {0: CONVERGED, 1: EPOCHS}.get(int(result.status), STOPPED)
        ledger.status[i] = stopped if finite else DIVERGED
    run.sync()
