"""The record of who did what, when and from where."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.domain.access import Caller
from app.models.events import Event, EventKind
from app.models.people import ApiToken, User
from app.services import people
from app.transactions import reading
from tests.conftest import People
from tests.support.api import JSON, Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import column
from tests.support.hidden import assert_hidden
from tests.support.upkeep import at_once, sweep

OWNER, EDITOR, STRANGER, ADMIN = (f"{name}@tests.example" for name in ("owner", "editor", "stranger", "admin"))
UNIVERSAL = "workspace_universal"


def events_of(caller: Api, traceset_id: str, **query: Any) -> list[JSON]:
    items: list[JSON] = ok(caller.get(f"/tracesets/{traceset_id}/events", **query))["items"]
    return items


def kept(app: Flask, kind: EventKind) -> list[tuple[str | None, Event]]:
    """The events of one kind in the database, oldest first, each with its actor's address."""
    statement = select(User.email, Event).outerjoin_from(Event, User, User.id == Event.actor_id)
    with app.app_context(), reading() as session:
        rows = session.execute(statement.where(Event.kind == kind).order_by(Event.id))
        return [(email, event) for email, event in rows]


def user_id(app: Flask, email: str) -> int:
    [found] = column(app, User.id, User.email == email)
    return int(found)


# -- the life of a traceset


def test_an_upload_is_told_with_who_when_and_from_where(people_here: People, moved_clock: Clock) -> None:
    owner, editor = people_here.owner, people_here.editor
    request = owner.request_of({"a": 1})
    opened = ok(owner.post("/tracesets/upload-url", request, headers={"X-Request-Id": "the-opening"}))
    id_, upload_id = opened["tracesetId"], opened["uploadId"]
    named = {"uploadId": upload_id, "files": owner.send(opened, {"a": b"x"})}
    moved_clock.pass_by(minutes=10)
    completed = editor.post("/tracesets/upload-url/complete", named)

    page = ok(owner.get(f"/tracesets/{id_}/events"))

    second, first = page["items"]
    assert first == {
        "id": first["id"],
        "at": first["at"],
        "kind": "created",
        "actor": OWNER,
        "remoteAddress": "127.0.0.1",
        "requestId": "the-opening",
        "detail": {"upload_id": upload_id},
    }
    assert second == {
        "id": second["id"],
        "at": second["at"],
        "kind": "completed",
        "actor": EDITOR,
        "remoteAddress": "127.0.0.1",
        "requestId": completed.headers["X-Request-Id"],
        "detail": {"upload_id": upload_id},
    }
    assert second["id"] > first["id"]
    assert second["at"] > first["at"] >= owner.show(id_)["createdAt"]
    assert page["pagination"] == {"count": 2, "hasMore": False, "nextCursor": None}


def test_completing_again_or_by_many_tells_nothing_more(owner: Api) -> None:
    opened = owner.open({"a": 1})
    files = owner.send(opened, {"a": b"x"})

    at_once(6, lambda _: owner.complete(opened, files))
    assert owner.complete(opened, files).status_code == 200

    assert [event["kind"] for event in events_of(owner, opened["tracesetId"])] == ["completed", "created"]


def test_a_failure_is_told_with_its_reason(people_here: People, app: Flask, moved_clock: Clock) -> None:
    owner, editor = people_here.owner, people_here.editor
    aborted, larger, late = (owner.open({"a": 1}) for _ in range(3))
    editor.delete(f"/tracesets/upload-url/{aborted['uploadId']}")
    owner.put(larger["files"][0]["parts"][0]["url"], b"too large")
    reason = refused(owner.complete(larger, []), 413)
    moved_clock.pass_by(hours=25)
    sweep(app)

    told = [events_of(owner, opened["tracesetId"])[0] for opened in (aborted, larger, late)]

    assert [event["kind"] for event in told] == ["failed"] * 3
    assert [event["actor"] for event in told] == [EDITOR, OWNER, None]
    assert [event["detail"]["reason"] for event in told] == [
        "The upload was aborted",
        reason,
        "The upload session has expired",
    ]
    assert [event["detail"]["upload_id"] for event in told] == [
        opened["uploadId"] for opened in (aborted, larger, late)
    ]
    assert (told[2]["remoteAddress"], told[2]["requestId"]) == (None, None)


def test_a_refused_completion_is_no_event(owner: Api) -> None:
    opened = owner.open({"a": 1})
    refused(owner.complete(opened, []), 400)

    assert [event["kind"] for event in events_of(owner, opened["tracesetId"])] == ["created"]


def test_a_promotion_is_told_of_both_and_once(people_here: People) -> None:
    before = people_here.owner.upload({"a": b"x"})["id"]
    answers = at_once(6, lambda _: people_here.admin.post(f"/tracesets/{before}/promote", {}))
    [copy] = {answer.get_json()["id"] for answer in answers}

    of_source, of_copy = events_of(people_here.owner, before), events_of(people_here.stranger, copy)

    assert [event["kind"] for event in of_source] == ["promoted", "completed", "created"]
    assert [event["kind"] for event in of_copy] == ["promoted"]
    assert of_source[0]["detail"] == {"promoted_to": copy}
    assert of_copy[0]["detail"] == {"promoted_from": before}
    assert of_source[0]["actor"] == of_copy[0]["actor"] == ADMIN
    assert of_source[0]["requestId"] == of_copy[0]["requestId"]


def test_a_deletion_is_kept_and_shown_to_nobody(app: Flask, people_here: People) -> None:
    traceset = people_here.owner.upload({"a": b"x"})["id"]
    answers = at_once(4, lambda _: people_here.editor.delete(f"/tracesets/{traceset}"))
    [deleted] = [answer for answer in answers if answer.status_code == 204]

    [(actor, event)] = kept(app, EventKind.DELETED)

    assert (actor, event.traceset_id, event.workspace_id) == (EDITOR, traceset, people_here.owner.workspace_id)
    assert (event.remote_address, event.request_id) == ("127.0.0.1", deleted.headers["X-Request-Id"])
    for caller in (people_here.owner, people_here.admin):
        answer = caller.get(f"/tracesets/{traceset}/events")
        refused(answer, 404, exactly=f"Traceset '{traceset}' not found")


def test_an_expiry_is_kept_and_nobodys_doing(app: Flask, owner: Api, moved_clock: Clock) -> None:
    traceset = owner.upload({"a": b"x"}, ttlDays=1)["id"]
    moved_clock.pass_by(days=2)
    at_once(3, lambda _: sweep(app))

    [(actor, event)] = kept(app, EventKind.EXPIRED)

    assert (actor, event.traceset_id, event.workspace_id) == (None, traceset, owner.workspace_id)
    assert (event.remote_address, event.request_id, event.detail) == (None, None, {})
    assert (moved_clock.now() - event.at).total_seconds() < 300
    refused(owner.get(f"/tracesets/{traceset}/events"), 404)


# -- the list


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("nobody", 401),
        ("stranger", 404),
        ("viewer", 200),
        ("editor", 200),
        ("reader", 200),
        ("owner", 200),
        ("admin", 200),
    ],
)
def test_who_reads_a_traceset_reads_its_events(people_here: People, who: str, status: int) -> None:
    traceset = people_here.owner.open({"a": 1})["tracesetId"]

    answer = getattr(people_here, who).get(f"/tracesets/{traceset}/events")

    assert answer.status_code == status
    if status == 200:
        assert ok(answer)["items"] == events_of(people_here.owner, traceset)


def test_the_events_of_a_hidden_traceset_cannot_be_told_from_those_of_none(people_here: People) -> None:
    traceset = people_here.owner.open({"a": 1})["tracesetId"]

    assert_hidden(people_here.stranger, "GET", "/tracesets/*/events", traceset)
    refused(people_here.owner.get("/tracesets/ts_notfound/events"), 404, exactly="Traceset 'ts_notfound' not found")


def test_pages_neither_repeat_nor_lose_an_event_while_others_happen(owner: Api) -> None:
    other, before = owner.upload({"a": b"x"})["id"], owner.upload({"a": b"x"})["id"]
    for i in range(5):
        for id_ in (other, before):
            ok(owner.post(f"/tracesets/{id_}/promote", {"workloadMetadata": {"i": i}}), 201)
    whole = events_of(owner, before)
    assert len(whole) == 7

    seen: list[JSON] = []
    query: dict[str, Any] = {"limit": 3}
    for n, (count, more) in enumerate([(3, True), (3, True), (1, False)]):
        page = ok(owner.get(f"/tracesets/{before}/events", **query))
        assert (page["pagination"]["count"], page["pagination"]["hasMore"]) == (count, more)
        seen += page["items"]
        query["next"] = page["pagination"]["nextCursor"]
        ok(owner.post(f"/tracesets/{before}/promote", {"workloadMetadata": {"later": n}}), 201)

    assert seen == whole
    assert query["next"] is None


def test_a_page_that_is_just_full_is_the_last(owner: Api) -> None:
    traceset = owner.upload({"a": b"x"})["id"]

    for limit in (2, 3, 500, 501, 10**30):
        page = ok(owner.get(f"/tracesets/{traceset}/events", limit=limit))
        assert page["pagination"] == {"count": 2, "hasMore": False, "nextCursor": None}
    assert ok(owner.get(f"/tracesets/{traceset}/events", limit="", next=""))["pagination"]["count"] == 2


def test_the_cursor_of_another_list_shows_nothing_that_is_hidden(people_here: People) -> None:
    secret = people_here.owner.upload({"a": b"x"})["id"]
    public = people_here.owner.upload({"a": b"x"}, workspaceId=None)["id"]
    cursor = ok(people_here.owner.get(f"/tracesets/{public}/events", limit=1))["pagination"]["nextCursor"]

    assert [event["kind"] for event in events_of(people_here.stranger, public, next=cursor)] == ["created"]
    refused(people_here.stranger.get(f"/tracesets/{secret}/events", next=cursor), 404)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("next=x", "next is not a cursor of this list"),
        ("next=-1", "next is not a cursor of this list"),
        ("next=1.0", "next is not a cursor of this list"),
        ("next=+1", "next is not a cursor of this list"),
        ("next=%D9%A3", "next is not a cursor of this list"),
        ("next=" + "9" * 30, "next is not a cursor of this list"),
        ("next=%00", "next"),
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("limit=1.0", "limit"),
    ],
)
def test_a_parameter_that_cannot_be_read_is_told(owner: Api, query: str, part: str) -> None:
    traceset = owner.open({"a": 1})["tracesetId"]

    refused(owner.call("GET", f"/tracesets/{traceset}/events", query=query), 400, part)


# -- members and tokens


def test_changes_of_members_are_kept_with_who_made_them(app: Flask, people_here: People) -> None:
    owner, place = people_here.owner, people_here.owner.workspace_id
    path = f"/workspaces/{place}/members/{STRANGER}"
    n_before = len(kept(app, EventKind.MEMBER_CHANGED))
    owner.call("PUT", path, {"role": "viewer"})
    people_here.admin.call("PUT", path, {"role": "editor"})
    left = people_here.stranger.delete(path)
    for caller in (people_here.viewer, people_here.reader, people_here.stranger):
        assert caller.call("PUT", path, {"role": "editor"}).status_code in (403, 404)
    owner.call("PUT", f"/workspaces/{place}/members/{OWNER}", {"role": "viewer"})

    told = kept(app, EventKind.MEMBER_CHANGED)[n_before:]

    id_ = user_id(app, STRANGER)
    assert [(actor, event.workspace_id, event.traceset_id, event.detail) for actor, event in told] == [
        (OWNER, place, None, {"user_id": id_, "email": STRANGER, "role": "viewer"}),
        (ADMIN, place, None, {"user_id": id_, "email": STRANGER, "role": "editor"}),
        (STRANGER, place, None, {"user_id": id_, "email": STRANGER}),
    ]
    assert {event.remote_address for _, event in told} == {"127.0.0.1"}
    assert told[2][1].request_id == left.headers["X-Request-Id"]


def test_a_new_workspace_is_told_by_its_first_owner(app: Flask, stranger: Api) -> None:
    place = ok(stranger.post("/workspaces", {"name": "New"}), 201)["id"]

    actor, event = kept(app, EventKind.MEMBER_CHANGED)[-1]

    assert (actor, event.workspace_id) == (STRANGER, place)
    assert event.detail == {"user_id": user_id(app, STRANGER), "email": STRANGER, "role": "owner"}


def test_changes_of_tokens_are_kept_without_the_token(app: Flask) -> None:
    id_ = user_id(app, OWNER)
    caller = Caller(user_id=id_, email=OWNER, remote_address="192.0.2.7", request_id="r")
    with app.app_context():
        token = people.create_token(OWNER, name="mine", actor=caller)
        [token_id] = column(app, ApiToken.id, ApiToken.name == "mine")
        people.revoke_own_token(caller, token_id)
        people.revoke_own_token(caller, token_id)
        by_operator = people.create_token(OWNER, name="operator's")
        people.revoke_token(by_operator)

    created, revoked = kept(app, EventKind.TOKEN_CREATED)[-2:], kept(app, EventKind.TOKEN_REVOKED)

    prefixes = [token[:11], by_operator[:11]]
    assert [event.detail["prefix"][:11] for _, event in created] == prefixes
    assert [event.detail["prefix"][:11] for _, event in revoked] == prefixes
    for (mine, event), (nobodys, _) in (created, revoked):
        assert (mine, nobodys) == (OWNER, None)
        assert (event.remote_address, event.request_id, event.detail["user_id"]) == ("192.0.2.7", "r", id_)
    everything = str([event.detail for _, event in (*created, *revoked)])
    assert token not in everything
    assert by_operator not in everything
