"""POST /tracesets/upload-url: what it answers, and each rule of its members (U1-U4)."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from app.settings import MIB
from tests.conftest import MakeApp, PeopleOf
from tests.support.api import JSON, Api, file_spec, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_nothing_stored

OPEN = "/tracesets/upload-url"
TIB = 1024**4


def at(text: str) -> datetime:
    """A time as G4 writes it."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def test_the_answer_plans_every_file_in_its_order(owner: Api, moved_clock: Clock) -> None:
    now = moved_clock.now()

    session = owner.open({"z.et": 11 * MIB, "a/é.et": 0, "m.et": 5 * MIB})

    assert set(session) == {"uploadId", "tracesetId", "checksumAlgorithm", "files", "expiresAt"}
    assert re.fullmatch("upload_[a-z0-9]{20,}", session["uploadId"])
    assert re.fullmatch("ts_[a-z0-9]{20,}", session["tracesetId"])
    assert session["checksumAlgorithm"] == "SHA256"
    assert [file["name"] for file in session["files"]] == ["z.et", "a/é.et", "m.et"]
    sizes = [[(part["partNumber"], part["size"]) for part in file["parts"]] for file in session["files"]]
    assert sizes == [[(1, 5 * MIB), (2, 5 * MIB), (3, MIB)], [(1, 0)], [(1, 5 * MIB)]]
    for file in session["files"]:
        assert set(file) == {"name", "parts", "partUrlsExpireAt"}
        assert timedelta(seconds=3598) <= at(file["partUrlsExpireAt"]) - now <= timedelta(seconds=3602)
        assert all(set(part) == {"partNumber", "size", "url"} for part in file["parts"])
    assert timedelta(seconds=86398) <= at(session["expiresAt"]) - now <= timedelta(seconds=86402)


def test_part_urls_differ_and_need_no_token(owner: Api) -> None:
    session = owner.open({"a": 6 * MIB, "b": 1})
    urls = [part["url"] for file in session["files"] for part in file["parts"]]

    assert len(set(urls)) == 3
    assert owner.put(urls[2], b"x")


def test_the_traceset_is_uploading_from_then_on(owner: Api, viewer: Api) -> None:
    session = owner.open(
        [file_spec("b", 2, "primary"), file_spec("a", 3)],
        name="  Named  ",
        description="text",
        tags=["x", "y", "x"],
        ttlDays=30,
        workloadMetadata={"shape": {"rankCount": 8}},
    )

    traceset = viewer.show(session["tracesetId"])

    created, expires = at(traceset.pop("createdAt")), at(traceset.pop("expiresAt"))
    assert expires - created == timedelta(days=30)
    assert traceset == {
        "id": session["tracesetId"],
        "name": "Named",
        "description": "text",
        "status": "uploading",
        "files": [
            {"name": "b", "size": 2, "role": "primary", "metadataStatus": "pending"},
            {"name": "a", "size": 3, "role": "supporting", "metadataStatus": "pending"},
        ],
        "totalSize": 5,
        "tags": ["x", "y"],
        "workspaceId": owner.workspace_id,
        "rankCountDerived": 8,
        "workloadMetadata": {"shape": {"rankCount": 8}},
    }


def test_null_is_as_good_as_absent(owner: Api) -> None:
    absent = owner.open([{"name": "a", "size": 1, "role": "supporting"}])
    null = owner.open(
        [{"name": "a", "size": 1, "role": "supporting", "sha256": None, "externalUrl": None}],
        description=None,
        tags=None,
        ttlDays=None,
        workloadMetadata=None,
    )

    shown = [owner.show(session["tracesetId"]) for session in (absent, null)]

    for traceset in shown:
        for name in ("id", "createdAt", "expiresAt"):
            assert traceset.pop(name)
    assert shown[0] == shown[1]
    assert shown[0]["tags"] == []
    assert shown[0]["description"] is None
    assert shown[0]["workloadMetadata"] is None


def test_a_file_is_primary_unless_it_says_otherwise(owner: Api) -> None:
    files = [{"name": "a", "size": 1}, {"name": "b", "size": 1, "role": None}, file_spec("c", 1)]

    session = owner.open(files, workloadMetadata={"shape": {"rankCount": 1}})

    roles = [file["role"] for file in owner.show(session["tracesetId"])["files"]]
    assert roles == ["primary", "primary", "supporting"]


def test_no_workspace_is_the_universal_one(owner: Api) -> None:
    session = owner.open({"a": 1}, workspaceId=None)

    assert owner.show(session["tracesetId"])["workspaceId"] == "workspace_universal"


@pytest.mark.parametrize(("days", "default"), [(365, None), (None, 0), (7, 7)])
def test_the_servers_lifetime_counts_where_none_is_asked_for(
    make_app: MakeApp, people_of: PeopleOf, days: int | None, default: int | None
) -> None:
    app = make_app() if default is None else make_app(default_ttl_days=default)
    owner = people_of(app).owner

    traceset = owner.show(owner.open({"a": 1})["tracesetId"])

    expires = traceset["expiresAt"] and at(traceset["expiresAt"]) - at(traceset["createdAt"])
    assert expires == (timedelta(days=days) if days else None)


@pytest.mark.parametrize(
    ("size", "part_size", "count", "last"),
    [
        (0, 64 * MIB, 1, 0),
        (1, 64 * MIB, 1, 1),
        (64 * MIB - 1, 64 * MIB, 1, 64 * MIB - 1),
        (64 * MIB, 64 * MIB, 1, 64 * MIB),
        (64 * MIB + 1, 64 * MIB, 2, 1),
        (10_000 * 64 * MIB, 64 * MIB, 10_000, 64 * MIB),
        (10_000 * 64 * MIB + 1, 65 * MIB, 9_847, 10 * MIB + 1),
        (5 * TIB, 525 * MIB, 9_987, 230 * MIB),
    ],
)
def test_parts_are_equal_but_the_last_and_never_more_than_ten_thousand(
    make_app: MakeApp, people_of: PeopleOf, size: int, part_size: int, count: int, last: int
) -> None:
    owner = people_of(make_app(part_size=64 * MIB)).owner

    [file] = owner.open({"a": size})["files"]

    sizes = [part["size"] for part in file["parts"]]
    assert sizes == [part_size] * (count - 1) + [last]
    assert sum(sizes) == size
    assert [part["partNumber"] for part in file["parts"]] == list(range(1, count + 1))


def test_a_file_above_the_stores_limit_is_refused(owner: Api, app: Flask) -> None:
    request = owner.request_of([file_spec("a", 1), file_spec("b", 5 * TIB + 1)])

    refused(owner.post(OPEN, request), 400, "files[1].size", str(5 * TIB + 1))

    assert_nothing_stored(app)


def test_more_parts_than_one_answer_can_hold_are_refused(owner: Api, app: Flask) -> None:
    request = owner.request_of({f"rank_{i}.et": 5 * TIB for i in range(51)})

    refused(owner.post(OPEN, request), 400, "files", "509337", "250000")

    assert_nothing_stored(app)


BAD_MEMBERS: list[tuple[JSON, list[str]]] = [
    ({"name": None}, ["name", "string", "null"]),
    ({"name": 5}, ["name", "string", "5"]),
    ({"name": ""}, ["name", "1 to 255"]),
    ({"name": " \t\n\u00a0\u2003"}, ["name", "1 to 255"]),
    ({"name": "x" * 256}, ["name", "1 to 255"]),
    ({"name": ["x"]}, ["name", "string"]),
    ({"files": None}, ["files", "array"]),
    ({"files": []}, ["files", "at least 1"]),
    ({"files": {}}, ["files", "array"]),
    ({"files": "a"}, ["files", "array"]),
    ({"files": [file_spec(str(i), 0) for i in range(10_001)]}, ["files", "10000"]),
    ({"files": [None]}, ["files[0]", "object"]),
    ({"files": [file_spec("a", 1), "b"]}, ["files[1]", "object"]),
    ({"files": [{"size": 1}]}, ["files[0].name", "required"]),
    ({"files": [{"name": "a"}]}, ["files[0].size", "at least 0"]),
    ({"files": [file_spec("a", 1), file_spec("b", -1)]}, ["files[1].size", "at least 0", "-1"]),
    ({"files": [file_spec("a", 1, "main")]}, ["files[0].role", "'primary' or 'supporting'", '"main"']),
    ({"files": [file_spec("a", 1, "Primary")]}, ["files[0].role"]),
    ({"description": 5}, ["description", "string"]),
    ({"description": "x" * 10_001}, ["description", "10000"]),
    ({"tags": "gpt"}, ["tags", "array"]),
    ({"tags": {"gpt": 1}}, ["tags", "array"]),
    ({"tags": ["a", None]}, ["tags[1]", "string"]),
    ({"tags": ["a", ""]}, ["tags[1]", "at least 1"]),
    ({"tags": ["x" * 101]}, ["tags[0]", "100"]),
    ({"tags": [str(i) for i in range(51)]}, ["tags", "50"]),
    ({"ttlDays": 0}, ["ttlDays", "at least 1", "0"]),
    ({"ttlDays": 366}, ["ttlDays", "at most 365", "366"]),
    ({"workspaceId": 5}, ["workspaceId", "string"]),
    ({"workspaceId": ""}, ["workspaceId", "''"]),
    ({"workspaceId": "workspace_unknown"}, ["workspaceId", "workspace_unknown"]),
    ({"workspaceId": "WORKSPACE_UNIVERSAL"}, ["workspaceId", "WORKSPACE_UNIVERSAL"]),
]


@pytest.mark.parametrize(
    ("members", "fragments"), BAD_MEMBERS, ids=[f"{next(iter(m))}-{i}" for i, (m, _) in enumerate(BAD_MEMBERS)]
)
def test_a_bad_member_is_named(owner: Api, app: Flask, members: JSON, fragments: list[str]) -> None:
    refused(owner.post(OPEN, owner.request_of({"a": 1}) | members), 400, *fragments)

    assert_nothing_stored(app)


@pytest.mark.parametrize("member", ["name", "files"])
def test_what_is_required_is_named_when_it_is_missing(owner: Api, member: str) -> None:
    request = owner.request_of({"a": 1})
    del request[member]

    refused(owner.post(OPEN, request), 400, exactly=f"{member} is required")


GOOD_MEMBERS: list[tuple[str, Any, Any]] = [
    ("name", "x" * 255, "x" * 255),
    ("name", "\u2003" + "é" * 255 + "\n", "é" * 255),
    ("name", "🚀" * 255, "🚀" * 255),
    ("description", "", ""),
    ("description", "x" * 10_000, "x" * 10_000),
    ("description", "line\nbreak\ttab", "line\nbreak\ttab"),
    ("tags", [], []),
    ("tags", ["b", "a", "b", "B"], ["b", "a", "B"]),
    ("tags", [str(i) for i in range(50)] + ["0"] * 50, [str(i) for i in range(50)]),
    ("tags", ["x" * 100, " ", "é,;\"'"], ["x" * 100, " ", "é,;\"'"]),
]


@pytest.mark.parametrize(("member", "given", "shown"), GOOD_MEMBERS)
def test_members_at_their_limits_are_taken(owner: Api, member: str, given: object, shown: object) -> None:
    session = owner.open({"a": 1}, **{member: given})

    assert owner.show(session["tracesetId"])[member] == shown


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/./b",
        "a/../b",
        "../a",
        "a/..",
        "a\\b",
        "\\",
        "a\nb",
        "a\x7fb",
        "a\x85b",
        "\x1b",
        "é" * 512 + "x",
        "x" * 1025,
    ],
    ids=ascii,
)
def test_a_file_name_that_could_leave_its_folder_is_refused(owner: Api, app: Flask, name: str) -> None:
    request = owner.request_of([file_spec("fine", 1), file_spec(name, 1)])

    refused(owner.post(OPEN, request), 400, "files[1].name")

    assert_nothing_stored(app)


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "...",
        "..a",
        "a..",
        ".hidden/.x",
        " a ",
        "a b/c d",
        "é" * 512,
        "x" * 1024,
        "漢字/🚀.et",
        "-rf",
        "~",
        "C:a",
        "a%2fb",
        "a?b#c&d=e",
        "\"quoted\" 'it'",
        "a\u202eb",
        "a\u200bb",
        "<script>",
    ],
    ids=ascii,
)
def test_any_other_name_is_kept_as_it_is(owner: Api, name: str) -> None:
    traceset = owner.upload({name: b"content"})

    assert [file["name"] for file in traceset["files"]] == [name]
    assert owner.read(traceset["id"], name) == b"content"


@pytest.mark.parametrize(
    "names",
    [("a", "b", "a"), ("é", "x", unicodedata.normalize("NFD", "é")), ("ﬁ/\u212b", "x", "ﬁ/\u00c5")],
    ids=["same", "normal forms", "angstrom"],
)
def test_two_spellings_of_one_name_are_refused(owner: Api, app: Flask, names: tuple[str, ...]) -> None:
    request = owner.request_of([file_spec(name, 1) for name in names])

    refused(owner.post(OPEN, request), 400, "files[2].name", "files[0]")

    assert_nothing_stored(app)


def test_names_that_differ_in_case_or_compatibility_are_two(owner: Api) -> None:
    session = owner.open(dict.fromkeys(["a", "A", "ﬁ", "fi", "ss", "ß"], 1))

    assert len(session["files"]) == 6


def test_ten_thousand_files_are_taken(owner: Api) -> None:
    files = [file_spec(f"rank_{i}.et", 1, externalUrl="s3://bucket/key") for i in range(10_000)]

    session = owner.open(files)

    assert [file["name"] for file in session["files"]] == [file["name"] for file in files]


@pytest.mark.parametrize(("who", "workspace"), [("viewer", None), ("viewer", "shared"), ("stranger", "shared")])
def test_a_workspace_that_one_may_not_write_to_is_named(
    app: Flask, people_of: PeopleOf, who: str, workspace: str | None
) -> None:
    caller: Api = getattr(people_of(app), who)
    workspace_id = caller.workspace_id if workspace else None
    request = caller.request_of({"a": 1}) | {"workspaceId": workspace_id}

    refused(caller.post(OPEN, request), 400, "workspaceId", workspace_id or "workspace_universal")

    assert_nothing_stored(app)


def test_the_urls_live_no_longer_than_the_session(make_app: MakeApp, people_of: PeopleOf) -> None:
    owner = people_of(make_app(part_url_ttl=3600, session_ttl=100)).owner

    session = owner.open({"a": 1})

    assert session["files"][0]["partUrlsExpireAt"] == session["expiresAt"]


def test_both_lifetimes_are_settings(make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock) -> None:
    owner = people_of(make_app(part_url_ttl=60, session_ttl=7200)).owner
    now = moved_clock.now()

    session = ok(owner.post(OPEN, owner.request_of({"a": 1})))

    assert 58 <= (at(session["files"][0]["partUrlsExpireAt"]) - now).total_seconds() <= 62
    assert 7198 <= (at(session["expiresAt"]) - now).total_seconds() <= 7202
