"""What the application asks of an object store.

Why one narrow interface: the database and the store cannot commit together, so everything the services do to
the store must be repeatable. Each method here may be called again after a crash with the same arguments and
comes to the same end. Nothing here knows tracesets, people or HTTP requests.

ETags are written without quotes, and hex in lower case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

MIN_PART_SIZE = 5 * 1024 * 1024
"""Bytes; every part but the last. Source: Amazon S3, multipart upload limits."""
MAX_PART_SIZE = 5 * 1024**3
"""Bytes. Source: Amazon S3, multipart upload limits."""
MAX_PARTS = 10_000
"""Source: Amazon S3, multipart upload limits."""
MAX_OBJECT_SIZE = 5 * 1024**4
"""Bytes (5 TiB), which every store that we know of takes. Source: Amazon S3, multipart upload limits."""


class UploadGone(Exception):
    """The store does not know this multipart upload (any more), and no finished object stands in its place."""


class PartsRefused(Exception):
    """The store holds other parts than those that `finish` was told of."""


class ObjectGone(Exception):
    """There is no finished object at this key."""


class ObjectDamaged(ObjectGone):
    """Some of the object's bytes are not there; what was read before is no whole answer."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part that the store holds: its number (from 1), size in bytes and ETag."""

    number: int
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished object: its size in bytes and the ETag that `stat` reports.

    `sha256`, in hex, where the store itself has hashed the whole; it says nothing that the ETag does not.
    """

    size: int
    etag: str
    sha256: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OpenUpload:
    """A multipart upload that was begun and neither finished nor aborted."""

    key: str
    upload_id: str
    begun_at: datetime


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A finished object as a listing shows it; `size` in bytes, the ETag as that of `stat`."""

    key: str
    size: int
    etag: str
    modified_at: datetime


class ObjectStore(Protocol):
    """The bytes. All methods raise `StoreUnavailable` where the store does not answer as it should."""

    concurrency: int
    """How many calls at once serve this store best."""

    def begin(self, key: str, size: int) -> str:
        """Begin a multipart upload of `size` bytes onto `key`; the answer is its id (text of any length)."""

    def sign_parts(self, key: str, upload_id: str, numbers: Sequence[int], until: datetime) -> list[str]:
        """URLs to PUT these parts with, in the order of `numbers`, good until then and without other credentials."""

    def parts(self, key: str, upload_id: str) -> list[Part]:
        """All parts held, in ascending number.

        Raises:
            UploadGone: the upload was aborted or finished (a store may also still list the parts of a finished one).
        """

    def finish(self, key: str, upload_id: str, parts: Sequence[Part]) -> Stored:
        """Make the object of these parts (ascending, complete). From then on no part URL changes it.

        A second call answers as the first did.

        Raises:
            UploadGone: neither the upload nor a finished object of the parts' total size is there.
            PartsRefused: the store holds other parts.
        """

    def abort(self, key: str, upload_id: str | None) -> None:
        """End the upload and discard its parts, until the store knows it no more; None: every open upload onto `key`.

        Never touches a finished object. Unknown uploads are a success.
        """

    def stat(self, key: str) -> Stored | None:
        """The finished object at this key, or None."""

    def is_intact(self, key: str, stored: Stored) -> bool:
        """Whether the object is there as it was when finished.

        Size and ETag count, and what else the store can tell without reading every byte.
        """

    def read(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The object's bytes from `start`, `length` of them (None: to the end), in chunks of at most 1 MiB.

        Raises:
            ObjectGone: before the first chunk, where there is no such object, or one that is seen to be damaged.
            ObjectDamaged: later, where bytes turn out to be missing.
        """

    def delete(self, keys: Sequence[str]) -> None:
        """Delete finished objects; unknown ones are a success."""

    def sign_download(self, key: str, name: str, until: datetime) -> str:
        """A URL to GET the object with, as an attachment of this name (any Unicode; its last segment is shown)."""

    def open_uploads(self) -> Iterator[OpenUpload]:
        """Every multipart upload below our prefix that is open."""

    def objects(self, after: str | None = None, *, closely: bool = False) -> Iterator[FoundObject]:
        """Every finished object below our prefix, in the order of keys, those behind `after` only.

        `closely`: without those of which the store can tell, not reading them, that some of their bytes are gone.
        """

    def remove_litter(self, older_than: datetime) -> int:
        """Remove what processes that died left behind before then; answers how much of it there was."""

    def check(self) -> None:
        """Ask the store for a sign of life."""
