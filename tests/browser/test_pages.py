"""A person's flows through the pages: signing in, finding, inspecting, sharing, deleting."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.browser.uploading import PATIENCE_MS, sign_in, unsteady
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.support.api import Api, file_spec, refused
from tests.support.pages import PASSWORD


@dataclass(frozen=True)
class Site:
    """A server that is visited, its app at hand, and its owner's API."""

    origin: str
    app: Flask
    owner: Api


@pytest.fixture
def site(serve: Serve, make_app: MakeApp, people_of: PeopleOf) -> Site:
    """A server on the database and store of the test."""
    expect.set_options(timeout=PATIENCE_MS)
    server = serve()
    return Site(server.origin, make_app(), people_of(server).owner)


def make(site: Site, name: str, content: bytes = b"trace", **more: object) -> str:
    """The id of a new traceset of one primary file."""
    return str(
        site.owner.upload(
            {"rank_0.et": content},
            files=[file_spec("rank_0.et", len(content), "primary")],
            name=name,
            workloadMetadata={"shape": {"rankCount": 4}, "workload_family": "Llama"},
            **more,
        )["id"]
    )


def test_a_person_signs_in_by_a_link_sets_a_password_and_signs_in_by_it(page: Page, site: Site) -> None:
    sign_in(page, site.app, site.origin)
    page.goto(f"{site.origin}/account")
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password, again").fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("status").first).to_contain_text("Your password was changed")
    page.get_by_label("Your account").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_url(f"{site.origin}/login")

    page.goto(f"{site.origin}/workspaces")
    page.get_by_label("E-mail address").fill("owner@tests.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")

    page.wait_for_url(f"{site.origin}/workspaces")


def test_a_traceset_is_found_by_typing_validated_downloaded_promoted_and_deleted(
    page: Page, serve: Serve, make_app: MakeApp, people_of: PeopleOf, store: dict[str, Any], tmp_path: Path
) -> None:
    server = serve(**store)
    site = Site(server.origin, make_app(**store), people_of(server).owner)
    content = bytes(range(256)) * 100
    traceset_id = make(site, "Llama 70B, step 900", content)
    for number in range(3):
        make(site, f"Other {number}")
    sign_in(page, site.app, site.origin)

    page.get_by_role("link", name="Tracesets", exact=True).click()
    page.get_by_label("Find by name").press_sequentially("STEP 9")
    expect(page.locator("td.name")).to_have_count(1)
    expect(page).to_have_url(f"{site.origin}/tracesets?search=STEP+9")
    page.reload()
    expect(page.locator("td.name")).to_have_count(1)
    page.get_by_role("link", name="Llama 70B, step 900").click()

    page.get_by_role("button", name="Validate now").click()
    expect(page.locator("#validation-result")).to_contain_text("All checks passed, just now")

    with page.expect_download() as downloading:
        page.get_by_label("Download rank_0.et").click()
    downloading.value.save_as(tmp_path / "downloaded")
    assert (tmp_path / "downloaded").read_bytes() == content
    assert downloading.value.suggested_filename == "rank_0.et"

    page.get_by_role("link", name="Promote").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("No byte is copied")
    dialog.get_by_label("Name there").fill("Published")
    dialog.get_by_role("button", name="Promote").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Published")

    page.goto(f"{site.origin}/tracesets/{traceset_id}")
    page.get_by_role("link", name="Delete").click()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("link", name="Delete").click()
    expect(dialog).to_contain_text("This cannot be undone")
    dialog.get_by_role("button", name="Delete").click()
    page.wait_for_url(f"{site.origin}/tracesets")
    expect(page.get_by_role("status").first).to_contain_text("was deleted")
    refused(site.owner.get(f"/tracesets/{traceset_id}"), 404)


def leaf_to_the_second_of_three_pages(page: Page, site: Site) -> Locator:
    """Five tracesets, two on a page; the names that the page shows."""
    for number in range(5):
        make(site, f"Traceset {number}")
    sign_in(page, site.app, site.origin)
    page.goto(f"{site.origin}/tracesets?limit=2")
    names = page.locator("td.name a")
    page.get_by_role("link", name="Next").click()
    expect(names).to_have_text(["Traceset 2", "Traceset 1"])
    return names


def test_pages_of_the_list_go_forward_and_back_by_the_browsers_own_buttons(page: Page, site: Site) -> None:
    names = leaf_to_the_second_of_three_pages(page, site)

    page.get_by_role("link", name="Next").click()
    expect(names).to_have_text(["Traceset 0"])
    page.get_by_role("link", name="Previous").click()
    expect(names).to_have_text(["Traceset 2", "Traceset 1"])
    page.go_back()
    expect(names).to_have_text(["Traceset 0"])
    page.go_back()
    expect(names).to_have_text(["Traceset 2", "Traceset 1"])


def test_a_step_back_before_the_scripts_run_shows_what_the_address_says(page: Page, site: Site) -> None:
    names = leaf_to_the_second_of_three_pages(page, site)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/live.js*", hold)

    page.reload(wait_until="commit")
    expect(names).to_have_text(["Traceset 2", "Traceset 1"])
    page.evaluate("window.history.back()")
    page.wait_for_url(f"{site.origin}/tracesets?limit=2", wait_until="commit")
    assert held, "The page does not use this file."
    page.unroute("**/live.js*", hold)  # Lets go of what it holds.

    expect(names).to_have_text(["Traceset 4", "Traceset 3"])


def test_what_is_typed_before_the_scripts_run_is_searched_for(page: Page, site: Site) -> None:
    for number in range(3):
        make(site, f"Traceset {number}")
    sign_in(page, site.app, site.origin)

    def hold(route: Route) -> None:
        pass

    page.route("**/live.js*", hold)
    page.goto(f"{site.origin}/tracesets", wait_until="commit")
    page.get_by_label("Find by name").press_sequentially("set 2")
    page.unroute("**/live.js*", hold)  # Lets go of what it holds.

    expect(page.locator("td.name a")).to_have_text(["Traceset 2"])


def test_several_are_picked_and_tagged(page: Page, site: Site) -> None:
    for number in range(3):
        make(site, f"Traceset {number}")
    sign_in(page, site.app, site.origin)
    page.goto(f"{site.origin}/tracesets")

    page.get_by_label("Select all on this page").check()
    page.get_by_label("Select Traceset 1").uncheck()
    page.get_by_role("button", name="Tag, promote or delete 2").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("2 tracesets, 10 B")
    dialog.get_by_label("Tags to add").fill("picked")
    dialog.get_by_role("button", name="Add tags").click()

    expect(page.get_by_role("status").first).to_contain_text("2 tracesets were tagged")
    expect(page.locator("tr", has_text="picked")).to_have_count(2)


def test_a_token_is_copied_used_and_revoked(page: Page, context: BrowserContext, site: Site) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page, site.app, site.origin)
    page.goto(f"{site.origin}/account")
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Create token").click()
    page.get_by_label("Copy the token").click()
    expect(page.locator("[data-announcements]")).to_have_text("Copied")
    token = page.evaluate("navigator.clipboard.readText()")
    caller = Api(site.app, token)
    assert caller.get("/workspaces").status_code == 200

    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert caller.get("/workspaces").status_code == 200
    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()

    expect(page.get_by_role("status").first).to_contain_text("The token “laptop” was revoked")
    refused(caller.get("/workspaces"), 401)


def test_a_session_that_ended_elsewhere_leads_to_the_door(context: BrowserContext, site: Site) -> None:
    make(site, "Traceset")
    with unsteady(context) as page:
        sign_in(page, site.app, site.origin)
        page.goto(f"{site.origin}/tracesets")
        context.clear_cookies()

        page.get_by_label("Find by name").fill("x")

        page.wait_for_url(re.compile("/login"))


def test_dark_or_light_is_chosen_and_kept(page: Page, site: Site) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(f"{site.origin}/login")
    html = page.locator("html")
    expect(html).to_have_attribute("data-bs-theme", "dark")

    page.get_by_label("Dark or light").click()
    expect(html).to_have_attribute("data-bs-theme", "light")
    page.reload()
    expect(html).to_have_attribute("data-bs-theme", "light")
    page.get_by_label("Dark or light").click()
    page.emulate_media(color_scheme="light")

    expect(html).to_have_attribute("data-bs-theme", "light")


def test_the_keyboard_reaches_the_content_first(page: Page, site: Site) -> None:
    sign_in(page, site.app, site.origin)
    page.goto(f"{site.origin}/tracesets")

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()
