"""The library, the settings and the health of the site."""

import pytest
from flask import Flask
from pydantic import SecretStr
from sqlalchemy import update

from app.models.tracesets import LibraryFile
from app.settings import MIB
from app.transactions import transaction
from app.web.admin.system import masked
from tests.conftest import MakeApp
from tests.functional.web.conftest import BrowserAt
from tests.support.api import Api, ok
from tests.support.clock import Clock
from tests.support.pages import Browser, Page


def figures(page: Page) -> list[str]:
    """The three sums at the top of the library."""
    return [" ".join("".join(figure.itertext()).split()) for figure in page.all("div", class_="figure")]


def test_an_empty_library_says_so(admin_page: Browser) -> None:
    page = admin_page.page("/admin/library")

    assert "The library is empty" in page.text
    assert "No sweep has found anything to end yet." in page.text


def test_the_library_tells_what_is_stored_and_shared(owner: Api, admin_page: Browser) -> None:
    traceset = owner.upload({"a": b"a" * MIB, "b": b"b" * 10})
    ok(owner.post(f"/tracesets/{traceset['id']}/promote"), 201)
    owner.open({"c": 5})

    page = admin_page.page("/admin/library")

    assert figures(page) == [
        "1.0 MiBstored, in 2 files",
        "2.0 MiBreferred to by tracesets and mapping files",
        "1.0 MiBsaved by sharing",
    ]
    rows = [" ".join(" ".join(row.itertext()).split()) for row in page.all("tr")]
    assert "stored 2 1.0 MiB 0 0 2 complete; without a reference, until the next sweep" in rows
    assert "staged 1 5 B 1 0 0 being uploaded" in rows
    assert "differs" not in page.text


def test_a_reference_count_that_is_wrong_is_seen(owner: Api, admin_page: Browser, app: Flask) -> None:
    owner.upload({"a": b"a"})
    with app.app_context(), transaction() as session:
        session.execute(update(LibraryFile).values(ref_count=7))

    page = admin_page.page("/admin/library")

    assert "differs" in page.text


def test_the_last_sweep_is_kept(owner: Api, admin_page: Browser, moved_clock: Clock) -> None:
    owner.open({"a": 1})
    moved_clock.pass_by(hours=25)

    assert (
        admin_page.sent_on("/admin/sweep", admin_page.page("/admin/library").form("/admin/sweep")) == "/admin/library"
    )

    text = admin_page.page("/admin/library").text
    assert "asked for by admin@tests.example" in text
    assert "Expired sessions 1" in text
    assert "Orphaned objects 0" in text


def test_settings_are_shown_and_secrets_are_not(make_app: MakeApp, browser_at: BrowserAt) -> None:
    app = make_app(secret_key="the very secret", base_url="http://name:hunter2@traces.example", default_ttl_days=30)

    page = browser_at(app, "admin").page("/admin/settings")

    assert "the very secret" not in page.html
    assert "hunter2" not in page.html
    assert "TRACESETS_DEFAULT_TTL_DAYS 30 set" in page.text
    assert "TRACESETS_PART_URL_TTL 3600 default" in page.text
    assert "TRACESETS_SECRET_KEY •••••• (set, not shown)" in page.text
    assert "TRACESETS_BASE_URL http://••••••@traces.example" in page.text


def test_of_the_database_no_credentials_are_shown() -> None:
    url = SecretStr("postgresql+psycopg://me:hunter2@db.example:5432/traces?password=hunter2&sslmode=require")

    shown = masked("database_url", url)

    assert shown == "postgresql+psycopg://db.example/traces (credentials are not shown)"


def test_health_tells_that_all_parts_answer(admin_page: Browser) -> None:
    page = admin_page.page("/admin/health")

    assert "Database and object store answer." in page.text


def test_health_tells_what_does_not_answer(admin_page: Browser, app: Flask) -> None:
    def silent() -> None:
        raise TimeoutError

    app.extensions["readiness"]["object store"] = silent

    page = admin_page.page("/admin/health")

    assert "Something does not answer" in page.text
    assert "object store does not answer TimeoutError" in page.text
    assert "database answers" in page.text


@pytest.mark.parametrize("path", ["/admin/library", "/admin/upload-sessions", "/admin/people"])
def test_the_parts_lead_to_each_other(admin_page: Browser, path: str) -> None:
    links = admin_page.page(path).links()

    assert {"Upload sessions", "People", "Library", "Settings", "Health"} <= set(links)
