"""The store that these tests are about, empty and without its door."""

from pathlib import Path

import pytest

from app.storage.disk import DiskStore
from tests.storage.disk.on_disk import open_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The store's folder."""
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> DiskStore:
    """The store."""
    return open_store(root)
