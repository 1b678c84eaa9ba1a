"""A database that goes away at a commit."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from flask import Flask

from app.extensions import db


@dataclass(frozen=True)
class Fault:
    """What happens at a commit.

    Attributes:
        is_kept: it is committed all the same, and only the answer is lost.
        is_lasting: whatever is asked afterwards fails too.
    """

    is_kept: bool
    is_lasting: bool


class FailingCommits:
    """Counts the commits of changes, and fails at one of them.

    Args:
        fails_at: the number of that commit, from 1.
    """

    def __init__(self, dialect: Any, fails_at: int, fault: Fault) -> None:
        self._dialect = dialect
        self._commit, self._execute = dialect.do_commit, dialect.do_execute
        self._fails_at = fails_at
        self._fault = fault
        self.n_seen = 0

    @property
    def has_failed(self) -> bool:
        """Whether it has come to that commit."""
        return self.n_seen >= self._fails_at

    def do_commit(self, connection: Any) -> None:
        """In the place of the dialect's."""
        if getattr(connection, "read_only", False):  # PostgreSQL's, which end with a commit of nothing.
            self._commit(connection)
            return
        self._fail_if_away()
        self.n_seen += 1
        is_now = self.n_seen == self._fails_at
        if not is_now or self._fault.is_kept:
            self._commit(connection)
        if is_now:
            raise self._error()

    def do_execute(self, *arguments: Any) -> None:
        """In the place of the dialect's."""
        self._fail_if_away()
        self._execute(*arguments)

    def _fail_if_away(self) -> None:
        if self.has_failed and self._fault.is_lasting:
            raise self._error()

    def _error(self) -> Exception:
        if self._dialect.name == "postgresql":
            return psycopg.OperationalError("the connection is lost")
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname = "SQLITE_IOERR"
        return error


@contextmanager
def failing_commit(app: Flask, fails_at: int, fault: Fault) -> Iterator[FailingCommits]:
    """Let the so manieth commit of a change in this block fail."""
    with app.app_context():
        dialect: Any = db.engine.dialect
    failing = FailingCommits(dialect, fails_at, fault)
    dialect.do_commit, dialect.do_execute = failing.do_commit, failing.do_execute
    try:
        yield failing
    finally:
        del dialect.do_commit, dialect.do_execute
