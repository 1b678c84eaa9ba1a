"""Content that the workspace holds already is not sent again (U9)."""

import hashlib

import pytest
from flask import Flask
from sqlalchemy import update

from app.extensions import object_store
from app.models.tracesets import LibraryFile
from app.settings import MIB
from tests.conftest import People
from tests.support.api import JSON, Api, file_spec, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, change, column
from tests.support.upkeep import at_once, open_uploads, stored_keys, sweep

OPEN = "/tracesets/upload-url"
CONTENT = b"the content that is known"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def known(app: Flask, owner: Api) -> JSON:
    """A traceset whose one file this server has hashed."""
    traceset = owner.upload({"original": CONTENT})
    sweep(app)
    return traceset


def same(name: str = "same", *, digest: str = DIGEST, size: int = len(CONTENT)) -> JSON:
    return file_spec(name, size, sha256=digest)


def needs_sending(session: JSON) -> list[bool]:
    return [bool(file["parts"]) for file in session["files"]]


def test_a_known_file_has_no_parts_and_completes_without_any(app: Flask, owner: Api, known: JSON) -> None:
    session = owner.open([same("again"), file_spec("new", 1)])

    assert needs_sending(session) == [False, True]
    assert len(open_uploads(app)) == 1
    traceset = ok(owner.complete(session, owner.send(session, {"new": b"n"})), 201)
    assert [file["metadataStatus"] for file in traceset["files"]] == ["complete", "complete"]
    assert owner.read(traceset["id"], "again") == CONTENT
    assert column(app, LibraryFile.ref_count, LibraryFile.sha256 == DIGEST) == [2]
    assert len(stored_keys(app)) == 2
    assert_counts_right(app)


def test_content_that_the_store_has_lost_is_sent_again(app: Flask, owner: Api, known: JSON) -> None:
    again = ok(owner.complete(owner.open([same()]), []), 201)
    with app.app_context():
        object_store().delete(column(app, LibraryFile.key))

    session = owner.open([same("once more")])

    assert needs_sending(session) == [True]
    traceset = ok(owner.complete(session, owner.send(session, {"once more": CONTENT})), 201)
    assert owner.read(traceset["id"], "once more") == CONTENT
    for lost in (known, again):
        assert ok(owner.post(f"/tracesets/{lost['id']}/validate"))["valid"] is False


@pytest.mark.parametrize("files", [[], [{"name": "same"}], [{"name": "same", "parts": []}]], ids=str)
def test_a_known_file_may_be_left_out_or_named_without_parts(owner: Api, known: JSON, files: list[JSON]) -> None:
    assert ok(owner.complete(owner.open([same()]), files), 201)["status"] == "ready"


def test_a_part_of_a_known_file_does_not_exist(owner: Api, known: JSON) -> None:
    answer = owner.complete(owner.open([same()]), [{"name": "same", "parts": [{"partNumber": 1}]}])

    refused(answer, 400, "Part 1", "'same'")


def test_the_digest_is_read_in_either_case(owner: Api, known: JSON) -> None:
    assert needs_sending(owner.open([same(digest=DIGEST.upper())])) == [False]


@pytest.mark.parametrize(
    "digest", ["", "x" * 64, DIGEST[1:], DIGEST + "0", f" {DIGEST}", f"{DIGEST}\n", "é" * 64, 5, [DIGEST]], ids=repr
)
def test_what_is_no_digest_is_refused(owner: Api, digest: object) -> None:
    request = owner.request_of([file_spec("a", 1), file_spec("b", 1, sha256=digest)])

    refused(owner.post(OPEN, request), 400, "files[1].sha256")


def test_one_content_may_be_known_several_times_in_one_traceset(app: Flask, owner: Api, known: JSON) -> None:
    traceset = ok(owner.complete(owner.open([same("a"), same("b"), same("c")]), []), 201)

    assert column(app, LibraryFile.ref_count) == [4]
    assert owner.read(traceset["id"], "c") == CONTENT
    assert owner.delete(f"/tracesets/{traceset['id']}").status_code == 204
    assert column(app, LibraryFile.ref_count) == [1]
    assert_counts_right(app)


def test_another_size_is_other_content(owner: Api, known: JSON) -> None:
    assert needs_sending(owner.open([same(size=len(CONTENT) + 1)])) == [True]


def test_content_of_another_workspace_is_not_told_of(people_here: People, known: JSON) -> None:
    universal = people_here.owner.open([same()], workspaceId=None)
    admin = people_here.admin.open([same()], workspaceId=None)

    assert [needs_sending(session) for session in (universal, admin)] == [[True], [True]]


def test_a_false_digest_is_never_believed(app: Flask, owner: Api) -> None:
    claimed = hashlib.sha256(b"what a victim will upload").hexdigest()
    liar = owner.open([same("lie", digest=claimed, size=25)])
    ok(owner.complete(liar, owner.send(liar, {"lie": b"something else altogether"})), 201)
    for _ in range(2):
        sweep(app)

    session = owner.open([same("mine", digest=claimed, size=25)])

    assert needs_sending(session) == [True]
    assert owner.complete(session, owner.send(session, {"mine": b"what a victim will upload"})).status_code == 201
    assert owner.read(session["tracesetId"], "mine") == b"what a victim will upload"


def test_a_false_digest_makes_no_harm_to_who_declares_the_true_one(app: Flask, owner: Api) -> None:
    content = b"something else altogether"
    liar = owner.open([same("lie", digest="0" * 64, size=25)])
    ok(owner.complete(liar, owner.send(liar, {"lie": content})), 201)
    sweep(app)

    session = owner.open([same("true", digest=hashlib.sha256(content).hexdigest(), size=25)])

    assert needs_sending(session) == [False]


def test_a_file_of_several_parts_is_known_after_a_sweep(app: Flask, owner: Api) -> None:
    content = b"x" * (5 * MIB + 1)
    digest = hashlib.sha256(content).hexdigest()
    owner.upload({"big": content}, files=[file_spec("big", len(content), sha256=digest)])
    assert needs_sending(owner.open([same(digest=digest, size=len(content))])) == [True]

    assert sweep(app)["hashed files"] == 1

    session = owner.open([same(digest=digest, size=len(content))])
    assert needs_sending(session) == [False]
    assert owner.read(ok(owner.complete(session, []), 201)["id"], "same") == content


def test_an_empty_file_is_known_too(app: Flask, owner: Api) -> None:
    empty = hashlib.sha256(b"").hexdigest()
    owner.upload({"empty": b""})
    sweep(app)

    session = owner.open([same("also empty", digest=empty, size=0)])

    assert needs_sending(session) == [False]
    assert owner.read(ok(owner.complete(session, []), 201)["id"], "also empty") == b""


def test_bytes_stay_for_as_long_as_one_traceset_refers_to_them(app: Flask, owner: Api, known: JSON) -> None:
    copy = ok(owner.complete(owner.open([same()]), []), 201)
    assert owner.delete(f"/tracesets/{known['id']}").status_code == 204
    sweep(app)
    assert owner.read(copy["id"], "same") == CONTENT

    assert owner.delete(f"/tracesets/{copy['id']}").status_code == 204
    assert sweep(app)["unreferenced files"] == 1

    assert stored_keys(app) == []
    assert column(app, LibraryFile.key) == []


def test_content_of_a_deleted_traceset_is_known_no_more(app: Flask, owner: Api, known: JSON) -> None:
    assert owner.delete(f"/tracesets/{known['id']}").status_code == 204

    session = owner.open([same()])

    assert needs_sending(session) == [True]
    sweep(app)
    assert ok(owner.complete(session, owner.send(session, {"same": CONTENT})), 201)["status"] == "ready"
    assert_counts_right(app)


@pytest.mark.parametrize("ending", ["abort", "oversize", "expiry", "deletion"])
def test_a_session_that_fails_gives_its_references_back(
    app: Flask, owner: Api, known: JSON, moved_clock: Clock, ending: str
) -> None:
    session = owner.open([same(), file_spec("small", 1)])
    assert column(app, LibraryFile.ref_count, LibraryFile.sha256 == DIGEST) == [2]

    if ending == "abort":
        owner.delete(f"{OPEN}/{session['uploadId']}")
    elif ending == "oversize":
        owner.put(session["files"][1]["parts"][0]["url"], b"too long")
        refused(owner.complete(session, []), 413)
    elif ending == "expiry":
        moved_clock.pass_by(hours=25)
        sweep(app)
    else:
        owner.delete(f"/tracesets/{session['tracesetId']}")

    assert column(app, LibraryFile.ref_count) == [1]
    assert owner.read(known["id"], "original") == CONTENT
    assert_counts_right(app)


def test_matches_and_deletions_at_once_keep_the_counts_right(app: Flask, owner: Api, known: JSON) -> None:
    copies = [ok(owner.complete(owner.open([same(), same("b")]), []), 201)["id"] for _ in range(4)]

    def act(i: int) -> int:
        if i % 2:
            return owner.delete(f"/tracesets/{copies[i // 2]}").status_code
        return owner.post(OPEN, owner.request_of([same("a"), same("b"), same("c")])).status_code

    assert sorted(at_once(8, act)) == [200] * 4 + [204] * 4

    assert column(app, LibraryFile.ref_count) == [1 + 4 * 3]
    assert_counts_right(app)


def test_condemned_content_is_known_no_more(app: Flask, owner: Api, known: JSON) -> None:
    change(app, update(LibraryFile).values(state="condemned"))

    assert needs_sending(owner.open([same()])) == [True]
