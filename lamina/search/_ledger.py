"""What of a search is done: in memory here, in a database in `_database`.

A search is a row of *stages*, and a stage is a number of *shards* that depend on nothing but
the stage. A process claims shards, trains them and writes their results down; several processes
may share one ledger, and none does what another holds or has done.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from lamina._optional import optional_import

LEASE = 30.0
"""After so many seconds without a sign of life, what a process holds is free again."""


@dataclass(frozen=True)
class TrialRecord:
    """A candidate that has ended: what it was and how well it did.

    ``values`` are its scores by epoch, ``score`` the last of them; NaN for one that diverged.
    ``distributions`` are Optuna's, by the name of the parameter.
    """

    number: int
    params: Mapping[str, Any]
    score: float
    state: Literal["complete", "pruned", "fail"] = "complete"
    values: Mapping[int, float] = field(default_factory=dict)
    distributions: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None


class Ledger(Protocol):
    """What is done of one search, and who does the rest."""

    seed: int
    """Of the search: the first process's, and the same for every later one."""

    def claim(self, stage: str, n_shards: int, most: int) -> list[int]:
        """Take up to ``most`` shards of a stage, lowest first.

        None of them is done, or held by a living process or by this one. An empty list means
        that all are done or others work on the rest.
        """
        ...

    def finish(self, stage: str, shard: int, result: bytes, states: bytes | None) -> None:
        """Write down the result of a shard; the first result of a shard stays."""
        ...

    def release(self, stage: str, shards: Sequence[int]) -> None:
        """Give claimed shards back, so that others may take them."""
        ...

    def done(self, stage: str) -> set[int]:
        """Return the shards of a stage that have results."""
        ...

    def result(self, stage: str, shard: int) -> bytes:
        """Return the result of a shard that is done."""
        ...

    def states(self, stage: str, shard: int) -> bytes | None:
        """Return what the next stage goes on from, or None."""
        ...

    def forget_states(self, stage: str) -> None:
        """Drop the states of a stage, once the next one is complete."""
        ...

    def mirror(self, trials: Sequence[TrialRecord]) -> None:
        """Note candidates that have ended, each once; the first note of a candidate stays."""
        ...

    def close(self) -> None:
        """Give back all that is held; a closed ledger is of no use any more."""
        ...


class MemoryLedger:
    """A ledger that ends with its process."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.trials: dict[int, TrialRecord] = {}
        self._held: set[tuple[str, int]] = set()
        self._done: dict[str, dict[int, tuple[bytes, bytes | None]]] = {}

    def claim(self, stage: str, n_shards: int, most: int) -> list[int]:
        """Take up to ``most`` shards of a stage, lowest first."""
        done = self._done.get(stage, {})
        free = [i for i in range(n_shards) if i not in done and (stage, i) not in self._held]
        self._held |= {(stage, shard) for shard in free[:most]}
        return free[:most]

    def finish(self, stage: str, shard: int, result: bytes, states: bytes | None) -> None:
        """Write down the result of a shard; the first result of a shard stays."""
        self._held.discard((stage, shard))
        self._done.setdefault(stage, {}).setdefault(shard, (result, states))

    def release(self, stage: str, shards: Sequence[int]) -> None:
        """Give claimed shards back."""
        self._held -= {(stage, shard) for shard in shards}

    def done(self, stage: str) -> set[int]:
        """Return the shards of a stage that have results."""
        return set(self._done.get(stage, {}))

    def result(self, stage: str, shard: int) -> bytes:
        """Return the result of a shard that is done."""
        return self._done[stage][shard][0]

    def states(self, stage: str, shard: int) -> bytes | None:
        """Return what the next stage goes on from, or None."""
        return self._done[stage][shard][1]

    def forget_states(self, stage: str) -> None:
        """Drop the states of a stage."""
        done = self._done.get(stage, {})
        self._done[stage] = {shard: (result, None) for shard, (result, _) in done.items()}

    def mirror(self, trials: Sequence[TrialRecord]) -> None:
        """Note candidates that have ended."""
        for trial in trials:
            self.trials.setdefault(trial.number, trial)

    def close(self) -> None:
        """Give back all that is held."""
        self._held.clear()


def open_ledger(
    storage: str | os.PathLike[str] | None,
    fingerprint: str,
    seed: int,
    spec: Mapping[str, Any],
    *,
    lease: float = LEASE,
) -> Ledger:
    """Return the ledger of a search, a new one or the one that was begun before.

    Parameters
    ----------
    storage : str, path-like or None
        None keeps it in memory. A path is an SQLite file, made where there is none. A URL of
        SQLAlchemy (``"postgresql://user@host/name"``) is a database for many machines.
    fingerprint : str
        Says which search it is: the same call has the same fingerprint.
    seed : int
        Seed of a new search. One that was begun before keeps its own.
    spec : dict
        What to tell about the search, of numbers, texts, lists and dicts. ``spec["name"]`` is
        the name of the study, by default ``"lamina-"`` and the start of the fingerprint;
        ``spec["direction"]`` is ``"maximize"`` (default) or ``"minimize"``.
    lease : float, default=30
        Seconds without a sign of life after which a process counts as dead.

    Raises
    ------
    FileError
        If the storage cannot be opened; the message says why.
    MissingDependencyError
        If a storage is given and SQLAlchemy or Optuna is not installed.
    """
    if storage is None:
        return MemoryLedger(seed)
    optional_import("sqlalchemy", extra="search", purpose="A storage")
    optional_import("optuna", extra="search", purpose="A storage")
    from ._database import DatabaseLedger
    from ._engine import Database, find

    return DatabaseLedger(Database(find(storage)), fingerprint, seed, spec, lease=lease)
