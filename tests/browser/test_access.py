"""The upload and administration pages for people who see, hear or steer differently: axe finds nothing serious."""

import os
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.uploading import UPLOAD, choose, expect_state, fill_in, sign_in, start, unsteady, written
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.servers.http_proxy import FaultyProxy

SCHEMES: list[Literal["light", "dark"]] = ["light", "dark"]


def serious_findings(page: Page) -> list[str]:
    """What axe calls serious or critical, each with the elements at fault."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_upload_page_is_accessible(
    chromium: Browser, serve: Serve, make_app: MakeApp, tmp_path: Path, scheme: Literal["light", "dark"]
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


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_administration_is_accessible(
    chromium: Browser, serve: Serve, make_app: MakeApp, people_of: PeopleOf, scheme: Literal["light", "dark"]
) -> None:
    server = serve()
    app = make_app()
    owner = people_of(server).owner
    upload_id = owner.open({"a": 30 * 1024 * 1024, "b": 1}, name="Open")["uploadId"]
    owner.upload({"c": b"c"}, name="Ready")
    owner.delete(f"/tracesets/upload-url/{owner.open({'d': 1})['uploadId']}")
    context = chromium.new_context(color_scheme=scheme)
    with unsteady(context) as page:
        sign_in(page, app, server.origin, "admin")
        found = {}
        for path in ("upload-sessions", f"upload-sessions/{upload_id}", "people", "library", "settings", "health"):
            page.goto(f"{server.origin}/admin/{path}")
            found[path] = serious_findings(page)
    context.close()

    assert {path: told for path, told in found.items() if told} == {}
