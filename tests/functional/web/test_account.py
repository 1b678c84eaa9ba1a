"""The account page: password, tokens, sessions."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from app import clock
from app.services import people, sign_in
from tests.support.api import Api, ok, refused
from tests.support.pages import PASSWORD, Browser

EMAIL = "pat@tests.example"


def set_password(browser: Browser, password: str, **more: str) -> str:
    return browser.sent_on("/account/password", {"new": password, "again": password, **more})


def make_token(browser: Browser, **form: str) -> str:
    page = browser.submit("/account/tokens", {"name": "laptop", "days": "90", **form}, status=200)
    found = re.search(r"tracesets_[A-Za-z0-9_-]{43}", page.text)
    assert found is not None
    return found[0]


def token_ids(browser: Browser) -> list[str]:
    return re.findall(r'action="/account/tokens/(\d+)/revoke"', browser.page("/account").html)


def test_only_its_person_sees_it(nobody: Browser, owner_page: Browser) -> None:
    assert nobody.get("/account").location == "/login?next=/account"
    assert "owner@tests.example" in owner_page.page("/account").text


def test_a_person_who_came_by_a_link_sets_a_password_and_signs_in_by_it(app: Flask, owner_page: Browser) -> None:
    assert "Current password" not in owner_page.page("/account").text

    set_password(owner_page, PASSWORD)

    other = Browser(app)
    assert other.sent_on("/login", {"email": "owner@tests.example", "password": PASSWORD}) == "/"


def test_a_change_needs_the_current_password_and_signs_out_the_other_browsers(app: Flask, owner_page: Browser) -> None:
    set_password(owner_page, PASSWORD)
    here, there = Browser(app), Browser(app)
    for browser in (here, there):
        browser.sent_on("/login", {"email": "owner@tests.example", "password": PASSWORD})
    new = {"new": "another password", "again": "another password"}

    refusal = here.submit("/account/password", {**new, "old": "wrong password"})
    set_password(here, "another password", old=PASSWORD)

    assert "The current password is another one" in refusal.text
    assert here.get("/account").status_code == 200
    assert there.get("/account").status_code == 302


@pytest.mark.parametrize(
    ("new", "again", "told"),
    [
        ("short", "short", "between 12 and 128 characters"),
        (PASSWORD, PASSWORD + "!", "The two new passwords differ"),
        ("", "", "Type a new password"),
    ],
)
def test_a_password_that_will_not_do_is_told_beside_its_field(
    owner_page: Browser, new: str, again: str, told: str
) -> None:
    page = owner_page.submit("/account/password", {"new": new, "again": again})

    assert told in page.text
    assert page.all("input", aria_invalid="true")


@pytest.mark.parametrize(
    "password",
    ["twelve chars", "  two  spaces  ", "🦊" * 12, "漢字" * 32, "a" * 12, "x" * 128],
    ids=["twelve", "spaces", "emoji", "kanji", "one letter", "long"],
)
def test_any_characters_make_a_password(app: Flask, owner_page: Browser, password: str) -> None:
    set_password(owner_page, password)

    assert Browser(app).sent_on("/login", {"email": "owner@tests.example", "password": password}) == "/"


def test_a_token_is_shown_once_and_works(app: Flask, owner_page: Browser) -> None:
    token = make_token(owner_page, days="30")

    shown = owner_page.submit("/account/tokens", {"name": "other"}, status=200)
    page = owner_page.page("/account")

    assert shown.response.headers["Cache-Control"] == "no-store"
    assert token not in page.html
    assert "laptop" in page.text
    assert "in 29 days" in page.text
    assert ok(Api(app, token).get("/workspaces"))["items"]
    assert (
        owner_page.submit("/account/tokens", {"name": "x"}, status=200).response.headers["Cache-Control"] == "no-store"
    )


def test_a_read_only_token_changes_nothing(app: Flask, owner_page: Browser) -> None:
    api = Api(app, make_token(owner_page, is_read_only="y"))

    refused(api.post("/tracesets/upload-url", {"name": "x", "files": [{"name": "a", "size": 1}]}), 403)


def test_a_token_without_an_end_lives_on(app: Flask, owner_page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    endless, short = make_token(owner_page, days=""), make_token(owner_page, days="30")
    later = datetime.now(UTC) + timedelta(days=31)
    monkeypatch.setattr(clock, "now", lambda: later)

    ok(Api(app, endless).get("/workspaces"))
    refused(Api(app, short).get("/workspaces"), 401)


def test_the_page_tells_when_a_token_was_used(app: Flask, owner_page: Browser) -> None:
    token = make_token(owner_page)
    assert "never" in owner_page.page("/account").text

    ok(Api(app, token).get("/workspaces"))

    assert "just now" in owner_page.page("/account").text


def test_a_revoked_token_is_refused_and_gone_from_the_page(app: Flask, owner_page: Browser) -> None:
    before = set(token_ids(owner_page))
    token = make_token(owner_page, name="<b>to go</b>")
    (new,) = set(token_ids(owner_page)) - before

    owner_page.sent_on(f"/account/tokens/{new}/revoke")

    refused(Api(app, token).get("/workspaces"), 401)
    assert set(token_ids(owner_page)) == before
    assert owner_page.sent_on(f"/account/tokens/{new}/revoke") == "/account"


def test_nobody_revokes_the_token_of_another_person(owner_page: Browser, stranger_page: Browser) -> None:
    (theirs, *_) = token_ids(owner_page)

    stranger_page.submit(f"/account/tokens/{theirs}/revoke", status=404)

    assert theirs in token_ids(owner_page)


@pytest.mark.parametrize(
    "form", [{"name": ""}, {"name": "x" * 101}, {"days": "-1"}], ids=["no name", "long name", "days"]
)
def test_a_token_form_that_will_not_do_is_refused(owner_page: Browser, form: dict[str, str]) -> None:
    page = owner_page.submit("/account/tokens", {"name": "laptop", "days": "30", **form})

    assert "Please mend this first" in page.text


def test_wrong_passwords_count_as_failures_to_sign_in(app: Flask) -> None:
    with app.app_context():
        people.create_user(EMAIL, password=PASSWORD)
        for _ in range(sign_in.FAILURES_BY_PERSON_HERE):
            with pytest.raises(sign_in.Invalid):
                sign_in.sign_in(EMAIL, "wrong password", remote_address="127.0.0.1")
        secret = sign_in.sign_in(EMAIL, PASSWORD, remote_address="192.0.2.1")
        found = sign_in.find_signed_in(secret, remote_address="127.0.0.1", request_id=None)
        assert found is not None

        with app.app_context():
            for _ in range(sign_in.FAILURES_BY_PERSON_HERE):
                with pytest.raises(sign_in.Invalid):
                    sign_in.change_password(found, secret, old="wrong password", new="another password")
            with pytest.raises(sign_in.RateLimited):
                sign_in.change_password(found, secret, old=PASSWORD, new="another password")
