"""What the operator does, and what the store holds."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from flask import Flask

from app.extensions import object_store
from app.models.tracesets import LibraryFile
from app.services.sweep import sweep as sweep_once
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, column

T = TypeVar("T")


def sweep(app: Flask) -> dict[str, int]:
    """One sweep; what it did."""
    with app.app_context():
        return {what: count for what, count in sweep_once().items() if count}


def stored_keys(app: Flask) -> list[str]:
    """The keys of all finished objects."""
    with app.app_context():
        return [found.key for found in object_store().objects()]


def open_uploads(app: Flask) -> list[str]:
    """The keys of all uploads that are open in the store."""
    with app.app_context():
        return [upload.key for upload in object_store().open_uploads()]


def assert_nothing_left(app: Flask, clock: Clock) -> None:
    """Two sweeps later, a day on, the store holds what the database speaks of, and nothing else."""
    clock.pass_by(hours=25)
    for _ in range(2):
        sweep(app)
    assert_counts_right(app)
    assert open_uploads(app) == []
    assert sorted(stored_keys(app)) == sorted(column(app, LibraryFile.key))


def at_once(n: int, act: Callable[[int], T]) -> list[T]:
    """What n calls answer that begin together."""
    gate = threading.Barrier(n)

    def one(i: int) -> T:
        gate.wait()
        return act(i)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))
