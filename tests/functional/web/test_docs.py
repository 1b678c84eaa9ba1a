"""The page of the API's document."""

import re

import pytest
from flask import Flask

from tests.conftest import MakeApp
from tests.support.pages import Page


def test_the_page_is_open_to_everyone_and_names_the_document(app: Flask) -> None:
    page = Page(app.test_client().get("/docs/api"))

    assert page.status == 200
    assert page.heading == "API"
    assert page.all("div", **{"data-document": "/api/v1/openapi.json"})


def test_the_page_is_there_without_traces_too(make_app: MakeApp) -> None:
    app = make_app(enable_trace_routes=False)

    assert app.test_client().get("/docs/api").status_code == 200


def test_everything_that_the_page_loads_is_served_here(app: Flask) -> None:
    client = app.test_client()
    page = client.get("/docs/api").text

    loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"', page)

    assert len(loaded) >= 4
    for url in loaded:
        assert url.startswith("/"), url
        assert client.get(url, buffered=True).status_code == 200, url


@pytest.mark.parametrize(
    ("name", "content_type"),
    [("swagger-ui.css", "text/css; charset=utf-8"), ("swagger-ui-bundle.js", "text/javascript; charset=utf-8")],
)
def test_the_files_of_swagger_ui_may_be_kept(app: Flask, name: str, content_type: str) -> None:
    response = app.test_client().get(f"/docs/swagger-ui/{name}", buffered=True)

    assert response.content_type == content_type
    assert response.headers["Cache-Control"] == "public, max-age=31536000"


@pytest.mark.parametrize("name", ["index.css", "oauth2-redirect.html", "../__init__.py", "%2e%2e/__init__.py"])
def test_no_other_file_of_the_package_is_served(app: Flask, name: str) -> None:
    assert app.test_client().get(f"/docs/swagger-ui/{name}").status_code == 404


def test_only_this_page_may_have_styles_of_its_own(app: Flask) -> None:
    client = app.test_client()

    policy = client.get("/docs/api").headers["Content-Security-Policy"]

    assert "style-src 'self' 'unsafe-inline'; " in policy
    assert "script-src 'self'; " in policy
    assert "unsafe" not in client.get("/nowhere").headers["Content-Security-Policy"]
