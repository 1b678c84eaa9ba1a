"""Clocks that are set by an hour, back and forth, while things go on."""

import threading
from itertools import cycle

import pytest
from flask import Flask

from app.models.tracesets import LibraryFile
from app.models.uploads import SessionState, UploadSession
from tests.conftest import MakeApp, PeopleOf
from tests.functional.conftest import FaultyStore
from tests.support.api import JSON, Api, ok
from tests.support.clock import Clock
from tests.support.commits import Fault, failing_commit
from tests.support.database import assert_counts_right, column
from tests.support.server import until
from tests.support.upkeep import open_uploads, stored_keys, sweep

CONTENTS = {"a": b"a's bytes", "b": b"b's"}
SIZES = {name: len(content) for name, content in CONTENTS.items()}
STEPS = pytest.mark.parametrize("hours", [-1, 1], ids=["back", "forth"])


def opened_by(owner: Api) -> tuple[JSON, list[JSON]]:
    session = owner.open(SIZES)
    return session, owner.send(session, CONTENTS)


def assert_ready(app: Flask, owner: Api, session: JSON) -> None:
    assert {name: owner.read(session["tracesetId"], name) for name in CONTENTS} == CONTENTS
    assert len(stored_keys(app)) == len(CONTENTS)
    assert_counts_right(app)


@STEPS
def test_what_is_being_sent_can_be_completed(app: Flask, owner: Api, moved_clock: Clock, hours: int) -> None:
    session, files = opened_by(owner)
    moved_clock.pass_by(hours=hours)

    sweep(app)

    assert owner.complete(session, files).status_code == 201
    assert_ready(app, owner, session)


@STEPS
def test_a_completion_that_died_is_taken_over_at_once(app: Flask, owner: Api, moved_clock: Clock, hours: int) -> None:
    session, files = opened_by(owner)
    with failing_commit(app, 2, Fault(is_kept=False, is_lasting=True)):
        assert owner.complete(session, files).status_code == 503
    assert column(app, UploadSession.state) == [SessionState.COMPLETING]
    assert owner.complete(session, files).status_code == 409
    moved_clock.pass_by(hours=hours)

    assert owner.complete(session, files).status_code == 201
    assert_ready(app, owner, session)


@STEPS
def test_a_completion_that_goes_on_counts_once_whoever_takes_it_over(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore, moved_clock: Clock, hours: int
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    session, files = opened_by(owner)
    faulty_store.proxy.rule = lambda method, _, query: 1.5 if method == "POST" and "uploadId" in query else None
    statuses: list[int] = []
    first = threading.Thread(target=lambda: statuses.append(owner.complete(session, files).status_code))
    first.start()
    until(lambda: any(seen.method == "POST" and "uploadId" in seen.query for seen in faulty_store.proxy.requests))
    faulty_store.proxy.rule = lambda *_: None
    moved_clock.pass_by(hours=hours)

    statuses.append(owner.complete(session, files).status_code)
    first.join()

    assert sorted(statuses) in ([201, 409], [200, 201])
    assert owner.complete(session, files).status_code == 200
    assert_ready(app, owner, session)


def test_a_whole_life_by_a_clock_that_goes_back_and_forth(app: Flask, owner: Api, moved_clock: Clock) -> None:
    steps = cycle([1, -1, -1, 1])

    def step() -> None:
        moved_clock.pass_by(hours=next(steps))
        sweep(app)

    for _ in range(4):
        step()
        session, files = opened_by(owner)
        step()
        assert owner.complete(session, files).status_code == 201
        step()
        copy = ok(owner.post(f"/tracesets/{session['tracesetId']}/promote"), 201)
        step()
        assert owner.delete(f"/tracesets/{session['tracesetId']}").status_code == 204
        step()
        assert {name: owner.read(copy["id"], name) for name in CONTENTS} == CONTENTS
        assert owner.delete(f"/tracesets/{copy['id']}").status_code == 204

    sweep(app)
    assert (stored_keys(app), open_uploads(app), column(app, LibraryFile.key)) == ([], [], [])
