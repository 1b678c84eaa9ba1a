"""The folder that a download goes to, and names that cannot leave it.

A name of the service is untrusted text. It is taken apart into segments, none of which may be special, and each folder
on its way is opened without following links, so that neither `..` nor a link that lies in the folder leads out of it.
Files appear under their names whole and verified, by a rename; until then their bytes lie in a folder of their own.
"""

import fcntl
import json
import os
import shutil
import threading
import unicodedata
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from app.client.errors import LocalError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Target:
    """A folder to download into, and beside the files that are there the bytes of those that are on their way.

    Args:
        root: is made where there is none.
        key: tells this download from others into the same folder; an id of the service.

    Raises:
        LocalError: the folder cannot be used, or another process downloads the same into it now.
    """

    def __init__(self, root: Path, key: str) -> None:
        self.root = root
        self._draft_name = f".tracesets-{key}"
        self.drafts = root / self._draft_name
        self._lock = threading.Lock()
        try:
            with ExitStack() as opened:
                root.mkdir(parents=True, exist_ok=True)
                self._root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                opened.callback(os.close, self._root_fd)
                self._drafts_fd = _open_folder(self._root_fd, self._draft_name)
                opened.callback(os.close, self._drafts_fd)
                self._journal = opened.enter_context(self._open_journal())
                fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._opened = opened.pop_all()
        except BlockingIOError:
            raise LocalError(f"Another process is downloading the same into {root}") from None
        except OSError as exc:
            raise LocalError(f"{root} cannot be downloaded into: {exc.strerror}") from None

    def _open_journal(self) -> IO[str]:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open("journal", flags, 0o600, dir_fd=self._drafts_fd), "r+")

    def check(self, names: Iterable[str]) -> None:
        """Whether all these files can be placed.

        Raises:
            LocalError: a name could leave the folder, is the drafts' own, or is a file where another needs a folder.
        """
        all_names = set(names)
        for name in all_names:
            segments = _segments(name)
            if segments[0] == self._draft_name:
                raise LocalError(f"{shown(name)} is a name that downloads need for themselves")
            for depth in range(1, len(segments)):
                if "/".join(segments[:depth]) in all_names:
                    raise LocalError(f"{shown(name)} cannot lie in a folder that is a file of the same download")

    def has(self, name: str) -> bool:
        """Whether something lies at this name already."""
        return os.path.lexists(self.root / name)

    def has_draft(self, index: int, size: int) -> bool:
        """Whether an earlier run has left the bytes of this file, or room for them."""
        try:
            return os.stat(str(index), dir_fd=self._drafts_fd, follow_symlinks=False).st_size == size
        except OSError:
            return False

    def open_draft(self, index: int, size: int) -> int:
        """A descriptor for the bytes of the file of this index, which has this many bytes."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(str(index), flags, 0o666, dir_fd=self._drafts_fd)
            os.ftruncate(fd, size)
        except OSError as exc:
            raise LocalError(f"{self.drafts} cannot be written: {exc.strerror}") from None
        return fd

    def place(self, index: int, name: str) -> None:
        """Give the finished draft its name; what lay there before is replaced.

        Raises:
            LocalError: a link or a file is in the way of a folder.
        """
        *folders, base = _segments(name)
        opened: list[int] = []
        try:
            for folder in folders:
                opened.append(_open_folder(opened[-1] if opened else self._root_fd, folder))
            last = opened[-1] if opened else self._root_fd
            os.replace(str(index), base, src_dir_fd=self._drafts_fd, dst_dir_fd=last)
        except OSError as exc:
            raise LocalError(f"{shown(name)} cannot be placed in {self.root}: {exc.strerror}") from None
        finally:
            for fd in opened:
                os.close(fd)

    def remembered(self) -> dict[int, dict[int, str]]:
        """What earlier runs have noted: by the index of the file, piece numbers and texts."""
        self._journal.seek(0)
        noted: dict[int, dict[int, str]] = {}
        for line in self._journal:
            with suppress(ValueError):  # The last line of a process that was killed.
                index, number, text = json.loads(line)
                noted.setdefault(index, {})[number] = text
        return noted

    def note(self, index: int, number: int, text: str) -> None:
        """Remember that this piece of this file has been written, and a text about it."""
        with self._lock:
            self._journal.write(json.dumps([index, number, text]) + "\n")
            self._journal.flush()

    def close(self, *, is_complete: bool) -> None:
        """Let go. Drafts stay for a later run, also those of files that a complete one was not asked for."""
        has_notes = os.fstat(self._journal.fileno()).st_size > 0
        has_drafts = sum(1 for _ in self.drafts.iterdir()) > 1
        self._opened.close()
        if not has_notes or (is_complete and not has_drafts):
            shutil.rmtree(self.drafts, ignore_errors=True)


def _open_folder(parent: int, name: str) -> int:
    """A folder in an open one, made where there is none; never what a link leads to."""
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    return os.open(name, _FOLDER, dir_fd=parent)


def shown(text: str) -> str:
    """Text for people, in which nothing can move a terminal's cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _segments(name: str) -> list[str]:
    """The folders of a name, and the file's own.

    Raises:
        LocalError: it is not a relative path of plain segments.
    """
    segments = name.split("/")
    is_plain = all(segment not in ("", ".", "..") for segment in segments)
    has_control = any(unicodedata.category(character) in ("Cc", "Cs") for character in name)
    if not is_plain or has_control or "\\" in name:
        raise LocalError(f"The service names a file {shown(name)!r}, which is no plain relative path")
    return segments
