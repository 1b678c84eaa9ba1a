"""A process of its own that works on a disk store, for tests of what deaths and rivals do.

    python -m tests.storage.disk.other_process ROOT ACTION KEY UPLOAD_ID DIES_BEFORE

It says that it is ready, waits for a line on its standard input and begins. DIES_BEFORE: it ends with code 9, without
any clean-up, before its n-th call (from 1) that renames, removes or syncs; 0: it lives.
"""

import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from app.errors import StoreFull
from tests.storage.disk.on_disk import DIED, open_store

_TRACED = ("rename", "unlink", "rmdir", "fsync")
_MIB = 1024 * 1024


def main(root: str, action: str, key: str, upload_id: str, dies_before: str) -> None:
    """Do it, and print what comes of it."""
    store = open_store(Path(root))
    parts = store.parts(key, upload_id)
    actions: dict[str, Callable[[], object]] = {
        "finish": lambda: store.finish(key, upload_id, parts),
        "finish with other parts": lambda: store.finish(key, upload_id, []),
        "delete": lambda: store.delete([key]),
        "write forever": lambda: store.write_part(key, upload_id, 1, _endless()),
        "write on a full disk": lambda: store.write_part(key, upload_id, 1, _over_the_limit()),
    }
    print("ready", flush=True)
    sys.stdin.readline()
    _die_before(int(dies_before))
    try:
        print(actions[action]())
    except StoreFull as exc:
        print(exc.message)


def _die_before(call: int) -> None:
    """Make the process end before that call to the operating system."""
    calls = iter(range(1, sys.maxsize))

    def traced(function: Callable[..., Any]) -> Callable[..., Any]:
        def call_or_die(*args: Any, **kwargs: Any) -> Any:
            if next(calls) == call:
                os._exit(DIED)
            return function(*args, **kwargs)

        return call_or_die

    for name in _TRACED:
        setattr(os, name, traced(getattr(os, name)))


def _endless() -> Iterator[bytes]:
    """Says when the first bytes have been written, then waits to be killed."""
    yield bytes(_MIB)
    print("written", flush=True)
    sys.stdin.read()


def _over_the_limit() -> Iterator[bytes]:
    """More bytes than the kernel lets this process write to one file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MIB, _MIB))
    yield bytes(2 * _MIB)


if __name__ == "__main__":
    main(*sys.argv[1:])
