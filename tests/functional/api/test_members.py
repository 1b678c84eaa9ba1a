"""Workspaces and who belongs to them (K1, K3)."""

from urllib.parse import quote

import pytest
from flask import Flask

from app.domain.access import Role
from app.models.workspaces import Membership, Workspace
from app.services import people
from tests.conftest import People
from tests.support.api import JSON, Api, ok, refused
from tests.support.database import column
from tests.support.hidden import assert_hidden
from tests.support.upkeep import at_once

UNIVERSAL = "workspace_universal"
OWNER, EDITOR, VIEWER, STRANGER, ADMIN = (
    f"{name}@tests.example" for name in ("owner", "editor", "viewer", "stranger", "admin")
)
KEEPS_ONE = "A workspace keeps at least one owner; make somebody else an owner first"


def path_of(workspace_id: str, email: str) -> str:
    return f"/workspaces/{workspace_id}/members/{quote(email, safe='@')}"


def put(caller: Api, email: str, role: str, workspace_id: str | None = None) -> int:
    return caller.call("PUT", path_of(workspace_id or caller.workspace_id, email), {"role": role}).status_code


def remove(caller: Api, email: str, workspace_id: str | None = None) -> int:
    return caller.delete(path_of(workspace_id or caller.workspace_id, email)).status_code


def members(caller: Api, workspace_id: str | None = None) -> dict[str, str]:
    found = ok(caller.get(f"/workspaces/{workspace_id or caller.workspace_id}/members"))
    return {member["email"]: member["role"] for member in found["items"]}


def workspaces(caller: Api) -> list[JSON]:
    items: list[JSON] = ok(caller.get("/workspaces"))["items"]
    return items


# -- workspaces


def test_one_lists_the_universal_workspace_first_and_ones_own_by_name(people_here: People) -> None:
    shared = {"id": people_here.owner.workspace_id, "name": "Shared"}
    universal = {"id": UNIVERSAL, "name": workspaces(people_here.stranger)[0]["name"]}

    assert workspaces(people_here.owner) == [{**universal, "role": "editor"}, {**shared, "role": "owner"}]
    assert workspaces(people_here.viewer) == [{**universal, "role": None}, {**shared, "role": "viewer"}]
    assert workspaces(people_here.reader) == workspaces(people_here.owner)
    assert workspaces(people_here.stranger) == [{**universal, "role": None}]
    assert workspaces(people_here.admin) == [{**universal, "role": None}, {**shared, "role": None}]


def test_anybody_makes_a_workspace_and_owns_it_alone(people_here: People) -> None:
    made = ok(people_here.stranger.post("/workspaces", {"name": "  Néw "}), 201)

    assert made == {"id": made["id"], "name": "Néw", "role": "owner"}
    assert made["id"].startswith("workspace_")
    assert workspaces(people_here.stranger)[1:] == [made]
    assert members(people_here.stranger, made["id"]) == {STRANGER: "owner"}
    refused(people_here.owner.get(f"/workspaces/{made['id']}/members"), 404)
    assert people_here.stranger.open({"a": 1}, workspaceId=made["id"])["tracesetId"]


def test_two_workspaces_may_have_one_name(stranger: Api) -> None:
    made = [ok(stranger.post("/workspaces", {"name": "Same"}), 201)["id"] for _ in range(2)]

    assert made[0] != made[1]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({}, "name is required"),
        ({"name": None}, "name must be a string"),
        ({"name": 5}, "name must be a string"),
        ({"name": " "}, "name must have 1 to 255 characters"),
        ({"name": "x" * 256}, "name must have 1 to 255 characters"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_workspace_needs_a_name(app: Flask, stranger: Api, body: JSON, part: str) -> None:
    refused(stranger.post("/workspaces", body), 400, part)

    assert len(column(app, Workspace.id)) == 2


def test_a_read_only_token_makes_no_workspace(app: Flask, people_here: People) -> None:
    refused(people_here.reader.post("/workspaces", {"name": "New"}), 403)

    assert len(column(app, Workspace.id)) == 2


# -- members: who may


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
def test_members_see_the_members(people_here: People, who: str, status: int) -> None:
    answer = getattr(people_here, who).get(f"/workspaces/{people_here.owner.workspace_id}/members")

    assert answer.status_code == status
    if status == 200:
        assert ok(answer)["items"] == [
            {"email": EDITOR, "role": "editor"},
            {"email": OWNER, "role": "owner"},
            {"email": VIEWER, "role": "viewer"},
        ]


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("nobody", 401),
        ("stranger", 404),
        ("viewer", 403),
        ("editor", 403),
        ("reader", 403),
        ("owner", 204),
        ("admin", 204),
    ],
)
def test_owners_and_site_admins_change_the_members(people_here: People, who: str, status: int) -> None:
    caller = getattr(people_here, who)
    before = members(people_here.owner)

    assert put(caller, STRANGER, "viewer") == status
    assert members(people_here.owner) == (before | {STRANGER: "viewer"} if status == 204 else before)

    assert remove(caller, STRANGER) == status
    assert members(people_here.owner) == before


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_hidden_workspace_cannot_be_told_from_one_that_never_was(people_here: People, method: str) -> None:
    hidden, body = people_here.owner.workspace_id, {"role": "viewer"}

    for email in (OWNER, STRANGER, "nobody@tests.example"):
        assert_hidden(people_here.stranger, method, path_of("*", email), hidden, body=body)
    assert_hidden(people_here.stranger, "GET", "/workspaces/*/members", hidden)


def test_site_admins_alone_manage_the_universal_workspace(people_here: People) -> None:
    for caller in (people_here.stranger, people_here.owner, people_here.reader):
        answer = caller.call("PUT", path_of(UNIVERSAL, STRANGER), {"role": "editor"})
        refused(answer, 403, exactly=f"You do not manage the members of workspace '{UNIVERSAL}'")
        refused(caller.delete(path_of(UNIVERSAL, ADMIN)), 403)
    assert members(people_here.stranger, UNIVERSAL) == {OWNER: "editor"}

    assert put(people_here.admin, STRANGER, "editor", UNIVERSAL) == 204

    assert people_here.stranger.open({"a": 1}, workspaceId=None)["tracesetId"]
    assert remove(people_here.admin, STRANGER, UNIVERSAL) == 204
    refused(people_here.stranger.post("/tracesets/upload-url", people_here.stranger.request_of({"a": 1})), 400)


def test_the_universal_workspace_needs_no_owner_and_is_left_by_its_members(people_here: People) -> None:
    assert put(people_here.admin, STRANGER, "owner", UNIVERSAL) == 204
    assert put(people_here.admin, STRANGER, "viewer", UNIVERSAL) == 204
    assert put(people_here.admin, STRANGER, "owner", UNIVERSAL) == 204

    assert remove(people_here.stranger, STRANGER, UNIVERSAL) == 204

    assert members(people_here.stranger, UNIVERSAL) == {OWNER: "editor"}
    refused(people_here.stranger.delete(path_of(UNIVERSAL, STRANGER)), 404, "no member")


def test_a_role_counts_from_the_moment_it_is_given(people_here: People) -> None:
    owner, stranger = people_here.owner, people_here.stranger
    traceset = owner.open({"a": 1})["tracesetId"]
    request = owner.request_of({"a": 1})
    refused(stranger.get(f"/tracesets/{traceset}"), 404)

    put(owner, STRANGER, "viewer")
    assert stranger.show(traceset)["id"] == traceset
    refused(stranger.post("/tracesets/upload-url", request), 400, owner.workspace_id)

    put(owner, STRANGER, "editor")
    ok(stranger.post("/tracesets/upload-url", request))
    assert put(stranger, VIEWER, "editor") == 403

    put(owner, STRANGER, "owner")
    assert put(stranger, VIEWER, "editor") == 204

    assert remove(owner, STRANGER) == 204
    refused(stranger.get(f"/tracesets/{traceset}"), 404)


# -- members: what may be said


def test_a_member_has_one_role_whatever_is_said_how_often(owner: Api) -> None:
    for role in ("viewer", "viewer", "owner", "editor"):
        assert put(owner, STRANGER, role) == 204
        assert members(owner) == {OWNER: "owner", EDITOR: "editor", VIEWER: "viewer", STRANGER: role}


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({}, "role is required"),
        ({"role": None}, "role must be"),
        ({"role": "admin"}, "role must be 'viewer', 'editor' or 'owner'"),
        ({"role": "Viewer"}, "role must be 'viewer', 'editor' or 'owner'"),
        ({"role": ["viewer"]}, "role must be"),
        ({"role": 1}, "role must be"),
    ],
    ids=str,
)
def test_a_role_is_one_of_three(owner: Api, body: JSON, part: str) -> None:
    refused(owner.call("PUT", path_of(owner.workspace_id, STRANGER), body), 400, part)

    assert STRANGER not in members(owner)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("email", ["nobody@tests.example", "nobody", "é@ü", "%@_", "' OR 1=1 --", "x" * 3000])
def test_an_unknown_person_is_not_found(owner: Api, method: str, email: str) -> None:
    answer = owner.call(method, path_of(owner.workspace_id, email), {"role": "viewer"})

    refused(answer, 404, exactly=f"There is nobody with the address '{email}'")


def test_somebody_who_is_no_member_cannot_be_removed(owner: Api) -> None:
    refused(
        owner.delete(path_of(owner.workspace_id, STRANGER)), 404, exactly=f"'{STRANGER}' is no member of this workspace"
    )


@pytest.mark.parametrize(
    "email",
    [
        "a+b@x.example",
        "o'hara@x.example",
        'q"u%2f?o#te&=;@x',
        "é.ü@bücher.example",
        "a/b/c@x.example",
        "...@x",
    ],
)
def test_an_odd_address_is_an_address(app: Flask, owner: Api, email: str) -> None:
    with app.app_context():
        people.create_user(email)

    assert put(owner, email, "editor") == 204
    assert members(owner)[email] == "editor"
    assert put(owner, email.upper(), "viewer") == 204
    assert members(owner)[email] == "viewer"
    assert remove(owner, email) == 204
    assert email not in members(owner)


# -- the last owner


def test_the_last_owner_can_neither_go_nor_be_made_less(people_here: People) -> None:
    for caller in (people_here.owner, people_here.admin):
        for role in ("viewer", "editor"):
            answer = caller.call("PUT", path_of(caller.workspace_id, OWNER), {"role": role})
            refused(answer, 409, exactly=KEEPS_ONE)
        refused(caller.delete(path_of(caller.workspace_id, OWNER)), 409, exactly=KEEPS_ONE)
    assert put(people_here.owner, OWNER, "owner") == 204

    assert members(people_here.owner)[OWNER] == "owner"


def test_one_of_two_owners_may_go(people_here: People) -> None:
    assert put(people_here.owner, EDITOR, "owner") == 204

    assert remove(people_here.owner, OWNER.upper()) == 204

    assert members(people_here.editor) == {EDITOR: "owner", VIEWER: "viewer"}
    refused(people_here.owner.get(f"/workspaces/{people_here.owner.workspace_id}/members"), 404)
    assert remove(people_here.editor, EDITOR) == 409


def test_members_may_leave_and_read_only_tokens_may_not(people_here: People) -> None:
    assert put(people_here.owner, EDITOR, "owner") == 204
    assert remove(people_here.reader, OWNER) == 403

    assert remove(people_here.viewer, VIEWER) == 204

    assert members(people_here.owner) == {EDITOR: "owner", OWNER: "owner"}
    assert remove(people_here.viewer, VIEWER) == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_of_two_owners_who_leave_at_once_one_stays(app: Flask, people_here: People, method: str) -> None:
    callers = [(people_here.owner, OWNER), (people_here.editor, EDITOR)]
    for _ in range(4):
        put(people_here.admin, OWNER, "owner")
        put(people_here.admin, EDITOR, "owner")

        def leave(i: int) -> int:
            caller, email = callers[i]
            return caller.call(method, path_of(caller.workspace_id, email), {"role": "viewer"}).status_code

        assert sorted(at_once(2, leave)) == [204, 409]
        is_shared = Membership.workspace_id == people_here.owner.workspace_id
        assert len(column(app, Membership.user_id, is_shared, Membership.role == Role.OWNER)) == 1


@pytest.mark.parametrize("role", ["owner", "viewer"])
def test_one_who_is_added_many_times_at_once_is_added_once(owner: Api, role: str) -> None:
    assert at_once(8, lambda _: put(owner, STRANGER, role)) == [204] * 8

    assert members(owner)[STRANGER] == role
