"""What the suite holds in its hands: a store, a plain HTTP client for its URLs, and a way behind its back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import requests

from app import clock
from app.storage.base import ObjectStore, Part, Stored
from app.storage.keys import new_key

MIB = 1024 * 1024
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Upload:
    """An upload that was begun."""

    key: str
    upload_id: str


@dataclass(frozen=True)
class Finished:
    """An object that was finished, and the upload that it came from."""

    upload: Upload
    parts: list[Part]
    stored: Stored

    @property
    def key(self) -> str:
        """The object's key."""
        return self.upload.key


@dataclass(frozen=True)
class StoreUnderTest:
    """One store, as its fixture hands it to every test of the suite.

    Args:
        store: the store itself, empty at first or shared with other tests: no test may count on being alone.
        overwrite: puts other bytes into a finished object behind the store's back, as a fault or an intruder would.
    """

    store: ObjectStore
    overwrite: Callable[[str, bytes], None]

    def put(self, url: str, data: bytes, headers: Mapping[str, str] | None = None) -> requests.Response:
        """PUT the bytes, as a browser does that knows nothing but the URL."""
        return requests.put(url, data=data, headers=headers, timeout=_TIMEOUT_SECONDS)

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> requests.Response:
        """GET the whole answer."""
        return requests.get(url, headers=headers, timeout=_TIMEOUT_SECONDS)

    def begin(self, size: int = 0) -> Upload:
        """Begin an upload onto a fresh key."""
        key = new_key()
        return Upload(key, self.store.begin(key, size))

    def sign(self, upload: Upload, *numbers: int, until: datetime | None = None) -> list[str]:
        """Part URLs, good for five minutes if nothing else is said."""
        return self.store.sign_parts(upload.key, upload.upload_id, numbers, until or in_five_minutes())

    def send(self, upload: Upload, number: int, data: bytes) -> Part:
        """PUT one part; the answer's ETag is part of what is given back."""
        [url] = self.sign(upload, number)
        answer = self.put(url, data)
        assert answer.status_code == 200, answer.text
        return Part(number, len(data), answer.headers["ETag"].strip('"'))

    def upload(self, *contents: bytes) -> tuple[Upload, list[Part]]:
        """Begin an upload and send all its parts."""
        upload = self.begin(sum(map(len, contents)))
        return upload, [self.send(upload, number, data) for number, data in enumerate(contents, start=1)]

    def finish(self, upload: Upload, parts: Sequence[Part]) -> Stored:
        """Finish the upload with these parts."""
        return self.store.finish(upload.key, upload.upload_id, parts)

    def make(self, *contents: bytes) -> Finished:
        """A finished object of these parts."""
        upload, parts = self.upload(*contents)
        return Finished(upload, parts, self.finish(upload, parts))

    def held(self, upload: Upload) -> list[Part]:
        """The parts that the store says it holds."""
        return self.store.parts(upload.key, upload.upload_id)

    def bytes_of(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """The object's bytes, read through the store."""
        return b"".join(self.store.read(key, start, length))

    def is_open(self, upload: Upload) -> bool:
        """Whether the store lists the upload as open."""
        return any(
            (found.key, found.upload_id) == (upload.key, upload.upload_id) for found in self.store.open_uploads()
        )


def in_five_minutes() -> datetime:
    """A moment that no test waits for."""
    return clock.now() + timedelta(minutes=5)
