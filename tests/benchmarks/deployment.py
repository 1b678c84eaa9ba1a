"""An app on a database that holds tracesets by the thousand or by the million."""

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from flask import Flask, Response
from flask_migrate import upgrade
from sqlalchemy import text
from werkzeug.test import create_environ, run_wsgi_app

from app import create_app
from app.domain.access import Role
from app.extensions import db
from app.services import people, workspaces
from app.settings import Settings
from tests.benchmarks.listing_data import N_WORKSPACES, fill_postgres, fill_sqlite, workspace_id
from tests.servers.postgres import PostgresServer

READ = [workspace_id(number) for number in range(3, N_WORKSPACES, 10)]
"""The workspaces that the member reads; the administrator reads all."""


@dataclass
class Deployment:
    """An app on a filled database, with the headers by which each caller is known; `body` is what references give."""

    app: Flask
    size: int
    callers: Mapping[str, Mapping[str, str]]
    body: bytes = b""

    def call(self, path: str, who: str, query: Mapping[str, Any]) -> tuple[float, bytes]:
        """Seconds that one request takes the application, and its body."""
        environ = create_environ(path, query_string=urlencode(query, doseq=True), headers=dict(self.callers[who]))
        start = time.perf_counter()
        chunks, status, _ = run_wsgi_app(self.app, environ)
        body = b"".join(chunks)
        seconds = time.perf_counter() - start
        if not status.startswith("200"):
            raise RuntimeError(f"{path}: {status} {body!r}")
        return seconds, body


@contextmanager
def database_urls(database: str, folder: Path) -> Iterator[Callable[[int], str]]:
    """Gives the URL of a fresh database for each size, on `sqlite` or on a `postgres` that runs meanwhile."""
    if database == "sqlite":
        yield lambda size: f"sqlite:///{folder}/{size}.sqlite3"
        return
    with PostgresServer() as server:
        yield lambda size: server.url(server.create_database(f"filled_{size}"))


def parser_of(doc: str) -> argparse.ArgumentParser:
    """The options that every benchmark of filled databases has."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--database", choices=("sqlite", "postgres"), action="append")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    return parser


@contextmanager
def deployments(
    database: str, sizes: Sequence[int], fill: Callable[[str, Path, int], Deployment]
) -> Iterator[list[Deployment]]:
    """A deployment of each size on fresh databases of this kind, each as `fill` makes it of URL, folder and size."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, database_urls(database, Path(folder)) as url_of:
        filled = [fill(url_of(size), Path(folder) / str(size), size) for size in sizes]
        yield filled
        for deployment in filled:
            with deployment.app.app_context():
                db.engine.dispose()


def add_references(deployment: Deployment, ask: Callable[[], object], content_type: str) -> None:
    """Add the views that all is compared with: one that gives the body alone, and one that asks who it is before."""

    def bare() -> Response:
        return Response(deployment.body, content_type=content_type)

    def signed_in() -> Response:
        ask()
        return bare()

    deployment.app.add_url_rule("/bare", view_func=bare)
    deployment.app.add_url_rule("/signed-in", view_func=signed_in)


def deploy(url: str, folder: Path, size: int) -> Deployment:
    """Fill a database behind its first migration, as one that is older than the list; then bring it up to date."""
    app = create_app(
        Settings(data_dir=folder, database_url=url, secret_key="benchmark", sweep_interval=0, log_level="ERROR")
    )
    start = time.perf_counter()
    with app.app_context():
        upgrade(revision="0001")
        with db.engine.connect().execution_options(writes=True) as connection, connection.begin():
            raw: Any = connection.connection.driver_connection
            (fill_sqlite if isinstance(raw, sqlite3.Connection) else fill_postgres)(raw, size)
        filled = time.perf_counter()
        upgrade()
        tidy_up()
        tokens = {"member": _member(), "admin": _admin()}
    upgraded = time.perf_counter()
    print(f"{size} tracesets: filled in {filled - start:.0f} s, migrated in {upgraded - filled:.0f} s", flush=True)
    return Deployment(app, size, {who: {"Authorization": f"Bearer {token}"} for who, token in tokens.items()})


def tidy_up() -> None:
    """Let the database count what it has, as it would by itself some time after a great change."""
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE" if db.engine.dialect.name == "postgresql" else "PRAGMA optimize"))


def _member() -> str:
    people.create_user("member@benchmark.example")
    for workspace in READ:
        workspaces.set_member(workspaces.OPERATOR, workspace, "member@benchmark.example", Role.VIEWER)
    return people.create_token("member@benchmark.example")


def _admin() -> str:
    people.create_user("admin@benchmark.example", is_admin=True)
    return people.create_token("admin@benchmark.example")
