"""Calls to the store, many at a time."""

import gc
import threading
import time

import pytest
from flask import Flask, current_app

from app.errors import StoreFull, StoreUnavailable
from app.extensions import object_store
from app.services.store_calls import in_parallel
from app.storage.base import ObjectStore
from tests.conftest import MakeApp


@pytest.fixture
def store(app: Flask) -> ObjectStore:
    """A store whose pool the calls use; none of them asks it."""
    with app.app_context():
        return object_store()


def test_answers_come_in_the_order_of_the_items(store: ObjectStore) -> None:
    def late_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0)
        return number * number

    assert in_parallel(store, late_first, range(100)) == [number * number for number in range(100)]
    assert in_parallel(store, late_first, []) == []


def test_no_more_calls_are_under_way_than_serve_the_store_best(store: ObjectStore) -> None:
    gauge, peak, lock = 0, 0, threading.Lock()

    def call(_: int) -> None:
        nonlocal gauge, peak
        with lock:
            gauge += 1
            peak = max(peak, gauge)
        time.sleep(0.002)
        with lock:
            gauge -= 1

    in_parallel(store, call, range(200))

    assert 1 < peak <= store.concurrency


def test_calls_see_the_app_of_who_asks(app: Flask, store: ObjectStore) -> None:
    with app.app_context():
        seen = in_parallel(store, lambda _: current_app.name, range(3))

    assert seen == [app.name] * 3


def test_of_several_failures_the_first_in_order_is_raised_when_all_calls_have_ended(store: ObjectStore) -> None:
    both = threading.Barrier(2)
    ended = []

    def call(number: int) -> None:
        both.wait(10)
        time.sleep(0.05 if number == 0 else 0)
        ended.append(number)
        raise StoreUnavailable(f"call {number}")

    with pytest.raises(StoreUnavailable, match="call 0"):
        in_parallel(store, call, range(2))
    assert sorted(ended) == [0, 1]


def test_after_a_failure_no_further_call_begins(store: ObjectStore) -> None:
    begun = []

    def call(number: int) -> None:
        begun.append(number)
        raise StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        in_parallel(store, call, range(1000))
    assert len(begun) <= store.concurrency


def test_a_full_store_is_no_more_use_than_one_that_is_away(store: ObjectStore) -> None:
    def call(_: int) -> None:
        raise StoreFull("The file store is full")

    with pytest.raises(StoreUnavailable, match="full"):
        in_parallel(store, call, range(3))


def test_reading_whole_files_keeps_nobody_else_from_the_store(store: ObjectStore) -> None:
    enough = threading.Event()
    reading = threading.Thread(
        target=in_parallel, args=(store, lambda _: enough.wait(30), range(100)), kwargs={"is_reading": True}
    )
    reading.start()

    answers = in_parallel(store, lambda number: number, range(100))

    assert answers == list(range(100))
    assert reading.is_alive()
    enough.set()
    reading.join()


def test_a_pool_ends_with_its_store(make_app: MakeApp) -> None:
    app = make_app()
    in_parallel(app.extensions["object_store"], lambda number: number, range(8))
    before = threading.active_count()

    app.extensions["object_store"] = app.extensions["readiness"] = None
    gc.collect()

    deadline = time.monotonic() + 10
    while threading.active_count() >= before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() < before
