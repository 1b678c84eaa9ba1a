"""Signing in and out."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask
from sqlalchemy import update

from app import clock
from app.models.people import User
from app.services import people, sign_in
from app.transactions import transaction
from tests.functional.web.conftest import BrowserAt, BrowserOf
from tests.support.clock import Clock
from tests.support.pages import PASSWORD, Browser

EMAIL = "pat@tests.example"


@pytest.fixture
def pat(app: Flask) -> Callable[[], Browser]:
    """Makes browsers of a person who has a password, not signed in."""
    with app.app_context():
        people.create_user(EMAIL, password=PASSWORD)
    return lambda: Browser(app, EMAIL)


def signed_in(browser: Browser) -> bool:
    return browser.get("/").status_code == 200


def test_a_stranger_is_sent_to_the_door_and_comes_back_to_the_page(pat: Callable[[], Browser]) -> None:
    browser = pat()

    sent = browser.get("/?view=old")
    door = browser.page("/login", next="/?view=old")

    assert sent.status_code == 302
    assert sent.location == "/login?next=/?view%3Dold"
    fields = {**door.form("/login"), "email": EMAIL, "password": PASSWORD}
    assert browser.sent_on("/login", fields) == "/?view=old"
    assert signed_in(browser)


def test_the_address_counts_in_any_case(pat: Callable[[], Browser]) -> None:
    browser = pat()

    browser.sent_on("/login", {"email": " Pat@Tests.Example ", "password": PASSWORD})

    assert signed_in(browser)


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "evil.example",
        "",
    ],
)
def test_nobody_is_sent_to_another_site(pat: Callable[[], Browser], target: str) -> None:
    assert pat().sent_on("/login", {"email": EMAIL, "password": PASSWORD, "next": target}) == "/"


@pytest.mark.parametrize(
    ("email", "password"),
    [(EMAIL, "wrong password"), ("nobody@tests.example", PASSWORD), ("owner@tests.example", ""), (EMAIL, "x" * 2000)],
    ids=["wrong password", "unknown address", "no password", "endless password"],
)
def test_what_does_not_fit_is_refused(pat: Callable[[], Browser], email: str, password: str) -> None:
    browser = pat()

    page = browser.submit("/login", {"email": email, "password": password})

    assert page.heading == "Sign in"
    assert page.all("input", aria_invalid="true")
    assert password not in page.text or not password
    assert not signed_in(browser)


def test_an_unknown_address_and_a_wrong_password_are_told_alike(pat: Callable[[], Browser]) -> None:
    unknown = pat().submit("/login", {"email": "nobody@tests.example", "password": PASSWORD})
    wrong = pat().submit("/login", {"email": EMAIL, "password": "wrong password"})

    assert sign_in.WRONG in unknown.text
    assert sign_in.WRONG in wrong.text


def test_a_person_without_a_password_cannot_sign_in_by_one(nobody: Browser) -> None:
    page = nobody.submit("/login", {"email": "owner@tests.example", "password": "nobody's"})

    assert sign_in.WRONG in page.text


def test_a_disabled_person_is_out_at_once(app: Flask, pat: Callable[[], Browser]) -> None:
    browser = pat()
    browser.sent_on("/login", {"email": EMAIL, "password": PASSWORD})

    with app.app_context():
        disable(EMAIL)

    assert not signed_in(browser)
    assert sign_in.WRONG in pat().submit("/login", {"email": EMAIL, "password": PASSWORD}).text


def disable(email: str) -> None:
    with transaction() as session:
        session.execute(update(User).where(User.email == email).values(is_disabled=True))


def test_too_many_failures_are_slowed_down_until_time_has_passed(
    app: Flask, pat: Callable[[], Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    with app.app_context():
        for _ in range(sign_in.FAILURES_BY_PERSON_HERE):
            with pytest.raises(sign_in.Invalid):
                sign_in.sign_in(EMAIL, "wrong password", remote_address="127.0.0.1")
    right = {"email": EMAIL, "password": PASSWORD}

    refused = pat().post("/login", right)
    with app.app_context():
        sign_in.sign_in(EMAIL, PASSWORD, remote_address="192.0.2.7")
    later = datetime.now(UTC) + sign_in.FAILURE_WINDOW
    monkeypatch.setattr(clock, "now", lambda: later)

    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "900"
    assert pat().sent_on("/login", right) == "/"


def test_a_success_forgets_the_failures(app: Flask, pat: Callable[[], Browser]) -> None:
    with app.app_context():
        for _ in range(2):
            for _ in range(sign_in.FAILURES_BY_PERSON_HERE - 1):
                with pytest.raises(sign_in.Invalid):
                    sign_in.sign_in(EMAIL, "wrong password", remote_address="127.0.0.1")

            assert sign_in.sign_in(EMAIL, PASSWORD, remote_address="127.0.0.1")


def test_an_address_that_tries_many_people_is_slowed_down(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "FAILURES_BY_ADDRESS", 3)
    with app.app_context():
        for name in "abc":
            with pytest.raises(sign_in.Invalid):
                sign_in.sign_in(f"{name}@tests.example", "wrong password", remote_address="192.0.2.7")

        with pytest.raises(sign_in.RateLimited):
            sign_in.sign_in("d@tests.example", "wrong password", remote_address="192.0.2.7")


def test_looking_at_a_link_does_not_use_it_up(app: Flask, nobody: Browser) -> None:
    with app.app_context():
        secret = people.create_sign_in_link("owner@tests.example")

    nobody.page(f"/login/{secret}")
    page = nobody.page(f"/login/{secret}")

    assert "owner@tests.example" in page.text
    assert page.response.headers["Cache-Control"] == "no-store"
    assert nobody.sent_on(f"/login/{secret}") == "/"
    assert signed_in(nobody)


def test_a_link_works_once(app: Flask, nobody: Browser) -> None:
    with app.app_context():
        secret = people.create_sign_in_link("owner@tests.example")
    other = Browser(app)
    nobody.follow_link(secret)

    page = other.submit(f"/login/{secret}", status=410)

    assert sign_in.LINK_GONE in page.text
    assert other.get(f"/login/{secret}").status_code == 410
    assert not signed_in(other)


def test_a_link_runs_out(app: Flask, nobody: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    with app.app_context():
        secret = people.create_sign_in_link("owner@tests.example")
    later = datetime.now(UTC) + people.LINK_LIFETIME + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)

    assert nobody.page(f"/login/{secret}", 410).heading == "Gone"


def test_signing_in_begins_a_new_session(pat: Callable[[], Browser]) -> None:
    browser = pat()
    before = browser.csrf_token()
    planted = browser.client.get_cookie("tracesets_session")

    browser.sent_on("/login", {"email": EMAIL, "password": PASSWORD})
    after = browser.client.get_cookie("tracesets_session")

    assert planted is not None
    assert after is not None
    assert after.http_only
    assert after.same_site == "Lax"
    stale = browser.client.post("/logout", data={"csrf_token": before})
    assert stale.status_code == 400
    assert signed_in(browser)


def test_a_copied_cookie_is_worth_nothing_after_signing_out(pat: Callable[[], Browser]) -> None:
    browser = pat()
    browser.sent_on("/login", {"email": EMAIL, "password": PASSWORD})
    copied = browser.client.get_cookie("tracesets_session")
    assert copied is not None

    assert browser.sent_on("/logout") == "/login"
    browser.client.set_cookie("tracesets_session", copied.value)

    assert not signed_in(browser)


def test_signing_out_everywhere_ends_all_sessions_of_the_person_alone(
    pat: Callable[[], Browser], owner_page: Browser
) -> None:
    here, there = pat(), pat()
    for browser in (here, there):
        browser.sent_on("/login", {"email": EMAIL, "password": PASSWORD})

    here.sent_on("/logout-everywhere")

    assert not signed_in(here)
    assert not signed_in(there)
    assert signed_in(owner_page)


@pytest.mark.parametrize(("settings", "lifetime"), [({}, {"days": 30}), ({"sign_in_ttl": 3600}, {"hours": 1})])
def test_a_session_ends_by_itself(
    make_app: Callable[..., Flask],
    browser_at: BrowserAt,
    moved_clock: Clock,
    settings: dict[str, int],
    lifetime: dict[str, int],
) -> None:
    browser = browser_at(make_app(**settings), "owner")
    moved_clock.pass_by(**lifetime)
    moved_clock.pass_by(minutes=-1)
    assert signed_in(browser)

    moved_clock.pass_by(minutes=2)

    assert not signed_in(browser)


@pytest.mark.parametrize("token", ["", "ImE5.altered.token"])
def test_a_form_without_the_token_of_its_session_changes_nothing(owner_page: Browser, token: str) -> None:
    answer = owner_page.post("/logout", {"csrf_token": token}, has_token=False)

    assert answer.status_code == 400
    assert signed_in(owner_page)


def test_a_fragment_asked_for_without_a_session_is_no_redirect(nobody: Browser) -> None:
    answer = nobody.client.get("/", headers={"X-Fragment": "1"})

    assert answer.status_code == 401


def test_https_keeps_the_cookie_to_itself(make_app: Callable[..., Flask]) -> None:
    browser = Browser(make_app(base_url="https://traces.example.org"))

    cookie = browser.get("/login").headers["Set-Cookie"]

    assert cookie.startswith("__Host-tracesets_session=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(cookie.split("; "))
    assert "Domain" not in cookie


def test_pages_are_not_kept_by_others(owner_page: Browser, browser_of: BrowserOf) -> None:
    answer = owner_page.get("/")

    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert {"Cookie", "X-Fragment"} <= set(answer.vary.as_set(preserve_casing=True))


@pytest.mark.parametrize("path", ["/static/css/app.css", "/", "/healthz"])
def test_the_cookie_is_set_once(owner_page: Browser, path: str) -> None:
    owner_page.get("/")

    assert "Set-Cookie" not in owner_page.get(path).headers
