"""What an upload remembers on this machine, so that it can go on after any end.

One file of JSON lines per upload, in the user's state folder: the data may lie where nothing can be written, and a file
beside them would become one of them. The first line is written before the session is opened: what is sent, from where,
and the idempotency key, with which the same opening answers with the same session (clause U10), so that not even a
death in that moment leaves an upload behind. The second names the session; each further one a part whose ETag has been
compared. No line holds a token or a signed URL.
"""

import json
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Self

from app.client.calls import Route
from app.client.errors import LocalError, SourceChanged
from app.client.service import JSON
from app.client.sources import LocalFile, Stamp

_VERSION = 1
_SUFFIX = ".jsonl"


def state_folder() -> Path:
    """Where this user's unfinished uploads are remembered. Source: XDG Base Directory Specification."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "tracesets" / "uploads"


@dataclass(slots=True)
class Journal:
    """One upload's memory.

    Attributes:
        url: of the service.
        route: `tracesets` or `mapping-files`.
        body: of the request that opens the session.
        key: the request's `Idempotency-Key`; empty where the session was opened on another machine.
        files: what is sent, in the order of the request.
        upload_id: of the session; None before it is open.
        compared: file names and part numbers that are known to be right in the store.
    """

    path: Path
    url: str
    route: Route
    body: JSON
    key: str
    files: tuple[LocalFile, ...]
    upload_id: str | None = None
    compared: set[tuple[str, int]] = field(default_factory=set)
    _appending: IO[str] | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def begin(
        cls,
        folder: Path,
        *,
        url: str,
        route: Route,
        body: JSON,
        files: Sequence[LocalFile],
        upload_id: str | None = None,
    ) -> Self:
        """Remember an upload that is about to be opened, or (with its id) one that was opened elsewhere.

        Raises:
            LocalError: the state folder cannot be written.
        """
        key = "" if upload_id else secrets.token_hex(16)
        journal = cls(folder / f"{upload_id or key}{_SUFFIX}", url, route, body, key, tuple(files))
        first = {
            "version": _VERSION,
            "url": url,
            "route": route,
            "key": key,
            "body": body,
            "files": [[file.name, str(file.path), *_stamp(file)] for file in files],
        }
        draft = journal.path.with_suffix(".draft")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft.touch(mode=0o600)
            draft.write_text(json.dumps(first) + "\n")
            draft.replace(journal.path)
        except OSError as exc:
            raise LocalError(f"The state of the upload cannot be kept in {folder}: {exc.strerror}") from None
        if upload_id:
            journal.opened(upload_id)
        return journal

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """What was remembered; None where this is no journal, or one of another version."""
        try:
            first, *lines = path.read_text().splitlines()
            begun = json.loads(first)
            if begun["version"] != _VERSION:
                return None
            files = tuple(LocalFile(name, Path(at), Stamp(*stamp)) for name, at, *stamp in begun["files"])
            journal = cls(path, begun["url"], begun["route"], begun["body"], begun["key"], files)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        for line in lines:
            journal._take(line)
        return journal

    def _take(self, line: str) -> None:
        try:
            event: Any = json.loads(line)
        except ValueError:
            return  # The process died while it wrote this, its last line.
        if isinstance(event, list):
            self.compared.add((self.files[event[0]].name, event[1]))
        else:
            self.upload_id = event["uploadId"]

    def renew(self) -> None:
        """Take the files as they are now; of those that have changed, nothing that was compared counts any more.

        Raises:
            SourceChanged: a file has another size, or is gone.
        """
        files = []
        for file in self.files:
            try:
                stamp = Stamp.of(file.path.stat())
            except OSError as exc:
                raise SourceChanged(f"{file.path} cannot be read any more: {exc.strerror}") from None
            if stamp.size != file.size:
                raise SourceChanged(
                    f"{file.path} had {file.size} bytes when its upload began and has {stamp.size} now; "
                    "end the upload and begin anew"
                )
            if stamp != file.stamp:
                self.compared = {(name, number) for name, number in self.compared if name != file.name}
            files.append(replace(file, stamp=stamp))
        self.files = tuple(files)

    def opened(self, upload_id: str) -> None:
        """The session is open."""
        self.upload_id = upload_id
        self._append({"uploadId": upload_id})

    def part_compared(self, index: int, number: int) -> None:
        """The store holds this part of the file at this index, as it is here."""
        self._append([index, number])

    def close(self) -> None:
        """Let go of the file, and keep it."""
        with self._lock:
            if self._appending is not None:
                self._appending.close()
                self._appending = None

    def forget(self) -> None:
        """The upload has come to an end."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _append(self, event: object) -> None:
        with self._lock:
            if self._appending is None:
                self._appending = self.path.open("a")
            self._appending.write(json.dumps(event) + "\n")
            self._appending.flush()


def journals(folder: Path, url: str) -> list[Journal]:
    """The unfinished uploads to this service, the newest first."""
    return [journal for journal in _all(folder) if journal.url == url]


def _all(folder: Path) -> Iterator[Journal]:
    paths = folder.glob(f"*{_SUFFIX}") if folder.is_dir() else ()
    for path in sorted(paths, key=_changed_at, reverse=True):
        journal = Journal.read(path)
        if journal is not None:
            yield journal


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0  # Its upload has just come to its end.


def _stamp(file: LocalFile) -> tuple[int, int, int]:
    return file.stamp.size, file.stamp.mtime_ns, file.stamp.inode
