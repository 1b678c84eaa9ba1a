"""Calls to the object store, many at a time.

Bounded pools of threads per process: what goes once per file over a network must not wait for its neighbours, and a
thousand files must not open a thousand connections. Reading whole files has a small pool of its own, so that a deep
validation of a terabyte does not keep everybody else from the store.
"""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar
from weakref import WeakKeyDictionary

from app.errors import StoreFull, StoreUnavailable
from app.storage.base import ObjectStore

A = TypeVar("A")
R = TypeVar("R")

READERS = 4
"""Threads that read whole files."""

_Pools = WeakKeyDictionary[ObjectStore, ThreadPoolExecutor]
_callers: _Pools = WeakKeyDictionary()
_readers: _Pools = WeakKeyDictionary()


def pool_of(store: ObjectStore, *, is_reading: bool = False) -> ThreadPoolExecutor:
    """This store's pool, made at the first use (so after a server has forked its workers), and ended with the store."""
    pools = _readers if is_reading else _callers
    pool = pools.get(store)
    if pool is None:
        n_threads = READERS if is_reading else store.concurrency
        pool = pools.setdefault(store, ThreadPoolExecutor(n_threads, thread_name_prefix="store"))
    return pool


def in_parallel(
    store: ObjectStore, function: Callable[[A], R], items: Collection[A], *, is_reading: bool = False
) -> list[R]:
    """The function's answers in the order of the items.

    All calls have ended when this returns or raises, so that the caller may undo what they did. Once one has failed
    no further ones begin; of those that failed, the first in the order of the items is raised. A store that is full is
    no more use here than one that is away.

    Args:
        store: that the calls go to.
        function: makes one call.
        items: what it is called with.
        is_reading: each call reads a whole file.
    """
    todo = enumerate(items)  # each step of it is one instruction of the interpreter, so threads may share it
    answers: dict[int, R] = {}
    failures: dict[int, BaseException] = {}

    def work_off() -> None:
        for i, item in todo:
            if failures:
                return
            try:
                answers[i] = function(item)
            except BaseException as exc:  # noqa: BLE001 - raised below, once no call is under way any more
                failures[i] = exc

    # Each call sees the app and the request id of the thread that asks.
    workers = range(min(store.concurrency, len(items)))
    pool = pool_of(store, is_reading=is_reading)
    wait([pool.submit(copy_context().run, work_off) for _ in workers])
    if failures:
        first = failures[min(failures)]
        raise StoreUnavailable(first.message) if isinstance(first, StoreFull) else first
    return [answers[i] for i in range(len(items))]
