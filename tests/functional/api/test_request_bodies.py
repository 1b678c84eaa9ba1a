"""What may be in a request's body, and how it is told when something may not (G2, G7)."""

import json

import pytest
from flask import Flask

from app.models.tracesets import MAX_FILES
from app.services.uploads import MAX_PARTS
from app.settings import Settings
from tests.conftest import MakeApp, PeopleOf
from tests.support.api import Api, ok, refused
from tests.support.database import assert_nothing_stored

OPEN = "/tracesets/upload-url"
GOOD = '{"name":"n","files":[{"name":"a","size":1,"role":"supporting"}]'


def body_of(owner: Api, members: str) -> bytes:
    """A body that would be good, were it not for these members."""
    return f'{GOOD},"workspaceId":"{owner.workspace_id}",{members}}}'.encode()


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \r\n",
        b"[]",
        b'"text"',
        b"1",
        b"true",
        b"null",
        b"{",
        b"{}{}",
        b'{"name":"n",}',
        b"{'name':'n'}",
        b'{"name":"n" /* why */}',
        b"name=n&files=",
        b"<name>n</name>",
        b'{"name":"line\nbreak"}',
        b'{"name":"n","size":01}',
    ],
    ids=repr,
)
def test_a_body_that_is_no_json_object_is_refused(owner: Api, app: Flask, data: bytes) -> None:
    refused(owner.call("POST", OPEN, data=data), 400, "body")

    assert_nothing_stored(app)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "1" + "0" * 400 + ".0"])
@pytest.mark.parametrize("place", ['"ttlDays":{}', '"workloadMetadata":{{"x":[{}]}}', '"unknown":{{"a":{}}}'])
def test_numbers_that_no_double_holds_are_refused_everywhere(owner: Api, app: Flask, word: str, place: str) -> None:
    refused(owner.call("POST", OPEN, data=body_of(owner, place.format(word))), 400)

    assert_nothing_stored(app)


@pytest.mark.parametrize("value", ["2.0", "1e0", '"4"', "true", "[1]", "{}", "-1", "1.5", "-0.0"])
@pytest.mark.parametrize(
    ("members", "field"),
    [
        ('"ttlDays":{}', "ttlDays"),
        ('"workloadMetadata":{{"shape":{{"rankCount":{}}}}}', "workloadMetadata.shape.rankCount"),
        ('"workloadMetadata":{{"parallelism":{{"dp":{}}}}}', "workloadMetadata.parallelism.dp"),
    ],
    ids=["ttlDays", "rankCount", "dp"],
)
def test_whole_numbers_are_read_as_json_writes_them(
    owner: Api, app: Flask, members: str, field: str, value: str
) -> None:
    data = body_of(owner, members.format(value))

    refused(owner.call("POST", OPEN, data=data), 400, field, json.dumps(json.loads(value)))

    assert_nothing_stored(app)


@pytest.mark.parametrize("value", ["2.0", "1e3", '"4"', "true", "[1]", "{}", "-1", "1.5", "-0.0", "null"])
def test_a_size_is_a_whole_number_too(owner: Api, app: Flask, value: str) -> None:
    data = b'{"name":"n","files":[{"name":"a","size":0,"role":"supporting"},{"name":"b","size":%s}]}' % value.encode()

    refused(owner.call("POST", OPEN, data=data), 400, "files[1].size", "whole number")

    assert_nothing_stored(app)


@pytest.mark.parametrize("number", ["1" + "0" * 30, "1" + "0" * 5000, "-1" + "0" * 5000], ids=["31", "5001", "-5001"])
@pytest.mark.parametrize("field", ["ttlDays", "size"])
def test_endless_integers_are_refused_where_a_small_one_is_wanted(owner: Api, field: str, number: str) -> None:
    members = f'"ttlDays":{number}' if field == "ttlDays" else f'"files":[{{"name":"a","size":{number}}}]'

    refused(owner.call("POST", OPEN, data=b'{"name":"n",' + members.encode() + b"}"), 400, field)


@pytest.mark.parametrize(
    "name",
    [r"\u0000", r"a\u0000b", r"\ud800", r"\udc00\ud800", r"\ud83d", r"a\udfffb", "raw \0"],
    ids=["NUL", "inner NUL", "high", "swapped", "half", "low", "raw NUL"],
)
@pytest.mark.parametrize(
    "place",
    [
        '"description":"{}"',
        '"tags":["{}"]',
        '"{}":1',
        '"workloadMetadata":{{"{}":1}}',
        '"workloadMetadata":{{"a":["{}"]}}',
        '"unknown":[{{"a":"{}"}}]',
    ],
)
def test_text_that_no_database_stores_is_refused(owner: Api, app: Flask, place: str, name: str) -> None:
    refused(owner.call("POST", OPEN, data=body_of(owner, place.format(name))), 400)

    assert_nothing_stored(app)


@pytest.mark.parametrize(
    "members",
    [
        '"name":"again"',
        '"a":1,"a":1',
        '"workloadMetadata":{"a":1,"a":2}',
        '"workloadMetadata":{"shape":{"rankCount":1,"rankCount":2}}',
        '"unknown":[{"b":{"c":1,"c":1}}]',
        r'"a":1,"\u0061":2',
    ],
)
def test_a_member_that_is_there_twice_is_refused(owner: Api, app: Flask, members: str) -> None:
    refused(owner.call("POST", OPEN, data=body_of(owner, members)), 400, "twice")

    assert_nothing_stored(app)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_anything_but_plain_utf_8_is_refused(owner: Api, app: Flask, encoding: str) -> None:
    text = body_of(owner, '"description":"é"').decode()

    refused(owner.call("POST", OPEN, data=text.encode(encoding)), 400)

    assert_nothing_stored(app)


@pytest.mark.parametrize("piece", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"])
def test_bytes_that_are_no_utf_8_are_refused(owner: Api, app: Flask, piece: bytes) -> None:
    data = body_of(owner, '"description":"?"').replace(b"?", piece)

    refused(owner.call("POST", OPEN, data=data), 400, "UTF-8")

    assert_nothing_stored(app)


@pytest.mark.parametrize("depth", [100, 1000, 100_000])
def test_nesting_beyond_a_hundred_is_refused(owner: Api, app: Flask, depth: int) -> None:
    refused(owner.call("POST", OPEN, data=body_of(owner, f'"unknown":{nested(depth)}')), 400, "deeper than 100")

    assert_nothing_stored(app)


def test_nesting_up_to_a_hundred_is_taken(owner: Api) -> None:
    assert ok(owner.call("POST", OPEN, data=body_of(owner, f'"unknown":{nested(99)}')))["uploadId"]


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;charset=UTF-8",
        "application/json;",
    ],
)
def test_json_comes_under_its_media_type_or_none(owner: Api, content_type: str | None) -> None:
    headers = {"Content-Type": content_type} if content_type else {}

    assert ok(owner.call("POST", OPEN, data=body_of(owner, '"tags":null'), headers=headers))["uploadId"]


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/jsonx",
        "application/vnd.api+json",
        "application/octet-stream",
        "json",
        "*/*",
    ],
)
def test_another_media_type_is_refused(owner: Api, app: Flask, content_type: str) -> None:
    data = body_of(owner, '"tags":null')

    refused(owner.call("POST", OPEN, data=data, headers={"Content-Type": content_type}), 415, "application/json")

    assert_nothing_stored(app)


def test_where_nothing_needs_to_be_said_no_body_is_as_good_under_any_media_type(owner: Api) -> None:
    traceset = owner.upload({"a": b"x"})

    answer = owner.call(
        "POST", f"/tracesets/{traceset['id']}/validate", data=b"", headers={"Content-Type": "text/plain"}
    )

    assert ok(answer)["valid"] is True


def test_a_body_over_the_limit_is_413_with_its_code(make_app: MakeApp, people_of: PeopleOf) -> None:
    app = make_app(max_body_size=2000)
    owner = people_of(app).owner
    data = body_of(owner, '"description":"?"')
    fits = data.replace(b"?", b"x" * (2001 - len(data)))

    assert ok(owner.call("POST", OPEN, data=fits))["uploadId"]
    refused(owner.call("POST", OPEN, data=fits.replace(b"xx", b"xxx")), 413, "2000 bytes")


def test_the_completion_of_as_many_parts_as_may_be_opened_is_within_the_limit() -> None:
    part = {"partNumber": 10_000, "etag": f'"{"0" * 64}"'}  # as the disk store's, which are the longest
    file = {"name": "x" * 100, "parts": []}

    most = MAX_PARTS * len(json.dumps(part) + ", ") + MAX_FILES * len(json.dumps(file) + ", ")

    assert most < Settings.model_fields["max_body_size"].default


def test_unknown_members_and_absent_ones_are_alike(owner: Api) -> None:
    request = owner.request_of({"a": 1}, unknown={"a": [None]}, Name="other", workspaceid="x")
    request["files"][0]["checksum"] = 5

    session = ok(owner.post(OPEN, request))

    assert owner.show(session["tracesetId"])["name"] == "A traceset"
