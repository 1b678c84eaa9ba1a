"""The only doors to the database: `reading()` and `transaction()`.

Why short sessions of their own instead of one per request: no connection may be held, and no transaction may be
open, while the object store is waited for. Each door opens a session, gives its connection back at the end, and
hands out objects that stay readable afterwards (nothing is expired, nothing is loaded lazily).

A fault of the database, and only that, becomes `DatabaseUnavailable` here; a statement that is wrong stays an
error of ours.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy import CursorResult, Delete, Update
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from app.errors import DatabaseUnavailable
from app.extensions import db

_PASSING_SQLITE_FAULTS = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_CANTOPEN",
    "SQLITE_READONLY",
)


@contextmanager
def reading() -> Iterator[Session]:
    """A session that sees one state of the database and changes nothing.

    On PostgreSQL it ends with a commit, of nothing, since the transaction is a read-only one: at a rollback psycopg
    forgets its prepared statements, and to plan a list anew takes ten times as long as to execute it.
    """
    with _session(writes=False) as session:
        yield session
        if session.get_bind().dialect.name == "postgresql":
            session.commit()


@contextmanager
def transaction() -> Iterator[Session]:
    """A session whose changes are committed together at the end, or not at all where the block raises.

    On SQLite it takes the writer's place from the start, waiting for its turn.
    """
    with _session(writes=True) as session:
        yield session
        try:
            session.commit()
        except DBAPIError:
            # How far it came nobody knows. SQLAlchemy takes such a transaction for ended, and does not roll it back.
            session.invalidate()
            raise


def changed(session: Session, statement: Update | Delete) -> int:
    """Execute the statement and answer how many rows it changed; objects loaded before stay as they were."""
    result = session.execute(statement, execution_options={"synchronize_session": False})
    return cast("CursorResult[Any]", result).rowcount


def change_each(session: Session, statement: Update, rows: Sequence[Mapping[str, object]]) -> None:
    """Execute the statement once for each row of parameters, in bulk."""
    session.connection().execute(statement, list(rows))


@contextmanager
def _session(*, writes: bool) -> Iterator[Session]:
    factory: Any = db.session.session_factory
    session: Session = factory(expire_on_commit=False)
    try:
        session.connection(execution_options={"writes": writes, "postgresql_readonly": not writes})
        yield session
    except (DBAPIError, PoolTimeout) as exc:
        if _is_passing(exc):
            raise DatabaseUnavailable("The database does not answer; please try again") from exc
        raise
    finally:
        _close(session)


def _close(session: Session) -> None:
    try:
        session.close()
    except DBAPIError:
        # The connection died with its transaction; the pool has thrown it away.
        session.invalidate()


def _is_passing(exc: DBAPIError | PoolTimeout) -> bool:
    if isinstance(exc, PoolTimeout) or exc.connection_invalidated:
        return True
    if isinstance(exc.orig, sqlite3.Error):
        return getattr(exc.orig, "sqlite_errorname", "").startswith(_PASSING_SQLITE_FAULTS)
    return isinstance(exc, OperationalError | InterfaceError)
