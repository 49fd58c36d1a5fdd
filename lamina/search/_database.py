"""A ledger in a database that several processes share.

Who claims a shard writes its own name into the shard's row, if there still stands what it read
before: an UPDATE that changes no row was beaten by another process. A process is alive as long
as its row in ``lamina_owners`` exists; it counts up in it, and whoever finds it dead removes
the row, which frees all that it held in one step.
"""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from lamina import _json

from ._engine import Database, Transaction
from ._heart import Heart
from ._ledger import TrialRecord
from ._mirror import Mirror, as_record
from ._peers import Process, Watch, this_process
from ._tables import make_tables, study_row

BEATS_A_LEASE = 6
"""So many times within a lease a process says that it lives."""
MIRRORING = "mirror"
"""The stage whose one shard is held by who copies candidates for Optuna."""

_OF_STAGE = "study_id = :study AND stage = :stage"
_OF_SHARD = f"{_OF_STAGE} AND shard = :shard"


class DatabaseLedger:
    """What `Ledger` says, by SQL."""

    def __init__(
        self,
        database: Database,
        fingerprint: str,
        seed: int,
        spec: Mapping[str, Any],
        *,
        lease: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        make_tables(database)
        name = str(spec.get("name") or f"lamina-{fingerprint[:12]}")
        text = _json.dump(_json.encode(dict(spec), "spec"))
        self._database = database
        self._study, self.name, self.seed = study_row(database, fingerprint, name, seed, text)
        self._process = this_process()
        self._me = uuid.uuid4().hex
        self._watch = Watch(lease, clock)
        self._held: set[tuple[str, int]] = set()
        self._sizes: dict[str, int] = {}
        self._mirror = Mirror(
            database, self.name, fingerprint, str(spec.get("direction", "maximize"))
        )
        # The thread must not keep a ledger alive that nobody holds any more.
        self._heart = Heart(partial(_beat_for, weakref.ref(self)), lease / BEATS_A_LEASE)
        weakref.finalize(self, self._heart.stop)

    # Claims

    def claim(self, stage: str, n_shards: int, most: int) -> list[int]:
        """Take up to ``most`` shards of a stage, lowest first."""
        if self._sizes.get(stage, 0) < n_shards:
            self._database.run(partial(self._add_shards, stage, n_shards), race=True)
            self._sizes[stage] = n_shards
        taken = self._database.run(partial(self._claim, stage, n_shards, most), race=True)
        self._held |= {(stage, shard) for shard in taken}
        self._heart.start()
        return taken

    def _add_shards(self, stage: str, n_shards: int, transaction: Transaction) -> None:
        """Make the rows of a stage that do not exist."""
        key = {"study": self._study, "stage": stage}
        query = f"SELECT shard FROM lamina_shards WHERE {_OF_STAGE}"
        known = {row[0] for row in transaction.rows(query, key)}
        rows = [
            {"study_id": self._study, "stage": stage, "shard": shard, "done": 0}
            for shard in range(n_shards)
            if shard not in known
        ]
        transaction.insert("lamina_shards", rows)

    def _claim(self, stage: str, n_shards: int, most: int, transaction: Transaction) -> list[int]:
        """Return the shards taken within one transaction."""
        self._live_on(transaction)
        key = {"study": self._study, "stage": stage, "me": self._me}
        found = transaction.rows(
            f"SELECT shard, owner FROM lamina_shards WHERE {_OF_STAGE} AND done = 0 "
            "AND shard < :end ORDER BY shard",
            key | {"end": n_shards},
        )
        # After the shards: an owner that is named there has its row since, unless it died.
        others = self._living(transaction) - {self._me}
        taken: list[int] = []
        for shard, owner in found:
            if len(taken) >= most:
                break
            if owner in others or (stage, shard) in self._held:
                continue
            still = "owner IS NULL" if owner is None else "owner = :owner"
            statement = f"UPDATE lamina_shards SET owner = :me WHERE {_OF_SHARD} AND done = 0"
            values = key | {"shard": shard} | ({} if owner is None else {"owner": owner})
            if transaction.change(f"{statement} AND {still}", values):
                taken.append(int(shard))
        return taken

    def finish(self, stage: str, shard: int, result: bytes, states: bytes | None) -> None:
        """Write down the result of a shard; the first result of a shard stays."""
        values = {"study": self._study, "stage": stage, "shard": shard, "result": result}
        values |= {"states": states, "now": time.time()}
        statement = (
            "UPDATE lamina_shards SET done = 1, owner = NULL, ended = :now, result = :result, "
            f"states = :states WHERE {_OF_SHARD} AND done = 0"
        )
        self._database.run(lambda t: t.change(statement, values))
        self._held.discard((stage, shard))

    def release(self, stage: str, shards: Sequence[int]) -> None:
        """Give claimed shards back."""
        statement = (
            f"UPDATE lamina_shards SET owner = NULL WHERE {_OF_SHARD} AND done = 0 AND owner = :me"
        )
        keys = [
            {"study": self._study, "stage": stage, "shard": shard, "me": self._me}
            for shard in shards
        ]
        self._database.run(lambda t: [t.change(statement, key) for key in keys])
        self._held -= {(stage, shard) for shard in shards}

    # Results

    def done(self, stage: str) -> set[int]:
        """Return the shards of a stage that have results."""
        query = f"SELECT shard FROM lamina_shards WHERE {_OF_STAGE} AND done = 1"
        key = {"study": self._study, "stage": stage}
        return {int(row[0]) for row in self._database.run(lambda t: t.rows(query, key))}

    def result(self, stage: str, shard: int) -> bytes:
        """Return the result of a shard that is done."""
        return bytes(self._read("result", stage, shard))

    def states(self, stage: str, shard: int) -> bytes | None:
        """Return what the next stage goes on from, or None."""
        states = self._read("states", stage, shard)
        return None if states is None else bytes(states)

    def _read(self, column: str, stage: str, shard: int) -> Any:
        query = f"SELECT {column} FROM lamina_shards WHERE {_OF_SHARD} AND done = 1"
        key = {"study": self._study, "stage": stage, "shard": shard}
        rows = self._database.run(lambda t: t.rows(query, key))
        if not rows:
            raise KeyError((stage, shard))
        return rows[0][0]

    def forget_states(self, stage: str) -> None:
        """Drop the states of a stage."""
        statement = f"UPDATE lamina_shards SET states = NULL WHERE {_OF_STAGE}"
        key = {"study": self._study, "stage": stage}
        self._database.run(lambda t: t.change(f"{statement} AND states IS NOT NULL", key))

    # Candidates

    def mirror(self, trials: Sequence[TrialRecord]) -> None:
        """Note candidates that have ended, and copy them for Optuna in one batch."""
        records = {trial.number: as_record(trial) for trial in trials}
        self._database.run(partial(self._note, records), race=True)
        query = "SELECT number, ended, record FROM lamina_trials WHERE study_id = :study"
        with self._alone() as alone:
            if alone:
                rows = self._database.run(lambda t: t.rows(query, {"study": self._study}))
                self._mirror.add({int(number): (ended, text) for number, ended, text in rows})

    def _note(self, records: Mapping[int, str], transaction: Transaction) -> None:
        """Add the records of candidates that have none."""
        query = "SELECT number FROM lamina_trials WHERE study_id = :study"
        known = {row[0] for row in transaction.rows(query, {"study": self._study})}
        now = time.time()
        rows = [
            {"study_id": self._study, "number": number, "ended": now, "record": record}
            for number, record in sorted(records.items())
            if number not in known
        ]
        transaction.insert("lamina_trials", rows)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Say whether no other process copies now; whoever comes next copies what is missing."""
        end = time.monotonic() + 60
        while not (alone := bool(self.claim(MIRRORING, 1, 1))) and time.monotonic() < end:
            time.sleep(0.05)
        try:
            yield alone
        finally:
            if alone:
                self.release(MIRRORING, [0])

    # Life

    def close(self) -> None:
        """Give back all that is held."""
        self._heart.stop()
        key = {"me": self._me}
        free = "UPDATE lamina_shards SET owner = NULL WHERE owner = :me AND done = 0"
        self._database.run(lambda t: t.change(free, key))
        self._database.run(lambda t: t.change("DELETE FROM lamina_owners WHERE id = :me", key))
        self._held.clear()
        self._mirror.close()
        self._database.close()

    def beat(self) -> None:
        """Say that this process lives."""
        self._database.run(self._beat)

    def _beat(self, transaction: Transaction) -> int:
        statement = "UPDATE lamina_owners SET beats = beats + 1, seen = :now WHERE id = :me"
        return transaction.change(statement, {"me": self._me, "now": time.time()})

    def _live_on(self, transaction: Transaction) -> None:
        """Say that this process lives; one that was taken for dead goes on as a new one.

        What it held and nobody took meanwhile is its own again.
        """
        if self._beat(transaction):
            return
        before, self._me = self._me, uuid.uuid4().hex
        transaction.change(
            "UPDATE lamina_shards SET owner = :me WHERE owner = :before AND done = 0",
            {"me": self._me, "before": before},
        )
        process = self._process
        row = {"id": self._me, "study_id": self._study, "beats": 0, "seen": time.time()}
        row |= {"host": process.host, "pid": process.pid, "born": process.born}
        transaction.insert("lamina_owners", [row])

    def _living(self, transaction: Transaction) -> set[str]:
        """Return the owners that live, and remove the others, unless they count up just now."""
        query = "SELECT id, beats, host, pid, born FROM lamina_owners WHERE study_id = :study"
        alive = set()
        for owner, beats, host, pid, born in transaction.rows(query, {"study": self._study}):
            dead = self._watch.is_dead(owner, Process(host, pid, born), beats)
            remove = "DELETE FROM lamina_owners WHERE id = :owner AND beats = :beats"
            key = {"owner": owner, "beats": beats}
            if owner == self._me or not (dead and transaction.change(remove, key)):
                alive.add(owner)
        return alive


def _beat_for(reference: weakref.ref[DatabaseLedger]) -> None:
    ledger = reference()
    if ledger is not None:
        ledger.beat()
