"""The server's commands: what they print, and how they say what is wrong (operators' interface)."""

import re

import pytest
from click.testing import Result
from flask import Flask

from app.models.people import ApiToken, SignInLink, User
from tests.conftest import People
from tests.support.api import Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import column


def run(app: Flask, *args: str, stdin: str | None = None) -> Result:
    return app.test_cli_runner().invoke(args=list(args), input=stdin)


def printed(app: Flask, *args: str, stdin: str | None = None) -> str:
    """The one line that a command prints on standard output, alone."""
    result = run(app, *args, stdin=stdin)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"\S+\n", result.stdout)
    return result.stdout.strip()


def test_a_new_person_gets_a_token_that_works(app: Flask) -> None:
    assert run(app, "user", "create", "new@tests.example").exit_code == 0

    token = printed(app, "token", "create", "NEW@tests.example", "--name", "laptop")

    assert ok(Api(app, token).get("/workspaces"))["items"] == [
        {"id": "workspace_universal", "name": "Universal workspace", "role": None}
    ]


def test_an_admin_may_do_everything_everywhere(app: Flask, owner: Api) -> None:
    traceset = owner.upload({"a": b"x"})
    run(app, "user", "create", "boss@tests.example", "--admin", "--password-stdin", stdin="a long enough password\n")
    boss = Api(app, printed(app, "token", "create", "boss@tests.example"))

    assert boss.show(traceset["id"])["id"] == traceset["id"]
    assert boss.delete(f"/tracesets/{traceset['id']}").status_code == 204


def test_a_read_only_token_reads_and_changes_nothing(app: Flask, owner: Api) -> None:
    traceset = owner.upload({"a": b"x"})
    reader = Api(app, printed(app, "token", "create", "owner@tests.example", "--read-only"))

    assert reader.read(traceset["id"], "a") == b"x"
    assert ok(reader.post(f"/tracesets/{traceset['id']}/validate"))["valid"] is True
    refused(reader.delete(f"/tracesets/{traceset['id']}"), 403)


def test_a_token_ends_with_its_days(app: Flask, moved_clock: Clock) -> None:
    caller = Api(app, printed(app, "token", "create", "owner@tests.example", "--days", "2"))
    moved_clock.pass_by(days=1, hours=23)
    ok(caller.get("/workspaces"))
    moved_clock.pass_by(hours=1)

    refused(caller.get("/workspaces"), 401)


def test_a_revoked_token_ends_at_once(app: Flask, owner: Api) -> None:
    token = printed(app, "token", "create", "owner@tests.example")

    assert run(app, "token", "revoke", token[:16]).exit_code == 0

    refused(Api(app, token).get("/workspaces"), 401)
    ok(owner.get("/workspaces"))


def test_a_workspace_is_made_listed_and_joined(app: Flask, people_here: People) -> None:
    workspace_id = printed(app, "workspace", "create", "Räume & more", "--owner", "owner@tests.example")
    assert re.fullmatch("workspace_[a-z0-9]{26}", workspace_id)

    result = run(app, "workspace", "add", workspace_id, "stranger@tests.example", "--role", "editor")

    assert result.exit_code == 0
    roles = {item["id"]: item["role"] for item in ok(people_here.stranger.get("/workspaces"))["items"]}
    assert roles[workspace_id] == "editor"
    listed = run(app, "workspace", "list").stdout.splitlines()
    assert f"{workspace_id}\tRäume & more" in listed
    assert "workspace_universal\tUniversal workspace" in listed


def test_a_role_may_be_changed_and_counts_from_then_on(app: Flask, people_here: People) -> None:
    stranger, workspace_id = people_here.stranger, people_here.owner.workspace_id
    request = stranger.request_of({"a": 1})
    refused(stranger.post("/tracesets/upload-url", request), 400, workspace_id)
    run(app, "workspace", "add", workspace_id, "stranger@tests.example", "--role", "editor")
    ok(stranger.post("/tracesets/upload-url", request))
    run(app, "workspace", "add", workspace_id, "stranger@tests.example", "--role", "viewer")

    refused(stranger.post("/tracesets/upload-url", request), 400, workspace_id)


def test_a_sign_in_link_is_printed_alone(app: Flask) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/login/\S{20,}", printed(app, "user", "link", "owner@tests.example"))


def test_a_sweep_tells_what_it_did(app: Flask, owner: Api) -> None:
    owner.delete(f"/tracesets/{owner.upload({'a': b'x'})['id']}")

    result = run(app, "sweep")

    assert result.exit_code == 0
    assert "unreferenced files: 1" in result.stdout.splitlines()


@pytest.mark.parametrize(
    "args",
    [
        ["user", "create", "owner@tests.example"],
        ["user", "create", "OWNER@tests.example"],
        ["user", "create", "no address"],
        ["user", "create", "short@tests.example", "--password-stdin"],
        ["user", "link", "nobody@tests.example"],
        ["token", "create", "nobody@tests.example"],
        ["token", "create", "owner@tests.example", "--days", "0"],
        ["token", "create", "owner@tests.example", "--days", "x"],
        ["token", "create", "owner@tests.example", "--name", ""],
        ["token", "revoke", "tracesets_zzzzzz"],
        ["token", "revoke", ""],
        ["token", "revoke", "tracesets_"],
        ["workspace", "create", "X", "--owner", "nobody@tests.example"],
        ["workspace", "create", " ", "--owner", "owner@tests.example"],
        ["workspace", "create", "X"],
        ["workspace", "add", "workspace_nope", "owner@tests.example", "--role", "viewer"],
        ["workspace", "add", "workspace_universal", "nobody@tests.example", "--role", "viewer"],
        ["workspace", "add", "workspace_universal", "owner@tests.example", "--role", "king"],
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_told_in_a_line_and_by_the_status(app: Flask, args: list[str]) -> None:
    result = run(app, *args, stdin="short\n")

    assert result.exit_code != 0
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)


def test_tokens_and_passwords_are_kept_hashed(app: Flask) -> None:
    run(app, "user", "create", "p@tests.example", "--password-stdin", stdin="correct horse battery staple\n")
    token = printed(app, "token", "create", "p@tests.example")
    link = printed(app, "user", "link", "p@tests.example").rpartition("/")[2]

    for attribute in (ApiToken.token_hash, ApiToken.prefix, ApiToken.name, SignInLink.token_hash, User.password_hash):
        for value in column(app, attribute):
            assert token[-24:] not in str(value)
            assert link not in str(value)
            assert "battery" not in str(value)
