"""Completions of one session by many, slow stores, hang-ups and deaths (C5-C7, C9)."""

import threading
import time
from collections.abc import Callable

import pytest
from flask import Flask

from app.models.tracesets import LibraryFile, Traceset
from app.services.completion import BEING_COMPLETED
from tests.conftest import MakeApp, PeopleOf
from tests.functional.conftest import FaultyStore
from tests.servers.http_proxy import Fault, Rule
from tests.support.api import JSON, Api, ok, refused
from tests.support.database import assert_counts_right, column
from tests.support.server import until
from tests.support.upkeep import at_once, stored_keys, sweep

CONTENTS = {f"rank_{i}.et": b"%d" % i * 100 for i in range(6)}


def opened_by(owner: Api, contents: dict[str, bytes] = CONTENTS) -> tuple[JSON, list[JSON]]:
    session = owner.open({name: len(content) for name, content in contents.items()})
    return session, owner.send(session, contents)


def is_finish(method: str, query: str) -> bool:
    return method == "POST" and "uploadId" in query


def slow_finish(seconds: float) -> Rule:
    """The store takes its time to finish each upload."""
    return lambda method, _, query: seconds if is_finish(method, query) else None


def assert_ready(app: Flask, owner: Api, session: JSON, contents: dict[str, bytes] = CONTENTS) -> None:
    """It holds every byte, and every file is counted once."""
    assert owner.show(session["tracesetId"])["status"] == "ready"
    for name, content in contents.items():
        assert owner.read(session["tracesetId"], name) == content
    assert set(column(app, LibraryFile.ref_count)) == {1}
    assert_counts_right(app)


class Unwatched:
    """A completion that somebody else has asked for, in a thread of its own."""

    def __init__(self, owner: Api, session: JSON, files: list[JSON]) -> None:
        self.status = 0
        self._thread = threading.Thread(target=self._run, args=(owner, session, files))
        self._thread.start()

    def _run(self, owner: Api, session: JSON, files: list[JSON]) -> None:
        self.status = owner.complete(session, files).status_code

    def join(self) -> int:
        """What it was answered."""
        self._thread.join(30)
        return self.status


def test_of_thirty_two_at_once_one_completes(app: Flask, owner: Api) -> None:
    session, files = opened_by(owner)

    answers = at_once(32, lambda _: owner.complete(session, files))

    statuses = [answer.status_code for answer in answers]
    assert statuses.count(201) == 1
    assert set(statuses) <= {200, 201, 409}
    for answer in answers:
        if answer.status_code == 409:
            refused(answer, 409, exactly=BEING_COMPLETED)
    assert_ready(app, owner, session)


def test_two_hosts_are_as_one(make_app: MakeApp, people_of: PeopleOf) -> None:
    apps = [make_app(), make_app()]
    owners = [people_of(app).owner for app in apps]
    session, files = opened_by(owners[0])

    statuses = [answer.status_code for answer in at_once(16, lambda i: owners[i % 2].complete(session, files))]

    assert statuses.count(201) == 1
    assert set(statuses) <= {200, 201, 409}
    assert_ready(apps[1], owners[1], session)


def test_many_sessions_at_once_do_not_disturb_each_other(app: Flask, owner: Api) -> None:
    opened = [opened_by(owner, {f"of {i}": b"%d" % i, "same": b"s"}) for i in range(8)]

    answers = at_once(8, lambda i: owner.complete(*opened[i]))

    assert [answer.status_code for answer in answers] == [201] * 8
    for i, (session, _) in enumerate(opened):
        assert owner.read(session["tracesetId"], f"of {i}") == b"%d" % i
    assert_counts_right(app)


@pytest.mark.parametrize("rival", ["end", "delete"])
def test_a_completion_and_an_ending_at_once_come_to_one_end(app: Flask, owner: Api, rival: str) -> None:
    session, files = opened_by(owner)
    path = f"/tracesets/upload-url/{session['uploadId']}" if rival == "end" else f"/tracesets/{session['tracesetId']}"

    def act(i: int) -> int:
        return (owner.complete(session, files) if i % 2 else owner.delete(path)).status_code

    statuses = at_once(6, act)

    assert set(statuses) <= {200, 201, 204, 400, 404, 409}
    sweep(app)
    [status] = column(app, Traceset.status)
    assert status in {"end": ("ready", "upload_failed"), "delete": ("deleted",)}[rival]
    assert (len(column(app, LibraryFile.key)) == len(CONTENTS)) == (status == "ready")
    assert_counts_right(app)


# -- a store that takes its time


@pytest.fixture
def slow_app(make_app: MakeApp, faulty_store: FaultyStore) -> Flask:
    """An app that waits half a second for a completion, before a store that may take longer."""
    return make_app(**faulty_store.settings, complete_timeout=0.5, complete_lease=1.2)


@pytest.fixture
def slow_owner(slow_app: Flask, people_of: PeopleOf) -> Api:
    """The owner there."""
    return people_of(slow_app).owner


def test_a_completion_goes_on_after_its_request_has_timed_out(
    slow_app: Flask, slow_owner: Api, faulty_store: FaultyStore
) -> None:
    session, files = opened_by(slow_owner)
    faulty_store.proxy.rule = slow_finish(1.5)

    refused(slow_owner.complete(session, files), 408)
    refused(slow_owner.complete(session, files), 409, exactly=BEING_COMPLETED)

    until(lambda: slow_owner.complete(session, files).status_code == 200)
    assert_ready(slow_app, slow_owner, session)


def test_a_completion_that_fails_after_the_timeout_answers_400_to_the_retry(
    slow_app: Flask, slow_owner: Api, faulty_store: FaultyStore
) -> None:
    session, files = opened_by(slow_owner)
    faulty_store.proxy.rule = lambda method, _, query: 1.0 if method == "GET" and "uploadId" in query else None

    refused(slow_owner.complete(session, files[1:]), 408)
    faulty_store.proxy.rule = lambda *_: None
    until(lambda: slow_owner.complete(session, files[1:]).status_code != 409)

    refused(slow_owner.complete(session, files[1:]), 400, exactly="Missing parts for file 'rank_0.et'")
    assert ok(slow_owner.complete(session, files), 201)["status"] == "ready"


def test_a_living_claim_keeps_others_out_for_longer_than_its_lease(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore
) -> None:
    app = make_app(**faulty_store.settings, complete_lease=0.6)
    owner = people_of(app).owner
    session, files = opened_by(owner)
    faulty_store.proxy.rule = slow_finish(2.5)
    began = time.monotonic()
    first = Unwatched(owner, session, files)
    until(lambda: any(is_finish(seen.method, seen.query) for seen in faulty_store.proxy.requests))

    statuses = set()
    while time.monotonic() < began + 2:
        statuses.add(owner.complete(session, files).status_code)

    assert statuses == {409}
    assert first.join() == 201
    assert_ready(app, owner, session)


def test_a_session_cannot_be_ended_while_it_is_completed(
    slow_app: Flask, slow_owner: Api, faulty_store: FaultyStore
) -> None:
    session, files = opened_by(slow_owner)
    faulty_store.proxy.rule = slow_finish(1.5)
    refused(slow_owner.complete(session, files), 408)

    refused(slow_owner.delete(f"/tracesets/upload-url/{session['uploadId']}"), 409, "completing")

    until(lambda: slow_owner.complete(session, files).status_code == 200)
    assert_ready(slow_app, slow_owner, session)


def test_a_traceset_that_is_deleted_while_it_is_completed_stays_deleted(
    slow_app: Flask, slow_owner: Api, faulty_store: FaultyStore
) -> None:
    session, files = opened_by(slow_owner)
    faulty_store.proxy.rule = slow_finish(1.5)
    first = Unwatched(slow_owner, session, files)
    until(lambda: any(is_finish(seen.method, seen.query) for seen in faulty_store.proxy.requests))

    assert slow_owner.delete(f"/tracesets/{session['tracesetId']}").status_code == 204

    assert first.join() == 408
    until(lambda: slow_owner.complete(session, files).status_code == 400)
    refused(slow_owner.complete(session, files), 400, "aborted")
    refused(slow_owner.get(f"/tracesets/{session['tracesetId']}"), 404)
    until(lambda: not any(t.name.startswith("complete-") for t in threading.enumerate()))
    sweep(slow_app)
    assert (faulty_store.keys(), faulty_store.open_uploads()) == ([], [])
    assert column(slow_app, LibraryFile.key) == []


def test_a_part_that_is_sent_again_meanwhile_is_told_and_the_session_stays_open(
    slow_app: Flask, slow_owner: Api, faulty_store: FaultyStore
) -> None:
    session, files = opened_by(slow_owner)
    faulty_store.proxy.rule = slow_finish(3.0)
    refused(slow_owner.complete(session, files), 408)
    files[0]["parts"][0]["etag"] = slow_owner.put(session["files"][0]["parts"][0]["url"], b"x" * 100)
    faulty_store.proxy.rule = lambda *_: None

    until(lambda: slow_owner.complete(session, files).status_code in (200, 201))

    assert_ready(slow_app, slow_owner, session, CONTENTS | {"rank_0.et": b"x" * 100})


def test_a_completion_moves_no_byte(make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore) -> None:
    owner = people_of(make_app(**faulty_store.settings)).owner
    session, files = opened_by(owner)
    n_before = len(faulty_store.proxy.requests)

    ok(owner.complete(session, files), 201)

    asked = faulty_store.proxy.requests[n_before:]
    # Of each file the parts are listed, it is finished and looked at.
    assert sorted(seen.method for seen in asked) == sorted(["GET", "POST", "HEAD"] * len(CONTENTS))
    assert all("uploadId" in seen.query for seen in asked if seen.method != "HEAD")


# -- a store that fails


def at_file(nth: int, is_it: Callable[[str, str], bool], fault: Fault) -> Rule:
    """Fails such a request for the nth of the files that come by, always."""
    seen: list[str] = []

    def rule(method: str, path: str, query: str) -> Fault:
        if not is_it(method, query):
            return None
        if path not in seen:
            seen.append(path)
        return fault if seen.index(path) == nth else None

    return rule


@pytest.mark.parametrize(
    ("is_it", "fault"),
    [
        (lambda method, query: method == "GET" and "uploadId" in query, 503),
        (lambda method, query: method == "GET" and "uploadId" in query, "drop"),
        (is_finish, 503),
        (is_finish, "drop"),
        (is_finish, (200, b"<?xml version='1.0'?><Error><Code>InternalError</Code></Error>")),
        (lambda method, query: method == "HEAD", 503),
    ],
    ids=["list 503", "list drop", "finish 503", "finish drop", "finish 200 error", "head 503"],
)
def test_a_store_that_fails_is_told_and_a_retry_finishes(
    make_app: MakeApp,
    people_of: PeopleOf,
    faulty_store: FaultyStore,
    is_it: Callable[[str, str], bool],
    fault: Fault,
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    session, files = opened_by(owner)
    faulty_store.proxy.rule = at_file(3, is_it, fault)

    answer = owner.complete(session, files)

    refused(answer, 503)
    assert int(answer.headers["Retry-After"]) >= 1
    assert owner.show(session["tracesetId"])["status"] == "uploading"
    faulty_store.proxy.rule = lambda *_: None
    assert ok(owner.complete(session, files), 201)["status"] == "ready"
    assert_ready(app, owner, session)


def test_an_answer_that_is_lost_is_asked_for_again(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    session, files = opened_by(owner)
    lost: set[str] = set()

    def lose_once(method: str, path: str, query: str) -> Fault:
        if not is_finish(method, query) or path in lost:
            return None
        lost.add(path)
        return "lose"

    faulty_store.proxy.rule = lose_once

    assert ok(owner.complete(session, files), 201)["status"] == "ready"
    assert_ready(app, owner, session)


def test_oversize_is_told_though_the_store_cannot_delete_now(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    session = owner.open({"a": 1})
    owner.put(session["files"][0]["parts"][0]["url"], b"too long")
    faulty_store.proxy.rule = lambda method, _, query: "drop" if method == "DELETE" or "delete" in query else None

    refused(owner.complete(session, []), 413)

    assert owner.show(session["tracesetId"])["status"] == "upload_failed"
    faulty_store.proxy.rule = lambda *_: None
    assert sweep(app)["unreferenced files"] == 1
    assert (faulty_store.open_uploads(), stored_keys(app)) == ([], [])
