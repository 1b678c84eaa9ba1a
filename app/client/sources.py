"""The local files of an upload: which they are, what they are called, and whether they stay what they were."""

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from app.client.digests import Algorithm, new_hash
from app.client.errors import LocalError, SourceChanged
from app.domain.rank_names import natural_key

_READ_SIZE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what a change of a file is noticed: size in bytes, time of the last change in ns, inode."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """What the system tells of a file."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to be sent: its name in the traceset, where it lies, and its stamp when it was found."""

    name: str
    path: Path
    stamp: Stamp

    @property
    def size(self) -> int:
        """Bytes."""
        return self.stamp.size

    def has_changed(self) -> bool:
        """Whether it is another file by now, or none."""
        try:
            return Stamp.of(self.path.stat()) != self.stamp
        except OSError:
            return True


def collect(paths: Iterable[str | Path]) -> list[LocalFile]:
    """The files that these paths mean, in natural order of their names.

    A path is a file, a folder, which means every file below it, or a pattern such as `run/**/*.et`. The names are
    the paths below the nearest folder that holds everything given; those of one folder alone are the paths below
    it. Links to files are followed, links to folders below a given one are not.

    Raises:
        LocalError: there is no such file, or none at all; something is no regular file; a name is not UTF-8.
    """
    given = list(dict.fromkeys(path for pattern in paths for path in _expand(Path(pattern))))
    if not given:
        raise LocalError("There are no files to send")
    is_one_folder = len(given) == 1 and given[0].is_dir()
    root = given[0] if is_one_folder else Path(os.path.commonpath([path.parent for path in given]))
    found = {path: _local_file(path, root) for start in given for path in _files_below(start)}
    if not found:
        raise LocalError(f"There are no files below {given[0]}")
    return sorted(found.values(), key=lambda file: natural_key(file.name))


def _expand(path: Path) -> Iterator[Path]:
    """What a path or pattern means, as absolute paths."""
    if path.exists():
        yield _absolute(path)
        return
    # Path.glob takes no absolute pattern.
    matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207
    if not matches:
        raise LocalError(f"{path} does not exist")
    # `**` gives folders beside the files in them.
    yield from (_absolute(match) for match in matches if "**" not in str(path) or not match.is_dir())


def _absolute(path: Path) -> Path:
    """Without `..` and links on the way; the last step stays as it is, for it gives the file its name."""
    return path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name


def _files_below(start: Path) -> Iterator[Path]:
    if not start.is_dir():
        yield start
        return
    for folder, _, names in os.walk(start, onerror=_refuse):
        for name in names:
            yield Path(folder, name)


def _refuse(exc: OSError) -> None:
    raise LocalError(f"{exc.filename} cannot be read: {exc.strerror}")


def _local_file(path: Path, root: Path) -> LocalFile:
    name = path.relative_to(root).as_posix()
    try:
        name.encode()
        status = path.stat()
    except UnicodeEncodeError:
        raise LocalError(f"The name of {os.fsencode(path)!r} is not UTF-8; rename the file") from None
    except OSError as exc:
        raise LocalError(f"{path} cannot be read: {exc.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise LocalError(f"{path} is not a regular file")
    return LocalFile(name, path, Stamp.of(status))


class Reader:
    """The bytes of one part, read from the file as they are sent, and their digest.

    Args:
        file: where they come from.
        offset, size: of the part, in bytes.
        algorithm: of the digest; None: none is computed.

    Raises:
        SourceChanged: on opening, reading or closing: the file is not what it was.
    """

    def __init__(self, file: LocalFile, offset: int, size: int, algorithm: Algorithm | None) -> None:
        self._file = file
        self._position = offset
        self._end = offset + size
        self._hash: Any = new_hash(algorithm) if algorithm else None
        try:
            self._fd = os.open(file.path, os.O_RDONLY)
        except OSError as exc:
            raise SourceChanged(f"{file.path} cannot be opened any more: {exc.strerror}") from None
        self._check()

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most `size`; none at the end of the part."""
        wanted = min(size, self._end - self._position)
        if not wanted:
            return b""
        try:
            block = os.pread(self._fd, wanted, self._position)
        except OSError as exc:
            raise SourceChanged(f"{self._file.path} cannot be read any more: {exc.strerror}") from None
        if not block:
            raise SourceChanged(f"{self._file.path} became shorter while it was being read")
        self._position += len(block)
        if self._hash is not None:
            self._hash.update(block)
        return block

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)

    def digest(self) -> str:
        """In hex, of all that was read; the file is looked at once more, so the bytes are those of one state."""
        self._check()
        digest: str = self._hash.hexdigest()
        return digest

    def _check(self) -> None:
        if Stamp.of(os.fstat(self._fd)) != self._file.stamp:
            raise SourceChanged(f"{self._file.path} has changed since its upload began")


def digest_of(file: LocalFile, offset: int, size: int, algorithm: Algorithm) -> str:
    """The digest of a range of a file, in hex."""
    reader = Reader(file, offset, size, algorithm)
    try:
        while reader.read(_READ_SIZE):
            pass
        return reader.digest()
    finally:
        reader.close()


def sha256_of(file: LocalFile) -> str:
    """The SHA-256 of a whole file, in hex."""
    return digest_of(file, 0, file.size, "sha256")
