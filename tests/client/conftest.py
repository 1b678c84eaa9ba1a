"""A real service for the client: a gunicorn with the disk store and small parts, shared by the tests of a process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.client import TracesetsClient
from app.settings import MIB
from tests.conftest import Databases
from tests.support.server import AppServer


@dataclass(frozen=True)
class LiveService:
    """A running service: where it is, who may use it, and where it keeps things."""

    server: AppServer
    tokens: dict[str, str]
    workspace_id: str

    @property
    def origin(self) -> str:
        return self.server.origin


@pytest.fixture(scope="session")
def live(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """The service."""
    folder = tmp_path_factory.mktemp("client-service")
    settings = {"data_dir": folder / "data", "database_url": databases.fresh(folder), "part_size": 5 * MIB}
    server = AppServer(settings, folder / "server", workers=2)
    yield LiveService(server, databases.tokens, databases.workspace_id)
    server.stop()


MakeClient = Callable[..., TracesetsClient]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The folder that remembers the test's uploads."""
    return tmp_path / "state"


@pytest.fixture
def make_client(live: LiveService, state: Path) -> Iterator[MakeClient]:
    """Makes clients of the service, or of what stands at another origin; quick to try again, and to give up."""
    made: list[TracesetsClient] = []

    def make(origin: str | None = None, token: str | None = None, **options: Any) -> TracesetsClient:
        given = {"timeout": 30.0, "first_wait": 0.02, "transfer_patience": 60.0, "state": state} | options
        client = TracesetsClient(origin or live.origin, token or live.tokens["owner"], **given)
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make_client: MakeClient) -> TracesetsClient:
    """A client of the service, for the owner of the shared workspace."""
    return make_client()
