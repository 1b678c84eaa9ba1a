"""What a role allows, and what a deployment does (K1, K3, G6)."""

from flask import Flask
from sqlalchemy import update

from app.models.people import User
from app.services import people
from tests.conftest import MakeApp, People, PeopleOf
from tests.support.api import Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import change


def roles(caller: Api) -> dict[str, str]:
    return {item["id"]: item["role"] for item in ok(caller.get("/workspaces"))["items"]}


def test_each_caller_sees_their_workspaces_and_their_role_in_each(people_here: People) -> None:
    shared = people_here.owner.workspace_id

    assert roles(people_here.owner) == {"workspace_universal": "editor", shared: "owner"}
    assert roles(people_here.reader) == roles(people_here.owner)
    assert roles(people_here.viewer) == {"workspace_universal": None, shared: "viewer"}
    assert roles(people_here.stranger) == {"workspace_universal": None}
    assert roles(people_here.admin) == {"workspace_universal": None, shared: None}


def test_a_role_that_was_lost_is_lost_at_once(people_here: People) -> None:
    session = people_here.editor.open({"a": 1})
    files = people_here.editor.send(session, {"a": b"x"})
    members = f"/workspaces/{people_here.owner.workspace_id}/members"
    assert people_here.owner.delete(f"{members}/editor@tests.example").status_code == 204

    refused(people_here.editor.complete(session, files), 404)
    refused(people_here.editor.get(f"/tracesets/{session['tracesetId']}"), 404)
    assert ok(people_here.owner.complete(session, files), 201)["status"] == "ready"


def test_a_role_that_became_less_counts_in_the_middle_of_an_upload(people_here: People) -> None:
    editor = people_here.editor
    session = editor.open({"a": 1, "b": 1})
    files = editor.send(session, {"a": b"x", "b": b"y"})
    path = f"/tracesets/upload-url/{session['uploadId']}"
    members = f"/workspaces/{people_here.owner.workspace_id}/members"
    assert people_here.owner.call("PUT", f"{members}/editor@tests.example", {"role": "viewer"}).status_code == 204

    refused(editor.complete(session, files), 403)
    refused(editor.delete(path), 403)
    refused(editor.delete(f"/tracesets/{session['tracesetId']}"), 403)
    refused(editor.post("/tracesets/upload-url", editor.request_of({"a": 1})), 400, editor.workspace_id)
    assert ok(editor.get(path))["state"] == "open"
    assert people_here.owner.call("PUT", f"{members}/editor@tests.example", {"role": "editor"}).status_code == 204
    assert ok(editor.complete(session, files), 201)["status"] == "ready"


def test_a_token_that_ends_in_the_middle_of_an_upload_leaves_it_to_another(
    app: Flask, people_of: PeopleOf, moved_clock: Clock
) -> None:
    with app.app_context():
        tokens = [people.create_token("owner@tests.example", days=days) for days in (1, None)]
    short, long = (Api(app, token, workspace_id=people_of(app).owner.workspace_id) for token in tokens)
    moved_clock.pass_by(hours=23)
    session = short.open({"a": 1})
    files = short.send(session, {"a": b"x"})
    moved_clock.pass_by(hours=1)

    refused(short.complete(session, files), 401)

    assert ok(long.complete(session, files), 201)["status"] == "ready"


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
