"""Where a search stands, and what is still to come."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from ._candidates import Schedule
from ._halving import pause_after


@dataclass(frozen=True)
class SearchReport:
    """Where a search stands.

    Attributes
    ----------
    batch, n_batches : int
        Number of the batch of candidates, from 1, and how many there are to be.
    rung : int
        Number of the rung, from 1.
    n_alive : int
        Candidates that train in this rung.
    n_candidates : int
        Candidates so far.
    done, total : int
        Shards of this rung.
    best_score : float
        Best mean score so far, NaN before the first.
    seconds, seconds_left : float
        Since the start, and what is expected for the rest; NaN where nothing is known yet.
    """

    batch: int
    n_batches: int
    rung: int
    n_alive: int
    n_candidates: int
    done: int
    total: int
    best_score: float
    seconds: float
    seconds_left: float


def planned_epochs(n_candidates: int, schedule: Schedule, max_epochs: int) -> list[int]:
    """Return the epochs of all candidates together on one fold, rung by rung."""
    alive, done, plan = n_candidates, 0, list[int]()
    while done < max_epochs and alive:
        few = alive <= schedule.at_least
        pause = None if few else pause_after(len(plan), schedule.min_epochs, schedule.factor)
        end = max_epochs if pause is None else min(pause, max_epochs)
        plan.append(alive * (end - done))
        done = end
        if schedule.factor is not None:
            alive = min(alive, max(schedule.at_least, math.ceil(alive / schedule.factor)))
    return plan


class Outlook:
    """Tells how long the rest will take, from the plan and from what took how long so far.

    What had been done before this process began does not count as done in its time.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._began = time.monotonic()
        self._given = 0.0  # work that was there already
        self._max_epochs = 0

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def learn(self, max_epochs: int) -> None:
        """Take note of the most epochs that a candidate may have."""
        self._max_epochs = max(self._max_epochs, max_epochs)

    def give(self, batch: int, rung: int, share: float) -> None:
        """Count a share of a rung as done before this process began."""
        plan = self._plan(batch)
        self._given += share * plan[rung] if rung < len(plan) else 0.0

    def seconds_left(self, batch: int, rung: int, share: float) -> float:
        """Return the expected seconds, with a share of a rung of a batch done."""
        plans = [self._plan(b) for b in range(len(self._schedule.batches))]
        done = float(sum(map(sum, plans[:batch])) + sum(plans[batch][:rung]))
        done += share * sum(plans[batch][rung : rung + 1])
        mine = done - self._given
        if mine <= 0:
            return math.nan
        return self.seconds * (sum(map(sum, plans)) - done) / mine

    def _plan(self, batch: int) -> list[int]:
        return planned_epochs(self._schedule.batches[batch], self._schedule, self._max_epochs)
