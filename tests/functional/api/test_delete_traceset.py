"""DELETE /tracesets/{id} (D1-D3)."""

import pytest
from flask import Flask

from app.models.tracesets import LibraryFile
from tests.conftest import People
from tests.support.api import Api, ok, refused
from tests.support.database import assert_counts_right, column
from tests.support.upkeep import at_once, open_uploads, stored_keys, sweep


def delete(caller: Api, traceset_id: str) -> int:
    return caller.delete(f"/tracesets/{traceset_id}").status_code


def in_state(owner: Api, state: str) -> str:
    """A traceset of this status."""
    if state == "ready":
        return str(owner.upload({"a": b"x"})["id"])
    session = owner.open({"a": 1})
    if state == "upload_failed":
        owner.delete(f"/tracesets/upload-url/{session['uploadId']}")
    return str(session["tracesetId"])


@pytest.mark.parametrize("state", ["uploading", "ready", "upload_failed"])
def test_a_deleted_traceset_answers_nothing_but_404(app: Flask, owner: Api, state: str) -> None:
    traceset_id = in_state(owner, state)

    answer = owner.delete(f"/tracesets/{traceset_id}")

    assert (answer.status_code, answer.data) == (204, b"")
    path = f"/tracesets/{traceset_id}"
    for again in (
        owner.get(path),
        owner.delete(path),
        owner.get(f"{path}/download"),
        owner.get(f"{path}/download", file="a"),
        owner.post(f"{path}/validate", {}),
        owner.post(f"{path}/promote", {}),
    ):
        refused(again, 404, exactly=f"Traceset '{traceset_id}' not found")
    assert_counts_right(app)


def test_the_record_stays_and_is_listed_as_deleted(owner: Api, stranger: Api) -> None:
    traceset = owner.upload({"a": b"x"}, tags=["kept"])
    delete(owner, traceset["id"])

    assert ok(owner.get("/tracesets"))["items"] == []
    [item] = ok(owner.get("/tracesets", status="deleted"))["items"]
    assert (item["id"], item["status"], item["tags"]) == (traceset["id"], "deleted", ["kept"])
    assert item["createdAt"] == traceset["createdAt"]
    assert ok(stranger.get("/tracesets", status="deleted"))["items"] == []


def test_references_end_at_once_and_bytes_with_the_next_sweep(app: Flask, owner: Api) -> None:
    gone, kept = owner.upload({"a": b"gone", "b": b"too"}), owner.upload({"a": b"kept"})
    delete(owner, gone["id"])
    assert sorted(column(app, LibraryFile.ref_count)) == [0, 0, 1]
    assert len(stored_keys(app)) == 3

    assert sweep(app)["unreferenced files"] == 2

    assert len(stored_keys(app)) == len(column(app, LibraryFile.key)) == 1
    assert owner.read(kept["id"], "a") == b"kept"


def test_of_any_number_at_once_one_deletes(app: Flask, owner: Api) -> None:
    traceset = owner.upload({"a": b"x", "b": b"y"})

    assert sorted(at_once(16, lambda _: delete(owner, traceset["id"]))) == [204] + [404] * 15

    assert column(app, LibraryFile.ref_count) == [0, 0]
    assert_counts_right(app)


def test_deleting_what_is_uploading_ends_its_session_and_discards_its_parts(app: Flask, owner: Api) -> None:
    session = owner.open({"a": 3, "never sent": 1})
    etag = owner.put(session["files"][0]["parts"][0]["url"], b"abc")

    assert delete(owner, session["tracesetId"]) == 204

    assert (open_uploads(app), stored_keys(app), column(app, LibraryFile.key)) == ([], [], [])
    files = [{"name": "a", "parts": [{"partNumber": 1, "etag": etag}]}]
    refused(owner.complete(session, files), 400, "aborted")
    assert ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))["state"] == "aborted"
    refused(owner.get(f"/tracesets/{session['tracesetId']}"), 404)


@pytest.mark.parametrize(
    ("who", "status"), [("viewer", 403), ("reader", 403), ("stranger", 404), ("editor", 204), ("admin", 204)]
)
def test_who_may_change_the_workspace_may_delete(app: Flask, people_here: People, who: str, status: int) -> None:
    traceset = people_here.owner.upload({"a": b"x"})

    assert delete(getattr(people_here, who), traceset["id"]) == status

    assert column(app, LibraryFile.ref_count) == [0 if status == 204 else 1]
