"""One traceset: what its page shows, and what can be done with it there."""

import json
from urllib.parse import urlsplit

import pytest
from flask import Flask
from sqlalchemy import event

from app.extensions import db
from app.queries.inspection import FILES_ON_A_PAGE
from tests.functional.web.conftest import BrowserOf
from tests.support.api import JSON, Api, file_spec, ok
from tests.support.pages import Browser, Page
from tests.support.tour import HOSTILE

METADATA = {
    "workload_family": "Llama",
    "parallelism": {"dp": 32, "tp": 8, "cp": 2},
    "shape": {"rankCount": 256},
    "flags": ["a", 1, None],
    "nested": [{"deep": {"deeper": "<b>"}}],
}


@pytest.fixture
def traceset(owner: Api) -> JSON:
    """One primary and one supporting file."""
    return owner.upload(
        {"run/all.et": b"trace", "notes é.txt": b"notes"},
        files=[file_spec("run/all.et", 5, "primary"), file_spec("notes é.txt", 5)],
        name="Traced",
        description="First line\nsecond line",
        tags=["nightly"],
        workloadMetadata=METADATA,
    )


def many_files(owner: Api, count: int) -> str:
    """The id of a traceset of so many external files."""
    files = [file_spec(f"rank_{n:05}.et", n, externalUrl=f"https://store.example/{n}") for n in range(count)]
    session = owner.open(files, name="Many files")
    return str(ok(owner.complete(session, []), 201)["id"])


def file_names(page: Page) -> list[str]:
    return [cell.text or "" for row in page.all("td", class_="file-name") for cell in row.iter("bdi")][::2]


def test_the_page_tells_all_there_is(traceset: JSON, viewer_page: Browser) -> None:
    page = viewer_page.page(f"/tracesets/{traceset['id']}")

    assert page.heading == "Traced"
    for told in (
        "First line second line",
        "dp 32 × tp 8 = 256 and shape.rankCount",
        "1 primary, 1 supporting",
        "10 B",
        "nightly",
        "Shared",
        "by owner@tests.example",
        traceset["id"],
        "run/all.et",
        "notes é.txt",
        "0 to 255",
        "deeper",
        '["a",1,null]',
        json.dumps(METADATA, separators=(",", ":")),
        f"tracesets download {traceset['id']}",
        f"http://localhost/api/v1/tracesets/{traceset['id']}/download",
        "It was not validated yet.",
        "completed by owner@tests.example",
    ):
        assert told in page.text


@pytest.mark.parametrize("person", ["stranger", "nobody"])
def test_others_do_not_find_it(traceset: JSON, app: Flask, browser_of: BrowserOf, person: str) -> None:
    browser = browser_of(person) if person == "stranger" else Browser(app)
    path = f"/tracesets/{traceset['id']}"

    answers = [browser.get(path + more) for more in ("", "/download", "/edit", "/promote", "/delete", "/events")]

    assert {answer.status_code for answer in answers} == {404 if person == "stranger" else 302}


def test_a_reader_finds_no_control_that_changes(traceset: JSON, viewer_page: Browser) -> None:
    path = f"/tracesets/{traceset['id']}"

    page = viewer_page.page(path)

    assert not {"Edit", "Delete"} & set(page.links())
    assert viewer_page.page(f"{path}/edit", 403).heading == "Forbidden"
    assert viewer_page.submit(f"{path}/edit", {"name": "x"}, status=403).heading == "Forbidden"
    assert viewer_page.page(f"{path}/delete", 403).heading == "Forbidden"
    assert viewer_page.submit(f"{path}/delete", status=403).heading == "Forbidden"


def test_files_are_downloaded_one_by_one_and_as_one(traceset: JSON, owner: Api, viewer_page: Browser) -> None:
    page = viewer_page.page(f"/tracesets/{traceset['id']}")
    one = next(a.get("href") or "" for a in page.all("a", aria_label="Download notes é.txt"))
    whole = next(href for link, href in page.links().items() if link.startswith("Download all"))

    first, second = viewer_page.get(one), viewer_page.get(whole)

    assert owner.fetch(first.location or "") == b"notes"
    assert owner.fetch(second.location or "").startswith(b"PK")
    assert first.headers["Cache-Control"] == "no-store"


def test_an_unknown_file_is_a_page(traceset: JSON, viewer_page: Browser) -> None:
    page = viewer_page.page(f"/tracesets/{traceset['id']}/download", 404, file="other")

    assert "File 'other' not found" in page.text


def test_validation_is_run_and_remembered(traceset: JSON, viewer_page: Browser) -> None:
    path = f"/tracesets/{traceset['id']}"

    assert viewer_page.sent_on(f"{path}/validate") == f"{path}#validation"

    page = viewer_page.page(path)
    assert "All checks passed, just now" in page.text
    assert "topology correlation: passed Not yet implemented — always passes" in page.text


def test_a_validation_over_the_api_is_remembered_too(traceset: JSON, owner: Api, viewer_page: Browser) -> None:
    ok(owner.post(f"/tracesets/{traceset['id']}/validate", {"deep": True}))
    ok(owner.post(f"/tracesets/{traceset['id']}/validate"))
    ok(owner.post(f"/tracesets/{traceset['id']}/validate", {"deep": True}))

    page = viewer_page.page(f"/tracesets/{traceset['id']}")

    assert "1 of 6 checks failed" in page.text
    assert "trace format: failed" in page.text


def test_validation_answers_with_a_fragment(traceset: JSON, viewer_page: Browser) -> None:
    token = viewer_page.csrf_token()

    answer = viewer_page.client.post(
        f"/tracesets/{traceset['id']}/validate",
        data={"csrf_token": token, "deep": "1"},
        headers={"X-Fragment": "1"},
    )

    assert answer.status_code == 200
    fragment = Page(answer)
    assert "content checksum: passed" in fragment.text
    assert not fragment.all("h1")


def test_a_traceset_is_edited(traceset: JSON, owner: Api, owner_page: Browser) -> None:
    path = f"/tracesets/{traceset['id']}"
    form = owner_page.page(f"{path}/edit").form(f"{path}/edit")

    owner_page.sent_on(f"{path}/edit", {**form, "name": " New name ", "description": "a\r\nb", "tags": "x\r\n\r\ny"})

    assert form["tags"] == "nightly"
    assert form["description"] == "First line\nsecond line"
    shown = owner.show(traceset["id"])
    assert (shown["name"], shown["description"], shown["tags"]) == ("New name", "a\nb", ["x", "y"])
    assert [item["id"] for item in ok(owner.get("/tracesets", search="new NAME", tag="y"))["items"]] == [traceset["id"]]
    assert ok(owner.get("/tracesets", tag="nightly"))["items"] == []
    assert "edited by owner@tests.example just now · name, description, tags" in owner_page.page(path).text


def test_saving_without_a_change_records_nothing(traceset: JSON, owner_page: Browser) -> None:
    path = f"/tracesets/{traceset['id']}"

    owner_page.sent_on(f"{path}/edit", owner_page.page(f"{path}/edit").form(f"{path}/edit"))

    assert "edited by" not in owner_page.page(path).text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": " "}, "name must have 1 to 255 characters after trimming"),
        ({"name": ""}, "A traceset needs a name"),
        ({"name": "x" * 256}, "longer than 255"),
        ({"description": "x" * 10_001}, "longer than 10000"),
        ({"tags": "x" * 101}, "tags must have 1 to 100 characters each"),
        ({"tags": "\n".join(map(str, range(51)))}, "tags must be at most 50 different ones, got 51"),
    ],
    ids=["blank name", "no name", "long name", "long description", "long tag", "many tags"],
)
def test_an_edit_that_will_not_do_is_told_beside_its_field(
    traceset: JSON, owner: Api, owner_page: Browser, change: dict[str, str], told: str
) -> None:
    page = owner_page.submit(
        f"/tracesets/{traceset['id']}/edit", {"name": "ok", "description": "", "tags": "", **change}
    )

    assert told in page.text
    assert page.all("div", class_="field-error")
    assert owner.show(traceset["id"])["name"] == "Traced"


def test_a_traceset_is_promoted_once(traceset: JSON, owner: Api, owner_page: Browser) -> None:
    path = f"/tracesets/{traceset['id']}/promote"
    form = owner_page.page(path).form(path)

    first = owner_page.sent_on(path, {**form, "name": "Published"})
    again = owner_page.sent_on(path, {**form, "name": "Other name"})

    assert form["workspace_id"] == "workspace_universal"
    assert first == again
    page = owner_page.page(first)
    assert page.heading == "Published"
    assert page.links()[traceset["id"]] == f"/tracesets/{traceset['id']}"
    assert "It was there already" in page.text
    assert ok(owner.get("/tracesets", tag="nightly", workspaceId="workspace_universal"))["items"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"metadata": "{"}, "not valid JSON"),
        ({"metadata": '{"shape": {"rankCount": 4}}'}, "must declare the rank count that the traceset holds (256)"),
        ({"metadata": "[]"}, "object"),
        ({"workspace_id": "workspace_unknown"}, "workspaceId 'workspace_unknown' is not a workspace"),
        ({"name": ""}, "A traceset needs a name"),
    ],
    ids=["no JSON", "another count", "no object", "unknown workspace", "no name"],
)
def test_a_promotion_that_will_not_do_is_told(
    traceset: JSON, owner_page: Browser, change: dict[str, str], told: str
) -> None:
    form = {"workspace_id": "workspace_universal", "name": "Published", "metadata": ""}

    page = owner_page.submit(f"/tracesets/{traceset['id']}/promote", {**form, **change})

    assert told in page.text


def test_who_can_publish_nowhere_is_told(owner: Api, viewer_page: Browser, traceset: JSON) -> None:
    assert "not an editor of any other workspace" in viewer_page.page(f"/tracesets/{traceset['id']}/promote").text


def test_a_deletion_asks_and_deletes(traceset: JSON, owner: Api, owner_page: Browser) -> None:
    path = f"/tracesets/{traceset['id']}/delete"

    asked = owner_page.page(path)
    back = owner_page.sent_on(path, asked.form(path))

    assert "Traced with 2 files (10 B) will no longer be found" in asked.text
    assert back == "/tracesets"
    assert owner.get(f"/tracesets/{traceset['id']}").status_code == 404
    assert owner_page.submit(path, status=404).heading == "Not Found"


@pytest.mark.parametrize("action", ["edit", "promote", "delete"])
def test_a_dialog_holds_what_the_page_holds(traceset: JSON, owner_page: Browser, action: str) -> None:
    path = f"/tracesets/{traceset['id']}/{action}"

    fragment = owner_page.page(path, fragment=True)

    assert set(fragment.form(path)) == set(owner_page.page(path).form(path))
    assert not fragment.all("h1")
    assert len(fragment.all("h2")) == 1


def test_files_are_leafed_through_and_found_by_name(owner: Api, owner_page: Browser) -> None:
    path = f"/tracesets/{many_files(owner, 2 * FILES_ON_A_PAGE + 50)}"
    first = owner_page.page(path)
    second = owner_page.page(first.links()["Next →"].partition("#")[0])
    third = owner_page.page(second.links()["Next →"].partition("#")[0])
    back = owner_page.page(third.links()["← Previous"].partition("#")[0])

    found = owner_page.page(path, fragment=True, file="RANK_0024")

    assert file_names(first)[0] == "rank_00000.et"
    assert file_names(third) == [f"rank_{n:05}.et" for n in range(200, 250)]
    assert file_names(back) == file_names(second)
    assert "← Previous" not in first.links()
    assert "Next →" not in third.links()
    assert "250 files, shown: 1 to 100" in first.text
    assert file_names(found) == [f"rank_{n:05}.et" for n in range(240, 250)]
    assert "No file has this in its name" in owner_page.page(path, file="%").text


def test_so_many_found_files_are_counted(owner: Api, owner_page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.queries.inspection.COUNTED", 110)
    path = f"/tracesets/{many_files(owner, FILES_ON_A_PAGE + 50)}"

    some, few = (owner_page.page(path, fragment=True, file=term) for term in ("rank", "rank_0014"))

    assert "110 files or more with “rank” in the name" in some.text
    assert "10 files with “rank_0014” in the name" in few.text


def test_external_files_are_named_and_not_offered(owner: Api, owner_page: Browser) -> None:
    page = owner_page.page(f"/tracesets/{many_files(owner, 2)}")

    assert "at https://store.example/1" in page.text
    assert "2 elsewhere" in page.text
    assert not page.all("a", aria_label="Download rank_00000.et")


@pytest.mark.parametrize("query", [{"after": "x"}, {"before": "-1"}, {"after": "9" * 30}])
def test_a_made_up_position_is_refused(traceset: JSON, owner_page: Browser, query: dict[str, str]) -> None:
    owner_page.page(f"/tracesets/{traceset['id']}", 400, **query)


def test_an_upload_under_way_says_so(owner: Api, owner_page: Browser) -> None:
    session = owner.open({"a": 7}, name="Half")

    page = owner_page.page(f"/tracesets/{session['tracesetId']}")

    assert "The upload is not complete." in page.text
    assert page.links()["Continue it"] == f"/tracesets/upload?session={session['uploadId']}"
    assert "uploading" in page.text
    assert not any(link.startswith("Download") for link in page.links())


def test_a_failed_upload_tells_why_and_what_to_do(owner: Api, owner_page: Browser) -> None:
    session = owner.open({"a": 7}, name="Failed")
    owner.delete(f"/tracesets/upload-url/{session['uploadId']}")

    page = owner_page.page(f"/tracesets/{session['tracesetId']}")

    assert "The upload did not come to its end. The upload was aborted" in page.text
    assert "Upload the files again" in page.links()


def test_events_are_leafed_through(traceset: JSON, owner_page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/tracesets/{traceset['id']}"
    monkeypatch.setattr("app.web.traceset.EVENTS_SHOWN", 1)
    monkeypatch.setattr("app.web.traceset.EVENTS_ON_A_PAGE", 1)

    events = owner_page.page(owner_page.page(path).links()["All events"])
    older = owner_page.page(events.links()["Older →"])

    assert "completed by owner@tests.example" in events.text
    assert "created by owner@tests.example" in older.text
    assert "Older →" not in older.links()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_of_any_name_is_downloaded_by_its_link(owner: Api, owner_page: Browser, name: str) -> None:
    path = f"/tracesets/{owner.upload({name: b'x'})['id']}"

    (link,) = [a.get("href") or "" for a in owner_page.page(path).all("a") if "?file=" in (a.get("href") or "")]

    assert owner.fetch(owner_page.get(link).location or "") == b"x"


@pytest.mark.parametrize("depth", [100, 150])
def test_metadata_of_any_depth_and_length_is_shown(owner: Api, owner_page: Browser, depth: int) -> None:
    nested: object = "end"
    for _ in range(depth):
        nested = {"level": nested}
    metadata = {"nested": nested, "many": {f"member{n}": n for n in range(600)}, "long": "x" * 30_000}
    traceset = owner.upload({"a": b"x"}, name="Deep", workloadMetadata=metadata)

    page = owner_page.page(f"/tracesets/{traceset['id']}")

    assert page.text.count("level") >= depth
    assert "The tree shows the first 500 members" in page.text


def test_the_number_of_statements_does_not_grow_with_the_files(app: Flask, owner: Api, owner_page: Browser) -> None:
    statements: list[str] = []
    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", lambda _c, _u, text, *_: statements.append(text))
    counts = []
    for size in (1, 120):
        path = f"/tracesets/{many_files(owner, size)}"
        statements.clear()
        owner_page.page(path)
        counts.append(len(statements))

    assert counts[0] == counts[1] <= 12


def test_links_lead_to_our_own_pages(traceset: JSON, owner_page: Browser, app: Flask) -> None:
    page = owner_page.page(f"/tracesets/{traceset['id']}")

    paths = {urlsplit(href).path for href in page.links().values() if not href.startswith("#")}

    assert {owner_page.get(path).status_code for path in paths} <= {200, 302}
