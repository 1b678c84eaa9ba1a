"""Asking for an upload twice under one Idempotency-Key (U10)."""

import json
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.conftest import MakeApp, People, PeopleOf
from tests.support.api import JSON, Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import count_rows, forget_begun
from tests.support.upkeep import at_once, open_uploads

OPEN = "/tracesets/upload-url"


def ask(caller: Api, key: str = "key", **members: Any) -> TestResponse:
    """One and the same request, but for these members, under this key."""
    request: JSON = {"name": "asked", "workspaceId": caller.workspace_id, "files": [{"name": "a", "size": 3}]}
    request |= {"workloadMetadata": {"shape": {"rankCount": 1}}} | members
    return caller.post(OPEN, request, headers={"Idempotency-Key": key})


def finish(caller: Api, session: JSON) -> JSON:
    return ok(caller.complete(session, caller.send(session, {"a": b"abc"})), 201)


def test_the_second_answer_is_the_first_session_with_urls_that_work(app: Flask, owner: Api) -> None:
    first, second = ok(ask(owner)), ok(ask(owner))

    assert (second["uploadId"], second["tracesetId"]) == (first["uploadId"], first["tracesetId"])
    assert second["expiresAt"] == first["expiresAt"]
    assert count_rows(app)["traceset"] == 1
    assert len(open_uploads(app)) == 1
    assert finish(owner, second)["status"] == "ready"


def test_its_urls_are_fresh(make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock) -> None:
    owner = people_of(make_app(part_url_ttl=60)).owner
    ok(ask(owner))
    moved_clock.pass_by(minutes=30)

    finish(owner, ok(ask(owner)))


def test_parts_sent_to_the_first_urls_count(owner: Api) -> None:
    files = owner.send(ok(ask(owner)), {"a": b"abc"})

    assert ok(owner.complete(ok(ask(owner)), files), 201)["status"] == "ready"


def test_the_same_body_may_be_spelled_otherwise(owner: Api) -> None:
    first = ok(ask(owner))
    request = {
        "workloadMetadata": {"shape": {"rankCount": 1}},
        "files": [{"size": 3, "name": "a", "role": None}],
        "tags": None,
        "workspaceId": owner.workspace_id,
        "name": "asked",
    }

    again = owner.call("POST", OPEN, data=json.dumps(request, indent=2).encode(), headers={"Idempotency-Key": "key"})

    assert ok(again)["uploadId"] == first["uploadId"]


@pytest.mark.parametrize(
    "members",
    [
        {"name": "other"},
        {"tags": ["x"]},
        {"files": [{"name": "a", "size": 4}]},
        {"files": [{"name": "a", "size": 3}, {"name": "b", "size": 3}]},
        {"workloadMetadata": {"shape": {"rankCount": 2}}},
        {"workspaceId": None},
        {"description": ""},
    ],
    ids=str,
)
def test_another_body_under_the_same_key_is_refused(app: Flask, owner: Api, members: JSON) -> None:
    ok(ask(owner))

    refused(ask(owner, **members), 400, "Idempotency-Key")

    assert count_rows(app)["traceset"] == 1


def test_other_keys_and_other_callers_are_independent(people_here: People) -> None:
    first = ok(ask(people_here.owner))
    others = [ok(ask(people_here.owner, "KEY")), ok(ask(people_here.editor)), people_here.owner.open({"a": 3})]

    assert len({session["uploadId"] for session in [first, *others]}) == 4
    refused(ask(people_here.editor, name="other"), 400)
    assert ok(ask(people_here.editor))["uploadId"] == others[1]["uploadId"]


def test_the_key_belongs_to_the_route_too(owner: Api) -> None:
    ok(ask(owner))
    request = {"name": "m", "workspaceId": owner.workspace_id, "files": [{"name": "a", "size": 3}]}

    answer = owner.post("/mapping-files/upload-url", request, headers={"Idempotency-Key": "key"})

    refused(answer, 400, "Idempotency-Key")


@pytest.mark.parametrize(("key", "limit"), [("", "at least 1"), ("x" * 256, "at most 255")], ids=["empty", "256"])
def test_a_key_has_1_to_255_characters(app: Flask, owner: Api, key: str, limit: str) -> None:
    refused(ask(owner, key), 400, "Idempotency-Key", limit)

    assert count_rows(app)["traceset"] == 0


@pytest.mark.parametrize("key", ["k", "x" * 255, "{\"a\": 'b'}; %00 ~", "é"], ids=repr)
def test_any_text_of_that_length_is_a_key(owner: Api, key: str) -> None:
    assert ok(ask(owner, key))["uploadId"] == ok(ask(owner, key))["uploadId"]


def test_a_refused_request_uses_no_key_up(owner: Api) -> None:
    refused(ask(owner, name=""), 400)
    refused(ask(owner, workspaceId="workspace_unknown"), 400)

    assert ok(ask(owner))["uploadId"]


def test_after_a_day_the_key_is_free_again(make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock) -> None:
    owner = people_of(make_app(session_ttl=10 * 86_400)).owner
    first = ok(ask(owner))
    moved_clock.pass_by(hours=23, minutes=59)
    assert ok(ask(owner))["uploadId"] == first["uploadId"]
    moved_clock.pass_by(minutes=1)

    second = ok(ask(owner, name="another body"))

    assert second["uploadId"] != first["uploadId"]
    assert ok(ask(owner, name="another body"))["uploadId"] == second["uploadId"]
    finish(owner, second)
    finish(owner, ok(owner.get(f"{OPEN}/{first['uploadId']}")))


def test_any_number_at_once_open_one_session(app: Flask, owner: Api) -> None:
    sessions = [ok(answer) for answer in at_once(8, lambda _: ask(owner))]

    assert len({session["uploadId"] for session in sessions}) == 1
    assert count_rows(app) | {"event": 1} == {
        "traceset": 1,
        "traceset_file": 1,
        "library_file": 1,
        "upload_session": 1,
        "upload_file": 1,
        "event": 1,
    }
    assert len(open_uploads(app)) == 1
    for session in sessions[1:]:
        owner.put(session["files"][0]["parts"][0]["url"], b"abc")
    finish(owner, sessions[0])


def test_different_bodies_at_once_open_one_session_and_are_else_refused(app: Flask, owner: Api) -> None:
    answers = at_once(6, lambda i: ask(owner, name=f"asked {i}"))

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 5
    assert count_rows(app)["traceset"] == 1


def test_a_death_between_the_rows_and_the_store_is_healed_by_the_key(app: Flask, owner: Api) -> None:
    first = ok(ask(owner))
    forget_begun(app)

    second = ok(ask(owner))

    assert second["uploadId"] == first["uploadId"]
    finish(owner, second)


def test_the_key_of_a_completed_session_leads_to_its_completion(app: Flask, owner: Api) -> None:
    traceset = finish(owner, ok(ask(owner)))

    again = ok(ask(owner))

    assert again["tracesetId"] == traceset["id"]
    assert again["files"][0]["parts"][0]["url"]
    assert ok(owner.complete(again, []), 200)["id"] == traceset["id"]
    assert owner.read(traceset["id"], "a") == b"abc"


def test_the_key_of_an_aborted_session_says_so(owner: Api) -> None:
    session = ok(ask(owner))
    owner.delete(f"{OPEN}/{session['uploadId']}")

    refused(ask(owner), 400, session["uploadId"], "aborted", "new key")


def test_the_key_of_an_expired_session_says_so(make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock) -> None:
    owner = people_of(make_app(session_ttl=3600)).owner
    session = ok(ask(owner))
    moved_clock.pass_by(hours=2)

    refused(ask(owner), 400, session["uploadId"], "expired", "new key")
