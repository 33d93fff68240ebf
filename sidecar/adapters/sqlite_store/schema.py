"""The tables, and how a file of an earlier version gets them."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

Migration: TypeAlias = Sequence[str]
"""Statements that lead from one version to the next."""

MIGRATIONS: Final[Sequence[Migration]] = (
    # From 0, a file without tables of ours, to 1.
    (
        """CREATE TABLE session (
            key INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL UNIQUE,
            active_s REAL NOT NULL,         -- latest entry or sign of life, seconds since the epoch
            bytes INTEGER NOT NULL          -- of its journal, as the bound counts them
        )""",
        # Rows are appended whatever session they belong to, and an index finds a session's: with
        # 200 sessions at once this took a fifth of the time of a table ordered by session.
        """CREATE TABLE journal (
            place INTEGER PRIMARY KEY,
            session INTEGER NOT NULL REFERENCES session (key),
            number INTEGER NOT NULL,
            time_s REAL NOT NULL,
            kind TEXT NOT NULL,
            line BLOB NOT NULL,
            decision BLOB NOT NULL,
            content BLOB NOT NULL,
            UNIQUE (session, number)
        )""",
        """CREATE TABLE snapshot (
            session INTEGER PRIMARY KEY REFERENCES session (key),
            number INTEGER NOT NULL,
            active_s REAL NOT NULL,
            closed INTEGER NOT NULL,
            version INTEGER NOT NULL,
            checksum BLOB NOT NULL,
            body BLOB NOT NULL
        )""",
        "CREATE INDEX snapshot_by_activity ON snapshot (active_s)",
        """CREATE TABLE quarantine (
            place INTEGER PRIMARY KEY,
            moved_s REAL NOT NULL,
            session_id TEXT,
            number, active_s, closed, version, checksum, body
        )""",
    ),
)
"""A step is never changed once it was released; a new one is added after it."""

TABLES: Final = ("session", "journal", "snapshot", "quarantine")

BUSY_TIMEOUT_S: Final = 0.25
"""How long another process (a backup, a person's sqlite3) may hold the file before it counts as
trouble. Sidecars never contend: there is a lock for that."""

WAL_BYTES_MAX: Final = 16 * 1024 * 1024
"""To which the -wal file is cut back after a burst; by default it would keep its size for ever."""


STATEMENTS_KEPT: Final = 4
"""Compiled, by the connection. An INSERT of many rows takes up to 0.3 MiB compiled, and there is
another for every number of rows: the 128 that the sqlite3 module keeps by default were 20 MiB, and
saved no time that could be measured."""


class SchemaError(Exception):
    """A database, but not one of this store as this program knows it."""


class NewerSchemaError(SchemaError):
    """A database that a later program has written."""


def connect(path: str) -> sqlite3.Connection:
    """A connection in autocommit mode. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=STATEMENTS_KEPT,
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_MAX}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing of what is executed within."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has ended the transaction by itself where the disk failed it.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Lead the file to the latest version, step by step, each step whole.

    Raises NewerSchemaError, SchemaError when the tables are not there afterwards, sqlite3.Error.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        raise NewerSchemaError(f"schema version {version}, known up to {len(migrations)}")
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise SchemaError("tables of another program")
    for number, step in enumerate(migrations[version:], start=version + 1):
        with transaction(connection):
            for statement in step:
                _define(connection, statement)
            connection.execute(f"PRAGMA user_version = {number}")
    for table in TABLES:
        _define(connection, f"SELECT * FROM {table} LIMIT 0")  # noqa: S608  # our own names


def _define(connection: sqlite3.Connection, statement: str) -> None:
    """Execute a statement that only a foreign schema can make wrong."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise SchemaError(str(fault)) from fault
        raise
