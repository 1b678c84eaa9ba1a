"""The stores that the suite runs on. A further one is a fixture that gives a `StoreUnderTest`, and its name below."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from flask import Flask
from werkzeug.serving import make_server

from app.storage.disk import DiskStore
from app.web.objects import blueprint
from tests.storage.under_test import StoreUnderTest

FAITHFUL_STORES = ["disk_store"]
"""Those that check signatures and expiry, and stand many callers at once."""
STORES = [*FAITHFUL_STORES]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> StoreUnderTest:
    """Each store in turn."""
    under_test: StoreUnderTest = request.getfixturevalue(request.param)
    return under_test


@pytest.fixture(params=FAITHFUL_STORES)
def faithful_store(request: pytest.FixtureRequest) -> StoreUnderTest:
    """Each store that behaves as a real one under attack and under load."""
    under_test: StoreUnderTest = request.getfixturevalue(request.param)
    return under_test


@pytest.fixture
def some_bytes() -> Callable[[int], bytes]:
    """Gives incompressible bytes, as many as asked for, other ones on each call."""
    return random.Random(20261129).randbytes


@pytest.fixture
def disk_store(tmp_path: Path) -> Iterator[StoreUnderTest]:
    """A disk store of its own, behind its door on a loopback port."""
    app = Flask("disk_door")
    server = make_server("127.0.0.1", 0, app, threaded=True)
    store = DiskStore(tmp_path / "store", "a key for tests", lambda: f"http://127.0.0.1:{server.server_port}")
    app.extensions["object_store"] = store
    app.register_blueprint(blueprint)

    def overwrite(key: str, data: bytes) -> None:
        segment = next(path for path in (tmp_path / "store" / "objects").rglob("1") if key in str(path))
        segment.write_bytes(data)

    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield StoreUnderTest(store, overwrite)
    server.shutdown()
    thread.join()
    server.server_close()
