"""One epoch and one step of a group."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lamina._typing import FloatArray

from ._batches import Batch
from ._ledger import DIVERGED, History, judge, monitored
from ._run import BEST, GroupRun
from ._update import Column, add_scaled_, column


class Figures(NamedTuple):
    """What one epoch brought, by live member ``(K,)``."""

    train_loss: FloatArray
    valid_loss: FloatArray
    valid_score: FloatArray
    learning_rate: FloatArray
    seconds: float


def run_epoch(run: GroupRun) -> Figures:
    """Train every live member for one epoch, and measure it."""
    start = time.perf_counter()
    run.begin_epoch()
    train_loss, rates = train_epoch(run) if run.cpu is None else run.cpu.train_epoch()
    valid_loss, valid_score = measure(run)
    return Figures(train_loss, valid_loss, valid_score, rates, time.perf_counter() - start)


def enter_epoch(run: GroupRun, history: History, figures: Figures) -> None:
    """Enter an epoch into ledger and history, decide who stops, and keep the best weights."""
    run.in_epoch = False
    train_loss, valid_loss, valid_score, rates, seconds = figures
    bad = ~(np.isfinite(train_loss) & np.isfinite(run.theta.cpu().numpy()).all(axis=1))
    ledger, ids, tasks = run.ledger, run.ids, run.tasks
    going = ledger.going(ids)
    active = [k for k in range(len(ids)) if going[k]]
    mine = ids[going]
    ledger.count(mine, run.n_steps, np.array([task.n_rows for task in tasks])[going])
    value = monitored(tasks, train_loss, valid_loss, valid_score)
    gained = judge(ledger, [tasks[k] for k in active], value[going], bad[going])
    for k, better in zip(active, gained, strict=True):
        if better and run.keeps_best[run.live[k]]:
            run.buffers[BEST][k] = run.theta[k]
        if ledger.status[ids[k]] == DIVERGED:
            run.theta[k] = run.kept["theta"][k]
    run.last = {
        "member": mine,
        "epoch": ledger.epoch[mine].copy(),
        "train_loss": train_loss[going],
        "valid_loss": valid_loss[going],
        "valid_score": valid_score[going],
        "learning_rate": rates[going],
        "seconds": np.full(len(mine), seconds / len(mine)),
    }
    history.add(run.last)


def leave(run: GroupRun) -> bool:
    """Let stopped members leave the live buffers; return whether any still runs."""
    running = run.running
    own = [i for i in run.live if i != run.riding]
    if own == running:
        return True
    run.sync()
    if not running:
        return False
    run.activate()
    return True


def measure(run: GroupRun) -> tuple[FloatArray, FloatArray]:
    """Return validation loss and score of the live members, NaN where there are none."""
    if run.validation is None:
        nothing = np.full(len(run.live), np.nan)
        return nothing, nothing
    validation = run.validation
    if run.cpu is not None:
        return validation.measure(run.cpu.forward)
    return validation.measure(lambda part: validation.forward(run.program, part))


def train_epoch(run: GroupRun) -> tuple[FloatArray, FloatArray]:
    """Take every step of one epoch; return training loss and last learning rate ``(K,)``."""
    corrected, plain = run.rate_table()
    rates = [column(row, run.theta) for row in corrected]
    plain_rates = rates if corrected is plain else [column(row, run.theta) for row in plain]
    losses: list[Tensor] = []
    if run.program.dropout is not None:
        run.program.dropout.begin_epoch(run.ledger.step[run.ids])
    if run.noise is not None:
        run.noise.begin_epoch(run.ledger.step[run.ids])
    for s, batch in enumerate(run.batches.epoch(run.ledger.epoch[run.ids])):
        losses.append(train_step(run, batch, s, rates[s], plain_rates[s]))
    total = torch.stack(losses).sum(dim=0, dtype=torch.float64)
    return total.cpu().numpy(), plain[-1]


def train_step(run: GroupRun, batch: Batch, step: int, rate: Column, plain: Column) -> Tensor:
    """Take one step with every live member; return its share ``(K,)`` of the epoch's loss."""
    loss = objective(run, batch, step)
    if run.decays:
        add_scaled_(run.weight_grads, run.weights, run.decay)
    if run.clips:
        clip(run)
    if run.shrinks:
        run.updater.shrink(run.weights, plain * run.shrink)
    run.updater.step(run.theta, run.grad, run.moments, rate, plain)
    return loss


def objective(run: GroupRun, batch: Batch, step: int | None) -> Tensor:
    """Fill the gradient of the batch's objective; return its value times the batch's share."""
    space = run.spaces[batch.x.shape[1]]
    x = batch.x
    if run.noise is not None and step is not None:
        x = run.noise.added_to(x, step)
    raw = run.program.forward(x, space, step)
    error, delta = run.head.error_and_gradient(raw, batch.y)
    if isinstance(batch.scale, float) and isinstance(batch.share, float):
        loss = error.sum(dim=1).mul_(batch.scale * batch.share)
    else:
        loss = (error * torch.as_tensor(batch.scale).squeeze(-1)).sum(dim=1).mul_(batch.share)
    torch.mul(delta, batch.scale, out=space.delta[-1])
    run.program.backward(x, space)
    if run.penalized:
        l2_penalty(run, batch, loss)
    return loss


def l2_penalty(run: GroupRun, batch: Batch, loss: Tensor) -> None:
    """Add α/(2Σw)·‖W‖² to gradient and loss."""
    coefficient = run.alpha / batch.weight
    add_scaled_(run.weight_grads, run.weights, coefficient)
    square = torch.bmm(run.weights.unsqueeze(1), run.weights.unsqueeze(2)).view(-1)
    if isinstance(coefficient, float) and isinstance(batch.share, float):
        loss.add_(square, alpha=0.5 * coefficient * batch.share)
    else:
        loss.add_(square * torch.as_tensor(coefficient).squeeze(-1) * batch.share, alpha=0.5)


def clip(run: GroupRun) -> None:
    """Scale each member's gradient down to its own largest norm."""
    norm = torch.linalg.vector_norm(run.grad, dim=1, keepdim=True)
    run.grad.mul_((run.clip / norm.clamp_min(1e-30)).clamp_max(1.0))
