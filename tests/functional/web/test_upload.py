"""The upload page as the server renders it; what its scripts do is in tests/browser."""

import pytest

from tests.conftest import MakeApp, People
from tests.functional.web.conftest import BrowserOf
from tests.support.api import Api
from tests.support.clock import Clock
from tests.support.pages import Browser

HOSTILE = "<script>alert(1)</script>\u202e'\"&"


def test_the_form_offers_the_workspaces_that_the_person_may_change(owner_page: Browser) -> None:
    page = owner_page.page("/tracesets/upload")

    (select,) = page.all("select", id="workspaceId")
    assert page.heading == "Upload a traceset"
    assert [option.text for option in select.iter("option")][1:] == ["Shared"]


@pytest.mark.parametrize("name", ["viewer", "stranger"])
def test_who_may_change_nothing_is_told_so(browser_of: BrowserOf, name: str) -> None:
    page = browser_of(name).page("/tracesets/upload")

    assert "You may not upload anywhere yet" in page.text
    assert not page.all("div", data_upload=None)


def test_nobody_is_sent_to_the_door(nobody: Browser) -> None:
    response = nobody.get("/tracesets/upload")

    assert (response.status_code, response.location) == (302, "/login?next=/tracesets/upload")


def test_own_open_uploads_are_offered_and_those_of_others_not(
    owner: Api, people_here: People, owner_page: Browser
) -> None:
    own = owner.open({"a": 1}, name=HOSTILE)
    people_here.editor.open({"a": 1}, name="Not mine")
    done = owner.open({"b": 1}, name="Done")
    owner.complete(done, owner.send(done, {"b": b"1"}))

    page = owner_page.page("/tracesets/upload")

    assert [item.get("data-upload-id") for item in page.all("li", data_upload_id=None)] == [own["uploadId"]]
    assert "<script>alert(1)</script>⟨U+202E⟩'\"&" in page.text
    assert "Not mine" not in page.text


def test_an_upload_that_a_link_led_to_is_offered_also_to_another_editor(
    owner: Api, browser_of: BrowserOf, people_here: People
) -> None:
    path = f"/tracesets/upload?session={owner.open({'a': 1}, name='Handed over')['uploadId']}"
    people_here.editor.open({"a": 1}, name="Own")

    page = browser_of("editor").page(path)

    assert [" ".join(item.itertext()).split()[0] for item in page.all("li", data_upload_id=None)] == ["Handed", "Own"]
    assert "cannot be continued" not in page.text
    assert "Handed over" not in browser_of("stranger").page(path).text


def test_an_upload_that_cannot_go_on_is_told_to_who_came_for_it(owner: Api, owner_page: Browser) -> None:
    session = owner.open({"a": 1}, name="Ended")
    owner.delete(f"/tracesets/upload-url/{session['uploadId']}")

    for asked in (session["uploadId"], "<b>\"'"):
        assert "cannot be continued" in owner_page.page("/tracesets/upload", session=asked).text


def test_an_upload_that_has_run_out_is_not_offered(owner: Api, owner_page: Browser, moved_clock: Clock) -> None:
    owner.open({"a": 1})
    moved_clock.pass_by(hours=25)

    page = owner_page.page("/tracesets/upload")

    assert not page.all("li", data_upload_id=None)


def test_words_in_use_are_suggested_as_they_are_spelt(owner: Api, owner_page: Browser) -> None:
    for words in ({"workload_family": "GPT-3"}, {"workload_family": "Llama"}, {"workload_family": "Llama"}, None):
        owner.open({"a": 1}, workloadMetadata=words, tags=["Night run"])
    owner.open({"a": 1}, workloadMetadata={"workload_family": 3, "precision": "bf16", "x": "y" * 10_000})

    found = owner_page.get("/tracesets/suggestions").json

    assert found == {
        "workload_family": ["Llama", "GPT-3"],
        "workload_name": [],
        "precision": [],
        "accelerator": [],
        "tags": ["Night run"],
    }


def test_words_of_tracesets_that_one_may_not_see_are_not_suggested(owner: Api, stranger_page: Browser) -> None:
    owner.open({"a": 1}, workloadMetadata={"precision": "secret"}, tags=["secret"])

    response = stranger_page.get("/tracesets/suggestions")

    assert "secret" not in response.text


def test_the_token_route_gives_a_token_that_the_api_takes(owner_page: Browser) -> None:
    token = owner_page.get("/tracesets/upload/token").json["csrfToken"]

    response = owner_page.client.post("/api/v1/tracesets/upload-url", headers={"X-CSRFToken": token}, json={})

    assert response.status_code == 400


@pytest.mark.parametrize("settings", [{"trace_routes_read_only": True}, {"enable_trace_routes": False}])
def test_a_deployment_that_takes_no_uploads_has_no_page_for_them(make_app: MakeApp, settings: dict[str, bool]) -> None:
    app = make_app(**settings)

    assert not [rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("web.upload.")]
