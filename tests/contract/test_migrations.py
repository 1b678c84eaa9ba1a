"""Migrations: up, down and up again on both databases, by several processes at once; models equal the schema."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask_migrate import check, downgrade, upgrade
from sqlalchemy import inspect, text

from app import create_app
from app.extensions import db
from app.settings import Settings
from tests.support.server import PROJECT


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/empty.sqlite3"
    server = request.getfixturevalue("postgres")
    address: str = server.url(server.create_database())
    return address


@pytest.fixture
def app(url: str, tmp_path: Path) -> Iterator[Flask]:
    """An app on that database."""
    app = create_app(Settings(data_dir=tmp_path / "data", database_url=url, secret_key="tests", sweep_interval=0))
    with app.app_context():
        yield app
        db.engine.dispose()


def test_the_models_equal_the_schema_before_and_after_a_way_down_and_up(app: Flask) -> None:
    upgrade()
    check()
    first = set(inspect(db.engine).get_table_names())

    downgrade(revision="base")
    assert set(inspect(db.engine).get_table_names()) == {"alembic_version"}

    upgrade()
    check()
    assert set(inspect(db.engine).get_table_names()) == first


def test_migrations_go_up_and_down_one_at_a_time(app: Flask) -> None:
    n_revisions = len(list((PROJECT / "migrations" / "versions").glob("[0-9]*.py")))

    for _ in range(n_revisions):
        upgrade(revision="+1")
    check()
    for _ in range(n_revisions):
        downgrade(revision="-1")

    assert set(inspect(db.engine).get_table_names()) == {"alembic_version"}


def test_upgrading_twice_changes_nothing(app: Flask) -> None:
    upgrade()
    with db.engine.begin() as connection:
        connection.execute(text("UPDATE workspace SET name = 'renamed' WHERE id = 'workspace_universal'"))

    upgrade()

    with db.engine.connect() as connection:
        names = connection.execute(text("SELECT name FROM workspace")).scalars().all()
    assert names == ["renamed"]


def test_several_processes_may_upgrade_at_once(app: Flask, url: str, tmp_path: Path) -> None:
    settings = {
        "TRACESETS_DATABASE_URL": url,
        "TRACESETS_DATA_DIR": str(tmp_path / "data"),
        "TRACESETS_SECRET_KEY": "x",
    }
    command = ["env", *(f"{name}={value}" for name, value in settings.items())]
    command += [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade"]

    processes = [subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True) for _ in range(3)]

    for process in processes:
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
    check()
    with db.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar_one() == 1
        assert connection.execute(text("SELECT count(*) FROM workspace")).scalar_one() == 1
