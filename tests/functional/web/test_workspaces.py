"""Workspaces and their members."""

import pytest

from tests.support.api import Api, ok
from tests.support.pages import Browser


def members(browser: Browser, owner: Api) -> dict[str, str]:
    """Role by address, as the API tells."""
    items = ok(owner.get(f"/workspaces/{owner.workspace_id}/members"))["items"]
    return {item["email"].partition("@")[0]: item["role"] for item in items}


def test_a_person_sees_theirs_and_the_universal_one(viewer_page: Browser, stranger_page: Browser) -> None:
    theirs, others = viewer_page.page("/workspaces"), stranger_page.page("/workspaces")

    assert "Shared viewer" in theirs.text
    assert "Universal workspace reader" in others.text
    assert "Shared" not in others.links()


def test_one_is_made_and_owned(owner_page: Browser) -> None:
    path = owner_page.sent_on("/workspaces", {"name": " Team "})

    page = owner_page.page(path)
    assert page.heading == "Team"
    assert page.all("select", aria_label="Role of owner@tests.example")


@pytest.mark.parametrize("name", ["", "  ", "x" * 256])
def test_a_name_that_will_not_do_is_told(owner_page: Browser, name: str) -> None:
    page = owner_page.submit("/workspaces", {"name": name})

    assert page.all("div", class_="field-error")


def test_members_are_added_changed_and_removed(owner: Api, owner_page: Browser) -> None:
    path = f"/workspaces/{owner.workspace_id}"

    owner_page.sent_on(f"{path}/members", {"email": " Stranger@tests.example ", "role": "viewer"})
    added = members(owner_page, owner)
    owner_page.sent_on(f"{path}/members", {"email": "stranger@tests.example", "role": "editor"})
    changed = members(owner_page, owner)
    owner_page.sent_on(f"{path}/members/stranger@tests.example/remove")

    assert added["stranger"] == "viewer"
    assert changed["stranger"] == "editor"
    assert "stranger" not in members(owner_page, owner)
    assert "stranger@tests.example is no longer a member" in owner_page.page(path).text


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"email": "unknown@tests.example", "role": "viewer"}, "There is nobody with the address"),
        ({"email": "owner@tests.example", "role": "viewer"}, "keeps at least one owner"),
        ({"email": "", "role": "viewer"}, "Type the person's e-mail address"),
        ({"email": "viewer@tests.example", "role": "king"}, "Not a valid choice"),
    ],
)
def test_a_member_that_will_not_do_is_told(owner: Api, owner_page: Browser, form: dict[str, str], told: str) -> None:
    page = owner_page.submit(f"/workspaces/{owner.workspace_id}/members", form)

    assert told in page.text


def test_the_last_owner_stays(owner: Api, owner_page: Browser) -> None:
    path = f"/workspaces/{owner.workspace_id}"

    page = owner_page.page(owner_page.sent_on(f"{path}/members/owner@tests.example/remove"))

    assert "keeps at least one owner" in page.text
    assert members(owner_page, owner)["owner"] == "owner"


def test_a_member_leaves(owner: Api, viewer_page: Browser) -> None:
    path = f"/workspaces/{owner.workspace_id}"
    assert "Leave" in viewer_page.page(path).text

    assert viewer_page.sent_on(f"{path}/members/viewer@tests.example/remove") == "/workspaces"

    viewer_page.page(path, 404)


def test_a_viewer_manages_nobody(owner: Api, viewer_page: Browser) -> None:
    path = f"/workspaces/{owner.workspace_id}"

    page = viewer_page.page(path)

    assert "Add a member" not in page.text
    assert not page.all("select")
    viewer_page.submit(f"{path}/members", {"email": "stranger@tests.example", "role": "viewer"}, status=403)
    viewer_page.submit(f"{path}/members/editor@tests.example/remove", status=403)


def test_a_stranger_finds_none(owner: Api, stranger_page: Browser) -> None:
    path = f"/workspaces/{owner.workspace_id}"

    stranger_page.page(path, 404)
    stranger_page.submit(f"{path}/members", {"email": "stranger@tests.example", "role": "owner"}, status=404)
    stranger_page.submit(f"{path}/members/owner@tests.example/remove", status=404)


def test_its_page_sums_up_what_is_in_it(owner: Api, viewer_page: Browser) -> None:
    owner.upload({"a": b"12345"}, name="Ready one")
    session = owner.open({"a": 7}, name="Half")
    owner.upload({"b": b"123"}, name="Elsewhere", workspaceId="workspace_universal")

    page = viewer_page.page(f"/workspaces/{owner.workspace_id}")

    assert "12 B in its tracesets 1 uploading 1 ready" in page.text
    assert page.links()["Half"] == f"/tracesets/{session['tracesetId']}"
    assert "Elsewhere" not in page.text
