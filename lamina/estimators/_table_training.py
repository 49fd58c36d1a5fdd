"""Train the members of a table estimator, within a time limit and with word of progress."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina._errors import DivergedError
from lamina._typing import Array, FloatArray
from lamina.nn import Network
from lamina.stack import EpochReport, Member, StackResult, train

Listener = Callable[[EpochReport], bool | None]


@dataclass(frozen=True)
class Round:
    """Members that were trained together."""

    members: list[Member]
    result: StackResult
    stopped: bool  # by a listener or Ctrl-C
    family: Any = None
    numbers: tuple[int, ...] = ()


class Progress:
    """Print a line per epoch on standard output."""

    def __call__(self, report: EpochReport) -> None:
        """Print the mean losses of the members that trained."""
        first, last = min(report.members), max(report.members)
        held_out = ""
        if np.isfinite(report.valid_loss).any():
            held_out = f", held-out loss = {np.nanmean(report.valid_loss):.6f}"
        print(
            f"Members {first + 1} to {last + 1}, epoch {report.epoch} of "
            f"{report.max_epochs}: loss = {np.mean(report.train_loss):.6f}{held_out}"
        )


def train_round(
    members: list[Member],
    X: FloatArray,
    y: Array,
    *,
    device: str,
    deadline: float | None = None,
    listeners: Sequence[Listener] = (),
    before: tuple[int, int] = (0, 0),
    adapt: Callable[[Network], Network] = lambda network: network,
) -> Round:
    """Train members together, until all have ended, time is up or a listener wants to stop.

    Parameters
    ----------
    deadline : float or None
        When to stop, on the clock of ``time.monotonic``. An epoch that has begun is finished,
        and the best weights until then are kept.
    listeners : sequence of callables
        Get a report after each epoch; one that returns True stops all training.
    before : (int, int)
        How many members and rounds were trained before: the reports number all of them.
    adapt : callable
        What is done to the networks of the reports.
    """
    watch = _Watch(before, deadline, listeners, adapt)
    result = train(members, X, y, device=device, callbacks=[watch])
    return Round(members, result, watch.stopped or result.interrupted)


class _Watch:
    """Pass reports on, and end a round in time."""

    def __init__(
        self,
        before: tuple[int, int],
        deadline: float | None,
        listeners: Sequence[Listener],
        adapt: Callable[[Network], Network],
    ) -> None:
        self.stopped = False
        self._members_before, self._rounds_before = before
        self._deadline, self._listeners, self._adapt = deadline, listeners, adapt

    def __call__(self, report: EpochReport) -> bool:
        """Return whether to stop: a listener says so, or time is up."""
        networks = report.networks
        report = dataclasses.replace(
            report,
            members=tuple(self._members_before + i for i in report.members),
            group=self._rounds_before + report.group,
            networks=lambda: [self._adapt(network) for network in networks()],
        )
        answers = [listener(report) for listener in self._listeners]
        self.stopped = self.stopped or any(answers)
        return self.stopped or (self._deadline is not None and time.monotonic() >= self._deadline)


def usable(done: Round) -> dict[int, tuple[Network, Member]]:
    """Return the networks that have learned something and whose weights are finite, by place."""
    result = done.result
    ends = zip(result.networks, result.status, result.n_epochs, result.best_epoch, strict=True)
    return {
        i: (network, done.members[i])
        for i, (network, status, n_epochs, best) in enumerate(ends)
        if n_epochs > 0 and (status != "diverged" or best > 0)
    }


def check_any_usable(rounds: Sequence[Round]) -> None:
    """Raise unless there is a network to keep."""
    if any(usable(done) for done in rounds):
        return
    if any(done.result.interrupted for done in rounds):
        raise KeyboardInterrupt("Training was interrupted before the end of the first epoch.")
    raise DivergedError(
        "Training must keep at least one network with finite weights. Got none: every member "
        "diverged. Check the table for values that are far out of range."
    )


def fitted_while_training(attributes: dict[str, Any]) -> Callable[[EpochReport], dict[str, Any]]:
    """Return what makes, from a report, all attributes with which an estimator can predict."""

    def fitted(report: EpochReport) -> dict[str, Any]:
        return attributes | {"networks_": report.networks()}

    return fitted
