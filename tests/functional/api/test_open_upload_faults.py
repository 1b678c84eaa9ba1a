"""A store that fails while a session is opened leaves nothing behind (U7)."""

import errno
import hashlib
import time
from pathlib import Path

import pytest
from flask import Flask

from app.services import multipart
from tests.conftest import MakeApp, PeopleOf
from tests.functional.conftest import FaultyStore
from tests.servers.http_proxy import Fault, Rule
from tests.support.api import Api, file_spec, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, assert_nothing_stored, count_rows, forget_begun
from tests.support.upkeep import open_uploads, sweep

OPEN = "/tracesets/upload-url"
FILES = {f"rank_{i}.et": 1 for i in range(5)}


def at_begin(nth: int, fault: Fault) -> Rule:
    """Fails each try to begin the upload of the nth file that comes by; the others go through."""
    seen: list[str] = []

    def rule(method: str, path: str, query: str) -> Fault:
        if method != "POST" or "uploads" not in query:
            return None
        if path not in seen:
            seen.append(path)
        return fault if seen.index(path) == nth else None

    return rule


@pytest.fixture
def app(make_app: MakeApp, faulty_store: FaultyStore) -> Flask:
    """An app whose store fails on demand."""
    return make_app(**faulty_store.settings)


@pytest.fixture
def owner(app: Flask, people_of: PeopleOf) -> Api:
    """The owner at that app."""
    return people_of(app).owner


@pytest.mark.parametrize(
    ("nth", "fault"),
    [(0, "drop"), (2, 503), (4, (403, b"<Error><Code>AccessDenied</Code></Error>"))],
    ids=["first", "middle", "last"],
)
def test_a_store_that_fails_at_any_file_leaves_nothing(
    app: Flask, owner: Api, faulty_store: FaultyStore, nth: int, fault: Fault
) -> None:
    faulty_store.proxy.rule = at_begin(nth, fault)

    answer = owner.post(OPEN, owner.request_of(FILES))

    refused(answer, 503)
    assert int(answer.headers["Retry-After"]) >= 1
    assert_nothing_stored(app)
    assert faulty_store.open_uploads() == []


def test_a_disk_that_is_full_leaves_nothing(
    make_app: MakeApp, people_of: PeopleOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(s3_bucket=None)
    owner = people_of(app).owner
    make_folder = Path.mkdir

    def mkdir(self: Path, *args: object, **more: object) -> None:
        if "uploads" in self.parts and len(list(self.parents[2].rglob("*.*"))) >= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        make_folder(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", mkdir)

    answer = owner.post(OPEN, owner.request_of(FILES))

    refused(answer, 503, "full")
    assert "Retry-After" in answer.headers
    assert_nothing_stored(app)
    assert open_uploads(app) == []


def test_when_the_store_is_back_the_same_request_is_good(app: Flask, owner: Api, faulty_store: FaultyStore) -> None:
    headers = {"Idempotency-Key": "k"}
    faulty_store.proxy.rule = lambda *_: 503
    refused(owner.post(OPEN, owner.request_of(FILES), headers=headers), 503)
    faulty_store.proxy.rule = lambda *_: None

    session = ok(owner.post(OPEN, owner.request_of(FILES), headers=headers))

    assert ok(owner.complete(session, owner.send(session, dict.fromkeys(FILES, b"x"))), 201)["status"] == "ready"
    assert len(faulty_store.keys()) == 5


def test_what_a_store_began_before_it_fell_silent_is_ended_by_a_sweep(
    app: Flask, owner: Api, faulty_store: FaultyStore, moved_clock: Clock
) -> None:
    silent = at_begin(1, "lose")
    faulty_store.proxy.rule = lambda method, path, query: "drop" if method == "DELETE" else silent(method, path, query)
    refused(owner.post(OPEN, owner.request_of(FILES)), 503)
    assert_nothing_stored(app)
    assert len(faulty_store.open_uploads()) >= 1

    faulty_store.proxy.rule = lambda *_: None
    moved_clock.pass_by(hours=2)
    sweep(app)

    assert faulty_store.open_uploads() == []


def test_nobody_waits_for_a_store_that_fell_silent_to_forget(
    app: Flask, owner: Api, faulty_store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart, "ABORT_SECONDS", 0.2)
    failing = at_begin(4, 503)
    faulty_store.proxy.rule = lambda method, path, query: 600.0 if method == "DELETE" else failing(method, path, query)
    began = time.monotonic()

    refused(owner.post(OPEN, owner.request_of(FILES)), 503)

    assert time.monotonic() - began < 19  # The store's own patience with one try is twenty seconds.
    assert_nothing_stored(app)


def test_what_was_matched_is_given_back(app: Flask, owner: Api, faulty_store: FaultyStore) -> None:
    content = b"content that is known"
    owner.upload({"a": content})
    sweep(app)
    digest = hashlib.sha256(content).hexdigest()
    before = count_rows(app)
    faulty_store.proxy.rule = at_begin(0, 503)
    files = [file_spec("same", len(content), sha256=digest), file_spec("new", 1)]

    refused(owner.post(OPEN, owner.request_of(files)), 503)

    assert count_rows(app) == before
    assert_counts_right(app)


def test_a_session_whose_opening_died_is_opened_by_asking_for_it(app: Flask, owner: Api) -> None:
    session = owner.open({"a": 1})
    forget_begun(app)

    shown = ok(owner.get(f"{OPEN}/{session['uploadId']}"))

    etag = owner.put(shown["files"][0]["parts"][0]["url"], b"x")
    files = [{"name": "a", "parts": [{"partNumber": 1, "etag": etag}]}]
    assert ok(owner.complete(session, files), 201)["status"] == "ready"
    assert_counts_right(app)


def test_a_session_whose_opening_died_is_swept_in_the_end(app: Flask, owner: Api, moved_clock: Clock) -> None:
    session = owner.open({"a": 1})
    forget_begun(app)
    moved_clock.pass_by(hours=25)

    assert sweep(app)["expired sessions"] == 1

    assert owner.show(session["tracesetId"])["status"] == "upload_failed"
