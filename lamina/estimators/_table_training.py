"""Train the members of a table estimator, within a time limit and with word of progress."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lamina._errors import DivergedError
from lamina._typing import Array, FloatArray
from lamina.nn import Network
from lamina.stack import EpochReport, Member, StackResult, train

Listener = Callable[[EpochReport], bool | None]

_ROUND = 4
"""Members that train together where time is limited: all of them get their share of it."""


@dataclass(frozen=True)
class Trained:
    """The networks that can be used, and the history of all that were trained."""

    networks: list[Network]
    members: list[int]  # the number of each network's member
    history: pd.DataFrame


class Progress:
    """Print a line per epoch on standard output."""

    def __init__(self, n_members: int) -> None:
        self._n_members = n_members

    def __call__(self, report: EpochReport) -> None:
        """Print the mean losses of the members that trained."""
        first, last = min(report.members), max(report.members)
        held_out = ""
        if np.isfinite(report.valid_loss).any():
            held_out = f", held-out loss = {np.nanmean(report.valid_loss):.6f}"
        print(
            f"Members {first + 1} to {last + 1} of {self._n_members}, epoch {report.epoch} of "
            f"{report.max_epochs}: loss = {np.mean(report.train_loss):.6f}{held_out}"
        )


def train_members(
    members: Sequence[Member],
    X: FloatArray,
    y: Array,
    *,
    device: str,
    deadline: float | None,
    listeners: Sequence[Listener],
) -> Trained:
    """Train all members, or as many as there is time for, but always the first.

    Parameters
    ----------
    deadline : float or None
        When to stop, on the clock of ``time.monotonic``. An epoch that has begun is finished,
        and the best weights until then are kept.
    listeners : sequence of callables
        Get a report after each epoch; one that returns True stops all training.
    """
    size = len(members) if deadline is None else _ROUND
    results: list[StackResult] = []
    for start in range(0, len(members), size):
        rounds_left = -(-(len(members) - start) // size)
        watch = _Watch(start, len(results), deadline, rounds_left, listeners)
        result = train(members[start : start + size], X, y, device=device, callbacks=[watch])
        results.append(result)
        out_of_time = deadline is not None and time.monotonic() >= deadline
        if watch.stopped or result.interrupted or out_of_time:
            break
    return _collected(results, size)


class _Watch:
    """Pass reports on, and end a round in time."""

    def __init__(
        self,
        first_member: int,
        n_before: int,
        deadline: float | None,
        rounds_left: int,
        listeners: Sequence[Listener],
    ) -> None:
        self.stopped = False
        self._first, self._before = first_member, n_before
        self._listeners = listeners
        self._deadline = deadline
        if deadline is not None:
            now = time.monotonic()
            self._deadline = now + (deadline - now) / rounds_left

    def __call__(self, report: EpochReport) -> bool:
        """Return whether to stop: a listener says so, or the round's time is up."""
        members = tuple(self._first + i for i in report.members)
        report = dataclasses.replace(report, members=members, group=self._before + report.group)
        answers = [listener(report) for listener in self._listeners]
        self.stopped = self.stopped or any(answers)
        return self.stopped or (self._deadline is not None and time.monotonic() >= self._deadline)


def _collected(results: Sequence[StackResult], size: int) -> Trained:
    """Return the networks that have learned something and whose weights are finite."""
    networks: list[Network] = []
    members: list[int] = []
    for turn, result in enumerate(results):
        ends = zip(result.networks, result.status, result.n_epochs, result.best_epoch, strict=True)
        for i, (network, status, n_epochs, best) in enumerate(ends):
            if n_epochs > 0 and (status != "diverged" or best > 0):
                networks.append(network)
                members.append(turn * size + i)
    if not networks and any(result.interrupted for result in results):
        raise KeyboardInterrupt("Training was interrupted before the end of the first epoch.")
    if not networks:
        raise DivergedError(
            "Training must keep at least one network with finite weights. Got none: every member "
            "diverged. Check the table for values that are far out of range."
        )
    histories = [
        result.history.assign(member=result.history["member"] + i * size)
        for i, result in enumerate(results)
    ]
    return Trained(networks, members, pd.concat(histories, ignore_index=True))


def fitted_while_training(attributes: dict[str, Any]) -> Callable[[EpochReport], dict[str, Any]]:
    """Return what makes, from a report, all attributes with which an estimator can predict."""

    def fitted(report: EpochReport) -> dict[str, Any]:
        return attributes | {"networks_": report.networks()}

    return fitted
