"""The doors to the database: what passes, what is told as a passing fault, what stays a fault of ours."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from app import create_app, extensions
from app.errors import DatabaseUnavailable
from app.extensions import db
from app.settings import Settings
from app.transactions import reading, transaction
from tests.servers.postgres import PostgresServer


def app_on(url: str, folder: Path) -> Flask:
    return create_app(Settings(data_dir=folder, database_url=url, secret_key="tests", database_pool_size=1))


@pytest.fixture
def sqlite_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    """An app on SQLite that waits for a tenth of a second where another one writes."""
    monkeypatch.setattr(extensions, "SQLITE_BUSY_SECONDS", 0.1)
    app = app_on(f"sqlite:///{tmp_path}/rows.sqlite3", tmp_path)
    with app.app_context():
        with transaction() as session:
            session.execute(text("CREATE TABLE kept (id INTEGER PRIMARY KEY)"))
        yield app
        db.engine.dispose()


@pytest.fixture
def postgres_app(postgres: PostgresServer, tmp_path: Path) -> Iterator[Flask]:
    """An app on PostgreSQL."""
    app = app_on(postgres.url(postgres.create_database()), tmp_path)
    with app.app_context():
        with transaction() as session:
            session.execute(text("CREATE TABLE kept (id INTEGER PRIMARY KEY)"))
        yield app
        db.engine.dispose()


@pytest.fixture(params=["sqlite_app", "postgres_app"])
def app(request: pytest.FixtureRequest) -> Flask:
    """The app on either."""
    found: Flask = request.getfixturevalue(request.param)
    return found


def ids() -> list[int]:
    with reading() as session:
        return list(session.execute(text("SELECT id FROM kept ORDER BY id")).scalars())


def insert(number: int) -> None:
    with transaction() as session:
        session.execute(text("INSERT INTO kept VALUES (:id)"), {"id": number})


def test_a_transaction_is_kept_as_a_whole_or_not_at_all(app: Flask) -> None:
    def insert_two() -> None:
        with transaction() as session:
            session.execute(text("INSERT INTO kept VALUES (2)"))
            session.execute(text("INSERT INTO kept VALUES (1)"))

    insert(1)
    with pytest.raises(IntegrityError):
        insert_two()
    with suppress(DBAPIError), reading() as session:  # PostgreSQL refuses it
        session.execute(text("INSERT INTO kept VALUES (3)"))

    assert ids() == [1]


def test_postgresql_keeps_the_plans_of_what_is_read_often(postgres_app: Flask) -> None:
    for _ in range(7):  # psycopg prepares what it executes the sixth time
        with reading() as session:
            session.execute(text("SELECT count(*) FROM kept"))

    with reading() as session:
        kept = session.scalars(text("SELECT statement FROM pg_prepared_statements")).all()
    assert "SELECT count(*) FROM kept" in kept


def test_a_broken_constraint_is_no_passing_fault(app: Flask) -> None:
    insert(1)

    with pytest.raises(IntegrityError):
        insert(1)

    assert ids() == [1]


def test_a_wrong_statement_stays_a_fault_of_ours(app: Flask) -> None:
    with pytest.raises(DBAPIError), reading() as session:
        session.execute(text("SELECT nothing FROM nowhere"))

    assert ids() == []


def test_connections_are_given_back_whatever_happens(app: Flask) -> None:
    for _ in range(5):
        with pytest.raises(RuntimeError), transaction():
            raise RuntimeError
        with pytest.raises(DBAPIError), reading() as session:
            session.execute(text("SELECT nothing FROM nowhere"))

    assert db.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_another_writer_that_does_not_end_is_a_passing_fault(sqlite_app: Flask, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "rows.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(DatabaseUnavailable):
        insert(1)
    assert ids() == []
    other.execute("ROLLBACK")
    other.close()

    insert(1)
    assert ids() == [1]


def test_a_connection_that_is_cut_is_a_passing_fault_and_the_next_one_is_good(
    postgres_app: Flask, postgres: PostgresServer
) -> None:
    def insert_over_a_cut_line() -> None:
        with transaction() as session:
            pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with psycopg.connect(postgres.url().replace("+psycopg", ""), autocommit=True) as operator:
                operator.execute("SELECT pg_terminate_backend(%s)", [pid])
            session.execute(text("INSERT INTO kept VALUES (1)"))

    with pytest.raises(DatabaseUnavailable):
        insert_over_a_cut_line()

    insert(2)
    assert ids() == [2]


def test_a_server_that_restarted_is_no_fault_at_all(postgres_app: Flask, postgres: PostgresServer) -> None:
    insert(1)

    postgres.restart()

    insert(2)
    assert ids() == [1, 2]
