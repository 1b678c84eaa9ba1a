"""POST /tracesets/upload-url/complete: its answers, one at a time (C1-C4, C8)."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
import requests
from flask import Flask

from app.models.tracesets import LibraryFile
from app.settings import MIB
from tests.conftest import People
from tests.support.api import JSON, OWN_ORIGIN, Api, file_spec, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, column
from tests.support.upkeep import open_uploads, stored_keys, sweep

COMPLETE = "/tracesets/upload-url/complete"
BIG = b"1" * (5 * MIB) + b"23"
CONTENTS = {"big.et": BIG, "dir/small": b"abc"}

Files = list[JSON]


@pytest.fixture
def session(owner: Api) -> JSON:
    """An open session of a file of two parts and one of a single part."""
    return owner.open({name: len(content) for name, content in CONTENTS.items()})


@pytest.fixture
def files(owner: Api, session: JSON) -> Files:
    """What completes it: everything has been sent."""
    return owner.send(session, CONTENTS)


def assert_completes(app: Flask, owner: Api, session: JSON, files: Files) -> None:
    traceset = ok(owner.complete(session, files), 201)
    for name, content in CONTENTS.items():
        assert owner.read(traceset["id"], name) == content
    assert_counts_right(app)


def put_status(app: Flask, url: str, data: bytes) -> int:
    """What a PUT is answered, whatever that is."""
    if url.startswith(OWN_ORIGIN):
        return app.test_client().put(urlsplit(url).path, data=data).status_code
    return requests.put(url, data=data, timeout=60).status_code


def test_the_first_completion_is_201_and_every_retry_200_with_the_whole_traceset(
    owner: Api, session: JSON, files: Files, moved_clock: Clock
) -> None:
    first = ok(owner.complete(session, files), 201)
    again = ok(owner.complete(session, files))
    moved_clock.pass_by(hours=48)
    late = ok(owner.complete(session, [{"name": "anything"}]))

    assert first == again == late == owner.show(session["tracesetId"])
    assert first["status"] == "ready"
    assert first["totalSize"] == len(BIG) + 3
    assert [(file["name"], file["metadataStatus"]) for file in first["files"]] == [
        ("big.et", "complete"),
        ("dir/small", "complete"),
    ]


def test_one_primary_file_holds_all_ranks(owner: Api) -> None:
    session = owner.open(
        [file_spec("a", 1, "primary"), file_spec("b", 1)], workloadMetadata={"shape": {"rankCount": 8}}
    )

    traceset = ok(owner.complete(session, owner.send(session, {"a": b"a", "b": b"b"})), 201)

    assert traceset["files"][0]["rankRange"] == {"start": 0, "end": 7}
    assert "rankRange" not in traceset["files"][1]


def test_of_two_primary_files_none_does(owner: Api) -> None:
    specs = [file_spec("a", 1, "primary"), file_spec("b", 1, "primary")]
    session = owner.open(specs, workloadMetadata={"shape": {"rankCount": 8}})

    traceset = ok(owner.complete(session, owner.send(session, {"a": b"a", "b": b"b"})), 201)

    assert all("rankRange" not in file for file in traceset["files"])


def reversed_all(files: Files) -> Files:
    return [{"name": file["name"], "parts": file["parts"][::-1]} for file in files[::-1]]


def with_etags(change: Callable[[str], object]) -> Callable[[Files], Files]:
    def changed(files: Files) -> Files:
        return [
            {
                "name": f["name"],
                "parts": [{"partNumber": p["partNumber"], "etag": change(p["etag"])} for p in f["parts"]],
            }
            for f in files
        ]

    return changed


def without_etags(files: Files) -> Files:
    return [{"name": f["name"], "parts": [{"partNumber": p["partNumber"]} for p in f["parts"]]} for f in files]


@pytest.mark.parametrize(
    "spelled",
    [
        reversed_all,
        with_etags(lambda etag: etag.strip('"')),
        with_etags(str.upper),
        with_etags(lambda etag: f'"{etag.strip(chr(34)).upper()}"'),
        with_etags(lambda etag: f" {etag} "),
        with_etags(lambda etag: None),
        without_etags,
    ],
    ids=["any order", "unquoted", "upper case", "quoted upper case", "spaces", "null", "left out"],
)
def test_parts_may_be_named_in_many_ways(
    app: Flask, owner: Api, session: JSON, files: Files, spelled: Callable[[Files], Files]
) -> None:
    assert_completes(app, owner, session, spelled(files))


def named(number: object = 1, etag: object = None, name: object = "dir/small") -> JSON:
    return {"name": name, "parts": [{"partNumber": number, "etag": etag}]}


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        (lambda big, small: [], ["Missing parts for file 'big.et'"]),
        (lambda big, small: [small], ["Missing parts for file 'big.et'"]),
        (lambda big, small: [big], ["Missing parts for file 'dir/small'"]),
        (lambda big, small: [big, {"name": "dir/small"}], ["Missing parts for file 'dir/small'"]),
        (lambda big, small: [big, {"name": "dir/small", "parts": None}], ["Missing parts for file 'dir/small'"]),
        (lambda big, small: [big, {"name": "dir/small", "parts": []}], ["Missing parts for file 'dir/small'"]),
        (lambda big, small: [{**big, "parts": big["parts"][:1]}, small], ["Missing parts for file 'big.et'"]),
        (lambda big, small: [{**big, "parts": big["parts"][1:]}, small], ["Missing parts for file 'big.et'"]),
        (lambda big, small: [big, small, named(name="other")], ["'other'"]),
        (lambda big, small: [big, small, named(name="BIG.ET")], ["'BIG.ET'"]),
        (lambda big, small: [big, small, small], ["'dir/small'", "twice"]),
        (lambda big, small: [big, named(0)], ["'dir/small'", "Part 0"]),
        (lambda big, small: [big, named(-1)], ["'dir/small'", "Part -1"]),
        (lambda big, small: [big, named(2)], ["'dir/small'", "Part 2"]),
        (lambda big, small: [big, named(10**18)], ["'dir/small'", f"Part {10**18}"]),
        (
            lambda big, small: [{**big, "parts": [*big["parts"], big["parts"][1]]}, small],
            ["'big.et'", "Part 2", "twice"],
        ),
        (lambda big, small: [big, named(1, "0" * 32)], ["'dir/small'", "Part 1", "0" * 32]),
        (lambda big, small: [big, named(1, "")], ["'dir/small'", "Part 1"]),
        (lambda big, small: [big, named(1, '"')], ["'dir/small'", "Part 1"]),
        (lambda big, small: [big, named(1, big["parts"][0]["etag"])], ["'dir/small'", "Part 1"]),
        (lambda big, small: [big, named(1, "W/" + small["parts"][0]["etag"])], ["'dir/small'", "Part 1"]),
        (lambda big, small: [big, named(1, small["parts"][0]["etag"][:-2] + '"')], ["'dir/small'", "Part 1"]),
        (lambda big, small: "all", ["files", "array"]),
        (lambda big, small: None, ["files", "array"]),
        (lambda big, small: [big, "dir/small"], ["files[1]", "object"]),
        (lambda big, small: [big, {"parts": small["parts"]}], ["files[1].name", "required"]),
        (lambda big, small: [big, named(name=5)], ["files[1].name", "string"]),
        (lambda big, small: [big, {**small, "parts": {}}], ["files[1].parts", "array"]),
        (lambda big, small: [big, {**small, "parts": [1]}], ["files[1].parts[0]", "object"]),
        (lambda big, small: [big, {**small, "parts": [{"etag": "x"}]}], ["files[1].parts[0].partNumber", "required"]),
        (lambda big, small: [big, named("1")], ["files[1].parts[0].partNumber", "whole number"]),
        (lambda big, small: [big, named(1.0)], ["files[1].parts[0].partNumber", "whole number"]),
        (lambda big, small: [big, named(True)], ["files[1].parts[0].partNumber", "whole number"]),
        (lambda big, small: [big, named(None)], ["files[1].parts[0].partNumber", "whole number"]),
        (lambda big, small: [big, named(1, 5)], ["files[1].parts[0].etag", "string"]),
    ],
)
def test_what_is_wrong_is_named_and_the_session_stays_open(
    app: Flask,
    owner: Api,
    session: JSON,
    files: Files,
    change: Callable[[JSON, JSON], object],
    fragments: list[str],
) -> None:
    answer = owner.post(COMPLETE, {"uploadId": session["uploadId"], "files": change(*files)})

    refused(answer, 400, *fragments)

    assert owner.show(session["tracesetId"])["status"] == "uploading"
    assert ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))["state"] == "open"
    assert_completes(app, owner, session, files)


def test_a_part_that_was_never_put_is_missing_and_may_be_sent_then(app: Flask, owner: Api, session: JSON) -> None:
    first, second = (part["url"] for part in session["files"][0]["parts"])
    owner.put(second, BIG[5 * MIB :])
    owner.put(session["files"][1]["parts"][0]["url"], b"abc")
    everything = [{"name": "big.et", "parts": [{"partNumber": n} for n in (1, 2)]}, named()]

    refused(owner.complete(session, everything), 400, exactly="Missing parts for file 'big.et'")

    owner.put(first, BIG[: 5 * MIB])
    assert_completes(app, owner, session, everything)


@pytest.mark.parametrize(("number", "sent"), [(1, 5 * MIB - 1), (1, 0), (2, 1)])
def test_a_short_part_is_named_and_may_be_sent_again(
    app: Flask, owner: Api, session: JSON, files: Files, number: int, sent: int
) -> None:
    url = session["files"][0]["parts"][number - 1]["url"]
    short = owner.put(url, b"x" * sent)
    files[0]["parts"][number - 1]["etag"] = short

    refused(owner.complete(session, files), 400, "'big.et'", f"Part {number}", f"{sent} bytes")

    files[0]["parts"][number - 1]["etag"] = owner.put(url, BIG[(number - 1) * 5 * MIB : number * 5 * MIB])
    assert_completes(app, owner, session, files)


def test_an_etag_of_a_part_that_was_replaced_is_refused(app: Flask, owner: Api, session: JSON, files: Files) -> None:
    url = session["files"][1]["parts"][0]["url"]
    owner.put(url, b"xyz")

    refused(owner.complete(session, files), 400, "'dir/small'", "Part 1")

    owner.put(url, b"abc")
    assert_completes(app, owner, session, files)


def test_a_long_part_and_a_short_one_do_not_make_up_for_each_other(owner: Api, session: JSON, files: Files) -> None:
    one, two = (part["url"] for part in session["files"][0]["parts"])
    owner.put(one, b"x" * (5 * MIB + 1))
    owner.put(two, b"x")

    refused(owner.complete(session, without_etags(files)), 400, "'big.et'", "Part 2")


@pytest.mark.parametrize(
    "files", [[], [{"name": "unknown", "parts": [{"partNumber": 9}]}], [named(name="grown")]], ids=str
)
def test_oversize_is_told_before_anything_else_and_ends_everything(app: Flask, owner: Api, files: Files) -> None:
    session = owner.open({"missing": 1, "grown": 1, "fine": 1})
    owner.put(session["files"][1]["parts"][0]["url"], b"too long")
    owner.put(session["files"][2]["parts"][0]["url"], b"x")

    answer = owner.complete(session, files)

    message = "File grown is 8 bytes, larger than its declared size of 1 bytes"
    assert answer.json == {"error": {"code": "PAYLOAD_TOO_LARGE", "message": message}}
    refused(answer, 413)
    assert owner.show(session["tracesetId"])["status"] == "upload_failed"
    assert (open_uploads(app), stored_keys(app), column(app, LibraryFile.key)) == ([], [], [])
    for _ in range(2):
        refused(owner.complete(session, files), 400, message, "POST /api/v1/tracesets/upload-url")
    assert_counts_right(app)


def test_a_file_of_no_bytes_must_stay_so(owner: Api) -> None:
    session = owner.open({"empty": 0})
    owner.put(session["files"][0]["parts"][0]["url"], b"x")

    refused(owner.complete(session, []), 413, "File empty is 1 bytes", "0 bytes")


def test_oversize_by_one_byte_in_the_last_of_many_parts(owner: Api, session: JSON, files: Files) -> None:
    owner.put(session["files"][0]["parts"][1]["url"], b"xyz")

    refused(owner.complete(session, files), 413, f"{len(BIG) + 1} bytes", f"{len(BIG)} bytes")


def test_a_put_that_is_too_long_is_itself_taken(app: Flask, session: JSON) -> None:
    assert put_status(app, session["files"][1]["parts"][0]["url"], b"x" * 100_000) == 200


@pytest.mark.parametrize("is_swept", [False, True], ids=["not swept", "swept"])
def test_an_expired_session_is_gone(
    app: Flask, owner: Api, session: JSON, files: Files, moved_clock: Clock, is_swept: bool
) -> None:
    moved_clock.pass_by(hours=24)
    if is_swept:
        sweep(app)

    refused(owner.complete(session, files), 410, exactly=f"Upload session '{session['uploadId']}' has expired")

    expected = "upload_failed" if is_swept else "uploading"
    assert owner.show(session["tracesetId"])["status"] == expected


def test_until_the_last_second_it_is_not(
    app: Flask, owner: Api, session: JSON, files: Files, moved_clock: Clock
) -> None:
    moved_clock.pass_by(hours=23, minutes=59, seconds=55)

    assert_completes(app, owner, session, files)


def test_an_unknown_session_is_not_found(owner: Api) -> None:
    answer = owner.post(COMPLETE, {"uploadId": "upload_notfound", "files": []})

    refused(answer, 404, exactly="Upload session 'upload_notfound' not found")


@pytest.mark.parametrize(
    ("body", "fragments"),
    [
        ({"files": []}, ["uploadId", "required"]),
        ({"uploadId": None, "files": []}, ["uploadId", "string"]),
        ({"uploadId": 5, "files": []}, ["uploadId", "string"]),
        ({"uploadId": "upload_x"}, ["files", "required"]),
    ],
)
def test_a_body_that_names_no_session_is_refused(owner: Api, body: JSON, fragments: list[str]) -> None:
    refused(owner.post(COMPLETE, body), 400, *fragments)


def test_a_session_of_a_deleted_traceset_tells_what_has_become_of_it(owner: Api, session: JSON, files: Files) -> None:
    other = owner.open({"a": 1})
    ok(owner.complete(session, files), 201)
    for opened in (session, other):
        assert owner.delete(f"/tracesets/{opened['tracesetId']}").status_code == 204

    refused(owner.complete(session, files), 404, exactly=f"Traceset '{session['tracesetId']}' not found")
    refused(owner.complete(other, []), 400, "aborted")


def test_a_session_of_the_other_kind_names_the_right_route(owner: Api, session: JSON, files: Files) -> None:
    request = {"name": "m", "workspaceId": owner.workspace_id, "files": [{"name": "a", "size": 1}]}
    mapping = ok(owner.post("/mapping-files/upload-url", request))

    refused(owner.complete(mapping, []), 400, "POST /api/v1/mapping-files/upload-url/complete")
    answer = owner.post("/mapping-files/upload-url/complete", {"uploadId": session["uploadId"], "files": files})
    refused(answer, 400, "POST /api/v1/tracesets/upload-url/complete")

    assert ok(owner.complete(session, files), 201)["status"] == "ready"


@pytest.mark.parametrize(
    ("who", "status"), [("viewer", 403), ("reader", 403), ("stranger", 404), ("editor", 201), ("admin", 201)]
)
def test_who_may_change_the_workspace_may_complete_its_sessions(
    people_here: People, session: JSON, files: Files, who: str, status: int
) -> None:
    assert getattr(people_here, who).complete(session, files).status_code == status

    expected = "ready" if status == 201 else "uploading"
    assert people_here.owner.show(session["tracesetId"])["status"] == expected


def test_after_completion_no_part_url_changes_anything(app: Flask, owner: Api, session: JSON, files: Files) -> None:
    traceset = ok(owner.complete(session, files), 201)

    for file in session["files"]:
        for part in file["parts"]:
            assert put_status(app, part["url"], b"evil" * 10) >= 400

    for name, content in CONTENTS.items():
        assert owner.read(traceset["id"], name) == content
    assert ok(owner.post(f"/tracesets/{traceset['id']}/validate", {"deep": True}))["checks"][0]["passed"]
    assert open_uploads(app) == []


def test_nothing_is_copied(app: Flask, owner: Api, session: JSON, files: Files) -> None:
    before = column(app, LibraryFile.key)

    ok(owner.complete(session, files), 201)

    assert sorted(column(app, LibraryFile.key)) == sorted(before) == sorted(stored_keys(app))
