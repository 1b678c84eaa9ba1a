"""The client with an S3 store: parts and ranges go to the store itself, and ETags are MD5s."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.client import Damaged, TracesetsClient
from app.settings import MIB
from tests.client.conftest import MakeClient
from tests.client.pipe import Pipe, always, once
from tests.client.support import Watching, read, write
from tests.conftest import Databases
from tests.servers.moto_s3 import MotoServer
from tests.support.server import AppServer


@pytest.fixture(scope="module")
def wire(moto: MotoServer) -> Iterator[Pipe]:
    """The wire between client and store."""
    with Pipe(moto.endpoint) as pipe:
        yield pipe


@pytest.fixture(scope="module")
def on_s3(
    moto: MotoServer, wire: Pipe, databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The origin of a service that keeps its objects in S3."""
    folder = tmp_path_factory.mktemp("client-s3")
    settings = {
        "data_dir": folder / "data",
        "database_url": databases.fresh(folder),
        "part_size": 5 * MIB,
        "s3_bucket": moto.new_bucket(),
        "s3_endpoint_url": moto.endpoint,
        "s3_public_endpoint_url": wire.origin,
        "s3_addressing_style": "path",
    }
    with moto.credentials():
        server = AppServer(settings, folder / "server")
    yield server.origin
    server.stop()


@pytest.fixture
def client(make_client: MakeClient, on_s3: str, wire: Pipe) -> Iterator[TracesetsClient]:
    yield make_client(on_s3)
    wire.repair()


def test_files_go_up_and_come_back(client: TracesetsClient, tmp_path: Path) -> None:
    sizes = {"empty": 0, "small": 1000, "over": 5 * MIB + 1, "a b/ü+?&.json": 12 * MIB}
    source = write(tmp_path / "source", {name: os.urandom(size) for name, size in sizes.items()})
    up, down = Watching(), Watching()

    traceset = client.upload_traceset([source], name="s3", rank_count=4, watcher=up)
    brought = client.download_traceset(traceset.id, tmp_path / "back", watcher=down)

    assert read(tmp_path / "back") == read(source)
    assert brought.unverified == ()
    up.assert_all_arrived()
    down.assert_all_arrived()


def test_a_part_that_arrives_damaged_is_sent_again(client: TracesetsClient, wire: Pipe, tmp_path: Path) -> None:
    source = write(tmp_path / "source", {"rank_0": b"genuine content"})
    wire.up = once(b"genuine", b"altered")

    traceset = client.upload_traceset([source], name="s3", rank_count=1)
    client.download_traceset(traceset.id, tmp_path / "back")

    assert read(tmp_path / "back") == {"rank_0": b"genuine content"}


def test_a_damaged_download_is_told(client: TracesetsClient, wire: Pipe, tmp_path: Path) -> None:
    source = write(tmp_path / "source", {"rank_0": b"genuine content" + os.urandom(6 * MIB)})
    traceset = client.upload_traceset([source], name="s3", rank_count=1)
    wire.down = always(b"genuine", b"altered")

    with pytest.raises(Damaged, match="rank_0"):
        client.download_traceset(traceset.id, tmp_path / "back")
