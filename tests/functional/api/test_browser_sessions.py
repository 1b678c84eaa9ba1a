"""A signed-in browser as a caller of the API (G1)."""

import pytest
from flask import Flask

from app.services import people
from tests.support.api import Api, refused
from tests.support.pages import Browser


@pytest.fixture
def browser(app: Flask) -> Browser:
    """The owner's, signed in."""
    made = Browser(app, "owner@tests.example")
    with app.app_context():
        secret = people.create_sign_in_link("owner@tests.example")
    made.follow_link(secret)
    return made


def test_a_session_reads(browser: Browser) -> None:
    assert browser.client.get("/api/v1/workspaces").status_code == 200


@pytest.mark.parametrize("headers", [{}, {"X-CSRFToken": ""}, {"X-CSRFToken": "made.up.token"}])
def test_a_session_changes_nothing_without_its_token(browser: Browser, owner: Api, headers: dict[str, str]) -> None:
    body = owner.request_of({"a": 1})

    answer = browser.client.post("/api/v1/tracesets/upload-url", json=body, headers=headers)

    refused(answer, 401, "CSRF")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_token_of_another_session_is_refused(app: Flask, browser: Browser, owner: Api) -> None:
    foreign = Browser(app).csrf_token()

    answer = browser.client.delete("/api/v1/tracesets/ts_a", headers={"X-CSRFToken": foreign})

    refused(answer, 401, "CSRF")


def test_a_session_with_its_token_changes_what_its_person_may(browser: Browser, owner: Api) -> None:
    headers = {"X-CSRFToken": browser.csrf_token()}

    answer = browser.client.post("/api/v1/tracesets/upload-url", json=owner.request_of({"a": 1}), headers=headers)

    assert answer.status_code == 200


def test_a_session_that_has_ended_is_no_credential(browser: Browser) -> None:
    copied = browser.client.get_cookie("tracesets_session")
    assert copied is not None
    browser.sent_on("/logout")
    browser.client.set_cookie("tracesets_session", copied.value)

    refused(browser.client.get("/api/v1/workspaces"), 401)


def test_a_bad_token_is_not_saved_by_a_session(browser: Browser) -> None:
    answer = browser.client.get("/api/v1/workspaces", headers={"Authorization": "Bearer tracesets_unknown"})

    refused(answer, 401)
