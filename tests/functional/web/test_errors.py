"""Errors as pages."""

from collections.abc import Callable

import pytest
from flask import Flask

from app import errors
from tests.support.pages import Browser


@pytest.fixture
def failing(app: Flask) -> Flask:
    """The app with routes that fail in every way."""
    faults: dict[str, Exception] = {
        "400": errors.Invalid("name is <b>odd</b>"),
        "403": errors.Forbidden("You may not change what is in workspace 'workspace_a'"),
        "404": errors.NotFound("Traceset 'ts_a' not found"),
        "409": errors.Conflict("Another request is at it"),
        "413": errors.TooLarge("Too large"),
        "429": errors.RateLimited("Too many requests", retry_after=7),
        "500": ZeroDivisionError("a secret of ours"),
        "503": errors.DatabaseUnavailable("The database does not answer; please try again"),
    }

    def fail(status: str) -> str:
        raise faults[status]

    app.add_url_rule("/failing/<status>", view_func=fail)
    return app


@pytest.mark.parametrize(
    ("status", "heading"),
    [
        (400, "Bad Request"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (409, "Conflict"),
        (413, "Request Entity Too Large"),
        (429, "Too Many Requests"),
        (500, "Internal Server Error"),
        (503, "Service Unavailable"),
    ],
)
def test_every_error_is_a_page_with_a_way_on_and_the_request_id(failing: Flask, status: int, heading: str) -> None:
    page = Browser(failing).page(f"/failing/{status}", status)

    assert page.heading == heading
    assert page.links()["To the start page"] == "/"
    assert page.response.headers["X-Request-Id"] in page.text
    assert "a secret of ours" not in page.html


def test_messages_are_text(failing: Flask) -> None:
    assert "name is <b>odd</b>" in Browser(failing).page("/failing/400", 400).text


def test_waiting_is_told_to_programs_too(failing: Flask) -> None:
    browser = Browser(failing)

    assert browser.get("/failing/429").headers["Retry-After"] == "7"
    assert browser.get("/failing/503").headers["Retry-After"] == "5"


def test_an_unknown_address_is_a_page(nobody: Browser) -> None:
    assert "There is nothing at /no-such-page" in nobody.page("/no-such-page", 404).text


def test_a_wrong_method_is_a_page(nobody: Browser) -> None:
    assert nobody.page("/logout", 405).response.headers["Allow"] == "OPTIONS, POST"


def test_a_database_that_is_away_is_told_on_a_page(owner_page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise errors.DatabaseUnavailable("The database does not answer; please try again")

    monkeypatch.setattr("app.web.auth.find_signed_in", away)

    assert owner_page.page("/", 503).heading == "Service Unavailable"


def test_a_body_beyond_the_limit_is_told_on_a_page(make_app: Callable[..., Flask]) -> None:
    browser = Browser(make_app(max_body_size=2048))

    page = browser.submit("/login", {"email": "x" * 4000}, status=413)

    assert "2048 bytes" in page.text


def test_the_policy_lets_nothing_in_but_our_own_files(nobody: Browser) -> None:
    policy = nobody.get("/login").headers["Content-Security-Policy"]

    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("settings", "origins"),
    [
        (
            {"s3_endpoint_url": "http://store:9000", "s3_public_endpoint_url": "https://s3.example.org"},
            "https://s3.example.org https://traces.s3.example.org",
        ),
        (
            {"s3_region": "eu-west-1"},
            (
                "https://s3.eu-west-1.amazonaws.com https://s3.amazonaws.com "
                "https://traces.s3.eu-west-1.amazonaws.com https://traces.s3.amazonaws.com"
            ),
        ),
    ],
    ids=["own store", "amazon"],
)
def test_the_policy_lets_uploads_reach_the_store(
    make_app: Callable[..., Flask], settings: dict[str, str], origins: str
) -> None:
    given = {"s3_endpoint_url": None, "s3_public_endpoint_url": None, **settings}
    browser = Browser(make_app(s3_bucket="traces", **given))

    assert f"connect-src 'self' {origins};" in browser.get("/login").headers["Content-Security-Policy"]
