"""Copies of the whole database, each of one moment, taken and loaded while others may go on.

This is beside `transactions`, since it is not about rows: SQLite copies its file by its backup interface, PostgreSQL
by `pg_dump` and `pg_restore`, both from one snapshot that is also what the rows are read from.
"""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from sqlalchemy import Connection, text

from app.errors import AppError
from app.extensions import db

_STORED = "SELECT key, size, etag FROM library_file WHERE state = 'stored' ORDER BY key"
_REVISION = "SELECT version_num FROM alembic_version"
_AT_ONCE = 1000
"""Rows that PostgreSQL sends at a time."""


class SnapshotFailed(AppError):
    """The database could not be copied or loaded; the message says why."""


class StoredRow(NamedTuple):
    """A library file whose bytes must be there."""

    key: str
    size: int
    etag: str | None


class Snapshot(Protocol):
    """The database as it was at one moment."""

    @property
    def revision(self) -> str:
        """Of its schema."""

    def stored(self) -> Iterator[StoredRow]:
        """All library files that are stored, in some order."""

    def save(self) -> None:
        """Write the copy to the file that it was opened for, down to the disk."""


@contextmanager
def open_snapshot(path: Path) -> Iterator[Snapshot]:
    """The database as it is now, for a copy in this file."""
    opened = _sqlite_snapshot(path) if is_sqlite() else _postgresql_snapshot(path)
    with opened as snapshot:
        yield snapshot


def load_snapshot(path: Path) -> None:
    """Fill the empty database from a copy, all of it or nothing.

    Raises:
        SnapshotFailed: the database's own tools say why.
    """
    if is_sqlite():
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as source:
            _copy_sqlite(source, into_ours=True)
        return
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    _run("pg_restore", *options, f"--dbname={_conninfo()}", str(path))


def is_sqlite() -> bool:
    """Else it is PostgreSQL."""
    return db.engine.dialect.name == "sqlite"


def require_tools() -> None:
    """Raises SnapshotFailed where a program is missing that copying this database needs."""
    if not is_sqlite():
        _program("pg_dump")
        _program("pg_restore")


class _SQLiteSnapshot:
    """It is saved when it is opened."""

    def __init__(self, copy: sqlite3.Connection) -> None:
        self._copy = copy

    @property
    def revision(self) -> str:
        return str(self._copy.execute(_REVISION).fetchone()[0])

    def stored(self) -> Iterator[StoredRow]:
        return (StoredRow(*row) for row in self._copy.execute(_STORED))

    def save(self) -> None:
        pass


@contextmanager
def _sqlite_snapshot(path: Path) -> Iterator[Snapshot]:
    with closing(sqlite3.connect(path)) as copy:
        _copy_sqlite(copy, into_ours=False)
        # One file, whatever is opened and read of it.
        copy.execute("PRAGMA journal_mode=DELETE")
        yield _SQLiteSnapshot(copy)


def _copy_sqlite(other: sqlite3.Connection, *, into_ours: bool) -> None:
    with closing(db.engine.raw_connection()) as pooled:
        ours = cast("sqlite3.Connection", pooled.driver_connection)
        source, target = (other, ours) if into_ours else (ours, other)
        try:
            source.backup(target)
        except sqlite3.Error as exc:
            raise SnapshotFailed(f"The database could not be copied: {exc}") from exc


class _PostgreSQLSnapshot:
    """A transaction that keeps its snapshot for `pg_dump`."""

    def __init__(self, connection: Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._name = connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()

    @property
    def revision(self) -> str:
        return str(self._connection.execute(text(_REVISION)).scalar_one())

    def stored(self) -> Iterator[StoredRow]:
        rows = self._connection.execution_options(yield_per=_AT_ONCE).execute(text(_STORED))
        return (StoredRow(*row) for row in rows)

    def save(self) -> None:
        options = ("--format=custom", "--no-owner", "--no-privileges", f"--snapshot={self._name}")
        _run("pg_dump", *options, f"--file={self._path}", f"--dbname={_conninfo()}")


@contextmanager
def _postgresql_snapshot(path: Path) -> Iterator[Snapshot]:
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with db.engine.connect().execution_options(**options) as connection:
        # It is idle while objects are copied and pg_dump works, for longer than a request's transaction may be.
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        yield _PostgreSQLSnapshot(connection, path)


def _conninfo() -> str:
    """How the programs reach the database; without the password, which others on this host could read there."""
    # Every command reads this module, and a driver that SQLite does not need takes a tenth of a second.
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415

    url = db.engine.url
    named = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database, **url.query}
    return make_conninfo("", **{name: str(value) for name, value in named.items() if value is not None})


def _run(program: str, *arguments: str) -> None:
    password = {"PGPASSWORD": db.engine.url.password} if db.engine.url.password else {}
    command = [_program(program), *arguments]
    done = subprocess.run(command, env=os.environ | password, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        told = done.stderr.strip().splitlines()[-5:]
        raise SnapshotFailed(f"{program} failed: {' '.join(told)}")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SnapshotFailed(
            f"{name} is not here: install PostgreSQL's client programs, of the server's version or newer"
        )
    return found
