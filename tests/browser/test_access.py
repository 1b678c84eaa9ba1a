"""Every page for people who see, hear or steer differently: axe finds nothing serious, and nothing is cut off."""

import os
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.uploading import UPLOAD, choose, expect_state, fill_in, sign_in, start, unsteady, written
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.servers.http_proxy import FaultyProxy
from tests.support.server import AppServer
from tests.support.tour import FOR_STRANGERS, furnish, pages_of

Scheme = Literal["light", "dark"]
SCHEMES: list[Scheme] = ["light", "dark"]
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)> \u202e\"quoted\" 'name' 👩\u200d🚀" + "W" * 120


SWAGGER_UI = "#swagger-ui"
"""What is within is made by Swagger UI: it puts buttons into what can be pressed itself, which we cannot mend."""


def serious_findings(page: Page) -> list[str]:
    """What axe calls serious or critical, each with the elements at fault."""
    found = Axe().run(page, context={"exclude": [[SWAGGER_UI]]}).response["violations"]
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_upload_page_is_accessible(
    chromium: Browser, serve: Serve, make_app: MakeApp, tmp_path: Path, scheme: Scheme
) -> None:
    context = chromium.new_context(color_scheme=scheme)
    with unsteady(context) as page, FaultyProxy(serve(s3_bucket="").origin) as proxy:
        sign_in(page, make_app(s3_bucket=""), proxy.endpoint)
        page.goto(proxy.endpoint + UPLOAD)
        expect(page.locator("[data-drop]")).to_be_visible()
        assert serious_findings(page) == []

        choose(page, written(tmp_path / "run", {"a.0.et": os.urandom(10), "a.00.et": b"x", "log.txt": b"x"}))
        fill_in(page, "", rankCount="x", dp="2", tag="a")
        page.get_by_role("button", name="Upload", exact=True).click()
        expect(page.locator("[data-faults]")).to_be_visible()
        assert serious_findings(page) == []

        fill_in(page, "Good", rankCount="2")
        proxy.rule = lambda method, path, query: 60.0 if method == "PUT" else None
        start(page)
        page.get_by_role("button", name="Pause").click()
        expect_state(page, "Paused")
        assert serious_findings(page) == []

        page.reload()
        expect(page.locator("[data-resume-state]")).to_contain_text("Choose the same files again")
        assert serious_findings(page) == []
        page.get_by_role("button", name="Back").click()
        expect(page.locator("[data-unfinished]")).to_be_visible()
        assert serious_findings(page) == []
    context.close()


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1440), ("light", 390)])
def test_every_page_is_accessible_and_within_its_width(
    chromium: Browser, serve: Serve, make_app: MakeApp, people_of: PeopleOf, scheme: Scheme, width: int
) -> None:
    server, app = serve(), make_app()
    named = furnish(app, people_of(app).admin, HOSTILE)
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    pages = list(pages_of(app, named))

    with unsteady(context) as page:
        found = [fault for endpoint, path in pages if endpoint in FOR_STRANGERS for fault in look(page, server, path)]
        sign_in(page, app, server.origin, "admin")
        for endpoint, path in pages:
            if endpoint not in FOR_STRANGERS:
                found += look(page, server, path)
        for path in ("/tracesets/ts_unknown", "/tracesets?next=garbage", "/login/used", "/logout", "/no-such-page"):
            found += look(page, server, path)
    context.close()

    assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_dialogs_and_menus_are_accessible(
    chromium: Browser, serve: Serve, make_app: MakeApp, people_of: PeopleOf, scheme: Scheme
) -> None:
    server, app = serve(), make_app()
    named = furnish(app, people_of(app).admin, HOSTILE)
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 390, "height": 800})

    with unsteady(context) as page:
        sign_in(page, app, server.origin, "admin")
        dialog = page.get_by_role("dialog")
        page.goto(f"{server.origin}/tracesets/{named.values['traceset_id']}")
        for name in ("Promote", "Edit", "Delete"):
            page.get_by_role("link", name=name, exact=True).click()
            expect(dialog.get_by_role("heading")).to_be_visible()
            assert faults_of(page) == []
            dialog.get_by_role("link", name="Cancel").click()
        page.goto(f"{server.origin}/tracesets")
        page.get_by_label("Select all on this page").check()
        page.get_by_role("button", name="Tag, promote or delete").click()
        expect(dialog.get_by_role("heading")).to_be_visible()
        assert faults_of(page) == []
        page.goto(f"{server.origin}/account")
        page.get_by_role("button", name="Revoke").first.click()
        expect(dialog).to_be_visible()
        assert faults_of(page) == []
        dialog.get_by_role("button", name="Cancel").click()
        page.get_by_label("Your account").click()
        assert faults_of(page) == []
    context.close()


def look(page: Page, server: AppServer, path: str) -> list[str]:
    """What is wrong with the page at this path, each fault with the path before it."""
    page.goto(server.origin + path)
    return [f"{path[:80]}: {fault}" for fault in faults_of(page)]


def faults_of(page: Page) -> list[str]:
    """Serious findings, and how much is cut off on the right."""
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return serious_findings(page) + ([f"{overflow} pixels too wide"] if overflow > 0 else [])
