"""Names that would break a page, on every page: they are shown as text."""

from collections.abc import Mapping

import pytest
from flask import Flask

from tests.conftest import People
from tests.functional.web.conftest import BrowserOf
from tests.support.pages import Browser
from tests.support.tour import FOR_STRANGERS, HOSTILE, NAMELESS, furnish, pages_of, written


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_on_every_page(
    app: Flask, people_here: People, browser_of: BrowserOf, nobody: Browser, name: str
) -> None:
    named = furnish(app, people_here.admin, name)
    admin, told = browser_of("admin"), {}

    for endpoint, path in pages_of(app, named):
        page = (nobody if endpoint in FOR_STRANGERS else admin).page(path)
        told[endpoint, path] = written(name[:100]) in page.text or written(named.email) in page.text

    assert {endpoint for (endpoint, _), is_told in told.items() if not is_told} == NAMELESS
    page = admin.page(f"/tracesets/{named.values['traceset_id']}")
    assert written(named.file_name) in page.text


@pytest.mark.parametrize("name", HOSTILE)
def test_forms_that_will_not_do_give_hostile_text_back_as_text(
    app: Flask, people_here: People, browser_of: BrowserOf, name: str
) -> None:
    named = furnish(app, people_here.admin, name)
    admin, long = browser_of("admin"), name * 10
    traceset, workspace = named.values["traceset_id"], named.values["workspace_id"]
    forms: Mapping[str, Mapping[str, object]] = {
        f"/tracesets/{traceset}/edit": {"name": long * 10, "description": long, "tags": long},
        f"/tracesets/{traceset}/promote": {"name": name, "workspace_id": name, "metadata": name},
        "/tracesets/selected/tag": {"id": [traceset], "tags": " ", "next": name},
        "/workspaces": {"name": long * 10},
        f"/workspaces/{workspace}/members": {"email": name, "role": "viewer"},
        "/account/tokens": {"name": long, "days": name},
        "/account/password": {"new": name, "again": long},
        "/admin/people": {"email": name},
    }

    for path, form in forms.items():
        admin.submit(path, form)


@pytest.mark.parametrize("name", HOSTILE)
def test_messages_show_hostile_names_as_text(app: Flask, people_here: People, browser_of: BrowserOf, name: str) -> None:
    named = furnish(app, people_here.admin, name)
    admin, workspace = browser_of("admin"), f"/workspaces/{named.values['workspace_id']}"

    (revocation,) = [
        form.get("action", "")
        for form in admin.page("/account").all("form", data_confirm=None)
        if written(name[:100]) in " ".join(form.get("data-confirm", "").split())
    ]
    after_revocation = admin.page(admin.sent_on(revocation))
    after_addition = admin.page(admin.sent_on(f"{workspace}/members", {"email": named.email, "role": "editor"}))
    asked = admin.submit("/tracesets/selected", {"id": [named.values["traceset_id"]], "next": name}, status=200)
    unknown = admin.page(f"/tracesets/{name[:50].replace('/', '_')}", 404)

    assert f"The token “{written(name[:100])}” was revoked" in after_revocation.text
    assert f"{written(named.email)} is editor now" in after_addition.text
    assert written(name[:100]) in asked.text
    assert written(name[:50].replace("/", "_")) in unknown.text
