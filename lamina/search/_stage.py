"""One rung: its shards are claimed, run, and finished, with whoever shares the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from lamina._errors import LaminaError
from lamina.stack import MemberState

from ._candidates import Candidate, Problem
from ._halving import Shard
from ._ledger import Ledger
from ._outcome import Outcome, Place, pack_outcomes, pack_states, unpack_outcomes, unpack_states
from ._work import Job, Rules
from ._workers import WorkerLostError, n_workers, run_jobs

_TRIES = 4
"""Times that a shard is begun, if its workers die."""

_POLL = 0.2
"""Seconds between two looks at what other processes have done."""

Source = tuple[str, int]
"""Stage and shard."""


class Stages:
    """Runs one rung after another.

    Parameters
    ----------
    check_time : callable
        Raises where time is up.
    """

    def __init__(
        self,
        problem: Problem,
        rules: Rules,
        ledger: Ledger,
        candidates: Sequence[Candidate],
        n_jobs: int | None,
        check_time: Callable[[], None],
    ) -> None:
        self._problem, self._rules, self._ledger = problem, rules, ledger
        self._candidates, self._n_jobs = candidates, n_jobs
        self._check_time = check_time
        self._sources: dict[Place, Source] = {}

    def run(
        self,
        stage: str,
        shards: Sequence[Shard],
        pause: int | None,
        known: dict[int, list[Outcome]],
        took: Callable[[bool], None],
    ) -> None:
        """Fill ``known`` with the outcomes of all shards.

        ``took`` is called after each; True says that it was done before it was asked for.
        """
        tries, early = 0, True
        while True:
            for number in sorted(self._ledger.done(stage) - known.keys()):
                known[number] = unpack_outcomes(self._ledger.result(stage, number))
                took(early)
            early = False
            if len(known) == len(shards):
                break
            self._check_time()
            mine = self._ledger.claim(stage, len(shards), 4 * n_workers(self._n_jobs))
            if not mine:
                time.sleep(_POLL)
                continue
            try:
                self._run_claimed(stage, shards, mine, pause, known, took)
            except WorkerLostError as error:
                tries += 1
                if tries == _TRIES:
                    raise LaminaError(
                        f"Workers must survive a shard. They died {tries} times, the last time "
                        f"with: {error}. They may lack memory: use a smaller n_jobs."
                    ) from error
            finally:
                self._ledger.release(stage, [number for number in mine if number not in known])
        self._sources |= {
            (candidate, shard.fold): (stage, shard.number)
            for shard in shards
            for candidate in shard.candidates
        }

    def _run_claimed(
        self,
        stage: str,
        shards: Sequence[Shard],
        mine: Sequence[int],
        pause: int | None,
        known: dict[int, list[Outcome]],
        took: Callable[[bool], None],
    ) -> None:
        cache: dict[Source, dict[Place, list[MemberState]]] = {}

        def make_job(number: int) -> Job:
            return self._job(shards[number], pause, self._states(shards[number], cache))

        problem = self._problem
        results = run_jobs(mine, make_job, problem.X, problem.y, self._n_jobs)
        for number, (outcomes, states) in results:
            packed = pack_states(states) if states else None
            self._ledger.finish(stage, number, pack_outcomes(outcomes), packed)
            known[number] = outcomes
            took(False)
            self._check_time()

    def _states(
        self, shard: Shard, cache: dict[Source, dict[Place, list[MemberState]]]
    ) -> Mapping[Place, list[MemberState]]:
        """Return where the shard's members stand after the rung before."""
        found = {}
        for candidate in shard.candidates:
            place = candidate, shard.fold
            source = self._sources.get(place)
            if source is None:
                continue
            if source not in cache:
                packed = self._ledger.states(*source)
                cache[source] = {} if packed is None else unpack_states(packed)
            found[place] = cache[source][place]
        return found

    def _job(
        self, shard: Shard, pause: int | None, states: Mapping[Place, list[MemberState]]
    ) -> Job:
        rows, held_out = self._problem.folds[shard.fold]
        return Job(
            rules=self._rules,
            fold=shard.fold,
            rows=rows,
            held_out=held_out,
            candidates={c: self._candidates[c].parameters for c in shard.candidates},
            pause_at=pause,
            states=states,
            weight=self._problem.weight,
            score_params=self._problem.score_params,
        )
