"""What a sweep ends, and what it leaves alone (D2, S3, U7, operators' interface)."""

from datetime import datetime

import pytest
from flask import Flask
from sqlalchemy import delete, select, update

from app.extensions import object_store
from app.models.tracesets import LibraryFile, Status, Traceset, TracesetFile
from app.models.uploads import SessionState, UploadFile, UploadSession
from app.storage.keys import new_key
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.functional.conftest import FaultyStore
from tests.support.api import JSON, Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, change, column
from tests.support.server import until
from tests.support.upkeep import at_once, open_uploads, stored_keys, sweep


def store_orphan(app: Flask, owner: Api) -> None:
    """An object that no row speaks of."""
    owner.upload({"orphan": b"orphan of its own size"})
    orphans = select(LibraryFile.key).where(LibraryFile.size == 22)
    change(app, delete(TracesetFile).where(TracesetFile.library_key.in_(orphans)))
    change(app, delete(LibraryFile).where(LibraryFile.size == 22))


def die_while_completing(app: Flask, owner: Api, *, is_finished: bool) -> JSON:
    """A session whose completion died, before or after the store had finished its file."""
    session = owner.open({"a": 3})
    owner.send(session, {"a": b"abc"})
    mine = UploadFile.session_id == session["uploadId"]
    [key], [upload_id] = column(app, UploadFile.library_key, mine), column(app, UploadFile.multipart_id, mine)
    if is_finished:
        with app.app_context():
            object_store().finish(key, upload_id, object_store().parts(key, upload_id))
    dead = update(UploadSession).where(UploadSession.id == session["uploadId"])
    change(
        app, dead.values(state=SessionState.COMPLETING, claim="dead", claimed_until=datetime(2020, 1, 1).astimezone())
    )
    return session


def test_an_empty_deployment_has_nothing_to_sweep(app: Flask) -> None:
    assert sweep(app) == {}


def test_a_traceset_that_has_passed_its_time_is_deleted_with_its_bytes(
    app: Flask, owner: Api, moved_clock: Clock
) -> None:
    short = owner.upload({"a": b"short"}, ttlDays=1)
    long = owner.upload({"a": b"long"}, ttlDays=2)
    sweep(app)
    moved_clock.pass_by(days=1, seconds=1)

    done = sweep(app)

    assert (done["expired tracesets"], done["unreferenced files"]) == (1, 1)
    refused(owner.get(f"/tracesets/{short['id']}"), 404)
    assert [item["id"] for item in ok(owner.get("/tracesets", status="deleted"))["items"]] == [short["id"]]
    assert owner.read(long["id"], "a") == b"long"
    assert len(stored_keys(app)) == 1
    assert_counts_right(app)


def test_one_that_is_still_uploading_loses_its_session_too(
    make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock
) -> None:
    app = make_app(session_ttl=10 * 86_400)
    owner = people_of(app).owner
    session = owner.open({"a": 1}, ttlDays=1)
    files = owner.send(session, {"a": b"x"})
    moved_clock.pass_by(days=1, seconds=1)

    assert sweep(app)["expired tracesets"] == 1

    refused(owner.complete(session, files), 400, "aborted")
    assert (open_uploads(app), column(app, LibraryFile.key)) == ([], [])


def test_without_a_lifetime_it_stays_for_ever(make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock) -> None:
    app = make_app(default_ttl_days=0)
    owner = people_of(app).owner
    traceset = owner.upload({"a": b"x"})
    moved_clock.pass_by(days=20_000)

    assert "expired tracesets" not in sweep(app)

    assert owner.show(traceset["id"])["expiresAt"] is None


@pytest.mark.parametrize("is_finished", [True, False], ids=["finished", "not finished"])
def test_an_expired_session_whose_completion_died_is_completed_where_the_store_has_everything(
    app: Flask, owner: Api, moved_clock: Clock, is_finished: bool
) -> None:
    session = die_while_completing(app, owner, is_finished=is_finished)
    assert "expired sessions" not in sweep(app)
    moved_clock.pass_by(hours=25)

    assert sweep(app)["expired sessions"] == 1

    status = "ready" if is_finished else "upload_failed"
    assert owner.show(session["tracesetId"])["status"] == status
    assert (owner.read(session["tracesetId"], "a") == b"abc") if is_finished else stored_keys(app) == []
    assert open_uploads(app) == []
    assert_counts_right(app)


def test_one_session_that_cannot_be_ended_does_not_keep_the_others(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore, moved_clock: Clock
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    dead = die_while_completing(app, owner, is_finished=True)
    others = [owner.open({"a": 1}) for _ in range(2)]
    moved_clock.pass_by(hours=25)
    faulty_store.proxy.rule = lambda method, *_: 403 if method == "HEAD" else None

    assert sweep(app)["expired sessions"] == 2

    statuses = [owner.show(session["tracesetId"])["status"] for session in others]
    assert statuses == ["upload_failed", "upload_failed"]
    faulty_store.proxy.rule = lambda *_: None
    moved_clock.pass_by(minutes=2)
    assert sweep(app)["expired sessions"] == 1
    assert owner.show(dead["tracesetId"])["status"] == "ready"


def test_what_nobody_speaks_of_goes_when_it_is_old_enough(app: Flask, owner: Api, moved_clock: Clock) -> None:
    kept = owner.upload({"a": b"kept"}, ttlDays=365)
    sending = owner.open({"a": 1})
    store_orphan(app, owner)
    with app.app_context():
        object_store().begin(new_key(), 1)
    moved_clock.pass_by(minutes=30)
    early = sweep(app)
    assert "orphaned objects" not in early
    # moto says of every open upload that it was begun in 2010.
    assert "orphaned uploads" not in early or app.extensions["settings"].s3_bucket
    moved_clock.pass_by(hours=1)
    assert early.get("orphaned uploads", 0) + sweep(app).get("orphaned uploads", 0) == 1
    moved_clock.pass_by(hours=22)
    assert sweep(app) == {}
    moved_clock.pass_by(minutes=29, seconds=50)
    owner.put(ok(owner.get(f"/tracesets/upload-url/{sending['uploadId']}"))["files"][0]["parts"][0]["url"], b"x")
    moved_clock.pass_by(minutes=31)

    assert sweep(app)["orphaned objects"] == 1

    assert len(stored_keys(app)) == 1
    assert owner.read(kept["id"], "a") == b"kept"


def test_any_number_at_once_do_the_work_once(app: Flask, owner: Api, moved_clock: Clock) -> None:
    kept = owner.upload({"kept": b"kept"})
    for _ in range(5):
        owner.delete(f"/tracesets/{owner.upload({'a': b'x', 'b': b'y'})['id']}")
    sessions = [owner.open({"a": 1}) for _ in range(5)]
    moved_clock.pass_by(hours=25)

    done = at_once(4, lambda _: sweep(app))

    assert sum(each.get("expired sessions", 0) for each in done) == 5
    assert len(stored_keys(app)) == len(column(app, LibraryFile.key)) == 1
    assert {owner.show(session["tracesetId"])["status"] for session in sessions} == {"upload_failed"}
    assert owner.read(kept["id"], "kept") == b"kept"
    assert_counts_right(app)


def test_a_store_that_is_away_leaves_the_work_to_the_next_sweep(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore, moved_clock: Clock
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    owner.delete(f"/tracesets/{owner.upload({'a': b'x'})['id']}")
    expired = owner.open({"a": 1})
    moved_clock.pass_by(hours=25)
    faulty_store.proxy.rule = lambda *_: "drop"

    assert sweep(app) == {"expired sessions": 1}

    assert owner.show(expired["tracesetId"])["status"] == "upload_failed"
    assert sorted(column(app, Traceset.status)) == [Status.DELETED, Status.UPLOAD_FAILED]
    faulty_store.proxy.rule = lambda *_: None
    assert sweep(app)["unreferenced files"] == 2
    assert (faulty_store.keys(), faulty_store.open_uploads()) == ([], [])


def test_bytes_that_are_lost_do_not_stop_a_sweep(app: Flask, owner: Api) -> None:
    lost, gone = owner.upload({"a": b"lost"}), owner.upload({"a": b"gone!"})
    with app.app_context():
        object_store().delete(column(app, LibraryFile.key, LibraryFile.size == 4))
    sweep(app)
    for traceset in (lost, gone):
        owner.delete(f"/tracesets/{traceset['id']}")

    assert sweep(app)["unreferenced files"] == 2

    assert (stored_keys(app), column(app, LibraryFile.key)) == ([], [])


def test_a_serving_process_sweeps_by_itself(serve: Serve, people_of: PeopleOf) -> None:
    server = serve(sweep_interval=0.2, session_ttl=1)
    owner = people_of(server).owner
    session = owner.open({"a": 1})

    until(lambda: owner.show(session["tracesetId"])["status"] == "upload_failed")
