"""What every answer tells a browser, and whom an answer believes about its own address."""

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.conftest import MakeApp, PeopleOf
from tests.functional.web.conftest import BrowserAt
from tests.support.api import Api, ok

ORIGIN = "https://traces.example.org"
EVIL = "evil.example"
PATHS = [
    "/login",
    "/",
    "/nothing",
    "/docs/api",
    "/static/css/app.css",
    "/bootstrap/static/css/bootstrap.min.css",
    "/healthz",
    "/metrics",
    "/api/v1/openapi.json",
    "/api/v1/workspaces",
    "/archives/x",
    "/objects/files/x/y",
]
every_kind_of_answer = pytest.mark.parametrize("path", PATHS)


def get(app: Flask, path: str, **headers: str) -> TestResponse:
    return app.test_client().get(path, headers=headers, buffered=True)


@every_kind_of_answer
def test_no_answer_is_framed_sniffed_or_told_to_others(app: Flask, path: str) -> None:
    headers = get(app, path).headers

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(headers["Content-Security-Policy"].split("; "))
    assert headers["Content-Type"] == "application/json" or "charset=utf-8" in headers["Content-Type"]


@every_kind_of_answer
def test_no_answer_tells_a_version(app: Flask, path: str) -> None:
    headers = get(app, path).headers

    assert {"Server", "X-Powered-By", "Via"}.isdisjoint(headers.keys())
    assert not app.debug


@every_kind_of_answer
def test_a_site_that_has_https_is_asked_for_by_it_alone(make_app: MakeApp, path: str) -> None:
    assert "max-age=31536000" in get(make_app(base_url=ORIGIN), path).headers["Strict-Transport-Security"]
    assert "Strict-Transport-Security" not in get(make_app(), path).headers


def test_no_page_of_another_site_reads_an_answer_that_needs_credentials(owner: Api) -> None:
    origin = {"Origin": f"https://{EVIL}"}

    for answer in (owner.call("GET", "/workspaces", headers=origin), get(owner.app, "/login", **origin)):
        assert answer.status_code == 200
        assert "Access-Control" not in str(answer.headers)


def test_a_forged_host_leads_nowhere_where_the_origin_is_set(
    make_app: MakeApp, people_of: PeopleOf, browser_at: BrowserAt
) -> None:
    origin = "http://traces.example.org"
    app = make_app(base_url=origin)
    owner, admin = people_of(app).owner, browser_at(app, "admin")
    forged = {"Host": EVIL, "X-Forwarded-Host": EVIL, "X-Forwarded-Proto": "http", "Forwarded": f"host={EVIL}"}
    form = {"email": "new@tests.example", "csrf_token": admin.csrf_token()}
    cookie = admin.client.get_cookie("tracesets_session")
    assert cookie is not None
    admin.client.set_cookie("tracesets_session", cookie.value, domain=EVIL)

    opened = owner.call("POST", "/tracesets/upload-url", owner.request_of({"a": 1}), headers=forged)
    door = get(app, "/", **forged)
    invited = admin.client.post("/admin/people", data=form, headers=forged)

    assert ok(opened)
    assert EVIL not in opened.text
    assert door.location == "/login"
    assert f"{origin}/login/" in invited.text
    assert EVIL not in invited.text


@pytest.mark.parametrize(("proxies", "host"), [(0, "localhost"), (1, EVIL)])
def test_forwarded_headers_count_behind_proxies_that_are_trusted(make_app: MakeApp, proxies: int, host: str) -> None:
    page = get(make_app(trusted_proxies=proxies), "/help/quick-start", **{"X-Forwarded-Host": EVIL})

    assert f"http://{host}/" in page.text or f"http://{host}\n" in page.text
    assert (EVIL in page.text) is (host == EVIL)
