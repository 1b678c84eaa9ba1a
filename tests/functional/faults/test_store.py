"""A store that fails in every way while it is asked for anything: the promised answer, and healing by the next request.

How single calls of the store are told is shown beside the store; here the whole application stands before it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.storage.s3 import S3Store
from tests.conftest import MakeApp, PeopleOf
from tests.functional.conftest import FaultyStore
from tests.servers.http_proxy import Fault
from tests.support.api import Api, ok, refused
from tests.support.clock import Clock
from tests.support.upkeep import assert_nothing_left, sweep

CONTENTS = {"a": b"a's bytes", "b": b"b's"}
SIZES = {name: len(content) for name, content in CONTENTS.items()}

ERROR = b"<?xml version='1.0'?><Error><Code>InternalError</Code></Error>"
PAGE = b"<html><body>Please sign in</body></html>"
"""What a proxy may say in the store's place."""


def faults(**named: Fault) -> pytest.MarkDecorator:
    """Each of these, by its name."""
    return pytest.mark.parametrize("fault", named.values(), ids=named)


@dataclass(frozen=True)
class Question:
    """A request for which the store is asked.

    Attributes:
        prepare: makes what it is about, and gives the request.
        healed: how it is answered once the store is sound again.
        faulty: how it is answered before.
    """

    prepare: Callable[[Api], Callable[[], TestResponse]]
    healed: int = 200
    faulty: int = 503


def opening(owner: Api) -> Callable[[], TestResponse]:
    return lambda: owner.post("/tracesets/upload-url", owner.request_of(SIZES), headers={"Idempotency-Key": "k"})


def showing_the_session(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(SIZES)
    owner.send(session, CONTENTS)
    return lambda: owner.get(f"/tracesets/upload-url/{session['uploadId']}")


def completing(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(SIZES)
    files = owner.send(session, CONTENTS)
    return lambda: owner.complete(session, files)


def ending(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(SIZES)
    owner.send(session, CONTENTS)
    return lambda: owner.delete(f"/tracesets/upload-url/{session['uploadId']}")


def deleting(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(SIZES)
    owner.send(session, CONTENTS)
    return lambda: owner.delete(f"/tracesets/{session['tracesetId']}")


def validating(owner: Api, **body: object) -> Callable[[], TestResponse]:
    traceset = owner.upload(CONTENTS)
    return lambda: owner.post(f"/tracesets/{traceset['id']}/validate", body)


def validating_deeply(owner: Api) -> Callable[[], TestResponse]:
    return validating(owner, deep=True)


READING = {
    "show the session": Question(showing_the_session),
    "validate": Question(validating),
    "validate deeply": Question(validating_deeply),
}
CHANGING = {
    "open": Question(opening),
    "complete": Question(completing, healed=201),
    # What the store cannot forget now, a sweep makes it forget.
    "end": Question(ending, healed=204, faulty=204),
    "delete": Question(deleting, healed=404, faulty=204),
}


@pytest.fixture
def app(make_app: MakeApp, faulty_store: FaultyStore) -> Flask:
    """An app before a store that fails on demand."""
    return make_app(**faulty_store.settings)


@pytest.fixture
def owner(app: Flask, people_of: PeopleOf) -> Api:
    """The owner at that app."""
    return people_of(app).owner


@contextmanager
def failing(app: Flask, faulty_store: FaultyStore, fault: Fault, *, shows: bool = False) -> Iterator[None]:
    """The store fails, and the app does not wait long for it; `shows`: it does show what it has."""
    sound = app.extensions["object_store"]
    app.extensions["object_store"] = S3Store(
        bucket=faulty_store.bucket,
        endpoint_url=faulty_store.settings["s3_endpoint_url"],
        public_endpoint_url=faulty_store.settings["s3_public_endpoint_url"],
        addressing_style="path",
        read_timeout=0.3,
        tries=1,
    )
    faulty_store.proxy.rule = lambda method, *_: None if shows and method in ("GET", "HEAD") else fault
    yield
    faulty_store.proxy.rule = lambda *_: None
    app.extensions["object_store"] = sound


def assert_promised(answer: TestResponse, status: int) -> None:
    """An answer that says "not now" also says when."""
    if status == 503:
        refused(answer, 503)
        assert int(answer.headers["Retry-After"]) >= 1
    assert answer.status_code == status


@faults(page=(200, PAGE), silence=600.0)
@pytest.mark.parametrize("question", (READING | CHANGING).values(), ids=READING | CHANGING)
def test_what_a_store_that_fails_cannot_say_is_said_by_the_next_request(
    app: Flask, owner: Api, faulty_store: FaultyStore, moved_clock: Clock, question: Question, fault: Fault
) -> None:
    request = question.prepare(owner)

    with failing(app, faulty_store, fault):
        assert_promised(request(), question.faulty)

    assert request().status_code == question.healed
    assert_nothing_left(app, moved_clock)


@faults(status=500, error_behind_200=(200, ERROR), silence=600.0, answer_lost="lose")
@pytest.mark.parametrize("question", CHANGING.values(), ids=CHANGING)
def test_what_a_store_that_changes_nothing_was_to_do_is_done_by_the_next_request_or_a_sweep(
    app: Flask, owner: Api, faulty_store: FaultyStore, moved_clock: Clock, question: Question, fault: Fault
) -> None:
    request = question.prepare(owner)

    with failing(app, faulty_store, fault, shows=True):
        assert_promised(request(), question.faulty)

    assert request().status_code == question.healed
    assert_nothing_left(app, moved_clock)


@faults(status=503, page=(200, PAGE), answer_lost="lose")
def test_a_sweep_before_a_store_that_fails_leaves_its_work_to_the_next(
    app: Flask, owner: Api, faulty_store: FaultyStore, moved_clock: Clock, fault: Fault
) -> None:
    kept = owner.upload({"kept": b"kept"})
    owner.delete(f"/tracesets/{owner.upload({'deleted': b'deleted'})['id']}")
    expired = owner.open({"left": 4})
    moved_clock.pass_by(hours=25)

    with failing(app, faulty_store, fault):
        sweep(app)

    assert owner.show(expired["tracesetId"])["status"] == "upload_failed"
    assert_nothing_left(app, moved_clock)
    assert owner.read(kept["id"], "kept") == b"kept"


def test_a_store_whose_etags_are_no_digests_serves_as_well(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore, moved_clock: Clock
) -> None:
    proxy = faulty_store.proxy
    proxy.reword_answer = lambda text: re.sub(rb'[0-9a-f]{32}(?=(-[0-9]+)?("|&quot;))', rb"Opaque/\g<0>=", text)
    proxy.reword_request = lambda text: re.sub(rb"Opaque/([0-9a-f]{32})=", rb"\1", text)
    app = make_app(**faulty_store.settings | {"s3_public_endpoint_url": proxy.endpoint})
    owner = people_of(app).owner
    session = owner.open(SIZES)
    files = owner.send(session, CONTENTS)
    assert all("Opaque/" in part["etag"] for file in files for part in file["parts"])
    shown = ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))
    assert all("Opaque/" in part["etag"] for file in shown["files"] for part in file["parts"])
    lost = iter(["lose"])
    proxy.rule = lambda method, _, query: next(lost, None) if method == "POST" and "uploadId" in query else None

    traceset = ok(owner.complete(session, files), 201)

    assert {name: owner.read(traceset["id"], name) for name in CONTENTS} == CONTENTS
    assert ok(owner.post(f"/tracesets/{traceset['id']}/validate", {"deep": True}))["valid"] is True
    assert ok(owner.post(f"/tracesets/{traceset['id']}/promote"), 201)["status"] == "ready"
    assert_nothing_left(app, moved_clock)
