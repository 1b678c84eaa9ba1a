"""Files that stay where they are (U8, W3)."""

import io
import zipfile

import pytest
from flask import Flask

from tests.support.api import Api, file_spec, ok, refused
from tests.support.database import assert_counts_right, assert_nothing_stored
from tests.support.upkeep import open_uploads

OPEN = "/tracesets/upload-url"
URL = "https://elsewhere.example/traces/rank_0.et?token=a%20b"


def test_an_external_file_has_no_parts_and_is_shown_with_its_url(app: Flask, owner: Api) -> None:
    session = owner.open([file_spec("ext.dat", 10, externalUrl=URL), file_spec("own", 1)])

    assert session["files"][0]["parts"] == []
    assert len(open_uploads(app)) == 1
    traceset = ok(owner.complete(session, owner.send(session, {"own": b"x"})), 201)
    assert traceset["files"] == [
        {"name": "ext.dat", "size": 10, "role": "supporting", "metadataStatus": "complete", "externalUrl": URL},
        {"name": "own", "size": 1, "role": "supporting", "metadataStatus": "complete"},
    ]
    assert traceset["totalSize"] == 11
    assert_counts_right(app)


@pytest.mark.parametrize("files", [[], [{"name": "ext.dat"}], [{"name": "ext.dat", "parts": []}]], ids=str)
def test_a_traceset_of_external_files_alone_completes_with_nothing_sent(owner: Api, files: list[object]) -> None:
    session = owner.open([{"name": "ext.dat", "role": "supporting", "externalUrl": "s3://bucket/key"}])

    traceset = ok(owner.post(f"{OPEN}/complete", {"uploadId": session["uploadId"], "files": files}), 201)

    assert (traceset["status"], traceset["totalSize"]) == ("ready", 0)


def test_a_part_of_an_external_file_does_not_exist(owner: Api) -> None:
    session = owner.open([file_spec("ext.dat", 1, externalUrl=URL)])

    answer = owner.complete(session, [{"name": "ext.dat", "parts": [{"partNumber": 1, "etag": "x"}]}])

    refused(answer, 400, "Part 1", "'ext.dat'", "no parts")


@pytest.mark.parametrize(
    "url",
    ["http://h/", "https://h", "s3://bucket/key", "HTTPS://h/x", "http://h/" + "x" * 2039, "https://é.example/ü", URL],
)
def test_urls_of_http_and_s3_are_taken(owner: Api, url: str) -> None:
    session = owner.open([file_spec("a", 0, externalUrl=url)])

    assert owner.show(session["tracesetId"])["files"][0]["externalUrl"] == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "h",
        "/x",
        "//h/x",
        "ftp://h/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:,x",
        "http:",
        "http://",
        "s3://",
        "https:///x",
        "http://h/ x",
        "http://h/\n",
        "http://[",
        "http://h/" + "x" * 2040,
        5,
        True,
        ["http://h/"],
    ],
    ids=lambda url: repr(url)[:40],
)
def test_other_urls_are_refused(owner: Api, app: Flask, url: object) -> None:
    request = owner.request_of([file_spec("a", 1), file_spec("b", 1, externalUrl=url)])

    refused(owner.post(OPEN, request), 400, "files[1].externalUrl")

    assert_nothing_stored(app)


def test_an_external_files_size_and_name_follow_the_same_rules(owner: Api) -> None:
    for field, spec in (
        ("files[0].size", {"name": "a", "size": -1}),
        ("files[0].size", {"name": "a", "size": "1"}),
        ("files[0].name", {"name": "../a"}),
    ):
        refused(owner.post(OPEN, owner.request_of([spec | {"externalUrl": URL, "role": "supporting"}])), 400, field)


def test_a_primary_external_file_needs_a_declared_rank_count(owner: Api) -> None:
    spec = {"name": "a", "externalUrl": URL}

    refused(owner.post(OPEN, owner.request_of([spec])), 400, "must declare a rank count")
    session = owner.open([spec], workloadMetadata={"shape": {"rankCount": 2}})
    traceset = ok(owner.complete(session, []), 201)

    assert traceset["files"][0]["rankRange"] == {"start": 0, "end": 1}


def test_an_external_file_cannot_be_downloaded_in_these_words(owner: Api) -> None:
    traceset = ok(owner.complete(owner.open([file_spec("external.dat", 1, externalUrl=URL)]), []), 201)

    answer = owner.get(f"/tracesets/{traceset['id']}/download", file="external.dat")

    refused(
        answer,
        400,
        exactly="File 'external.dat' uses an external URL and cannot be downloaded via presigned URL",
    )


def test_an_archive_lists_what_it_leaves_out(owner: Api) -> None:
    session = owner.open([file_spec("EXTERNAL_FILES.txt", 3), file_spec("é ext.dat", 1, externalUrl=URL)])
    traceset = ok(owner.complete(session, owner.send(session, {"EXTERNAL_FILES.txt": b"own"})), 201)

    archive = zipfile.ZipFile(io.BytesIO(owner.read(traceset["id"])))

    assert archive.namelist() == ["EXTERNAL_FILES.txt", "_EXTERNAL_FILES.txt"]
    assert archive.read("EXTERNAL_FILES.txt") == b"own"
    assert archive.read("_EXTERNAL_FILES.txt").decode() == f"é ext.dat\t{URL}\n"


def test_validation_does_not_fetch_external_files(owner: Api) -> None:
    url = "http://127.0.0.1:9/never"
    traceset = ok(owner.complete(owner.open([file_spec("a", 1, externalUrl=url)]), []), 201)

    checks = ok(owner.post(f"/tracesets/{traceset['id']}/validate", {"deep": True}))

    assert checks["valid"] is True
