"""Calls to the object store, many at a time.

One bounded pool per process: what goes once per file over a network must not wait for its neighbours, and a
thousand files must not open a thousand connections.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

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


def in_parallel(store: ObjectStore, function: Callable[[A], R], items: Iterable[A]) -> list[R]:
    """The function's answers in the order of the items.

    All calls have ended when this returns or raises, so that the caller may undo what they did. Where some fail,
    the first failure in the order of the items is raised; calls that had not begun by then are not made.
    """
    # Each call sees the app and the request id of the thread that asks.
    futures: list[Future[R]] = [pool_of(store).submit(copy_context().run, function, item) for item in items]
    first: BaseException | None = None
    answers: list[R] = []
    for future in futures:
        if first is not None and future.cancel():
            continue
        try:
            answers.append(future.result())
        except BaseException as exc:  # noqa: BLE001 - raised below, once no call is under way any more
            first = first or exc
    if first is not None:
        raise first
    return answers
