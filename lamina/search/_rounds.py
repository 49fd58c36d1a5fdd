"""The search itself: batches of candidates, rungs of epochs, and who goes on."""

from __future__ import annotations

import functools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from ._candidates import Candidate, Problem, Schedule, mean_score
from ._halving import make_shards, pause_after, survivors
from ._ledger import Ledger
from ._outcome import Outcome
from ._report import Outlook, SearchReport
from ._sampler import Sampler
from ._stage import Stages
from ._work import Rules


class OutOfTimeError(Exception):
    """The time limit was reached."""


class Rounds:
    """Try candidates batch after batch, each in rungs of growing length.

    What is found is in ``candidates`` at any moment: one whose rung was not finished keeps
    what the rung before said.

    Parameters
    ----------
    listen : callable or None
        Hears a `SearchReport` after each shard.
    ended : callable or None
        Hears of candidates that train no more, and whether they were among the last.
    """

    def __init__(
        self,
        problem: Problem,
        rules: Rules,
        schedule: Schedule,
        sampler: Sampler,
        ledger: Ledger,
        metric: str,
        *,
        n_jobs: int | None = None,
        listen: Callable[[SearchReport], None] | None = None,
        ended: Callable[[Sequence[Candidate], bool], None] | None = None,
    ) -> None:
        self._schedule, self._sampler, self._ledger = schedule, sampler, ledger
        self._metric, self._listen, self._ended = metric, listen, ended
        self._n_folds = len(problem.folds)
        self._outlook = Outlook(schedule)
        self.candidates: list[Candidate] = []
        self.history: list[tuple[int, Outcome]] = []  # rung and outcome
        self._best = math.nan  # of the candidates whose folds are all known
        self._stages = Stages(problem, rules, ledger, self.candidates, n_jobs, self._check_time)

    def run(self) -> None:
        """Run all batches; raises where time is up."""
        for batch, size in enumerate(self._schedule.batches):
            start = len(self.candidates)
            asked = self._sampler.ask(size)
            new = [Candidate(start + i, batch, parameters) for i, parameters in enumerate(asked)]
            self.candidates += new
            self._run_batch(batch, new)
            scores = [candidate.mean(self._metric) for candidate in new]
            self._sampler.tell([candidate.number for candidate in new], scores)

    def _run_batch(self, batch: int, alive: Sequence[Candidate]) -> None:
        """Train a batch rung by rung; losers leave, and the stacks shrink."""
        schedule, rung = self._schedule, 0
        while alive and (rung == 0 or any(candidate.going for candidate in alive)):
            few = len(alive) <= schedule.at_least
            pause = None if few else pause_after(rung, schedule.min_epochs, schedule.factor)
            self._run_rung(batch, rung, alive, pause)
            if rung:
                self._ledger.forget_states(_stage(batch, rung - 1))
            kept = set(
                survivors(
                    {c.number: c.mean(self._metric) for c in alive},
                    schedule.factor if any(c.going for c in alive) else None,
                    schedule.at_least,
                )
            )
            self._tell_ended([c for c in alive if c.number not in kept], last=False)
            alive = [candidate for candidate in alive if candidate.number in kept]
            rung += 1
        self._ledger.forget_states(_stage(batch, rung - 1))
        self._tell_ended(alive, last=True)

    def _run_rung(
        self, batch: int, rung: int, alive: Sequence[Candidate], pause: int | None
    ) -> None:
        known: dict[int, list[Outcome]] = {}
        training = [
            [c.number for c in alive if c.trains_on(fold)] for fold in range(self._n_folds)
        ]
        shards = make_shards(training)
        told = defaultdict[int, list[Outcome]](list)

        def took(early: bool) -> None:
            for outcome in known[next(reversed(known))]:
                self._outlook.learn(outcome.max_epochs)
                own = told[outcome.candidate]
                own.append(outcome)
                if len(own) == self._n_folds:
                    self._best = _better(self._best, mean_score(own, self._metric))
            if early:
                self._outlook.give(batch, rung, 1 / len(shards))
            if self._listen is not None:
                self._listen(self._report(batch, rung, alive, len(known), len(shards)))

        try:
            self._stages.run(_stage(batch, rung), shards, pause, known, took)
        finally:  # also where time is up: what is whole counts
            self._enter(rung, alive, known)
            means = [candidate.mean(self._metric) for candidate in self.candidates]
            self._best = functools.reduce(_better, means, math.nan)

    def _enter(
        self, rung: int, alive: Sequence[Candidate], known: Mapping[int, Sequence[Outcome]]
    ) -> None:
        """Enter what a rung brought for the candidates of which all folds are known."""
        new = _by_candidate(known)
        for candidate in alive:
            own = new[candidate.number]
            waiting = sum(candidate.trains_on(fold) for fold in range(self._n_folds))
            if len(own) == waiting:
                candidate.enter(rung, own, self._metric)
                self.history += [(rung, outcome) for outcome in own]

    def _report(
        self, batch: int, rung: int, alive: Sequence[Candidate], done: int, n_shards: int
    ) -> SearchReport:
        return SearchReport(
            batch=batch + 1,
            n_batches=len(self._schedule.batches),
            rung=rung + 1,
            n_alive=len(alive),
            n_candidates=len(self.candidates),
            done=done,
            total=n_shards,
            best_score=self._best,
            seconds=self._outlook.seconds,
            seconds_left=self._outlook.seconds_left(batch, rung, done / n_shards),
        )

    def _tell_ended(self, candidates: Sequence[Candidate], *, last: bool) -> None:
        if self._ended is not None and candidates:
            self._ended(candidates, last)

    def _check_time(self) -> None:
        deadline = self._schedule.deadline
        if deadline is not None and time.monotonic() >= deadline:
            raise OutOfTimeError


def _stage(batch: int, rung: int) -> str:
    return f"batch{batch:03d}-rung{rung:02d}"


def _better(one: float, other: float) -> float:
    """Return the larger of two scores; NaN is none."""
    return other if math.isnan(one) or other > one else one


def _by_candidate(known: Mapping[int, Sequence[Outcome]]) -> defaultdict[int, list[Outcome]]:
    """Return outcomes by candidate, in the order of the shards."""
    found = defaultdict[int, list[Outcome]](list)
    for number in sorted(known):
        for outcome in known[number]:
            found[outcome.candidate].append(outcome)
    return found
