"""Short ways to uploads and objects of a disk store, without HTTP."""

import sys
from pathlib import Path
from subprocess import PIPE, Popen

from app.storage.base import Part
from app.storage.disk import DiskStore
from app.storage.keys import new_key
from tests.storage.disk.door import PROJECT, SIGNING_KEY
from tests.storage.under_test import Finished, Upload

DIED = 9
"""The exit code of a process that was made to die."""


def open_store(root: Path) -> DiskStore:
    """The store below this folder, as any process would open it."""
    return DiskStore(root, SIGNING_KEY, lambda: "http://traces.example")


def send(store: DiskStore, *contents: bytes) -> tuple[Upload, list[Part]]:
    """An open upload of these parts."""
    key = new_key()
    upload = Upload(key, store.begin(key, sum(map(len, contents))))
    parts = enumerate(contents, start=1)
    return upload, [store.write_part(key, upload.upload_id, number, [data]) for number, data in parts]


def make(store: DiskStore, *contents: bytes) -> Finished:
    """A finished object of these parts."""
    upload, parts = send(store, *contents)
    return Finished(upload, parts, store.finish(upload.key, upload.upload_id, parts))


def bytes_of(store: DiskStore, key: str, start: int = 0, length: int | None = None) -> bytes:
    """The object's bytes."""
    return b"".join(store.read(key, start, length))


def files_below(root: Path) -> list[Path]:
    """Every file of the store but its locks."""
    return sorted(path for path in root.rglob("*") if path.is_file() and path.parent.name != "locks")


def segment_file(root: Path, key: str, number: int = 1) -> Path:
    """The file of one part of an open upload or an object."""
    [path] = (path for path in root.rglob(str(number)) if path.parent.name.startswith(key.rsplit("/", 1)[-1]))
    return path


class OtherProcess:
    """Another process that is ready to do something to the store; see `tests.storage.disk.other_process`."""

    def __init__(self, root: Path, action: str, upload: Upload, *, dies_before: int = 0) -> None:
        words = [str(root), action, upload.key, upload.upload_id, str(dies_before)]
        command = [sys.executable, "-m", "tests.storage.disk.other_process", *words]
        self._process = Popen(command, cwd=PROJECT, stdin=PIPE, stdout=PIPE, text=True, bufsize=1)
        assert self._read() == "ready"

    def go(self) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")

    def said(self) -> tuple[str, int]:
        """What it printed last, and its exit code."""
        output, _ = self._process.communicate()
        return output.strip(), self._process.returncode

    def kill_when(self, line: str) -> None:
        """Let it print this line, then nothing more."""
        assert self._read() == line
        self._process.kill()
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def run_other_process(root: Path, action: str, upload: Upload, *, dies_before: int = 0) -> tuple[str, int]:
    """What such a process printed, and its exit code."""
    process = OtherProcess(root, action, upload, dies_before=dies_before)
    process.go()
    return process.said()
