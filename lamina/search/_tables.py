"""The tables of a search in a database, and their version."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

from lamina._errors import FileError

from ._engine import Database, Transaction

if TYPE_CHECKING:
    from sqlalchemy import MetaData

SCHEMA = 1
"""Version of the tables; a database with a higher one is refused."""


@cache
def _metadata() -> MetaData:
    """Return the tables. Long columns come last, so that reading the others skips them."""
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    def column(name: str, kind: Any, *, key: bool = False, null: bool = False) -> sa.Column[Any]:
        return sa.Column(name, kind, primary_key=key, nullable=null, autoincrement=False)

    number, real = sa.BigInteger, sa.Double
    # MySQL bounds a text and a blob unless they are of its longest kind; others have no bound.
    text = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
    blob = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
    metadata = sa.MetaData()
    sa.Table("lamina_schema", metadata, column("id", number, key=True), column("version", number))
    sa.Table(
        "lamina_studies",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("fingerprint", sa.String(200), nullable=False, unique=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        column("seed", sa.String(100)),
        column("created", real),
        column("spec", text),
    )
    sa.Table(
        "lamina_owners",
        metadata,
        column("id", sa.String(32), key=True),
        column("study_id", number),
        column("host", sa.String(200)),
        column("pid", number),
        column("born", sa.String(40)),
        column("beats", number),
        column("seen", real),
    )
    sa.Table(
        "lamina_shards",
        metadata,
        column("study_id", number, key=True),
        column("stage", sa.String(100), key=True),
        column("shard", number, key=True),
        column("owner", sa.String(32), null=True),
        column("done", number),
        column("ended", real, null=True),
        column("result", blob, null=True),
        column("states", blob, null=True),
    )
    sa.Table(
        "lamina_trials",
        metadata,
        column("study_id", number, key=True),
        column("number", number, key=True),
        column("ended", real),
        column("record", text),
    )
    return metadata


def make_tables(database: Database) -> None:
    """Make the tables where they are missing, and refuse those of a newer lamina."""
    database.patiently(lambda: _metadata().create_all(database.engine), race=True)
    database.run(_note_version, race=True)
    check_version(database)


def check_version(database: Database) -> None:
    """Raise if the tables are those of a newer lamina."""
    version = database.run(lambda t: t.rows("SELECT version FROM lamina_schema", {}))
    if version and version[0][0] > SCHEMA:
        raise FileError(
            f"storage {database.address.told} was written by a newer lamina: its tables have "
            f"version {version[0][0]}, and this one knows up to {SCHEMA}. Update lamina."
        )


def has_tables(database: Database) -> bool:
    """Return whether a search was ever kept in a database."""
    import sqlalchemy as sa

    inspect = sa.inspect
    return database.patiently(lambda: inspect(database.engine).has_table("lamina_studies"))


def _note_version(transaction: Transaction) -> None:
    if not transaction.rows("SELECT version FROM lamina_schema", {}):
        transaction.insert("lamina_schema", [{"id": 1, "version": SCHEMA}])


def study_row(
    database: Database, fingerprint: str, name: str, seed: int, spec: str
) -> tuple[int, str, int]:
    """Return id, name and seed of a study, made where there is none of the fingerprint.

    A name that another study has gets the start of the fingerprint added.
    """

    def work(transaction: Transaction) -> tuple[int, str, int]:
        found = transaction.rows(
            "SELECT id, name, seed FROM lamina_studies WHERE fingerprint = :fingerprint",
            {"fingerprint": fingerprint},
        )
        if found:
            return int(found[0][0]), str(found[0][1]), int(found[0][2])
        taken = {row[0] for row in transaction.rows("SELECT name FROM lamina_studies", {})}
        free = next(n for n in (name, f"{name}-{fingerprint[:6]}", fingerprint) if n not in taken)
        row = {"fingerprint": fingerprint, "name": free, "seed": str(seed), "spec": spec}
        transaction.insert("lamina_studies", [row | {"created": time.time()}])
        return work(transaction)

    return database.run(work, race=True)
