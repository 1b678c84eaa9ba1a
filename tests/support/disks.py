"""Disks that take nothing more."""

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

FILLING = ("mkdir", "write", "fsync")
"""What a full disk refuses: whatever needs room."""
CHANGING = (*FILLING, "rename", "unlink", "rmdir", "utime")
"""What a disk refuses that is mounted for reading alone."""


@contextmanager
def refusing(folder: Path, code: int, calls: tuple[str, ...]) -> Iterator[None]:
    """The operating system refuses these calls, and making files, below the folder.

    Args:
        folder: everything below it is on that disk.
        code: the system's error, as `errno.ENOSPC`.
        calls: names of functions of `os`.
    """

    def is_there(place: Any) -> bool:
        path = Path(f"/proc/self/fd/{place}").readlink() if isinstance(place, int) else Path(place)
        return path.is_relative_to(folder)

    def refuse(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(place: Any, *arguments: Any, **more: Any) -> Any:
            if is_there(place):
                raise OSError(code, os.strerror(code))
            return real(place, *arguments, **more)

        return call

    def making(real: Callable[..., Any], makes: Callable[..., bool]) -> Callable[..., Any]:
        def call(place: Any, *arguments: Any, **more: Any) -> Any:
            if makes(*arguments, **more) and is_there(place) and not Path(place).exists():
                raise OSError(code, os.strerror(code))
            return real(place, *arguments, **more)

        return call

    by_mode = making(io.open, lambda mode="r", *_, **__: mode[0] in "wxa")
    by_flags = making(os.open, lambda flags=0, *_, **__: bool(flags & os.O_CREAT))
    with (
        patch.multiple(os, **{name: refuse(getattr(os, name)) for name in calls}, open=by_flags),
        patch.object(io, "open", by_mode),
        patch.object(builtins, "open", by_mode),
    ):
        yield


full = (errno.ENOSPC, FILLING)
read_only = (errno.EROFS, CHANGING)
