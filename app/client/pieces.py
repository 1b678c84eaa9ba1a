"""Files on their way from a store: their pieces, and whether the whole is what the store's ETag says.

Files are cut into pieces of 64 MiB, the size of the parts that they were sent in by default: the digests of such
pieces, computed while they arrive, make the ETag of the whole, so verifying needs no second read. Where the parts had
another size, the file is read once more for each size that fits.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.client.digests import Algorithm, Told, composite, new_hash, part_sizes
from app.client.errors import LocalError

PIECE_SIZE = 64 * 1024 * 1024
"""Bytes; the default size of parts (U2)."""
_READ_SIZE = 1024 * 1024


@dataclass(slots=True)
class Fetched:
    """A file on its way.

    Attributes:
        index: in the traceset.
        missing: numbers of the pieces that are not here.
        usable_until: when `url` should not be begun with any more, by the monotonic clock.
        etag: of the object that the pieces are of; None as long as there was no answer.
        told: what the ETag tells, if anything.
        digests: of pieces that were hashed as they came, in hex.
        n_damaged: how often it arrived whole and was not what it should be.
    """

    index: int
    name: str
    size: int
    missing: set[int] = field(default_factory=set)
    url: str = ""
    usable_until: float = 0.0
    etag: str | None = None
    told: Told | None = None
    digests: dict[int, str] = field(default_factory=dict)
    n_damaged: int = 0
    is_placed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def numbers(self) -> range:
        """The numbers of its pieces; an empty file has an empty one."""
        return range(max(1, -(-self.size // PIECE_SIZE)))

    def range_of(self, number: int) -> range:
        """The bytes of a piece."""
        return range(number * PIECE_SIZE, min((number + 1) * PIECE_SIZE, self.size))

    @property
    def hashed_by(self) -> Algorithm | None:
        """The digest of pieces that helps to verify the whole; None where none does."""
        fits = self.told is not None and (self.told.n_parts or 1) == len(self.numbers)
        return self.told.algorithm if self.told and fits else None


class Arriving:
    """One piece, written to its place as it comes.

    Args:
        file: whose piece it is.
        fd: of the draft.
        wanted: the bytes of the piece.
        moved: is told how many bytes have come; a negative number takes them back.
    """

    def __init__(self, file: Fetched, fd: int, wanted: range, moved: Callable[[int], None]) -> None:
        self._fd = fd
        self._wanted = wanted
        self._moved = moved
        self._position = wanted.start
        self._hash: Any = new_hash(file.hashed_by) if file.hashed_by else None

    def take(self, block: bytes) -> bool:
        """Write a block; False, and nothing is written, where it goes beyond the piece."""
        if self._position + len(block) > self._wanted.stop:
            return False
        _write(self._fd, block, self._position)
        if self._hash is not None:
            self._hash.update(block)
        self._position += len(block)
        self._moved(len(block))
        return True

    def take_back(self) -> None:
        """The piece came to nothing."""
        self._moved(self._wanted.start - self._position)

    @property
    def is_whole(self) -> bool:
        """Whether all has come."""
        return self._position == self._wanted.stop

    @property
    def digest(self) -> str | None:
        """In hex, where one helps."""
        return None if self._hash is None else str(self._hash.hexdigest())


def verify(file: Fetched, fd: int) -> bool | None:
    """Whether the bytes are those of the ETag; None where that cannot be told."""
    told = file.told
    if told is None:
        return None
    if told.n_parts is None:
        whole = file.digests.get(0) if len(file.numbers) == 1 else None
        return told.digest == (whole or _digest(fd, told.algorithm, range(file.size)))
    sizes, are_all = part_sizes(file.size, told.n_parts, likely=PIECE_SIZE)
    for size in sizes:
        ranges = [range(start, min(start + size, file.size)) for start in range(0, max(file.size, 1), size)]
        known = file.digests if size == PIECE_SIZE or len(file.numbers) == len(ranges) == 1 else {}
        digests = [known.get(number) or _digest(fd, told.algorithm, wanted) for number, wanted in enumerate(ranges)]
        if composite(told.algorithm, digests) == told.digest:
            return True
    return False if are_all else None


def _digest(fd: int, algorithm: Algorithm, wanted: range) -> str:
    hashing = new_hash(algorithm)
    position = wanted.start
    while block := os.pread(fd, min(_READ_SIZE, wanted.stop - position), position):
        hashing.update(block)
        position += len(block)
    digest: str = hashing.hexdigest()
    return digest


def _write(fd: int, block: bytes, position: int) -> None:
    rest = memoryview(block)
    try:
        while rest:
            n_written = os.pwrite(fd, rest, position)
            rest, position = rest[n_written:], position + n_written
    except OSError as exc:
        raise LocalError(f"What was downloaded cannot be written: {exc.strerror}") from None
