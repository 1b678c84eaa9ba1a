"""What site administrators see of upload sessions, and what they do to them."""

import threading
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.models.events import Event, EventKind
from app.services import completion, sessions
from app.services.administration import ASKED_FILES
from app.settings import MIB
from app.transactions import reading
from tests.conftest import MakeApp
from tests.functional.web.conftest import BrowserAt, BrowserOf
from tests.support.api import Api, ok
from tests.support.clock import Clock
from tests.support.pages import Browser, Page

LIST = "/admin/upload-sessions"
HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'&"


def states(page: Page) -> list[str]:
    """The states in the list, in its order."""
    return [" ".join(cell.itertext()).strip() for cell in page.all("span", class_="badge-status")]


def row_texts(page: Page) -> list[str]:
    """What each row of the list says."""
    return [" ".join(" ".join(row.itertext()).split()) for row in page.all("tr")[1:]]


@pytest.mark.parametrize("path", [LIST, "/admin/people", "/admin/library", "/admin/settings", "/admin/health"])
@pytest.mark.parametrize("name", ["owner", "viewer", "stranger"])
def test_for_others_there_is_nothing(browser_of: BrowserOf, name: str, path: str) -> None:
    page = browser_of(name).page(path, 404)

    assert f"There is nothing at {path}" in page.text


def test_nobody_is_sent_to_the_door(nobody: Browser) -> None:
    assert nobody.get(LIST).location == f"/login?next={LIST}"


def test_the_list_tells_how_far_everybodys_sessions_are(owner: Api, admin_page: Browser) -> None:
    session = owner.open({"a": 11 * MIB, "b": 0}, name=HOSTILE)
    owner.put(session["files"][0]["parts"][1]["url"], b"x" * 5 * MIB)
    done = owner.open({"c": 1}, name="Done")
    owner.complete(done, owner.send(done, {"c": b"c"}))

    page = admin_page.page(LIST)

    assert row_texts(page)[0].startswith("completed Done Shared owner@tests.example 1 1 of 1")
    assert row_texts(page)[1].startswith(
        "open <img src=x onerror=alert(1)>⟨U+202E⟩\"'& Shared owner@tests.example 2 1 of 4"
    )


def test_sessions_of_too_many_files_are_not_asked_for_in_the_list(owner: Api, admin_page: Browser) -> None:
    owner.open({str(n): 1 for n in range(ASKED_FILES + 1)}, name="Many")

    page = admin_page.page(LIST)

    assert "1 001 – of 1 001" in row_texts(page)[0]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["Completed", "Aborted", "Open"]),
        ({"state": "open"}, ["Open"]),
        ({"state": "unfinished"}, ["Open"]),
        ({"state": "aborted"}, ["Aborted"]),
        ({"state": "stalled"}, []),
        ({"state": "no such word"}, ["Completed", "Aborted", "Open"]),
        ({"owner": "OWNER@"}, ["Completed", "Aborted", "Open"]),
        ({"owner": "editor"}, []),
        ({"owner": "owner", "state": "completed"}, ["Completed"]),
        ({"workspace": "workspace_universal"}, []),
        ({"age": "1h"}, []),
    ],
)
def test_the_list_is_filtered(owner: Api, admin_page: Browser, query: dict[str, str], names: list[str]) -> None:
    owner.open({"a": 1}, name="Open")
    owner.delete(f"/tracesets/upload-url/{owner.open({'a': 1}, name='Aborted')['uploadId']}")
    done = owner.open({"a": 1}, name="Completed")
    owner.complete(done, owner.send(done, {"a": b"a"}))

    page = admin_page.page(LIST, **query)
    fragment = admin_page.page(LIST, fragment=True, **query)

    assert [link for link in page.links() if link in ("Open", "Aborted", "Completed")] == names
    assert row_texts(fragment) == row_texts(page)


def test_the_list_is_filtered_by_age(owner: Api, admin_page: Browser, moved_clock: Clock) -> None:
    owner.open({"a": 1}, name="Old")
    moved_clock.pass_by(hours=7)
    owner.open({"a": 1}, name="New")

    page = admin_page.page(LIST, age="6h")

    assert "Old" in page.links()
    assert "New" not in page.links()


def test_the_list_is_leafed_through_and_back(owner: Api, admin_page: Browser) -> None:
    for n in range(60):
        owner.open({"a": 1}, name=f"n{n}")

    seen, pages = [], [admin_page.page(LIST, owner="owner")]
    while following := pages[-1].all("a", rel="next"):
        pages.append(admin_page.page(following[0].get("href") or ""))
    back = [admin_page.page(pages[-1].all("a", rel="prev")[0].get("href") or "")]
    back.append(admin_page.page(back[-1].all("a", rel="prev")[0].get("href") or ""))

    for page in pages:
        seen += [link for link in page.links() if link.startswith("n")]
    assert seen == [f"n{n}" for n in range(59, -1, -1)]
    assert [row_texts(page) for page in back] == [row_texts(pages[1]), row_texts(pages[0])]
    assert not back[-1].all("a", rel="prev")


@pytest.mark.parametrize("place", ["x", "-1", "9" * 30, "1.5"])
def test_a_place_that_is_none_is_refused(admin_page: Browser, place: str) -> None:
    admin_page.page(LIST, 400, next=place)


def test_a_session_shows_the_parts_and_ids_that_the_store_has(owner: Api, admin_page: Browser) -> None:
    session = owner.open({HOSTILE.replace("<", "("): 26 * MIB, "b": 3})
    for number in (1, 2, 5):
        owner.put(session["files"][0]["parts"][number - 1]["url"], b"x" * 5 * MIB)

    page = admin_page.page(f"{LIST}/{session['uploadId']}")

    assert [(rect.get("x"), rect.get("width")) for rect in page.all("{http://www.w3.org/2000/svg}rect")] == [
        ("0", "2"),
        ("4", "1"),
    ]
    assert "3 of 6 parts" in page.text
    assert "1–2, 5" in page.text
    assert "7 parts planned, 3 arrived" in page.text
    assert "created by owner@tests.example" in page.text
    assert len([code for code in page.all("code") if (code.text or "").startswith("lib/")]) == 2


def test_a_session_that_there_is_not_is_not_found(admin_page: Browser) -> None:
    admin_page.page(f"{LIST}/upload_none", 404)


def test_an_administrator_aborts_a_session(owner: Api, admin_page: Browser, app: Flask) -> None:
    session = owner.open({"a": 1})
    path = f"{LIST}/{session['uploadId']}"

    admin_page.sent_on(f"{path}/abort")

    page = admin_page.page(path)
    assert "The session was ended" in page.text
    assert ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))["state"] == "aborted"
    assert not page.all("form", action=f"{path}/abort")
    assert "failed by admin@tests.example" in page.text


def test_a_session_that_is_being_completed_is_not_aborted_but_opened(
    owner: Api, admin_page: Browser, app: Flask
) -> None:
    session = owner.open({"a": 1})
    path = f"{LIST}/{session['uploadId']}"
    with app.app_context():
        claim = sessions.claim(session["uploadId"])
    assert claim is not None

    admin_page.sent_on(f"{path}/abort")
    assert "release its claim first" in admin_page.page(path).text
    assert claim[:8] in admin_page.page(path).text
    admin_page.sent_on(f"{path}/release-claim")

    assert ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))["state"] == "open"
    with app.app_context(), reading() as database:
        event = database.scalars(select(Event).where(Event.kind == EventKind.CLAIM_RELEASED)).one()
    assert event.detail == {"upload_id": session["uploadId"]}


def test_releasing_a_claim_that_there_is_not_is_told(owner: Api, admin_page: Browser) -> None:
    session = owner.open({"a": 1})

    admin_page.sent_on(f"{LIST}/{session['uploadId']}/release-claim")

    assert "nobody is completing it" in admin_page.page(f"{LIST}/{session['uploadId']}").text


def test_a_completion_whose_claim_was_released_changes_nothing(
    owner: Api, admin_page: Browser, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = owner.open({"a": 1})
    files = owner.send(session, {"a": b"a"})
    has_finished, may_announce = threading.Event(), threading.Event()
    announce = completion.announce

    def announce_late(*arguments: Any) -> bool:
        has_finished.set()
        assert may_announce.wait(30)
        return announce(*arguments)

    monkeypatch.setattr(completion, "announce", announce_late)
    answers: list[int] = []
    first = threading.Thread(target=lambda: answers.append(owner.complete(session, files).status_code))
    first.start()
    assert has_finished.wait(30)

    admin_page.sent_on(f"{LIST}/{session['uploadId']}/release-claim")
    may_announce.set()
    first.join(30)

    assert answers == [409]
    assert ok(owner.get(f"/tracesets/{session['tracesetId']}"))["status"] == "uploading"
    assert owner.complete(session, files).status_code == 201
    assert owner.read(session["tracesetId"], "a") == b"a"


def test_an_administrator_sweeps_now(owner: Api, admin_page: Browser, moved_clock: Clock) -> None:
    session = owner.open({"a": 1})
    moved_clock.pass_by(hours=25)

    admin_page.sent_on("/admin/sweep")

    assert "The sweep ended: 1 expired sessions" in admin_page.page(LIST).text
    assert ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))["state"] == "expired"


@pytest.mark.parametrize("action", ["abort", "release-claim"])
@pytest.mark.parametrize("name", ["owner", "viewer"])
def test_others_change_no_session(owner: Api, browser_of: BrowserOf, name: str, action: str) -> None:
    session = owner.open({"a": 1})

    response = browser_of(name).post(f"{LIST}/{session['uploadId']}/{action}")

    assert response.status_code == 404
    assert ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))["state"] == "open"


def test_nobody_ends_sessions_where_nothing_may_be_changed(
    owner: Api, make_app: MakeApp, browser_at: BrowserAt
) -> None:
    session = owner.open({"a": 1})
    page = browser_at(make_app(trace_routes_read_only=True), "admin")

    assert page.post(f"{LIST}/{session['uploadId']}/abort").status_code == 404
    assert not page.page(f"{LIST}/{session['uploadId']}").all("form", action=f"{LIST}/{session['uploadId']}/abort")


def test_mapping_files_are_listed_and_aborted_too(owner: Api, admin_page: Browser) -> None:
    body = owner.request_of({"m": 1}, name="Map")
    for file in body["files"]:
        del file["role"]
    session = ok(owner.post("/mapping-files/upload-url", body))

    admin_page.sent_on(f"{LIST}/{session['uploadId']}/abort")

    assert "Mapping file" in admin_page.page(f"{LIST}/{session['uploadId']}").text
    assert states(admin_page.page(LIST)) == ["aborted"]
