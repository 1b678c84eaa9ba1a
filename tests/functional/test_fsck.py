"""What `flask fsck` finds, what it mends, and how it says so (operators' interface)."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import delete, update

from app import clock
from app.extensions import object_store
from app.models.tracesets import LibraryFile, LibraryState, Traceset, TracesetFile
from app.models.uploads import UploadFile, UploadSession
from app.queries import consistency
from app.services import orphans
from app.storage.base import ObjectStore
from app.storage.keys import new_key
from tests.conftest import MakeApp, PeopleOf
from tests.functional.conftest import FaultyStore
from tests.support.api import Api, ok
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, change, column
from tests.support.upkeep import open_uploads, stored_keys, sweep


def fsck(app: Flask, *options: str) -> Result:
    return app.test_cli_runner().invoke(args=["fsck", *options])


def faults(app: Flask, *options: str) -> list[dict[str, Any]]:
    """The findings, each with `fault`, `subject`, `tracesets` and `is_repaired`; what is left decides the status."""
    result = fsck(app, "--json", *options)
    *found, last = [json.loads(line) for line in result.stdout.splitlines()]
    n_left = sum(not finding["is_repaired"] for finding in found)
    assert last["summary"]["left"] == n_left, result.output
    assert result.exit_code == (1 if n_left else 0), result.output
    assert all(finding.pop("message") for finding in found)
    return found


def fault(name: str, subject: str, *tracesets: str, is_repaired: bool = False) -> dict[str, Any]:
    return {"fault": name, "subject": subject, "tracesets": list(tracesets), "is_repaired": is_repaired}


def key_of(app: Flask, size: int) -> str:
    """The key of the one library file of this size."""
    [key] = column(app, LibraryFile.key, LibraryFile.size == size)
    return str(key)


def make_object(app: Flask, key: str, content: bytes) -> None:
    """Put an object into the store without a word to the database."""
    with app.test_request_context():
        store = object_store()
        upload_id = store.begin(key, len(content))
        [url] = store.sign_parts(key, upload_id, [1], clock.now() + timedelta(minutes=5))
    Api(app, None).put(url, content)
    with app.app_context():
        store.finish(key, upload_id, store.parts(key, upload_id))


def test_a_sound_deployment_is_clean(app: Flask, owner: Api) -> None:
    traceset = owner.upload({"a": b"one", "b": b"", "c": b"three"})
    ok(owner.post(f"/tracesets/{traceset['id']}/promote", {}), 201)
    elsewhere = [{"name": "x", "role": "supporting", "externalUrl": "https://elsewhere.example/x"}]
    ok(owner.complete(owner.open(elsewhere), []), 201)
    owner.delete(f"/tracesets/{owner.upload({'e': b'gone'})['id']}")
    session = owner.open({"a": 1, "b": 2})
    owner.send(session, {"a": b"x", "b": b"yy"})

    result = fsck(app)

    assert (result.exit_code, result.stdout) == (0, "Database and store agree.\n")
    assert faults(app, "--repair") == []


def test_a_lost_object_is_told_with_what_it_harms_and_never_repaired(app: Flask, owner: Api) -> None:
    harmed = owner.upload({"a": b"lost!", "b": b"kept"})["id"]
    copy = ok(owner.post(f"/tracesets/{harmed}/promote", {}), 201)["id"]
    owner.upload({"c": b"another"})
    key = key_of(app, 5)
    with app.app_context():
        object_store().delete([key])

    expected = [fault("missing_object", key, *sorted([harmed, copy]))]
    assert faults(app) == expected
    assert faults(app, "--repair") == expected
    told = fsck(app)
    assert told.stdout.splitlines()[0] == (
        f"missing_object {key}: its 5 bytes are not in the store; harms {', '.join(sorted([harmed, copy]))}"
    )
    assert told.stdout.splitlines()[1:] == ["1 found (1 missing_object), 0 repaired, 1 left."]


@pytest.mark.parametrize(("content", "name"), [(b"longer", "wrong_size"), (b"other", "wrong_etag")])
def test_an_object_that_is_another_one_is_told(app: Flask, owner: Api, content: bytes, name: str) -> None:
    harmed = owner.upload({"a": b"bytes"})["id"]
    key = key_of(app, 5)
    with app.app_context():
        object_store().delete([key])
    make_object(app, key, content)

    assert faults(app, "--repair") == [fault(name, key, harmed)]


def test_a_segment_that_is_gone_is_told(app: Flask, owner: Api) -> None:
    if app.extensions["settings"].s3_bucket:
        pytest.skip("a bucket keeps its objects whole")
    harmed = owner.upload({"a": b"bytes"})["id"]
    key = key_of(app, 5)
    root: Path = app.extensions["settings"].data_dir / "store" / "objects"
    next(path for path in root.rglob("1") if key in str(path)).unlink()

    assert faults(app) == [fault("damaged_object", key, harmed)]


def test_wrong_counts_are_set_right(app: Flask, owner: Api) -> None:
    traceset = owner.upload({"a": b"one", "b": b"four"})
    ok(owner.post(f"/tracesets/{traceset['id']}/promote", {}), 201)
    low, high = key_of(app, 3), key_of(app, 4)
    change(app, update(LibraryFile).where(LibraryFile.key == low).values(ref_count=0))
    change(app, update(LibraryFile).where(LibraryFile.key == high).values(ref_count=7))

    assert faults(app) == [fault("wrong_count", key) for key in sorted([low, high])]
    assert faults(app, "--repair") == [fault("wrong_count", key, is_repaired=True) for key in sorted([low, high])]

    assert faults(app) == []
    assert_counts_right(app)


def test_wrong_sums_are_set_right(app: Flask, owner: Api) -> None:
    right, wrong = owner.upload({"a": b"one"}), owner.upload({"a": b"one", "b": b"four"})
    change(app, update(Traceset).where(Traceset.id == wrong["id"]).values(file_count=9, total_size=9))

    assert faults(app) == [fault("wrong_sum", wrong["id"])]
    assert faults(app, "--repair") == [fault("wrong_sum", wrong["id"], is_repaired=True)]

    assert faults(app) == []
    sums = {item["id"]: (item["fileCount"], item["totalSize"]) for item in ok(owner.get("/tracesets"))["items"]}
    assert sums == {right["id"]: (1, 3), wrong["id"]: (2, 7)}


def test_what_is_ready_and_has_no_bytes_is_told(app: Flask, owner: Api) -> None:
    traceset = owner.upload({"a": b"one", "b": b"four"})["id"]
    key = key_of(app, 3)
    change(app, update(TracesetFile).where(TracesetFile.library_key == key).values(library_key=None))

    found = faults(app, "--repair")

    assert found == [fault("wrong_count", key, is_repaired=True), fault("file_without_bytes", traceset, traceset)]


def test_what_is_named_and_was_condemned_is_told_and_its_bytes_stay(app: Flask, owner: Api) -> None:
    traceset = owner.upload({"a": b"one"})["id"]
    key = key_of(app, 3)
    change(app, update(LibraryFile).values(state=LibraryState.CONDEMNED, ref_count=0))

    found = faults(app, "--repair")

    assert found == [fault("wrong_count", key, is_repaired=True), fault("not_stored", key, traceset)]
    sweep(app)
    assert stored_keys(app) == [key]


def test_a_staged_file_that_nobody_sends_goes_with_the_next_sweep(app: Flask, owner: Api) -> None:
    session = owner.open({"a": 1})
    [key] = column(app, LibraryFile.key)
    change(app, delete(UploadFile).where(UploadFile.session_id == session["uploadId"]))

    assert faults(app) == [fault("abandoned_file", key)]
    # moto says of every open upload that it was begun in 2010, and so lets the repair end it too.
    assert faults(app, "--repair")[0] == fault("abandoned_file", key, is_repaired=True)

    assert faults(app) == []
    sweep(app)
    assert (column(app, LibraryFile.key), open_uploads(app)) == ([], [])


def test_a_session_whose_uploads_the_store_has_lost_begins_them_again(app: Flask, owner: Api) -> None:
    session, other = owner.open({"a": 1, "b": 1}), owner.open({"a": 1})
    rows = UploadFile.session_id == session["uploadId"]
    [key] = column(app, UploadFile.library_key, rows, UploadFile.position == 1)
    [lost] = column(app, UploadFile.multipart_id, UploadFile.library_key == key)
    with app.app_context():
        object_store().abort(key, lost)

    assert faults(app) == [fault("lost_upload", session["uploadId"])]
    assert faults(app, "--repair") == [fault("lost_upload", session["uploadId"], is_repaired=True)]

    assert faults(app) == []
    for each in (session, other):
        fresh = ok(owner.get(f"/tracesets/upload-url/{each['uploadId']}"))
        ok(owner.complete(each, owner.send({**each, "files": fresh["files"]}, {"a": b"x", "b": b"y"})), 201)


def test_orphans_go_when_they_are_as_old_as_a_sweep_asks(app: Flask, owner: Api, moved_clock: Clock) -> None:
    owner.upload({"a": b"kept"})
    orphan, begun = new_key(), new_key()
    make_object(app, orphan, b"orphan")
    assert faults(app) == []
    moved_clock.pass_by(hours=25)
    with app.app_context():
        object_store().begin(begun, 1)
    moved_clock.pass_by(hours=2)

    expected = [("orphaned_upload", begun), ("orphaned_object", orphan)]
    assert faults(app) == [fault(name, key) for name, key in expected]
    assert faults(app, "--repair") == [fault(name, key, is_repaired=True) for name, key in expected]

    assert faults(app) == []
    assert (stored_keys(app), open_uploads(app)) == (column(app, LibraryFile.key), [])


def test_nothing_is_repaired_without_being_told_to(app: Flask, owner: Api, moved_clock: Clock) -> None:
    owner.upload({"a": b"one"})
    change(app, update(LibraryFile).values(ref_count=5))
    change(app, update(Traceset).values(file_count=5))
    make_object(app, new_key(), b"orphan")
    moved_clock.pass_by(hours=25)

    first = faults(app)

    assert len(first) == 3
    assert faults(app) == first


def test_everything_is_read_in_pages(app: Flask, owner: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [owner.open({f"{i}": 1}) for i in range(5)]
    tracesets = [owner.upload({f"{i}": bytes(i + 1) for i in range(4)})["id"] for _ in range(3)]
    keys = column(app, LibraryFile.key, LibraryFile.state == LibraryState.STORED)
    monkeypatch.setattr(consistency, "PAGE", 2)
    monkeypatch.setattr(orphans, "BATCH", 3)
    assert faults(app) == []
    lost = sorted(keys)[::3]
    with app.app_context():
        object_store().delete(lost)
    change(app, update(Traceset).where(Traceset.id == tracesets[-1]).values(file_count=1))
    ended = sessions[-1]["uploadId"]
    change(app, update(UploadFile).where(UploadFile.session_id == ended).values(multipart_id="0" * 24))

    found = faults(app)

    told = [(finding["fault"], finding["subject"]) for finding in found]
    expected = [("missing_object", key) for key in lost]
    assert told == [*expected, ("wrong_sum", tracesets[-1]), ("lost_upload", ended)]


def test_the_store_is_asked_by_its_lists_and_not_for_each_file(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    owner.upload({f"{i}": b"x" for i in range(12)})
    owner.open({f"{i}": 1 for i in range(12)})
    del faulty_store.proxy.requests[:]

    assert faults(app) == []

    assert {request.method for request in faulty_store.proxy.requests} == {"GET"}
    assert all(request.path.strip("/") == faulty_store.bucket for request in faulty_store.proxy.requests)


def test_a_store_that_is_away_is_told_in_a_line(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore
) -> None:
    app = make_app(**faulty_store.settings)
    people_of(app).owner.upload({"a": b"x"})
    faulty_store.proxy.rule = lambda *_: "drop"

    result = fsck(app, "--repair")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: The object store could not")
    faulty_store.proxy.rule = lambda *_: None
    assert faults(app) == []


@contextmanager
def going_on(act: Callable[[], object]) -> Iterator[None]:
    """Do it over and over meanwhile, at least once."""
    done, ended = Event(), Event()

    def run() -> None:
        while not ended.is_set():
            act()
            done.set()

    thread = Thread(target=run)
    thread.start()
    yield
    done.wait(60)
    ended.set()
    thread.join()


def test_work_in_progress_is_no_fault(app: Flask, owner: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = owner.upload({"a": b"kept"})
    monkeypatch.setattr(consistency, "PAGE", 2)

    def live() -> None:
        traceset = owner.upload({"a": b"1", "b": b"22", "c": b"333"})
        ok(owner.post(f"/tracesets/{traceset['id']}/promote", {}), 201)
        owner.delete(f"/tracesets/{traceset['id']}")
        sweep(app)

    with going_on(live):
        for _ in range(2):
            assert faults(app, "--repair") == []

    assert owner.read(kept["id"], "a") == b"kept"
    assert_counts_right(app)


def test_bytes_that_go_while_they_are_looked_for_are_no_fault(
    app: Flask, owner: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    traceset = owner.upload({"a": b"going"})["id"]
    store: ObjectStore = app.extensions["object_store"]
    listed = store.objects

    def after_a_deletion(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(store, "objects", listed)
        owner.delete(f"/tracesets/{traceset}")
        sweep(app)
        return listed(*args, **kwargs)

    monkeypatch.setattr(store, "objects", after_a_deletion)

    assert faults(app) == []
    assert stored_keys(app) == []


def test_an_upload_that_is_completed_while_it_is_looked_for_is_no_fault(
    app: Flask, owner: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = owner.open({"a": 1})
    files = owner.send(session, {"a": b"x"})
    store: ObjectStore = app.extensions["object_store"]
    listed = store.open_uploads

    def after_the_completion() -> Any:
        monkeypatch.setattr(store, "open_uploads", listed)
        uploads = list(listed())
        [key], [multipart_id] = column(app, UploadFile.library_key), column(app, UploadFile.multipart_id)
        with app.app_context():
            store.finish(key, multipart_id, store.parts(key, multipart_id))
        return iter(uploads[:0])

    monkeypatch.setattr(store, "open_uploads", after_the_completion)

    assert faults(app, "--repair") == []
    ok(owner.complete(session, files), 201)
    assert column(app, UploadSession.state) == ["completed"]
