"""The stores that the suite runs on. A further one is a fixture that gives a `StoreUnderTest`, and its name below."""

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from threading import Thread

import pytest
from flask import Flask
from werkzeug.serving import make_server

from app.storage.disk import DiskStore
from app.storage.s3 import S3Store
from app.web.objects import blueprint
from tests.servers.ceph import RadosGateway
from tests.servers.moto_s3 import MotoServer
from tests.servers.s3 import S3Server
from tests.storage.under_test import StoreUnderTest

REAL_S3_STORES = [pytest.param(name, marks=pytest.mark.s3) for name in ("rgw_store", "rgw_tls_store")]
FAITHFUL_STORES = ["disk_store", *REAL_S3_STORES]
"""Those that check signatures and expiry, and stand many callers at once."""
STORES = [*FAITHFUL_STORES, "moto_store"]


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


@pytest.fixture(scope="session")
def moto() -> Iterator[MotoServer]:
    """A moto server, shared by all tests."""
    with MotoServer() as server:
        yield server


@pytest.fixture(scope="session")
def rgw() -> Iterator[RadosGateway]:
    """Ceph's gateway over http, shared likewise."""
    with RadosGateway() as server:
        yield server


@pytest.fixture(scope="session")
def rgw_tls() -> Iterator[RadosGateway]:
    """Ceph's gateway over https, shared likewise."""
    with RadosGateway(tls=True) as server:
        yield server


@pytest.fixture
def moto_store(moto: MotoServer) -> Iterator[StoreUnderTest]:
    """An S3 store in a bucket at moto's server."""
    with moto.credentials():
        yield s3_store(moto)


@pytest.fixture
def rgw_store(rgw: RadosGateway) -> Iterator[StoreUnderTest]:
    """An S3 store in a bucket at Ceph's gateway."""
    with rgw.credentials():
        yield s3_store(rgw)


@pytest.fixture
def rgw_tls_store(rgw_tls: RadosGateway) -> Iterator[StoreUnderTest]:
    """The same over https, where botocore makes other requests than over http."""
    with rgw_tls.credentials():
        yield s3_store(rgw_tls)


@cache
def s3_store(server: S3Server) -> StoreUnderTest:
    """The store that tests at this server share, in a bucket of its own, below a prefix that needs quoting.

    It is shared because boto3's clients are slow to make; its first call needs `server.credentials()`.
    """
    bucket, client = server.new_bucket(), server.client()
    store = S3Store(bucket=bucket, endpoint_url=server.endpoint, region=server.region, prefix="a prefix+/é")

    def overwrite(key: str, data: bytes) -> None:
        client.put_object(Bucket=bucket, Key=f"a prefix+/é/{key}", Body=data)

    return StoreUnderTest(store, overwrite)
