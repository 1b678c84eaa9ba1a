"""Watching, resuming and ending upload sessions (S1-S3)."""

from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import update

from app.extensions import object_store
from app.models.tracesets import LibraryFile
from app.models.uploads import SessionState, UploadFile, UploadSession
from app.settings import MIB
from tests.conftest import MakeApp, People, PeopleOf
from tests.support.api import JSON, Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, change, column
from tests.support.upkeep import open_uploads, stored_keys, sweep

BIG = b"b" * (5 * MIB) + b"tail"


def session_of(caller: Api, opened: JSON) -> JSON:
    return ok(caller.get(f"/tracesets/upload-url/{opened['uploadId']}"))


def end(caller: Api, opened: JSON) -> int:
    return caller.delete(f"/tracesets/upload-url/{opened['uploadId']}").status_code


def state_of(caller: Api, opened: JSON) -> str:
    state: str = session_of(caller, opened)["state"]
    return state


def named_by(session: JSON) -> list[JSON]:
    """A completion by what the session shows alone."""
    return [
        {"name": file["name"], "parts": [{"partNumber": p["partNumber"], "etag": p.get("etag")} for p in file["parts"]]}
        for file in session["files"]
    ]


def test_a_fresh_session_has_a_url_for_every_part(owner: Api) -> None:
    opened = owner.open({"big.et": len(BIG), "é b": 0})

    session = session_of(owner, opened)

    expires = opened["files"][0]["partUrlsExpireAt"]
    for file in session["files"]:
        assert file.pop("partUrlsExpireAt") >= expires
        for part in file["parts"]:
            assert part.pop("url").startswith("http")
    assert session == {
        "uploadId": opened["uploadId"],
        "tracesetId": opened["tracesetId"],
        "state": "open",
        "expiresAt": opened["expiresAt"],
        "files": [
            {
                "name": "big.et",
                "size": len(BIG),
                "parts": [
                    {"partNumber": 1, "size": 5 * MIB, "uploaded": False},
                    {"partNumber": 2, "size": 4, "uploaded": False},
                ],
            },
            {"name": "é b", "size": 0, "parts": [{"partNumber": 1, "size": 0, "uploaded": False}]},
        ],
    }


def test_an_upload_is_resumed_by_what_the_session_shows(owner: Api) -> None:
    opened = owner.open({"big.et": len(BIG), "small": 3})
    etag = owner.put(opened["files"][0]["parts"][1]["url"], b"tail")

    big, small = session_of(owner, opened)["files"]

    assert big["parts"][1] == {"partNumber": 2, "size": 4, "uploaded": True, "etag": etag}
    assert not big["parts"][0]["uploaded"]
    owner.put(big["parts"][0]["url"], BIG[: 5 * MIB])
    owner.put(small["parts"][0]["url"], b"abc")
    session = session_of(owner, opened)
    assert all(part["uploaded"] and "url" not in part for file in session["files"] for part in file["parts"])
    traceset = ok(owner.complete(opened, named_by(session)), 201)
    assert owner.read(traceset["id"], "big.et") == BIG


def test_the_last_put_of_a_part_shows(owner: Api) -> None:
    opened = owner.open({"a": 4})
    url = opened["files"][0]["parts"][0]["url"]
    owner.put(url, b"1111")
    last = owner.put(url, b"2222")

    [part] = session_of(owner, opened)["files"][0]["parts"]

    assert part["etag"] == last


@pytest.mark.parametrize("sent", [b"", b"123", b"12345"], ids=["nothing", "too short", "too long"])
def test_a_part_of_another_size_may_be_sent_again(owner: Api, sent: bytes) -> None:
    opened = owner.open({"a": 4})
    owner.put(opened["files"][0]["parts"][0]["url"], sent)

    [part] = session_of(owner, opened)["files"][0]["parts"]

    assert part["uploaded"] is True
    owner.put(part["url"], b"1234")
    traceset = ok(owner.complete(opened, named_by(session_of(owner, opened))), 201)
    assert owner.read(traceset["id"], "a") == b"1234"


def test_urls_are_fresh_after_the_first_ones_have_ended(
    make_app: MakeApp, people_of: PeopleOf, moved_clock: Clock
) -> None:
    owner = people_of(make_app(part_url_ttl=60)).owner
    opened = owner.open({"a": 1})
    moved_clock.pass_by(seconds=61)

    session = session_of(owner, opened)

    assert session["files"][0]["partUrlsExpireAt"] > opened["files"][0]["partUrlsExpireAt"]
    owner.put(session["files"][0]["parts"][0]["url"], b"x")
    ok(owner.complete(opened, named_by(session_of(owner, opened))), 201)


def test_a_viewer_sees_the_session_without_its_urls(owner: Api, viewer: Api) -> None:
    opened = owner.open({"a": 1})

    session = session_of(viewer, opened)

    assert session["state"] == "open"
    assert "url" not in session["files"][0]["parts"][0]


def test_site_admins_see_every_session(people_here: People) -> None:
    opened = people_here.owner.open({"a": 1})

    assert state_of(people_here.admin, opened) == "open"


def test_a_completed_session_holds_every_part_and_takes_none(owner: Api) -> None:
    opened = owner.open({"big.et": len(BIG)})
    ok(owner.complete(opened, owner.send(opened, {"big.et": BIG})), 201)

    session = session_of(owner, opened)

    assert session["state"] == "completed"
    assert [part["uploaded"] for part in session["files"][0]["parts"]] == [True, True]
    assert all("url" not in part for part in session["files"][0]["parts"])


def test_an_ended_session_tells_why_and_takes_nothing(owner: Api, moved_clock: Clock) -> None:
    aborted, failed, expired = (owner.open({"a": 1}) for _ in range(3))
    owner.put(aborted["files"][0]["parts"][0]["url"], b"x")
    end(owner, aborted)
    owner.put(failed["files"][0]["parts"][0]["url"], b"too long")
    refused(owner.complete(failed, []), 413)
    moved_clock.pass_by(hours=25)

    shown = [session_of(owner, opened) for opened in (aborted, failed, expired)]

    assert [session["state"] for session in shown] == ["aborted", "failed", "expired"]
    assert "larger than its declared size" in shown[1]["failure"]
    for session in shown:
        assert session["files"][0]["parts"] == [{"partNumber": 1, "size": 1, "uploaded": False}]


def test_a_session_that_is_being_completed_shows_what_is_held(app: Flask, owner: Api) -> None:
    opened = owner.open({"a": 1})
    owner.put(opened["files"][0]["parts"][0]["url"], b"x")
    change(app, update(UploadSession).values(state=SessionState.COMPLETING))

    session = session_of(owner, opened)

    assert session["state"] == "completing"
    assert session["files"][0]["parts"][0]["uploaded"] is True


def test_uploads_that_the_store_has_lost_are_begun_again(app: Flask, owner: Api) -> None:
    opened = owner.open({"lost": 3, "kept": 1})
    kept = owner.put(opened["files"][1]["parts"][0]["url"], b"k")
    owner.put(opened["files"][0]["parts"][0]["url"], b"abc")
    [key] = column(app, UploadFile.library_key, UploadFile.position == 0)
    with app.app_context():
        object_store().abort(key, None)

    session = session_of(owner, opened)

    assert session["files"][1]["parts"][0]["etag"] == kept
    assert session["files"][0]["parts"][0]["uploaded"] is False
    owner.put(session["files"][0]["parts"][0]["url"], b"new")
    traceset = ok(owner.complete(opened, named_by(session_of(owner, opened))), 201)
    assert owner.read(traceset["id"], "lost") == b"new"


def test_a_completion_after_the_store_lost_an_upload_says_what_is_missing_and_lets_it_be_sent(
    app: Flask, owner: Api
) -> None:
    opened = owner.open({"lost": 3})
    files = owner.send(opened, {"lost": b"abc"})
    with app.app_context():
        object_store().abort(column(app, UploadFile.library_key)[0], None)

    refused(owner.complete(opened, files), 400, exactly="Missing parts for file 'lost'")

    session = session_of(owner, opened)
    owner.put(session["files"][0]["parts"][0]["url"], b"new")
    traceset = ok(owner.complete(opened, named_by(session_of(owner, opened))), 201)
    assert owner.read(traceset["id"], "lost") == b"new"
    assert_counts_right(app)


def test_a_file_that_a_dead_completion_had_finished_need_not_be_sent_again(app: Flask, owner: Api) -> None:
    opened = owner.open({"done": len(BIG), "open": 1})
    owner.send(opened, {"done": BIG, "open": b"x"})
    [(key, upload_id)] = zip(
        column(app, UploadFile.library_key, UploadFile.position == 0),
        column(app, UploadFile.multipart_id, UploadFile.position == 0),
        strict=True,
    )
    with app.app_context():
        object_store().finish(key, upload_id, object_store().parts(key, upload_id))

    session = session_of(owner, opened)

    assert [[part["uploaded"] for part in file["parts"]] for file in session["files"]] == [[True, True], [True]]
    traceset = ok(owner.complete(opened, named_by(session)), 201)
    assert owner.read(traceset["id"], "done") == BIG
    assert_counts_right(app)


def test_ending_a_session_fails_its_traceset_and_discards_its_parts(app: Flask, owner: Api) -> None:
    opened = owner.open({"a": 3, "b": 3})
    files = owner.send(opened, {"a": b"abc", "b": b"abc"})

    answer = owner.delete(f"/tracesets/upload-url/{opened['uploadId']}")

    assert (answer.status_code, answer.data) == (204, b"")
    assert owner.show(opened["tracesetId"])["status"] == "upload_failed"
    assert open_uploads(app) == []
    assert column(app, LibraryFile.key) == []
    refused(owner.complete(opened, files), 400, "aborted", "POST /api/v1/tracesets/upload-url")
    assert owner.show(opened["tracesetId"])["status"] == "upload_failed"


def test_ending_an_ended_session_again_is_harmless(owner: Api, moved_clock: Clock) -> None:
    opened, expired = owner.open({"a": 1}), owner.open({"a": 1})

    assert [end(owner, opened), end(owner, opened)] == [204, 204]
    moved_clock.pass_by(hours=25)
    assert [end(owner, expired), end(owner, expired)] == [204, 204]


@pytest.mark.parametrize("is_swept", [False, True], ids=["not swept", "swept"])
@pytest.mark.parametrize("kind", ["upload-url", "traceset"])
def test_what_has_expired_stays_so_whoever_ends_it_then(
    app: Flask, owner: Api, moved_clock: Clock, kind: str, is_swept: bool
) -> None:
    opened = owner.open({"a": 1})
    files = owner.send(opened, {"a": b"x"})
    moved_clock.pass_by(hours=24)
    if is_swept:
        sweep(app)

    ending = opened["tracesetId"] if kind == "traceset" else f"upload-url/{opened['uploadId']}"
    assert owner.delete(f"/tracesets/{ending}").status_code == 204

    assert state_of(owner, opened) == "expired"
    refused(owner.complete(opened, files), 410, exactly=f"Upload session '{opened['uploadId']}' has expired")
    assert (open_uploads(app), column(app, LibraryFile.key)) == ([], [])


def test_a_completed_session_cannot_be_ended(app: Flask, owner: Api) -> None:
    opened = owner.open({"a": 1})
    ok(owner.complete(opened, owner.send(opened, {"a": b"x"})), 201)

    refused(owner.delete(f"/tracesets/upload-url/{opened['uploadId']}"), 409, "completed")

    assert owner.read(opened["tracesetId"], "a") == b"x"
    assert_counts_right(app)


def test_a_session_that_is_being_completed_cannot_be_ended(app: Flask, owner: Api, moved_clock: Clock) -> None:
    opened = owner.open({"a": 1})
    claimed = moved_clock.now() + timedelta(minutes=1)
    change(app, update(UploadSession).values(state=SessionState.COMPLETING, claim="x", claimed_until=claimed))

    refused(owner.delete(f"/tracesets/upload-url/{opened['uploadId']}"), 409, "completing")

    assert owner.show(opened["tracesetId"])["status"] == "uploading"


@pytest.mark.parametrize(
    ("who", "status"), [("viewer", 403), ("reader", 403), ("stranger", 404), ("editor", 204), ("admin", 204)]
)
def test_who_may_change_the_workspace_may_end_its_sessions(people_here: People, who: str, status: int) -> None:
    opened = people_here.owner.open({"a": 1})

    assert end(getattr(people_here, who), opened) == status

    state = "aborted" if status == 204 else "open"
    assert state_of(people_here.owner, opened) == state


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_unknown_session_is_not_found(owner: Api, method: str) -> None:
    answer = owner.call(method, "/tracesets/upload-url/upload_notfound")

    refused(answer, 404, exactly="Upload session 'upload_notfound' not found")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_session_of_the_other_kind_tells_its_route(owner: Api, method: str) -> None:
    body = {"name": "m", "workspaceId": owner.workspace_id, "files": [{"name": "a", "size": 1}]}
    mapping = ok(owner.post("/mapping-files/upload-url", body))

    answer = owner.call(method, f"/tracesets/upload-url/{mapping['uploadId']}")

    refused(answer, 400, "/api/v1/mapping-files/upload-url")
    assert ok(owner.get(f"/mapping-files/upload-url/{mapping['uploadId']}"))["state"] == "open"


def test_a_sweep_ends_what_has_passed_its_time_and_nothing_else(app: Flask, owner: Api, moved_clock: Clock) -> None:
    done = owner.upload({"kept": b"kept"})
    old = owner.open({"a": 3, "b": 1})
    owner.put(old["files"][0]["parts"][0]["url"], b"abc")
    assert "expired sessions" not in sweep(app)
    moved_clock.pass_by(hours=23)
    young = owner.open({"y": 1})
    moved_clock.pass_by(hours=1, seconds=1)

    assert sweep(app) == {"expired sessions": 1}

    assert owner.show(old["tracesetId"])["status"] == "upload_failed"
    assert [state_of(owner, old), state_of(owner, young)] == ["expired", "open"]
    assert len(open_uploads(app)) == 1
    assert len(stored_keys(app)) == 1
    assert owner.read(done["id"], "kept") == b"kept"
    refused(owner.complete(old, []), 410, exactly=f"Upload session '{old['uploadId']}' has expired")
    assert_counts_right(app)
