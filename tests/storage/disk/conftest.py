"""The store that these tests are about, empty and without its door, or behind a gunicorn."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.storage.disk import DiskStore
from tests.storage.disk.door import Door, Gunicorn
from tests.storage.disk.on_disk import open_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The store's folder."""
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> DiskStore:
    """The store."""
    return open_store(root)


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """One server for all tests; each makes objects of its own."""
    folder = tmp_path_factory.mktemp("door")
    server = Gunicorn("tests.storage.disk.door:make_app", str(folder / "store"), folder)
    yield Door(folder / "store", server)
    server.stop()
