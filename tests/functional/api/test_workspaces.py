"""Workspaces and their members over the API, and what a role allows (K1, K3)."""

import pytest
from flask import Flask
from sqlalchemy import update

from app.models.people import User
from tests.conftest import MakeApp, People, PeopleOf
from tests.support.api import Api, ok, refused
from tests.support.database import change


def members_path(caller: Api, email: str = "") -> str:
    path = f"/workspaces/{caller.workspace_id}/members"
    return f"{path}/{email}@tests.example" if email else path


def roles(caller: Api) -> dict[str, str]:
    return {item["id"]: item["role"] for item in ok(caller.get("/workspaces"))["items"]}


def members(caller: Api) -> dict[str, str]:
    return {item["email"].partition("@")[0]: item["role"] for item in ok(caller.get(members_path(caller)))["items"]}


def test_each_caller_sees_their_workspaces_and_their_role_in_each(people_here: People) -> None:
    shared = people_here.owner.workspace_id

    assert roles(people_here.owner) == {"workspace_universal": "editor", shared: "owner"}
    assert roles(people_here.reader) == roles(people_here.owner)
    assert roles(people_here.viewer) == {"workspace_universal": None, shared: "viewer"}
    assert roles(people_here.stranger) == {"workspace_universal": None}
    assert roles(people_here.admin) == {"workspace_universal": None, shared: None}


def test_anyone_signed_in_may_make_a_workspace_that_they_own_alone(people_here: People) -> None:
    made = ok(people_here.stranger.post("/workspaces", {"name": " Mine "}), 201)

    assert (made["name"], made["role"]) == ("Mine", "owner")
    assert roles(people_here.stranger)[made["id"]] == "owner"
    assert made["id"] not in roles(people_here.owner)
    session = people_here.stranger.open({"a": 1}, workspaceId=made["id"])
    refused(people_here.owner.get(f"/tracesets/{session['tracesetId']}"), 404)


def test_a_read_only_token_makes_none_and_manages_none(people_here: People) -> None:
    refused(people_here.reader.post("/workspaces", {"name": "w"}), 403)
    refused(people_here.reader.call("PUT", members_path(people_here.owner, "stranger"), {"role": "viewer"}), 403)
    refused(people_here.reader.delete(members_path(people_here.owner, "viewer")), 403)


@pytest.mark.parametrize("name", ["", "  ", "x" * 256, 5, None])
def test_a_workspaces_name_follows_the_rules_of_names(owner: Api, name: object) -> None:
    refused(owner.post("/workspaces", {"name": name}), 400, "name")


def test_owners_add_change_and_remove_members(people_here: People) -> None:
    owner, stranger = people_here.owner, people_here.stranger
    assert members(owner) == {"owner": "owner", "editor": "editor", "viewer": "viewer"}

    for role in ("viewer", "editor", "owner", "viewer", "viewer"):
        assert owner.call("PUT", members_path(owner, "STRANGER"), {"role": role}).status_code == 204
        assert roles(stranger)[owner.workspace_id] == role
    assert owner.delete(members_path(owner, "stranger")).status_code == 204

    assert owner.workspace_id not in roles(stranger)
    refused(owner.delete(members_path(owner, "stranger")), 404)


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("editor", 403), ("stranger", 404), ("admin", 204)])
def test_others_do_not_manage_members(people_here: People, who: str, status: int) -> None:
    caller: Api = getattr(people_here, who)

    assert caller.call("PUT", members_path(caller, "viewer"), {"role": "editor"}).status_code == status
    assert caller.delete(members_path(caller, "owner")).status_code == (409 if status == 204 else status)

    assert members(people_here.owner)["owner"] == "owner"


def test_a_member_may_leave_but_not_the_last_owner(people_here: People) -> None:
    assert people_here.viewer.delete(members_path(people_here.viewer, "viewer")).status_code == 204
    refused(people_here.owner.delete(members_path(people_here.owner, "owner")), 409, "owner")
    refused(people_here.owner.call("PUT", members_path(people_here.owner, "owner"), {"role": "viewer"}), 409)

    assert members(people_here.owner) == {"owner": "owner", "editor": "editor"}


@pytest.mark.parametrize("role", ["king", "", None, 1, "Viewer"])
def test_other_roles_do_not_exist(owner: Api, role: object) -> None:
    refused(owner.call("PUT", members_path(owner, "stranger"), {"role": role}), 400, "role")


def test_nobody_of_that_address_cannot_be_a_member(owner: Api) -> None:
    refused(owner.call("PUT", members_path(owner, "nobody"), {"role": "viewer"}), 404, "nobody@tests.example")


def test_a_role_that_was_lost_is_lost_at_once(people_here: People) -> None:
    session = people_here.editor.open({"a": 1})
    files = people_here.editor.send(session, {"a": b"x"})
    people_here.owner.delete(members_path(people_here.owner, "editor"))

    refused(people_here.editor.complete(session, files), 404)
    refused(people_here.editor.get(f"/tracesets/{session['tracesetId']}"), 404)
    assert ok(people_here.owner.complete(session, files), 201)["status"] == "ready"


def test_uploading_to_the_universal_workspace_needs_editor_there(people_here: People) -> None:
    request = people_here.owner.request_of({"a": 1}) | {"workspaceId": None}

    for caller in (people_here.editor, people_here.viewer, people_here.stranger):
        refused(caller.post("/tracesets/upload-url", request), 400, "workspace_universal")
    for caller in (people_here.owner, people_here.admin):
        ok(caller.post("/tracesets/upload-url", request))


def test_a_disabled_person_has_no_access(app: Flask, owner: Api, viewer: Api) -> None:
    change(app, update(User).where(User.email == "owner@tests.example").values(is_disabled=True))

    refused(owner.get("/workspaces"), 401)
    ok(viewer.get("/workspaces"))


def test_without_the_trace_routes_workspaces_stay(make_app: MakeApp, people_of: PeopleOf) -> None:
    app = make_app(enable_trace_routes=False)
    owner = people_of(app).owner

    assert set(roles(owner)) == {"workspace_universal", owner.workspace_id}
    for method, path in (
        ("GET", "/tracesets"),
        ("GET", "/tracesets/ts_a"),
        ("POST", "/tracesets/upload-url"),
        ("GET", "/mapping-files"),
        ("POST", "/mapping-files/upload-url/complete"),
    ):
        refused(owner.call(method, path), 404)
    assert app.test_client().get("/archives/x").status_code == 404
    assert app.test_client().get("/readyz").status_code == 200


def test_a_read_only_deployment_still_serves_what_there_is(make_app: MakeApp, people_of: PeopleOf) -> None:
    writing = people_of(make_app()).owner
    traceset = writing.upload({"a": b"x"})
    session = writing.open({"a": 1})
    reading = people_of(make_app(trace_routes_read_only=True)).owner

    assert reading.show(traceset["id"]) == traceset
    assert reading.read(traceset["id"], "a") == b"x"
    assert ok(reading.post(f"/tracesets/{traceset['id']}/validate"))["valid"] is True
    assert ok(reading.get(f"/tracesets/upload-url/{session['uploadId']}"))["state"] == "open"
    for method, path in (
        ("DELETE", f"/tracesets/{traceset['id']}"),
        ("POST", f"/tracesets/{traceset['id']}/promote"),
        ("POST", "/tracesets/upload-url"),
        ("POST", "/tracesets/upload-url/complete"),
        ("DELETE", f"/tracesets/upload-url/{session['uploadId']}"),
        ("POST", "/mapping-files/upload-url"),
    ):
        assert reading.call(method, path, {}).status_code in (404, 405)
    assert reading.show(traceset["id"])["status"] == "ready"
