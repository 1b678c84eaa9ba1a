"""The first page, and how far uploads have come."""

from tests.functional.web.conftest import BrowserOf
from tests.support.api import Api
from tests.support.clock import Clock
from tests.support.pages import Browser


def test_an_empty_catalogue_calls_for_an_upload(stranger_page: Browser) -> None:
    page = stranger_page.page("/")

    assert page.links()["Upload the first one"] == "/tracesets/upload"
    assert page.links()["Quick start"] == "/help/quick-start"


def test_it_sums_up_what_is_ones_own(owner: Api, owner_page: Browser, browser_of: BrowserOf) -> None:
    owner.upload({"a": b"12345"}, name="Mine")
    owner.upload({"a": b"1234567"}, name="Mine too")
    gone = owner.upload({"a": b"1"}, name="Gone")
    owner.delete(f"/tracesets/{gone['id']}")

    mine, theirs = owner_page.page("/"), browser_of("viewer").page("/")

    assert "12 B in your tracesets 2 ready" in mine.text
    assert "in your tracesets" not in theirs.text
    assert "Mine too" in theirs.links()
    assert "Gone" not in mine.text


def test_uploads_under_way_are_shown_with_their_progress(owner: Api, owner_page: Browser, viewer_page: Browser) -> None:
    session = owner.open({"a": 4, "b": 6}, name="Half sent")
    owner.put(session["files"][0]["parts"][0]["url"], b"1234")
    path = f"/uploads/{session['uploadId']}/progress"

    page = owner_page.page("/")
    fragment = owner_page.page(path, fragment=True)

    assert "Uploads under way Half sent" in page.text
    assert page.all("div", data_load=path)
    assert "4 B of 10 B" in fragment.text
    assert fragment.all("progress", max="10", value="4")
    assert "Uploads under way" not in viewer_page.page("/").text


def test_an_upload_under_way_leads_to_where_it_can_go_on(owner: Api, owner_page: Browser) -> None:
    session = owner.open({"a": 4}, name="Half sent")

    way = owner_page.page("/").links()["Continue"]

    assert way == f"/tracesets/upload?session={session['uploadId']}"
    assert owner_page.page(way).all("div", data_asked=session["uploadId"])


def test_an_upload_whose_time_has_run_out_is_not_under_way(
    owner: Api, browser_of: BrowserOf, moved_clock: Clock
) -> None:
    owner.open({"a": 4}, name="Half sent")
    moved_clock.pass_by(hours=25)

    assert "Uploads under way" not in browser_of("owner").page("/").text


def test_progress_is_for_those_who_see_the_traceset(owner: Api, stranger_page: Browser, nobody: Browser) -> None:
    session = owner.open({"a": 4}, name="Half sent")
    path = f"/uploads/{session['uploadId']}/progress"

    assert stranger_page.get(path).status_code == 404
    assert nobody.client.get(path, headers={"X-Fragment": "1"}).status_code == 401


def test_failed_uploads_are_shown_with_the_reason(owner: Api, owner_page: Browser) -> None:
    session = owner.open({"a": 4}, name="<b>Failed</b>")
    owner.delete(f"/tracesets/upload-url/{session['uploadId']}")

    page = owner_page.page("/")

    assert "Uploads that failed <b>Failed</b> aborted just now: The upload was aborted" in page.text
    assert page.all("a", aria_label="Delete <b>Failed</b>")
