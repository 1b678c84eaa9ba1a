"""The list of tracesets: filters, order, leafing, selections."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask

from app.services.people import create_sign_in_link
from tests.functional.web.conftest import BrowserOf
from tests.support.api import Api, ok
from tests.support.pages import Browser, Page


def make(owner: Api, *names: str, **more: object) -> list[str]:
    """The ids of new tracesets of one small file."""
    return [owner.upload({"a.et": b"x"}, name=name, **more)["id"] for name in names]


def names(page: Page) -> list[str]:
    return [link for link, href in page.links().items() if re.fullmatch(r"/tracesets/ts_[a-z0-9]{26}", href)]


def test_nobody_sees_the_list_without_signing_in(nobody: Browser) -> None:
    assert nobody.get("/tracesets?status=ready").location == "/login?next=/tracesets?status%3Dready"


def test_an_empty_catalogue_tells_how_to_begin(stranger_page: Browser) -> None:
    page = stranger_page.page("/tracesets")

    assert "No tracesets yet" in page.text
    assert page.links()["Upload the first one"] == "/tracesets/upload"


def test_the_list_shows_what_its_person_sees(owner: Api, viewer_page: Browser, stranger_page: Browser) -> None:
    make(owner, "Ours", tags=["nightly"], workloadMetadata={"workload_family": "Llama", "shape": {"rankCount": 16}})
    make(owner, "Everybody's", workspaceId="workspace_universal")

    ours, theirs = viewer_page.page("/tracesets"), stranger_page.page("/tracesets")

    assert names(ours) == ["Everybody's", "Ours"]
    assert names(theirs) == ["Everybody's"]
    for shown in ("nightly", "Llama", "16", "1 B", "ready", "Shared", "just now"):
        assert shown in ours.text


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"workload_family": "GPT-3 Ünïcode"}, "GPT-3 Ünïcode"),
        ({"more": "x" * 10_000, "workload_family": "LLaMA"}, "llama"),
        ({"workload_family": 7}, ""),
    ],
    ids=["as declared", "among much", "no word"],
)
def test_a_family_is_shown_as_it_was_declared(
    owner: Api, owner_page: Browser, metadata: dict[str, object], shown: str
) -> None:
    make(owner, "Traced", workloadMetadata=metadata)

    (row,) = owner_page.page("/tracesets").all("tr")[1:]

    assert "".join(list(row)[7].itertext()) == shown


@pytest.mark.parametrize(
    "query",
    [
        {"search": "LLAMA"},
        {"workloadFamily": "llama"},
        {"precision": "BF16"},
        {"accelerator": "h100"},
        {"workloadName": "pretrain"},
        {"tag": "nightly"},
        {"tag": ["nightly", "a,b"]},
        {"rankCountMin": "8", "rankCountMax": "16"},
        {"createdAfter": "2020-01-01", "createdBefore": "2199-01-01"},
        {"status": "ready", "search": "llama"},
    ],
)
def test_filters_narrow_the_list(owner: Api, owner_page: Browser, query: dict[str, object]) -> None:
    metadata = {
        "workload_family": "Llama",
        "workload_name": "Pretrain",
        "precision": "bf16",
        "accelerator": "H100",
        "shape": {"rankCount": 16},
    }
    make(owner, "Llama 70B", tags=["nightly", "a,b"], workloadMetadata=metadata)
    make(owner, "Other", workloadMetadata={"shape": {"rankCount": 2}})

    page = owner_page.page("/tracesets", **query)

    assert "Llama 70B" in names(page)
    assert names(page) == ["Llama 70B"] or "createdAfter" in query


def test_a_filter_by_workspace_and_by_status(owner: Api, owner_page: Browser) -> None:
    (gone, _) = make(owner, "Gone", "Here")
    make(owner, "Elsewhere", workspaceId="workspace_universal")
    owner.delete(f"/tracesets/{gone}")

    here = owner_page.page("/tracesets", workspaceId=owner.workspace_id)
    deleted = owner_page.page("/tracesets", status="deleted")

    assert names(here) == ["Here"]
    assert "Gone" in deleted.text
    assert names(deleted) == []


def test_the_form_keeps_what_the_address_says(owner_page: Browser) -> None:
    query = {"search": "a<b", "status": "ready", "rankCountMin": "4", "sort": "name:asc"}

    page = owner_page.page("/tracesets", tag=["x", "y"], **query)

    form = page.form("/tracesets")
    assert form == form | query
    assert page.all("details", class_="more", open=None)


def test_no_match_is_told_with_a_way_back(owner: Api, owner_page: Browser) -> None:
    make(owner, "Something")

    page = owner_page.page("/tracesets", search="nothing like this")

    assert "Nothing matches" in page.text
    assert page.links()["Clear the filters"] == "/tracesets"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"rankCountMin": "many"}, "rankCountMin must be a whole number"),
        ({"status": "lost"}, "lost"),
        ({"createdAfter": "yesterday"}, "createdAfter must be an ISO 8601 time"),
        ({"next": "garbage"}, "next is not a cursor"),
        ({"previous": "garbage"}, "next is not a cursor"),
        ({"workspaceId": "<b>"}, "workspaceId must be workspace_"),
    ],
)
def test_a_filter_that_cannot_be_read_is_told_on_the_page(
    owner_page: Browser, query: dict[str, str], told: str
) -> None:
    page = owner_page.page("/tracesets", 400, **query)

    assert told in page.text
    assert page.heading == "Tracesets"


@pytest.mark.parametrize("path", ["/tracesets?search=a%00b", "/tracesets/ts_%00", "/tracesets/ts_a?file=%00"])
def test_nul_reaches_no_database(owner_page: Browser, path: str) -> None:
    assert owner_page.get(path).status_code in (400, 404)


def test_columns_sort_and_a_second_click_turns_round(owner: Api, owner_page: Browser) -> None:
    make(owner, "b", "C", "a")
    page = owner_page.page("/tracesets")
    by_name = page.links()["Name"]

    up = owner_page.page(by_name)
    down = owner_page.page(up.links()["Name ↑"])

    assert page.all("th", aria_sort="descending")
    assert names(up) == ["a", "b", "C"]
    assert up.all("th", aria_sort="ascending")
    assert names(down) == ["C", "b", "a"]


@pytest.mark.parametrize("sort", ["created:desc", "name:asc", "name:desc", "status:asc,name:desc"])
def test_leafing_forward_and_back_shows_the_same_pages(owner: Api, owner_page: Browser, sort: str) -> None:
    make(owner, *(f"Traceset {number}" for number in range(7)))
    forward = [owner_page.page("/tracesets", sort=sort, limit="3")]
    while (following := forward[-1].links().get("Next →")) is not None:
        forward.append(owner_page.page(following))
    backward = [forward[-1]]
    while (before := backward[-1].links().get("← Previous")) is not None:
        backward.append(owner_page.page(before))

    assert [len(names(page)) for page in forward] == [3, 3, 1]
    assert [names(page) for page in reversed(backward)] == [names(page) for page in forward]
    assert names(owner_page.page(backward[-1].links()["Next →"])) == names(forward[1])


def test_leafing_keeps_the_filters_and_the_order(owner: Api, owner_page: Browser) -> None:
    make(owner, "a", "b", "c", tags=["x"])

    following = owner_page.page("/tracesets", tag="x", sort="name:asc", limit="2").links()["Next →"]

    query = parse_qs(urlsplit(following).query)
    assert {name: query[name] for name in ("tag", "sort", "limit")} == {
        "tag": ["x"],
        "sort": ["name:asc"],
        "limit": ["2"],
    }
    assert names(owner_page.page(following)) == ["c"]


def test_a_page_whose_rows_are_gone_leads_to_the_first(owner: Api, owner_page: Browser) -> None:
    ids = make(owner, "a", "b")
    following = owner_page.page("/tracesets", limit="1").links()["Next →"]
    for traceset_id in ids:
        owner.delete(f"/tracesets/{traceset_id}")

    page = owner_page.page(following)

    assert page.links()["To the first page"] == "/tracesets?limit=1"


def test_a_fragment_is_the_list_of_its_page(owner: Api, owner_page: Browser) -> None:
    make(owner, "Found", "Hidden")

    fragment = owner_page.page("/tracesets", fragment=True, search="found")

    assert names(fragment) == ["Found"]
    assert not fragment.all("h1")
    assert not fragment.all("nav", aria_label="Main")


def test_a_selection_is_shown_and_deleted(owner: Api, owner_page: Browser) -> None:
    ids = make(owner, "One", "Two", "Three")

    asked = owner_page.submit("/tracesets/selected", {"id": ids[:2], "next": "/tracesets?sort=name"}, status=200)
    back = owner_page.sent_on("/tracesets/selected/delete", asked.form("/tracesets/selected/delete") | {"id": ids[:2]})

    assert "2 tracesets" in asked.text
    assert back == "/tracesets?sort=name"
    page = owner_page.page(back)
    assert "2 tracesets were deleted" in page.text
    assert names(page) == ["Three"]


def test_a_selection_is_tagged(owner: Api, owner_page: Browser) -> None:
    ids = make(owner, "One", "Two", tags=["old"])

    owner_page.sent_on("/tracesets/selected/tag", {"id": ids, "tags": "new one\r\n\r\nold\r\n"})

    assert [owner.show(traceset_id)["tags"] for traceset_id in ids] == [["old", "new one"]] * 2
    assert len(ok(owner.get("/tracesets", tag="new one"))["items"]) == 2


def test_tagging_with_nothing_asks_again(owner: Api, owner_page: Browser) -> None:
    ids = make(owner, "One")

    page = owner_page.submit("/tracesets/selected/tag", {"id": ids, "tags": " \n"})

    assert "Type a tag" in page.text


def test_a_selection_is_promoted(owner: Api, owner_page: Browser) -> None:
    ids = make(owner, "One", "Two")

    owner_page.sent_on("/tracesets/selected/promote", {"id": ids, "workspace_id": "workspace_universal"})

    items = ok(owner.get("/tracesets", workspaceId="workspace_universal"))["items"]
    assert {item["name"] for item in items} == {"One", "Two"}


def test_what_cannot_be_changed_is_told_and_the_rest_is_done(owner: Api, browser_of: BrowserOf) -> None:
    (ours,) = make(owner, "Ours")
    (public,) = make(owner, "Public", workspaceId="workspace_universal")
    editor = browser_of("editor")

    page = editor.page(editor.sent_on("/tracesets/selected/delete", {"id": [ours, public, "ts_unknown"]}))

    assert "1 traceset was deleted" in page.text
    assert f"{public} was not deleted: You may not change what is in workspace 'workspace_universal'" in page.text
    assert "ts_unknown was not deleted: Traceset 'ts_unknown' not found" in page.text


def test_an_empty_selection_is_told(owner_page: Browser) -> None:
    page = owner_page.page(owner_page.sent_on("/tracesets/selected"))

    assert "Nothing was selected" in page.text


def test_a_read_only_deployment_shows_no_control_that_changes(make_app: Callable[..., Flask], owner: Api) -> None:
    (traceset_id,) = make(owner, "Ours")
    app = make_app(trace_routes_read_only=True)
    browser = Browser(app)
    with app.app_context():
        from_link = _link()
    browser.follow_link(from_link)

    shown = [browser.page(path) for path in ("/", "/tracesets", f"/tracesets/{traceset_id}")]

    for page in shown:
        actions = {urlsplit(form.get("action", "")).path for form in page.all("form", action=None)}
        assert actions <= {"/logout", "/tracesets", f"/tracesets/{traceset_id}", f"/tracesets/{traceset_id}/validate"}
        assert not {"Upload", "Edit", "Delete", "Promote"} & set(page.links())
    assert browser.get(f"/tracesets/{traceset_id}/edit").status_code == 404
    assert browser.post(f"/tracesets/{traceset_id}/delete").status_code == 404
    assert browser.post("/tracesets/selected/delete", {"id": traceset_id}).status_code == 404


def test_without_trace_routes_their_pages_are_absent(make_app: Callable[..., Flask], owner: Api) -> None:
    (traceset_id,) = make(owner, "Ours")
    app = make_app(enable_trace_routes=False)
    browser = Browser(app)
    with app.app_context():
        from_link = _link()
    browser.follow_link(from_link)

    home = browser.page("/")

    assert "Tracesets are switched off here" in home.text
    assert not {"Upload", "All tracesets"} & set(home.links())
    for path in ("/tracesets", f"/tracesets/{traceset_id}", "/tracesets/upload"):
        assert browser.get(path).status_code == 404
    for path in ("/workspaces", f"/workspaces/{owner.workspace_id}", "/account", "/help", "/help/limits"):
        browser.page(path)


def _link() -> str:
    return create_sign_in_link("owner@tests.example")
