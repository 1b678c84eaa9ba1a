"""Calls to the object store, many at a time.

One bounded pool per process: what goes once per file over a network must not wait for its neighbours, and a
thousand files must not open a thousand connections.
"""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from app.errors import StoreFull, StoreUnavailable
from app.storage.base import ObjectStore

A = TypeVar("A")
R = TypeVar("R")

_pools: dict[int, ThreadPoolExecutor] = {}


def pool_of(store: ObjectStore) -> ThreadPoolExecutor:
    """This store's pool, made at the first use (so after a server has forked its workers)."""
    pool = _pools.get(id(store))
    if pool is None:
        pool = _pools.setdefault(id(store), ThreadPoolExecutor(store.concurrency, thread_name_prefix="store"))
    return pool


def in_parallel(store: ObjectStore, function: Callable[[A], R], items: Collection[A]) -> list[R]:
    """The function's answers in the order of the items.

    All calls have ended when this returns or raises, so that the caller may undo what they did. Once one has failed
    no further ones begin; of those that failed, the first in the order of the items is raised. A store that is full is
    no more use here than one that is away.
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
    wait([pool_of(store).submit(copy_context().run, work_off) for _ in workers])
    if failures:
        first = failures[min(failures)]
        raise StoreUnavailable(first.message) if isinstance(first, StoreFull) else first
    return [answers[i] for i in range(len(items))]
