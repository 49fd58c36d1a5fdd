"""A search in a database: shared by processes, killed, resumed, shown."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from lamina._errors import FileError, MissingDependencyError, ParameterError
from lamina.search._database import DatabaseLedger
from lamina.search._engine import Database, Transaction, find
from lamina.search._ledger import open_ledger
from lamina.search._peers import Process
from lamina.search._studies import list_studies, read_study

from .test_ledger import Claims

pytest.importorskip("sqlalchemy", reason="the extra lamina[search] is not installed")
optuna = pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")


class DatabaseClaims(Claims):
    """Three processes, of which one may die at any moment; its shards are free after a lease."""

    def open_all(self):
        self.folder = tempfile.mkdtemp()
        return {name: self.opened(name) for name in range(3)}

    def opened(self, name):
        ledger = DatabaseLedger(
            Database(find(Path(self.folder) / "search.db")),
            *("f" * 40, 1, {}),
            lease=60.0,
            clock=lambda: self.clock,
        )
        ledger._process = Process(f"machine {name}", 1, "")
        return ledger

    @rule(which=st.integers(0, 2))
    def die_and_be_missed(self, which):
        name = self.alive(which)
        dead = self.ledgers.pop(name)
        dead._heart.stop()
        dead._database.close()
        self.ledgers[name] = self.opened(name)
        for ledger in self.ledgers.values():  # everyone looks, a lease passes, everyone lives
            ledger.claim(STAGE, 1, 0)
        self.clock += 60.0
        for ledger in self.ledgers.values():
            ledger.beat()
        self.held[name] = set()

    def teardown(self):
        for ledger in getattr(self, "ledgers", {}).values():
            ledger.close()
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)


STAGE = "batch000-rung00"
TestDatabaseClaims = DatabaseClaims.TestCase
TestDatabaseClaims.settings = settings(max_examples=12, stateful_step_count=15)


# One search, many searches


def test_every_process_gets_the_seed_of_the_first(open_file):
    assert [open_file(seed=seed).seed for seed in (2**63 + 5, 1, 2)] == [2**63 + 5] * 3


def test_searches_in_one_file_do_not_meet(open_file):
    first, second = open_file(), open_file(fingerprint="e" * 40, seed=8)
    assert first.claim("s", 2, 2) == second.claim("s", 2, 2) == [0, 1]
    first.finish("s", 0, b"r", None)
    assert (first.done("s"), second.done("s")) == ({0}, set())


def test_names_of_searches_differ(tmp_path):
    opened = [
        open_ledger(tmp_path / "search.db", letter * 40, 0, {"name": "digits"}) for letter in "ab"
    ]
    names = [study.name for study in list_studies(tmp_path / "search.db")]
    assert names == ["digits", "digits-bbbbbb"]
    for ledger in opened:
        ledger.close()


def test_a_stage_may_grow_and_shrink(open_file):
    ledger = open_file()
    assert ledger.claim("s", 2, 9) == [0, 1]
    assert ledger.claim("s", 4, 9) == [2, 3]
    ledger.release("s", range(4))
    assert ledger.claim("s", 1, 9) == [0]


def test_bytes_come_back_whatever_they_are(open_file):
    ledger = open_file()
    for shard, data in enumerate((b"", b"\x00\xff'\"", bytes(range(256)) * 5000)):
        ledger.claim("s", 3, 1)
        ledger.finish("s", shard, data, data)
        assert (ledger.result("s", shard), ledger.states("s", shard)) == (data, data)
    with pytest.raises(KeyError):
        ledger.result("s", 3)


def test_owners_are_read_after_the_shards_that_name_them(open_file, monkeypatch):
    # Where each statement sees what was committed before it, as in PostgreSQL, the other order
    # takes a process for dead that registered and claimed between the two.
    ledger, read = open_file(), []
    ask = Transaction.rows

    def rows(self, statement, values):
        read.append(statement.partition("FROM ")[2].split()[0])
        return ask(self, statement, values)

    monkeypatch.setattr(Transaction, "rows", rows)
    ledger.claim("s", 2, 2)
    assert read[-2:] == ["lamina_shards", "lamina_owners"]


@pytest.mark.parametrize(
    ("dialect", "kinds"),
    [
        ("sqlite", {"spec": "TEXT", "states": "BLOB", "seen": "DOUBLE"}),
        ("postgresql", {"spec": "TEXT", "states": "BYTEA", "seen": "DOUBLE PRECISION"}),
        ("mysql", {"spec": "LONGTEXT", "states": "LONGBLOB", "seen": "DOUBLE"}),
    ],
)
def test_columns_have_a_kind_without_bounds_in_every_database(dialect, kinds):
    from sqlalchemy.dialects import registry

    from lamina.search._tables import _metadata

    compiler = registry.load(dialect)()
    columns = [c for table in _metadata().sorted_tables for c in table.columns if c.name in kinds]
    found = {column.name: column.type.compile(dialect=compiler) for column in columns}
    assert found == kinds


# Life and death

WORKER = """
import sys, time
from lamina.search._ledger import open_ledger
path, name, seconds, most = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
ledger = open_ledger(path, "f" * 40, 0, {}, lease=float(sys.argv[5]))
print("open", flush=True)
while len(ledger.done("s")) < 30:
    for shard in ledger.claim("s", 30, most):
        print(shard, flush=True)
        time.sleep(seconds)
        ledger.finish("s", shard, name.encode(), None)
    time.sleep(0.01)
ledger.close()
"""


def worker(path, name, seconds=0.01, most=2, lease=30.0):
    arguments = [str(path), name, str(seconds), str(most), str(lease)]
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def test_two_processes_share_a_search_and_do_nothing_twice(open_file, tmp_path):
    both = [worker(tmp_path / "search.db", name) for name in ("one", "two")]
    told = [process.communicate(timeout=200) for process in both]
    assert [error for _, error in told] == ["", ""]
    shards = [[int(line) for line in text.split()[1:]] for text, _ in told]
    assert sorted(shards[0] + shards[1]) == list(range(30))
    ledger = open_file()
    assert ledger.done("s") == set(range(30))
    by = {
        name: [i for i in range(30) if ledger.result("s", i) == name] for name in (b"one", b"two")
    }
    assert [by[b"one"], by[b"two"]] == shards


def test_shards_of_a_killed_process_are_free_at_once_and_its_results_stay(open_file, tmp_path):
    victim = worker(tmp_path / "search.db", "victim", seconds=0.05, most=4)
    lines = [victim.stdout.readline() for _ in range(7)]  # open, 0 … 5: holds 4 … 7
    survivor = open_file()
    assert survivor.claim("s", 8, 9) == []
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=200)
    assert lines[-1] == "5\n"
    done = survivor.done("s")
    assert done >= {0, 1, 2, 3}
    assert sorted(done | set(survivor.claim("s", 8, 9))) == list(range(8))
    assert all(survivor.result("s", shard) == b"victim" for shard in done)


def test_a_process_that_only_stands_still_loses_its_shards_after_a_lease(open_file, tmp_path):
    slow, quick = open_file(lease=0.4), open_file(lease=0.4)
    assert slow.claim("s", 2, 1) == [0]
    time.sleep(0.6)
    assert quick.claim("s", 2, 2) == [1]  # its heart beats, so it keeps what it holds
    slow._heart.stop()
    quick.claim("s", 2, 2)
    time.sleep(0.5)
    assert quick.claim("s", 2, 2) == [0]
    quick.finish("s", 0, b"quick", None)
    slow.finish("s", 0, b"slow", None)  # too late: the first result stays
    assert quick.result("s", 0) == b"quick"


def test_who_was_taken_for_dead_goes_on_with_what_nobody_took(open_file):
    slow, quick = open_file(lease=0.2), open_file(lease=0.2)
    assert slow.claim("s", 4, 2) == [0, 1]
    slow._heart.stop()
    quick.claim("s", 4, 0)
    time.sleep(0.3)
    assert quick.claim("s", 4, 1) == [0]
    assert slow.claim("s", 4, 1) == [2]
    assert quick.claim("s", 4, 9) == [3]  # 1 is slow's again


def test_a_closed_ledger_holds_nothing(open_file):
    first, second = open_file(), open_file()
    first.claim("s", 2, 1)
    first.close()
    assert second.claim("s", 2, 2) == [0, 1]


def test_the_heart_of_a_closed_or_forgotten_ledger_stops(open_file, tmp_path):
    forgotten = open_ledger(tmp_path / "search.db", "f" * 40, 0, {})
    closed = open_file()
    threads = []
    for ledger in (forgotten, closed):
        ledger.claim("s", 2, 1)
        threads.append(ledger._heart._thread)
    assert [thread.is_alive() for thread in threads] == [True, True]
    forgotten._database.close()
    del ledger, forgotten
    gc.collect()
    closed.close()
    assert [thread.is_alive() for thread in threads] == [False, False]


def test_a_lock_that_others_hold_is_waited_for(open_file, tmp_path):
    ledger = open_file()
    ledger.claim("s", 3, 1)
    blocker = sqlite3.connect(
        tmp_path / "search.db", isolation_level=None, check_same_thread=False
    )
    blocker.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, functools.partial(blocker.execute, "COMMIT")).start()
    ledger.finish("s", 0, b"r", None)
    assert ledger.done("s") == {0}
    blocker.close()


def test_a_lock_that_stays_gets_one_sentence(tmp_path, monkeypatch):
    address = find(tmp_path / "search.db")
    database = Database(address, patience=0.2)

    def locked(transaction):
        raise database._sqlalchemy.exc.OperationalError(
            "", {}, sqlite3.OperationalError("database is locked")
        )

    with pytest.raises(FileError, match=r"kept busy by another program for 0\.2 seconds"):
        database.run(locked)
    database.close()


# What cannot be a storage


@pytest.mark.parametrize(
    ("storage", "error", "words"),
    [
        ("nowhere/search.db", FileError, r"There is no .*nowhere"),
        (".", FileError, "is a folder"),
        ("", ParameterError, "storage must be None, the path"),
        ("text.db", FileError, "must be an SQLite file"),
        ("sqlite://", ParameterError, "database in memory"),
        ("sqlite:///:memory:", ParameterError, "database in memory"),
        ("nonsense://host/x", ParameterError, "SQLAlchemy knows"),
        ("://", ParameterError, "cannot be read as a URL"),
    ],
)
def test_a_storage_that_cannot_be_gets_one_sentence(storage, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.db").write_text("a,b\n1,2\n" * 10)
    with pytest.raises(error, match=words):
        open_ledger(storage, "f", 0, {})


def test_a_missing_driver_is_named_and_the_password_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    with pytest.raises(MissingDependencyError, match="psycopg2") as caught:
        open_ledger("postgresql+psycopg2://user:secret@host/name", "f", 0, {})
    assert "secret" not in str(caught.value)


def test_a_url_of_sqlite_is_the_same_file_as_its_path(open_file, tmp_path):
    open_file().finish("s", 0, b"", None)
    same = open_ledger(f"sqlite:///{tmp_path / 'search.db'}", "f" * 40, 1, {})
    assert same.seed == 7
    same.close()


def test_a_file_of_a_newer_lamina_is_refused(open_file, tmp_path):
    open_file()
    connection = sqlite3.connect(tmp_path / "search.db")
    connection.execute("UPDATE lamina_schema SET version = 2")
    connection.commit()
    connection.close()
    for use in (lambda path: open_ledger(path, "f", 0, {}), read_study):
        with pytest.raises(FileError, match=r"newer lamina.*version 2.*up to 1.*Update lamina"):
            use(tmp_path / "search.db")


def test_a_damaged_file_gets_one_sentence(open_file, tmp_path):
    open_file().close()
    data = bytearray((tmp_path / "search.db").read_bytes())
    data[100:] = b"\x55" * (len(data) - 100)
    (tmp_path / "bad.db").write_bytes(data)
    with pytest.raises(FileError, match=r"bad\.db cannot be used: "):
        open_ledger(tmp_path / "bad.db", "f", 0, {})
