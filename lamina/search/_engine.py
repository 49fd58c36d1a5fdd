"""The way to a database: find it, open it, do a piece of work in one transaction, try again.

SQLite is opened in WAL mode with ``synchronous=NORMAL``: what a killed process has committed
stays, and readers do not wait. A transaction that writes begins with the lock it needs, so
that it never has to start over because another one wrote in between.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lamina._checks import shown
from lamina._errors import FileError, MissingDependencyError, ParameterError
from lamina._optional import optional_import

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.exc import SQLAlchemyError

_T = TypeVar("_T")

PATIENCE = 120.0
"""Seconds to go on trying where others hold a lock or the connection is lost."""

_HEADER = b"SQLite format 3\x00"
_LOCKED = ("database is locked", "database table is locked", "database is busy")
_TRY_AGAIN = frozenset({"40001", "40P01", "55P03"})
"""SQLSTATE of a failed serialisation, a deadlock, and a lock that is not free."""


@dataclass(frozen=True)
class Address:
    """Where a database is: its URL, the function that connects (SQLite only), and its name."""

    url: str
    connect: Callable[[], sqlite3.Connection] | None
    told: str

    def engine_arguments(self) -> dict[str, Any]:
        """Return what SQLAlchemy's ``create_engine`` needs besides the URL."""
        return {"pool_pre_ping": True} if self.connect is None else {"creator": self.connect}


def find(storage: str | os.PathLike[str], *, to_read: bool = False) -> Address:
    """Return the address of a database, after a look whether it can be one.

    Raises
    ------
    FileError
        If the path cannot be an SQLite file.
    ParameterError
        If the storage is neither a path nor a URL.
    """
    if not isinstance(storage, (str, os.PathLike)) or not os.fspath(storage):
        raise ParameterError(
            "storage must be None, the path of an SQLite file or the URL of a database. "
            f"Got {shown(storage)}."
        )
    text = os.fspath(storage)
    if isinstance(text, str) and "://" in text:
        sqlalchemy = optional_import("sqlalchemy", extra="search", purpose="A storage")
        try:
            url = sqlalchemy.make_url(text)
        except sqlalchemy.exc.ArgumentError as error:
            raise ParameterError(
                f"storage must be a path or a URL as 'postgresql://user@host/name'. Got "
                f"{text.partition('://')[0]}://…, which cannot be read as a URL."
            ) from error
        if url.get_backend_name() != "sqlite":
            return Address(text, None, url.render_as_string(hide_password=True))
        if url.database in (None, "", ":memory:"):
            raise ParameterError(
                f"storage must name a file. Got {text!r}, a database in memory. "
                "Use storage=None to keep the search in memory."
            )
        text = url.database
    path = Path(os.fsdecode(text)).expanduser().absolute()
    _check_file(path, to_read)
    # Optuna needs a URL too, but comes in by the same function, whatever is in the path.
    return Address("sqlite:///search.db", partial(_connect, path, to_read), str(path))


def _check_file(path: Path, to_read: bool) -> None:
    """Raise if a path cannot be an SQLite file."""
    if path.is_dir():
        raise FileError(f"storage must be a file. {path} is a folder.")
    if not path.parent.is_dir():
        raise FileError(f"storage must be in a folder that exists. There is no {path.parent}.")
    if to_read and not path.exists():
        raise FileError(f"There is no search in {path}: the file does not exist.")
    try:
        start = _start_of(path) if path.exists() else b""
    except OSError as error:
        raise FileError(f"storage cannot be read: {error.strerror}. Got {path}.") from error
    if start and start != _HEADER:
        raise FileError(f"storage must be an SQLite file. {path} is something else.")


def _start_of(path: Path) -> bytes:
    """Return the first bytes of a file."""
    with path.open("rb") as file:
        return file.read(len(_HEADER))


def _connect(path: Path, to_read: bool) -> sqlite3.Connection:
    """Return a connection that waits for locks and takes the one for writing at once."""
    name = f"{path.as_uri()}?mode=ro" if to_read else str(path)
    connection = sqlite3.connect(
        name, timeout=30.0, isolation_level="IMMEDIATE", check_same_thread=False, uri=to_read
    )
    if not to_read:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


class Transaction:
    """Statements of one transaction, with ``:name`` for each value."""

    def __init__(self, connection: Connection, text: Callable[[str], Any]) -> None:
        self._connection = connection
        self._text = text

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds."""
        return [tuple(row) for row in self._connection.execute(self._text(statement), values)]

    def change(self, statement: str, values: Mapping[str, Any]) -> int:
        """Return how many rows a statement changed."""
        return self._connection.execute(self._text(statement), values).rowcount

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows with the same columns."""
        if rows:
            columns = ", ".join(rows[0])
            values = ", ".join(f":{column}" for column in rows[0])
            statement = f"INSERT INTO {table} ({columns}) VALUES ({values})"
            self._connection.execute(self._text(statement), [dict(row) for row in rows])


class Database:
    """An open database whose work is done in transactions that are tried again while locked."""

    def __init__(self, address: Address, patience: float = PATIENCE) -> None:
        self._sqlalchemy = optional_import("sqlalchemy", extra="search", purpose="A storage")
        self.address = address
        self._patience = patience
        try:
            self.engine: Engine = self._sqlalchemy.create_engine(
                address.url, **address.engine_arguments()
            )
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f"storage={address.told!r} needs the package {error.name!r}, which is not "
                f"installed. Install it with: pip install {error.name}"
            ) from error
        except self._sqlalchemy.exc.ArgumentError as error:
            raise ParameterError(
                f"storage must be a URL of a database that SQLAlchemy knows. Got "
                f"{address.told!r}: {shown(str(error))}"
            ) from error

    def run(self, work: Callable[[Transaction], _T], *, race: bool = False) -> _T:
        """Return what a piece of work returns, done in one transaction.

        While others hold a lock, or where the connection is lost, it is done again from the
        start, so it must be of a kind that may be. With ``race``, also where another process
        has inserted the same row or made the same table at the same time.
        """
        return self.patiently(lambda: self._once(work), race=race)

    def patiently(self, work: Callable[[], _T], *, race: bool = False) -> _T:
        """Return what a piece of work returns, tried again as `run` does."""
        end = time.monotonic() + self._patience
        races = 20 if race else 0
        while True:
            try:
                return work()
            except self._sqlalchemy.exc.SQLAlchemyError as error:
                raced = races > 0 and self._is_race(error)
                races -= raced
                if not raced and not (self._may_pass(error) and time.monotonic() < end):
                    raise self._told(error) from error
            # Two processes that hit one another must not do so again at the same time.
            time.sleep(random.Random().uniform(0.005, 0.05))

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def _once(self, work: Callable[[Transaction], _T]) -> _T:
        with self.engine.begin() as connection:
            return work(Transaction(connection, self._sqlalchemy.text))

    def _is_race(self, error: SQLAlchemyError) -> bool:
        """Return whether another process was first to insert a row or make a table."""
        errors = self._sqlalchemy.exc
        exists = "already exists" in str(error)
        return isinstance(error, errors.IntegrityError) or (
            exists and isinstance(error, (errors.OperationalError, errors.ProgrammingError))
        )

    def _may_pass(self, error: SQLAlchemyError) -> bool:
        """Return whether the same work may succeed a moment later."""
        original = getattr(error, "orig", None)
        if getattr(error, "connection_invalidated", False):
            return True
        state = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)
        return state in _TRY_AGAIN or any(text in str(original) for text in _LOCKED)

    def _told(self, error: SQLAlchemyError) -> FileError:
        """Return the error as one sentence."""
        original = str(getattr(error, "orig", None) or error).strip()
        why = original.splitlines()[0] if original else type(error).__name__
        if self._may_pass(error):
            return FileError(
                f"storage {self.address.told} was kept busy by another program for "
                f"{self._patience:g} seconds ({why}). End that program and call again: "
                "what was finished is kept."
            )
        return FileError(f"storage {self.address.told} cannot be used: {why}.")
