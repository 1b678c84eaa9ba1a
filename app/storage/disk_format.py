"""What the disk store writes: segments, which are parts and stay parts of the object, and manifests.

A segment is a part's bytes with a trailer of 48 bytes behind them: a magic number, the size and the SHA-256 of the
bytes. Why a trailer and not a file beside it: one rename then brings bytes and ETag into place together, and a list
of parts costs a small read each.

A manifest makes an object of segments: one line with what `stat` needs, so that asking for an object of 10,000 parts
reads no more than that, and one line with the segments and the times that their files had.
"""

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Self

from app.storage.base import MAX_PARTS, ObjectDamaged, Part, Stored
from app.storage.disk_paths import names_in

CHUNK = 1024 * 1024
"""Bytes that are read at once."""

_TRAILER = struct.Struct(">8sQ32s")
_MAGIC = b"TSPART\x00\x01"
TRAILER_SIZE = _TRAILER.size


@dataclass(frozen=True, slots=True)
class Segment:
    """One part as a file: what it holds, and the file's times (ns) by which a later change shows.

    The change time counts too: whoever alters bytes can put the modification time back, but not the change time.
    Linux before 6.13 counts both in ticks of some milliseconds: a change in the very tick of the PUT is not seen.
    """

    number: int
    size: int
    sha256: str
    mtime_ns: int
    ctime_ns: int

    @property
    def part(self) -> Part:
        """What the store's callers see of it."""
        return Part(self.number, self.size, self.sha256)

    def has_its_length(self, folder: Path) -> bool:
        """Whether the folder holds a file of this segment's length."""
        try:
            return (folder / str(self.number)).stat().st_size == self.size + TRAILER_SIZE
        except FileNotFoundError:
            return False

    def seen_in(self, folder: Path) -> "Segment | None":
        """This segment with the times that its file has now; None where the folder does not hold it whole.

        Its bytes are read only where length or times have changed.
        """
        try:
            with (folder / str(self.number)).open("rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                if status.st_size != self.size + TRAILER_SIZE:
                    return None
                if (status.st_mtime_ns, status.st_ctime_ns) == (self.mtime_ns, self.ctime_ns):
                    return self
                digest = hashlib.sha256()
                for chunk in read_exactly(file.fileno(), 0, self.size):
                    digest.update(chunk)
                if digest.hexdigest() != self.sha256 or _read_trailer(file.fileno()) != (self.size, self.sha256):
                    return None
                return replace(self, mtime_ns=status.st_mtime_ns, ctime_ns=status.st_ctime_ns)
        except (FileNotFoundError, ObjectDamaged):
            return None

    def copy(self, source: Path, target: Path) -> None:
        """Put the segment's file into another folder too, by a hard link where the file system can.

        Segments are never changed, only replaced and removed, so two names may share one file.
        """
        name = str(self.number)
        try:
            (target / name).hardlink_to(source / name)
        except FileNotFoundError:
            raise
        except OSError:  # Another file system, one without links, or one that has no more of them for this file.
            shutil.copy2(source / name, target / name)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A finished object: the upload that it came from, what `stat` tells, and its segments in order."""

    upload_id: str
    stored: Stored
    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, upload_id: str, segments: Sequence[Segment]) -> Self:
        """The manifest of an object of these segments."""
        return cls(upload_id, _stored(sum(one.size for one in segments), _etag(segments)), tuple(segments))

    def is_in(self, folder: Path) -> bool:
        """Whether the folder holds all segments, by their lengths."""
        return all(segment.has_its_length(folder) for segment in self.segments)

    def seen_in(self, folder: Path) -> Self | None:
        """This manifest with the times of the folder's files; None where a segment is gone or altered."""
        seen: list[Segment] = []
        for segment in self.segments:
            found = segment.seen_in(folder)
            if found is None:
                return None
            seen.append(found)
        return replace(self, segments=tuple(seen))

    def copy_segments(self, source: Path, target: Path) -> bool:
        """Put all segments into another folder too; False where they are not all there."""
        try:
            for segment in self.segments:
                segment.copy(source, target)
        except FileNotFoundError:
            return False
        return self.is_in(target)

    def spans(self, start: int, end: int) -> Iterator[tuple[Segment, int, int]]:
        """What the object's bytes from `start` to `end`, within it, are: segment, first byte in it, length."""
        offset = 0
        for segment in self.segments:
            first, last = max(start - offset, 0), min(end - offset, segment.size)
            if first < last:
                yield segment, first, last - first
            offset += segment.size

    def dump(self) -> bytes:
        """The file's content."""
        head = {"version": 1, "upload": self.upload_id, "size": self.stored.size, "etag": self.stored.etag}
        return f"{json.dumps(head)}\n{json.dumps([astuple(one) for one in self.segments])}\n".encode()


def load_manifest(path: Path) -> Manifest | None:
    """The manifest in this file; None where there is none, or none that can be read."""
    return _load(path, with_segments=True)


def load_stored(path: Path) -> Stored | None:
    """What the manifest's first line says of the object; None as for `load_manifest`."""
    manifest = _load(path, with_segments=False)
    return None if manifest is None else manifest.stored


def write_segment(file: int, chunks: Iterable[bytes]) -> tuple[int, str]:
    """Write a whole segment to a file descriptor, down to the disk.

    Args:
        chunks: the part's bytes, in pieces of any size.

    Returns:
        The number of bytes, without the trailer, and their SHA-256 in hex.
    """
    digest = hashlib.sha256()
    size = 0
    for chunk in chunks:
        digest.update(chunk)
        _write_all(file, chunk)
        size += len(chunk)
    _write_all(file, _TRAILER.pack(_MAGIC, size, digest.digest()))
    os.fsync(file)
    return size, digest.hexdigest()


def list_segments(folder: Path) -> list[Segment]:
    """The whole segments in a folder, in ascending number.

    The folder may be renamed meanwhile: it is opened once and its files are opened from there.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        numbers = sorted(int(name) for name in names_in(handle) if _is_number(name))
        found = (_read_segment(handle, number) for number in numbers)
        return [segment for segment in found if segment is not None]
    finally:
        os.close(handle)


def read_exactly(file: int, start: int, length: int) -> Iterator[bytes]:
    """`length` bytes from `start` on, in chunks.

    Raises:
        ObjectDamaged: the file ends before.
    """
    end = start + length
    while start < end:
        chunk = os.pread(file, min(CHUNK, end - start), start)
        if not chunk:
            raise ObjectDamaged(f"A segment ends at {start}, {end - start} bytes too early")
        yield chunk
        start += len(chunk)


def _etag(segments: Sequence[Segment]) -> str:
    """One part's own ETag; of several, the digest of their digests and their number, the form that S3 gives it."""
    if len(segments) == 1:
        return segments[0].sha256
    digests = b"".join(bytes.fromhex(one.sha256) for one in segments)
    return f"{hashlib.sha256(digests).hexdigest()}-{len(segments)}"


def _stored(size: int, etag: str) -> Stored:
    return Stored(size, etag, sha256=None if "-" in etag else etag)


def _load(path: Path, *, with_segments: bool) -> Manifest | None:
    try:
        with path.open(encoding="ascii") as file:
            head = json.loads(file.readline())
            rows = json.loads(file.readline()) if with_segments else []
            segments = tuple(Segment(*row) for row in rows)
            return Manifest(head["upload"], _stored(head["size"], head["etag"]), segments)
    except FileNotFoundError:
        return None
    except (
        ValueError,
        TypeError,
        KeyError,
    ):  # Cut or overwritten: the bytes can no longer be told, as if it were lost.
        return None


def _read_segment(folder: int, number: int) -> Segment | None:
    """The segment, or None where the file is gone or none of ours."""
    try:
        file = os.open(str(number), os.O_RDONLY, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        trailer = _read_trailer(file)
        status = os.fstat(file)
    finally:
        os.close(file)
    if trailer is None:
        return None
    return Segment(number, *trailer, status.st_mtime_ns, status.st_ctime_ns)


def _read_trailer(file: int) -> tuple[int, str] | None:
    """Size and SHA-256 as the trailer tells them, or None where the file's end is none that fits the file."""
    size = os.fstat(file).st_size - TRAILER_SIZE
    if size < 0:
        return None
    magic, told, digest = _TRAILER.unpack(os.pread(file, TRAILER_SIZE, size))
    return (size, digest.hex()) if (magic, told) == (_MAGIC, size) else None


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and name[0] != "0" and int(name) <= MAX_PARTS


def _write_all(file: int, data: bytes) -> None:
    """os.write may take less than it is given, as on a disk that is just full."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
