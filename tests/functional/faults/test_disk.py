"""Disks that are full, slow or mounted for reading alone, below the disk store and below SQLite."""

import os
import threading
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from flask import Flask
from sqlalchemy import event
from werkzeug.test import TestResponse

from app.extensions import db
from app.services import people
from tests.conftest import Databases, MakeApp, PeopleOf
from tests.support.api import JSON, Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right
from tests.support.disks import full, read_only, refusing
from tests.support.pages import Browser
from tests.support.server import until
from tests.support.upkeep import assert_nothing_left, stored_keys, sweep

CONTENTS = {"a": b"a's bytes", "b": b"b's"}
SIZES = {name: len(content) for name, content in CONTENTS.items()}
OPEN = "/tracesets/upload-url"


@pytest.fixture
def app(make_app: MakeApp) -> Flask:
    """An app on the disk store."""
    return make_app(s3_bucket=None)


@pytest.fixture
def owner(app: Flask, people_of: PeopleOf) -> Api:
    """The owner there."""
    return people_of(app).owner


@pytest.fixture
def store(app: Flask) -> Path:
    """The store's folder."""
    folder: Path = app.extensions["settings"].data_dir / "store"
    return folder


def put(app: Flask, session: JSON, number: int = 0) -> TestResponse:
    file = session["files"][number]
    return app.test_client().put(urlsplit(file["parts"][0]["url"]).path, data=CONTENTS[file["name"]])


def assert_unavailable(answer: TestResponse) -> None:
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_part_that_finds_the_disk_full_is_sent_again_when_there_is_room(
    app: Flask, owner: Api, store: Path, moved_clock: Clock
) -> None:
    session = owner.open(SIZES)
    with refusing(store, *full):
        answer = put(app, session)

    assert (answer.status_code, answer.json) == (507, {"error": {"message": "The file store is full"}})
    shown = ok(owner.get(f"{OPEN}/{session['uploadId']}"))
    assert shown["state"] == "open"
    assert [part["uploaded"] for file in shown["files"] for part in file["parts"]] == [False, False]
    assert ok(owner.complete(session, owner.send(session, CONTENTS)), 201)["status"] == "ready"
    assert_nothing_left(app, moved_clock)


def test_on_a_full_disk_what_is_there_is_read_and_deleted(
    app: Flask, owner: Api, store: Path, moved_clock: Clock
) -> None:
    kept, going = owner.upload(CONTENTS), owner.upload(CONTENTS)
    sent = owner.open(SIZES)
    files = owner.send(sent, CONTENTS)
    with refusing(store, *full):
        assert_unavailable(owner.post(OPEN, owner.request_of(SIZES)))
        assert_unavailable(owner.complete(sent, files))
        assert owner.read(kept["id"], "a") == CONTENTS["a"]
        assert owner.delete(f"/tracesets/{going['id']}").status_code == 204
        assert sweep(app)["unreferenced files"] == 2

    assert owner.complete(sent, files).status_code == 201
    assert len(stored_keys(app)) == 4
    assert_nothing_left(app, moved_clock)


def test_a_store_that_may_only_be_read_is_read(app: Flask, owner: Api, store: Path, moved_clock: Clock) -> None:
    kept, going = owner.upload(CONTENTS), owner.upload(CONTENTS)
    sent, given_up = owner.open(SIZES), owner.open(SIZES)
    files = owner.send(sent, CONTENTS)
    with refusing(store, *read_only):
        assert_unavailable(owner.post(OPEN, owner.request_of(SIZES)))
        assert_unavailable(put(app, sent))
        assert_unavailable(owner.complete(sent, files))
        assert owner.read(kept["id"], "a") == CONTENTS["a"]
        assert ok(owner.post(f"/tracesets/{kept['id']}/validate"))["valid"] is True
        assert owner.delete(f"/tracesets/{going['id']}").status_code == 204
        assert owner.delete(f"{OPEN}/{given_up['uploadId']}").status_code == 204
        assert "unreferenced files" not in sweep(app)

    assert owner.complete(sent, files).status_code == 201
    assert_nothing_left(app, moved_clock)
    assert len(stored_keys(app)) == 4


def test_a_completion_on_a_slow_disk_goes_on_after_its_request(
    make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock
) -> None:
    app = make_app(s3_bucket=None, complete_timeout=0.1)
    owner = people_of(app).owner
    session = owner.open(SIZES)
    files = owner.send(session, CONTENTS)
    may_go_on, sync = threading.Event(), os.fsync

    def slow(file: int) -> None:
        may_go_on.wait(30)
        sync(file)

    with patch.object(os, "fsync", slow):
        refused(owner.complete(session, files), 408)
        refused(owner.complete(session, files), 409)
        may_go_on.set()
        until(lambda: owner.complete(session, files).status_code == 200)

    assert owner.read(session["tracesetId"], "a") == CONTENTS["a"]
    assert_nothing_left(app, moved_clock)


# -- SQLite's disk


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """SQLite's, whatever `--database` says."""
    return Databases(tmp_path_factory.mktemp("on_sqlite"), None)


@pytest.fixture
def small_app(make_app: MakeApp, on_sqlite: Databases, tmp_path: Path) -> Flask:
    """An app on SQLite."""
    (tmp_path / "small").mkdir()
    return make_app(s3_bucket=None, database_url=on_sqlite.fresh(tmp_path / "small"))


@pytest.mark.parametrize("pragma", ["query_only = ON", "max_page_count = 1"], ids=["read-only", "full"])
def test_a_database_that_takes_nothing_is_read_and_says_when_to_ask_again(
    small_app: Flask, on_sqlite: Databases, moved_clock: Clock, pragma: str
) -> None:
    owner = Api(small_app, on_sqlite.tokens["owner"], workspace_id=on_sqlite.workspace_id)
    kept = owner.upload(CONTENTS)
    session = owner.open(SIZES)
    files = owner.send(session, CONTENTS)
    browser = Browser(small_app)
    with small_app.app_context():
        browser.follow_link(people.create_sign_in_link("owner@tests.example"))
    moved_clock.pass_by(minutes=6)  # The use of the token and of the browser's session is to be written down again.
    with small_app.app_context():
        engine = db.engine

    def limit(connection: object, _record: object, _proxy: object) -> None:
        connection.execute(f"PRAGMA {pragma}")  # type: ignore[attr-defined]

    event.listen(engine, "checkout", limit)
    large = {"tags": ["a tag of some length"] * 40, "description": "x" * 10_000}
    assert_unavailable(owner.post(OPEN, owner.request_of(SIZES, **large)))
    assert owner.show(kept["id"])["status"] == "ready"
    assert browser.page(f"/tracesets/{kept['id']}").heading == "A traceset"
    assert owner.read(kept["id"], "a") == CONTENTS["a"]
    assert [item["id"] for item in ok(owner.get("/tracesets", status="ready"))["items"]] == [kept["id"]]
    event.remove(engine, "checkout", limit)
    with small_app.app_context():
        engine.dispose()

    assert owner.complete(session, files).status_code == 201
    assert_counts_right(small_app)
