"""What tests of transfers begin and end with."""

import base64
import json
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from app.client import TracesetsClient, Watcher
from app.client.models import MappingFile, Traceset
from tests.servers.http_proxy import FaultyProxy


def write(folder: Path, contents: Mapping[str, bytes]) -> Path:
    """A folder with these files."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    """The files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fetched(client: TracesetsClient, subject: Traceset | MappingFile, folder: Path) -> dict[str, bytes]:
    """The files that the service has."""
    client.download_traceset(subject.id, folder)
    return read(folder)


def is_part(method: str, path: str) -> bool:
    """Whether a request sends a part to the disk store."""
    return method == "PUT" and path.startswith("/objects/parts/")


def is_download(method: str, path: str) -> bool:
    """Whether a request fetches a file from the disk store."""
    return method == "GET" and path.startswith("/objects/files/")


def count_parts(proxy: FaultyProxy) -> Counter[tuple[str, str]]:
    """How often each part came to a proxy."""
    return Counter(part_of(request.path) for request in proxy.requests if is_part(request.method, request.path))


def part_of(path: str) -> tuple[str, str]:
    """Which part a URL of the disk store is for: the key of its file, and its number. The token differs each time."""
    token, number = path.split("/")[-2:]
    payload = token.partition(".")[0]
    key: str = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))[0]
    return key, number


class Watching(Watcher):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.n_moved: Counter[str] = Counter()
        self.done: list[str] = []
        self.lock = threading.Lock()

    def begin(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)

    def moved(self, name: str, size: int) -> None:
        with self.lock:
            self.n_moved[name] += size

    def finished(self, name: str) -> None:
        with self.lock:
            self.done.append(name)

    def assert_all_arrived(self) -> None:
        """All bytes were counted, once, and all files."""
        assert +self.n_moved == +Counter(self.sizes)
        assert sorted(self.done) == sorted(self.sizes)
