"""GET /tracesets/{id}/download: URLs of single files and of archives, and what they give (W1-W4)."""

import io
import re
import stat
import string
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import requests
from flask import Flask

from app.extensions import object_store
from app.models.tracesets import LibraryFile
from app.settings import MIB
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.support.api import OWN_ORIGIN, Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import column

BIG = bytes(range(256)) * (5 * MIB // 256) + b"the last part"
CONTENTS = {"big.et": BIG, "dir/small é 🚀.json": b"{}", "empty": b""}


@pytest.fixture
def traceset_id(owner: Api) -> str:
    """A ready traceset of a file of two parts, a small one and an empty one."""
    identifier: str = owner.upload(CONTENTS)["id"]
    return identifier


def url_of(owner: Api, traceset_id: str, name: str | None = None) -> str:
    query = {} if name is None else {"file": name}
    url: str = ok(owner.get(f"/tracesets/{traceset_id}/download", **query))["url"]
    return url


class Answer:
    """Status, headers and bytes of what a URL gave."""

    def __init__(self, status: int, headers: Any, content: bytes) -> None:
        self.status, self.headers, self.content = status, headers, content


def fetch(app: Flask, url: str, method: str = "GET", **headers: str) -> Answer:
    """Ask as a browser does, without any credentials but the URL."""
    if url.startswith(OWN_ORIGIN):
        response = app.test_client().open(urlsplit(url).path, method=method, headers=headers)
        return Answer(response.status_code, response.headers, response.data)
    answer = requests.request(method, url, headers=headers, timeout=60)
    return Answer(answer.status_code, answer.headers, answer.content)


def shown_name(disposition: str) -> str:
    """The name under which a browser saves."""
    assert disposition.startswith("attachment;")
    extended = re.search(r"filename\*=UTF-8''([^;]+)", disposition)
    if extended:
        return unquote(extended[1], errors="strict")
    plain = re.search(r'filename="((?:[^"\\]|\\.)*)"', disposition)
    assert plain
    return re.sub(r"\\(.)", r"\1", plain[1])


def test_the_answer_has_a_url_its_end_and_the_files_name(owner: Api, traceset_id: str, moved_clock: Clock) -> None:
    answer = ok(owner.get(f"/tracesets/{traceset_id}/download", file="big.et"))

    assert set(answer) == {"url", "expiresAt", "file"}
    assert answer["file"] == "big.et"
    ends = datetime.strptime(answer["expiresAt"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert timedelta(seconds=895) <= ends - moved_clock.now() <= timedelta(seconds=900)


@pytest.mark.parametrize("name", CONTENTS)
def test_the_url_gives_exactly_the_bytes_as_an_attachment(app: Flask, owner: Api, traceset_id: str, name: str) -> None:
    answer = fetch(app, url_of(owner, traceset_id, name))

    assert (answer.status, answer.content) == (200, CONTENTS[name])
    assert answer.headers["Content-Length"] == str(len(CONTENTS[name]))
    assert shown_name(answer.headers["Content-Disposition"]) == name.rpartition("/")[2]
    assert answer.headers["Accept-Ranges"] == "bytes"


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=-5", len(BIG) - 5, len(BIG)),
        ("bytes=5242870-5242890", 5_242_870, 5_242_891),
        (f"bytes={len(BIG) - 3}-", len(BIG) - 3, len(BIG)),
        ("bytes=0-9999999999", 0, len(BIG)),
    ],
)
def test_ranges_are_given_across_the_borders_of_parts(
    app: Flask, owner: Api, traceset_id: str, asked: str, start: int, stop: int
) -> None:
    answer = fetch(app, url_of(owner, traceset_id, "big.et"), Range=asked)

    assert (answer.status, answer.content) == (206, BIG[start:stop])
    assert answer.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(BIG)}"
    assert answer.headers["Content-Length"] == str(stop - start)


def test_a_range_behind_the_end_cannot_be_had(app: Flask, owner: Api, traceset_id: str) -> None:
    answer = fetch(app, url_of(owner, traceset_id, "big.et"), Range=f"bytes={len(BIG)}-")

    assert answer.status == 416


def test_the_disk_store_answers_head(make_app: MakeApp, people_of: PeopleOf) -> None:
    app = make_app(s3_bucket=None)
    owner = people_of(app).owner
    traceset = owner.upload({"a": b"content"})

    for url in (url_of(owner, traceset["id"], "a"), url_of(owner, traceset["id"])):
        head, whole = fetch(app, url, "HEAD"), fetch(app, url)
        assert (head.status, head.content) == (200, b"")
        for name in ("Content-Length", "Content-Type", "Content-Disposition"):
            assert head.headers[name] == whole.headers[name]
        assert int(head.headers["Content-Length"]) == len(whole.content)


def test_urls_of_the_disk_store_and_of_archives_stop_when_they_say(
    make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock
) -> None:
    app = make_app(s3_bucket=None, download_url_ttl=60)
    owner = people_of(app).owner
    traceset = owner.upload({"a": b"content"})
    urls = [url_of(owner, traceset["id"], "a"), url_of(owner, traceset["id"])]

    moved_clock.pass_by(seconds=58)
    assert [fetch(app, url).status for url in urls] == [200, 200]
    moved_clock.pass_by(seconds=3)
    assert [fetch(app, url).status for url in urls] == [403, 403]


@pytest.mark.parametrize("name", ["big.et", None], ids=["file", "archive"])
def test_an_altered_url_gives_nothing(app: Flask, owner: Api, traceset_id: str, name: str | None) -> None:
    url = url_of(owner, traceset_id, name)
    if not url.startswith(OWN_ORIGIN):
        return
    path = urlsplit(url).path
    token = range(path.index("/", 9) + 1, len(path))
    letters = string.ascii_letters + string.digits + "-_"

    # The last letter of base64 has bits that mean nothing, so each other one is tried there.
    altered = [path[:at] + ("A" if path[at] != "A" else "B") + path[at + 1 :] for at in token]
    altered += [path[:-1] + letter for letter in letters if letter != path[-1]]
    for wrong in (*altered, path + "x", path[:-1]):
        assert app.test_client().get(wrong).status_code in (403, 404), wrong
    assert app.test_client().get(path).status_code == 200


def test_a_viewer_may_download_and_a_stranger_sees_nothing(
    owner: Api, viewer: Api, stranger: Api, traceset_id: str
) -> None:
    assert viewer.read(traceset_id, "dir/small é 🚀.json") == b"{}"
    for query in ({}, {"file": "big.et"}, {"file": "unknown"}):
        refused(
            stranger.get(f"/tracesets/{traceset_id}/download", **query),
            404,
            exactly=f"Traceset '{traceset_id}' not found",
        )


def test_an_unknown_traceset_and_an_unknown_file_are_not_found(owner: Api, traceset_id: str) -> None:
    answer = owner.get("/tracesets/ts_notfound/download")
    refused(answer, 404, exactly="Traceset 'ts_notfound' not found")
    for name in ("unknown", "BIG.ET", "small é 🚀.json", "dir", "../big.et", "big.et "):
        answer = owner.get(f"/tracesets/{traceset_id}/download", file=name)
        refused(answer, 404, exactly=f"File '{name}' not found in traceset '{traceset_id}'")


def test_what_is_not_ready_is_refused_with_its_status(owner: Api) -> None:
    uploading, failed = owner.open({"a": 1}), owner.open({"a": 1})
    owner.delete(f"/tracesets/upload-url/{failed['uploadId']}")

    for query in ({}, {"file": "a"}):
        refused(owner.get(f"/tracesets/{uploading['tracesetId']}/download", **query), 400, "uploading")
        refused(owner.get(f"/tracesets/{failed['tracesetId']}/download", **query), 400, "upload_failed")


@pytest.mark.parametrize(
    "name",
    [
        "plain.et",
        "sp ace.et",
        'quo"te.et',
        "back%20slash.et",
        "sémi;colon.et",
        "漢字.et",
        "a\u202eb.et",
        "-.et",
        "'.et",
        "x" * 1020 + ".et",
    ],
    ids=lambda name: ascii(name)[:20],
)
def test_any_name_is_saved_as_it_is(app: Flask, owner: Api, name: str) -> None:
    traceset = owner.upload({f"folder/{name}" if len(name) < 1000 else name: b"content"})

    answer = fetch(app, url_of(owner, traceset["id"], traceset["files"][0]["name"]))

    assert (answer.status, answer.content) == (200, b"content")
    assert shown_name(answer.headers["Content-Disposition"]) == name
    assert "\n" not in answer.headers["Content-Disposition"]


# -- archives


def test_an_archive_holds_every_file_under_its_name(app: Flask, owner: Api, traceset_id: str) -> None:
    answer = ok(owner.get(f"/tracesets/{traceset_id}/download"))
    given = fetch(app, answer["url"])

    assert answer["file"] == "A traceset.zip" == shown_name(given.headers["Content-Disposition"])
    assert given.headers["Content-Type"] == "application/zip"
    assert int(given.headers["Content-Length"]) == len(given.content)
    archive = zipfile.ZipFile(io.BytesIO(given.content))
    assert archive.testzip() is None
    assert [(info.filename, info.compress_type) for info in archive.infolist()] == [
        (name, zipfile.ZIP_STORED) for name in CONTENTS
    ]
    assert {name: archive.read(name) for name in archive.namelist()} == CONTENTS


def test_an_empty_parameter_means_the_archive(owner: Api, traceset_id: str) -> None:
    assert ok(owner.get(f"/tracesets/{traceset_id}/download", file=""))["file"] == "A traceset.zip"


HOSTILE = [
    "..a/b",
    "~root",
    "C:x",
    "-rf",
    "a:b",
    "con",
    "aux.txt",
    " lead",
    "trail ",
    "dots...",
    "a%2e%2e/b",
    "x\u202ey",
    "é",
    'a*?<>|"b',
]


def test_archive_members_are_named_to_the_letter(owner: Api) -> None:
    traceset = owner.upload({name: name.encode() for name in HOSTILE})

    archive = zipfile.ZipFile(io.BytesIO(owner.read(traceset["id"])))

    assert [info.orig_filename for info in archive.infolist()] == HOSTILE
    for info in archive.infolist():
        assert archive.read(info) == info.orig_filename.encode()
        assert not stat.S_ISLNK(info.external_attr >> 16)
        assert not info.is_dir()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("../../etc/passwd", ".._.._etc_passwd.zip"),
        ("a/b\\c:d", "a_b_c_d.zip"),
        ("line\nbreak", "line_break.zip"),
        ("Ünï 漢字", "Ünï 漢字.zip"),
        ("...", "traceset.zip"),
        ("x" * 255, "x" * 200 + ".zip"),
    ],
    ids=ascii,
)
def test_an_archives_name_is_safe_on_every_system(app: Flask, owner: Api, name: str, file: str) -> None:
    traceset = owner.upload({"a": b"x"}, name=name)

    answer = ok(owner.get(f"/tracesets/{traceset['id']}/download"))

    assert answer["file"].lstrip(".") == file.lstrip(".")
    assert shown_name(fetch(app, answer["url"]).headers["Content-Disposition"]) == answer["file"]


def test_an_archive_of_many_files_comes_in_their_order(owner: Api) -> None:
    contents = {f"rank_{i}.et": b"%d" % i * i for i in range(60)}
    traceset = owner.upload(contents)

    archive = zipfile.ZipFile(io.BytesIO(owner.read(traceset["id"])))

    assert {name: archive.read(name) for name in archive.namelist()} == contents
    assert archive.namelist() == list(contents)


def test_the_url_of_a_deleted_traceset_gives_nothing(app: Flask, owner: Api, traceset_id: str) -> None:
    url = url_of(owner, traceset_id)

    assert owner.delete(f"/tracesets/{traceset_id}").status_code == 204

    assert fetch(app, url).status == 404


def test_an_archive_whose_bytes_are_gone_breaks_off_instead_of_lying(
    serve: Serve, app: Flask, people_of: PeopleOf
) -> None:
    owner = people_of(serve()).owner
    traceset = owner.upload({"a": b"a" * 1000, "b": b"b" * 3_000_000, "c": b"c" * 1000})
    with app.app_context():
        object_store().delete(column(app, LibraryFile.key, LibraryFile.size == 3_000_000))

    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError, AssertionError)):
        owner.read(traceset["id"])
    assert ok(owner.get("/workspaces"))
