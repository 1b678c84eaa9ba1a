"""Who holds a session, and for how long (C5, C7)."""

from collections.abc import Iterator

import pytest
from flask import Flask

from app.models.uploads import SessionState, UploadSession
from app.services import sessions
from app.transactions import transaction
from tests.support.api import Api
from tests.support.clock import Clock
from tests.support.database import column
from tests.support.upkeep import at_once


@pytest.fixture
def upload_id(app: Flask, owner: Api) -> Iterator[str]:
    """An open session, within the app's context."""
    session = owner.open({"a": 1})
    with app.app_context():
        yield session["uploadId"]


def state(app: Flask) -> SessionState:
    [found] = column(app, UploadSession.state)
    return SessionState(found)


def renew(upload_id: str, claim: str) -> bool:
    with transaction() as session:
        return sessions.renew(session, upload_id, claim)


def finish(upload_id: str, claim: str) -> bool:
    with transaction() as session:
        return sessions.finish(session, upload_id, claim)


def fail(upload_id: str, claim: str) -> bool:
    with transaction() as session:
        return sessions.fail(session, upload_id, claim, "why")


def end(upload_id: str, ending: SessionState = SessionState.ABORTED) -> bool:
    with transaction() as session:
        return sessions.end(session, upload_id, ending, "why")


def held(claim: str | None) -> str:
    assert claim is not None
    return claim


def test_of_any_number_that_claim_one_succeeds(app: Flask, upload_id: str) -> None:
    def claim(_: int) -> str | None:
        with app.app_context():
            return sessions.claim(upload_id)

    claims = at_once(8, claim)

    assert len([name for name in claims if name]) == 1
    assert state(app) is SessionState.COMPLETING


def test_a_claim_lapses_after_its_lease_and_not_before(upload_id: str, moved_clock: Clock) -> None:
    held(sessions.claim(upload_id))
    moved_clock.pass_by(seconds=59)
    assert sessions.claim(upload_id) is None
    moved_clock.pass_by(seconds=2)

    assert sessions.claim(upload_id) is not None


def test_a_claim_that_is_renewed_lives_on(upload_id: str, moved_clock: Clock) -> None:
    claim = held(sessions.claim(upload_id))
    for _ in range(5):
        moved_clock.pass_by(seconds=50)
        assert renew(upload_id, claim)

    assert sessions.claim(upload_id) is None


def test_whoever_lost_a_claim_can_do_nothing_with_it(app: Flask, upload_id: str, moved_clock: Clock) -> None:
    lost = held(sessions.claim(upload_id))
    moved_clock.pass_by(seconds=61)
    mine = held(sessions.claim(upload_id))

    assert not renew(upload_id, lost)
    assert not finish(upload_id, lost)
    assert not fail(upload_id, lost)
    sessions.release(upload_id, lost)
    assert state(app) is SessionState.COMPLETING
    assert finish(upload_id, mine)
    assert state(app) is SessionState.COMPLETED


def test_a_released_session_is_open_to_the_next(app: Flask, upload_id: str) -> None:
    sessions.release(upload_id, held(sessions.claim(upload_id)))

    assert state(app) is SessionState.OPEN
    assert sessions.claim(upload_id) is not None


def test_a_session_that_is_held_is_not_ended_but_overruled(app: Flask, upload_id: str, moved_clock: Clock) -> None:
    claim = held(sessions.claim(upload_id))
    assert not end(upload_id)
    with transaction() as session:
        sessions.overrule(session, upload_id, SessionState.ABORTED, "its traceset is going")

    assert state(app) is SessionState.ABORTED
    assert not finish(upload_id, claim)
    moved_clock.pass_by(seconds=61)
    assert sessions.claim(upload_id) is None


def test_a_session_whose_holder_died_may_be_ended(app: Flask, upload_id: str, moved_clock: Clock) -> None:
    lost = held(sessions.claim(upload_id))
    moved_clock.pass_by(seconds=61)

    assert end(upload_id, SessionState.EXPIRED)

    assert not finish(upload_id, lost)
    assert state(app) is SessionState.EXPIRED


def test_an_expired_session_is_not_claimed_but_a_completion_that_died_in_it_is(
    app: Flask, upload_id: str, owner: Api, moved_clock: Clock
) -> None:
    held(sessions.claim(upload_id))
    other = owner.open({"a": 1})["uploadId"]
    moved_clock.pass_by(hours=25)

    assert sessions.claim(other) is None
    assert sessions.claim(upload_id) is not None


@pytest.mark.parametrize("ending", [SessionState.ABORTED, SessionState.EXPIRED])
def test_what_has_ended_stays_ended(app: Flask, upload_id: str, ending: SessionState) -> None:
    assert end(upload_id, ending)

    assert sessions.claim(upload_id) is None
    assert not end(upload_id, SessionState.ABORTED)
    with transaction() as session:
        sessions.overrule(session, upload_id, SessionState.ABORTED, "too late")
    assert state(app) is ending
