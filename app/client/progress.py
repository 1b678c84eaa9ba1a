"""Progress for people: bars on a terminal, a line for each file elsewhere; on standard error."""

import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from app.client.target import shown
from app.client.watcher import Watcher

_OWN_BAR = 8 * 1024 * 1024
"""Bytes; a smaller file is gone before its bar would be seen."""


class Reporter(Watcher):
    """A watcher that shows something as long as it is entered.

    Attributes:
        upload_id: of the session, once there is one.
    """

    upload_id: str | None = None

    def opened(self, upload_id: str) -> None:
        self.upload_id = upload_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what is shown."""


class Lines(Reporter):
    """One line for each file that is finished.

    Args:
        verb: what happens to a file, such as `sent`.
    """

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._sizes: Mapping[str, int] = {}
        self._n_finished = 0
        self._lock = threading.Lock()

    def begin(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes

    def finished(self, name: str) -> None:
        with self._lock:
            self._n_finished += 1
            told = f"{self._verb} {self._n_finished}/{len(self._sizes)} {shown(name)} ({readable(self._sizes[name])})\n"
        sys.stderr.write(told)


class Bars(Reporter):
    """A bar for everything, and one for each larger file that is on its way."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._lock = threading.Lock()
        self._sizes: Mapping[str, int] = {}
        self._n_finished = 0
        self._bars: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._all: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._all = self._progress.add_task(self._total_text(), total=sum(sizes.values()))

    def moved(self, name: str, size: int) -> None:
        if self._all is not None and size:
            self._progress.advance(self._all, size)
            if self._sizes[name] >= _OWN_BAR:
                self._progress.advance(self._bar(name), size)

    def finished(self, name: str) -> None:
        with self._lock:
            self._n_finished += 1
            bar = self._bars.pop(name, None)
        if bar is not None:
            self._progress.remove_task(bar)
        if self._all is not None:
            self._progress.update(self._all, description=self._total_text())

    def _bar(self, name: str) -> TaskID:
        with self._lock:
            if name not in self._bars:
                self._bars[name] = self._progress.add_task(shown(name)[-40:], total=self._sizes[name])
            return self._bars[name]

    def _total_text(self) -> str:
        return f"{self._verb} {self._n_finished}/{len(self._sizes)} files"


def reporter(verb: str, *, is_quiet: bool) -> Reporter:
    """What fits where standard error goes."""
    if is_quiet:
        return Reporter()
    return Bars(verb) if sys.stderr.isatty() else Lines(verb)


def readable(size: int) -> str:
    """A number of bytes for people: `512 B`, `1.5 GiB`."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
