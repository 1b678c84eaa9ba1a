"""The database goes away at each commit of each change: the same request again comes to the promised end."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.models.tracesets import Status, Traceset
from tests.conftest import MakeApp
from tests.support.api import JSON, Api, ok, refused
from tests.support.clock import Clock
from tests.support.commits import Fault, failing_commit
from tests.support.database import assert_counts_right, column
from tests.support.upkeep import assert_nothing_left, stored_keys, sweep

CONTENTS = {"a": b"a's bytes", "b": b"b's"}
SIZES = {name: len(content) for name, content in CONTENTS.items()}
LEASE_SECONDS = 60

FAULTS = {
    "refused": Fault(is_kept=False, is_lasting=False),
    "answer lost": Fault(is_kept=True, is_lasting=False),
    "away": Fault(is_kept=False, is_lasting=True),
}


@dataclass(frozen=True)
class Change:
    """A request that changes something.

    Attributes:
        prepare: makes what it is about, and gives the request.
        commits: how many it takes until it has happened.
        first, again: how it is answered when it happens, and when it has happened already.
        cleans_up: whether it tidies up afterwards, of whose failure nobody is told.
    """

    prepare: Callable[[Api], Callable[[], TestResponse]]
    commits: int
    first: int
    again: int
    cleans_up: bool = False


@pytest.fixture
def app(make_app: MakeApp) -> Flask:
    """An app on the quickest store, which plays no part here."""
    return make_app(s3_bucket=None)


@pytest.fixture
def owner(owner: Api) -> Api:
    """The owner, the use of whose token has been written down, so that no request begins with that."""
    ok(owner.get("/workspaces"))
    return owner


def opening(owner: Api) -> Callable[[], TestResponse]:
    return lambda: owner.post("/tracesets/upload-url", owner.request_of(SIZES), headers={"Idempotency-Key": "k"})


def completing(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(SIZES)
    files = owner.send(session, CONTENTS)
    return lambda: owner.complete(session, files)


def completing_oversize(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(dict.fromkeys(SIZES, 1))
    files = owner.send(session, CONTENTS)
    for file in session["files"]:
        owner.put(file["parts"][0]["url"], b"too long")
    return lambda: owner.complete(session, files)


def deleting(owner: Api) -> Callable[[], TestResponse]:
    traceset = owner.upload(CONTENTS)
    return lambda: owner.delete(f"/tracesets/{traceset['id']}")


def deleting_what_is_uploading(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(SIZES)
    return lambda: owner.delete(f"/tracesets/{session['tracesetId']}")


def ending(owner: Api) -> Callable[[], TestResponse]:
    session = owner.open(SIZES)
    return lambda: owner.delete(f"/tracesets/upload-url/{session['uploadId']}")


def promoting(owner: Api) -> Callable[[], TestResponse]:
    traceset = owner.upload(CONTENTS)
    return lambda: owner.post(f"/tracesets/{traceset['id']}/promote")


CHANGES = {
    "open": Change(opening, commits=2, first=200, again=200),
    "complete": Change(completing, commits=2, first=201, again=200),
    "complete oversize": Change(completing_oversize, commits=2, first=413, again=400, cleans_up=True),
    "delete": Change(deleting, commits=1, first=204, again=404),
    "delete uploading": Change(deleting_what_is_uploading, commits=1, first=204, again=404, cleans_up=True),
    "end": Change(ending, commits=1, first=204, again=204, cleans_up=True),
    "promote": Change(promoting, commits=1, first=201, again=200),
}
AT_EACH_COMMIT = [
    pytest.param(change, number, id=f"{name}, commit {number}")
    for name, change in CHANGES.items()
    for number in range(1, change.commits + 1)
]
WHILE_CLEANING = [pytest.param(change, id=name) for name, change in CHANGES.items() if change.cleans_up]


def until_settled(request: Callable[[], TestResponse], moved_clock: Clock) -> TestResponse:
    """The answer of a client that asks again, and waits out a claim that nobody holds any more."""
    answer = request()
    if answer.status_code == 409:
        moved_clock.pass_by(seconds=LEASE_SECONDS + 1)
        answer = request()
    return answer


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(("change", "number"), AT_EACH_COMMIT)
def test_a_change_whose_commit_fails_is_healed_by_the_same_request(
    app: Flask, owner: Api, moved_clock: Clock, change: Change, number: int, fault: Fault
) -> None:
    request = change.prepare(owner)

    with failing_commit(app, number, fault) as failing:
        answer = request()

    assert failing.has_failed
    refused(answer, 503)
    assert int(answer.headers["Retry-After"]) >= 1
    has_happened = fault.is_kept and number == change.commits
    assert until_settled(request, moved_clock).status_code == (change.again if has_happened else change.first)
    assert_counts_right(app)
    assert_nothing_left(app, moved_clock)


@pytest.mark.parametrize("change", WHILE_CLEANING)
def test_what_has_happened_is_told_though_the_database_fails_afterwards(
    app: Flask, owner: Api, moved_clock: Clock, change: Change
) -> None:
    request = change.prepare(owner)

    with failing_commit(app, change.commits + 1, FAULTS["away"]) as failing:
        answer = request()

    assert failing.has_failed
    assert answer.status_code == change.first
    assert until_settled(request, moved_clock).status_code == change.again
    assert_nothing_left(app, moved_clock)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("number", [1, 2])
def test_an_upload_whose_opening_was_asked_for_again_can_be_sent_and_completed(
    app: Flask, owner: Api, moved_clock: Clock, number: int, fault: Fault
) -> None:
    request = opening(owner)
    with failing_commit(app, number, fault):
        refused(request(), 503)

    session = ok(request())

    assert ok(owner.complete(session, owner.send(session, CONTENTS)), 201)["status"] == "ready"
    assert column(app, Traceset.status) == [Status.READY]
    assert owner.read(session["tracesetId"], "a") == CONTENTS["a"]
    assert_nothing_left(app, moved_clock)


@pytest.mark.parametrize("number", range(1, 8))
def test_a_sweep_that_loses_the_database_is_healed_by_the_next(
    app: Flask, owner: Api, moved_clock: Clock, number: int
) -> None:
    kept = owner.upload({"kept": b"kept"}, ttlDays=30)
    owner.delete(f"/tracesets/{owner.upload({'deleted': b'deleted'})['id']}")
    owner.upload({"expires": b"expires"}, ttlDays=1)
    sessions: list[JSON] = [owner.open({"left": 4}) for _ in range(2)]
    moved_clock.pass_by(hours=25)

    with failing_commit(app, number, FAULTS["answer lost"]) as failing:
        sweep(app)

    assert failing.has_failed
    assert_nothing_left(app, moved_clock)
    assert {owner.show(session["tracesetId"])["status"] for session in sessions} == {"upload_failed"}
    assert owner.read(kept["id"], "kept") == b"kept"
    assert len(stored_keys(app)) == 1
