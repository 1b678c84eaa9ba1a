"""The app under test: a database copied from a migrated one, a store, people.

`--database` and `--store` say which of each the tests of the whole app run on, so that one suite shows the same
behaviour on all of them.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from jinja2 import BytecodeCache, FileSystemBytecodeCache
from sqlalchemy import make_url

from app import create_app
from app.domain.access import Role
from app.extensions import db
from app.services import people, workspaces
from app.settings import MIB, Settings
from tests.servers.moto_s3 import MotoServer
from tests.servers.postgres import PostgresServer
from tests.support.api import Api
from tests.support.clock import moved_clock  # noqa: F401 - a fixture
from tests.support.server import AppServer, RemoteApi

MakeApp = Callable[..., Flask]
Serve = Callable[..., AppServer]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.addoption("--store", choices=("disk", "moto"), default="disk")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server, shared by all tests of the process."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def moto() -> Iterator[MotoServer]:
    """A moto server, shared likewise."""
    with MotoServer() as server:
        yield server


class Databases:
    """Gives URLs of fresh databases that have every migration and the people of the tests."""

    def __init__(self, folder: Path, postgres: PostgresServer | None) -> None:
        self.folder = folder
        self.postgres = postgres
        self.template = "template_of_tests"
        self.tokens: dict[str, str] = {}
        url = self._template_url()
        app = create_app(Settings(data_dir=folder / "template", database_url=url, secret_key="tests", sweep_interval=0))
        with app.app_context():
            upgrade()
            self.tokens, self.workspace_id = _make_people()
            db.engine.dispose()

    def _template_url(self) -> str:
        if self.postgres is not None:
            self.postgres.create_database(self.template)
            return self.postgres.url(self.template)
        (self.folder / "template").mkdir()
        return f"sqlite:///{self.folder}/template/template.sqlite3"

    def fresh(self, folder: Path) -> str:
        """The URL of a copy."""
        if self.postgres is not None:
            return self.postgres.url(self.postgres.create_database(template=self.template))
        copy = folder / "tracesets.sqlite3"
        for suffix in ("", "-wal"):
            source = self.folder / "template" / f"template.sqlite3{suffix}"
            if source.exists():
                shutil.copy(source, f"{copy}{suffix}")
        return f"sqlite:///{copy}"

    def drop(self, url: str) -> None:
        """Remove such a copy, of which hundreds would fill the server; a file goes with its folder."""
        if self.postgres is not None:
            self.postgres.drop_database(str(make_url(url).database))


def _make_people() -> tuple[dict[str, str], str]:
    """The tokens of the tests' people, and the workspace that they share."""
    for name in ("admin", "owner", "editor", "viewer", "stranger"):
        people.create_user(f"{name}@tests.example", is_admin=name == "admin")
    workspace_id = workspaces.create_workspace(workspaces.OPERATOR, "Shared", "owner@tests.example")
    for role in (Role.EDITOR, Role.VIEWER):
        workspaces.set_member(workspaces.OPERATOR, workspace_id, f"{role}@tests.example", role)
    workspaces.set_member(workspaces.OPERATOR, "workspace_universal", "owner@tests.example", Role.EDITOR)
    tokens = {
        name: people.create_token(f"{name}@tests.example")
        for name in ("admin", "owner", "editor", "viewer", "stranger")
    }
    tokens["reader"] = people.create_token("owner@tests.example", is_read_only=True)
    return tokens, workspace_id


@pytest.fixture(scope="session")
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """The databases of the kind that `--database` names."""
    is_postgres = request.config.getoption("--database") == "postgres"
    server = request.getfixturevalue("postgres") if is_postgres else None
    return Databases(tmp_path_factory.mktemp("databases"), server)


@contextmanager
def new_deployment(request: pytest.FixtureRequest, folder: Path) -> Iterator[dict[str, Any]]:
    """The settings of a fresh deployment, by their field names: its database, its store, small parts, no sweeper."""
    databases: Databases = request.getfixturevalue("databases")
    settings: dict[str, Any] = {
        "data_dir": folder / "data",
        "database_url": databases.fresh(folder),
        "secret_key": "a key for tests",
        "sweep_interval": 0,
        "part_size": 5 * MIB,
    }
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--store") == "moto":
            server: MotoServer = request.getfixturevalue("moto")
            for name, value in server.environment.items():
                patch.setenv(name, value)
            settings |= server.new_bucket_settings()
        yield settings
    databases.drop(settings["database_url"])


@pytest.fixture
def deployment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The settings of this test's own deployment."""
    with new_deployment(request, tmp_path) as settings:
        yield settings


@pytest.fixture(scope="session")
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> BytecodeCache:
    """So that each template is compiled once, and not by every test."""
    return FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))


@pytest.fixture
def make_app(deployment: dict[str, Any], compiled_templates: BytecodeCache) -> Iterator[MakeApp]:
    """Makes apps with these settings; each call gives another door to the same database and store."""
    made: list[Flask] = []

    def make(**settings: Any) -> Flask:
        app = create_app(Settings(**(deployment | settings)))
        app.jinja_env.bytecode_cache = compiled_templates
        made.append(app)
        return app

    yield make
    for app in made:
        with app.app_context():
            db.engine.dispose()


@pytest.fixture
def serve(deployment: dict[str, Any], tmp_path: Path) -> Iterator[Serve]:
    """Starts gunicorns with these settings; each is another host on the same database and store."""
    started: list[AppServer] = []

    def start(*, workers: int = 1, **settings: Any) -> AppServer:
        server = AppServer(deployment | settings, tmp_path / "servers", workers=workers)
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def app(make_app: MakeApp) -> Flask:
    """The app with the settings of a small deployment."""
    return make_app()


@dataclass(frozen=True)
class People:
    """One caller per kind of person, all of one app."""

    admin: Api
    owner: Api
    editor: Api
    viewer: Api
    stranger: Api
    reader: Api
    nobody: Api


PeopleOf = Callable[[Flask | AppServer], People]


@pytest.fixture
def people_of(databases: Databases) -> PeopleOf:
    """The same people, at any app or server of the test."""

    def at(place: Flask | AppServer) -> People:
        def caller(token: str | None) -> Api:
            if isinstance(place, AppServer):
                return RemoteApi(place, token, workspace_id=databases.workspace_id)
            return Api(place, token, workspace_id=databases.workspace_id)

        return People(nobody=caller(None), **{name: caller(token) for name, token in databases.tokens.items()})

    return at


@pytest.fixture
def people_here(app: Flask, people_of: PeopleOf) -> People:
    """The people at the test's app."""
    return people_of(app)


@pytest.fixture
def owner(people_here: People) -> Api:
    """Owns the shared workspace, and is an editor of the universal one."""
    return people_here.owner


@pytest.fixture
def viewer(people_here: People) -> Api:
    """May only read the shared workspace."""
    return people_here.viewer


@pytest.fixture
def stranger(people_here: People) -> Api:
    """Belongs to no workspace."""
    return people_here.stranger
