"""Inviting, disabling and promoting people."""

import re

import pytest
from flask import Flask
from sqlalchemy import select, update

from app.models.events import Event, EventKind
from app.models.people import User
from app.services import people
from app.transactions import reading, transaction
from tests.conftest import People
from tests.functional.web.conftest import BrowserOf
from tests.support.pages import Browser, Page

PEOPLE = "/admin/people"


def link_of(page: Page) -> str:
    """The sign-in link that the page shows."""
    found = re.search(r"http://[^/]+(/login/[^<]+)</code>", page.html)
    assert found is not None
    return found[1]


def id_of(app: Flask, name: str) -> int:
    """The number of one of the tests' people."""
    with app.app_context(), reading() as session:
        return session.scalars(select(User.id).where(User.email == f"{name}@tests.example")).one()


def addresses(page: Page) -> list[str]:
    """Whom the list shows."""
    return [bdi.text or "" for bdi in page.all("bdi", class_="given") if "@" in (bdi.text or "")]


def test_the_list_tells_who_is_there(admin_page: Browser) -> None:
    page = admin_page.page(PEOPLE)

    assert addresses(page) == [f"{name}@tests.example" for name in ("admin", "editor", "owner", "stranger", "viewer")]


def test_the_list_is_searched_as_one_types(admin_page: Browser) -> None:
    page = admin_page.page(PEOPLE, search="OWN", fragment=True)

    assert addresses(page) == ["owner@tests.example"]
    assert "Nobody is found" in admin_page.page(PEOPLE, search="zz").text


def test_the_list_is_leafed_through(admin_page: Browser, app: Flask) -> None:
    with app.app_context():
        for n in range(55):
            people.create_user(f"person{n:02}@tests.example")

    first = admin_page.page(PEOPLE, search="person")
    second = admin_page.page(first.all("a", rel="next")[0].get("href") or "")
    back = admin_page.page(second.all("a", rel="prev")[0].get("href") or "")

    assert addresses(first) + addresses(second) == [f"person{n:02}@tests.example" for n in range(55)]
    assert addresses(back) == addresses(first)


def test_an_invited_person_comes_in_by_the_link_once(admin_page: Browser, nobody: Browser, app: Flask) -> None:
    page = admin_page.submit(PEOPLE, {"email": " New@Tests.example "}, status=200)

    assert page.response.headers["Cache-Control"] == "no-store"
    assert nobody.post(link_of(page)).status_code == 303
    assert nobody.page("/account").status == 200
    assert nobody.get(link_of(page)).status_code == 410
    with app.app_context(), reading() as session:
        kinds = list(session.scalars(select(Event.kind).order_by(Event.id.desc()).limit(2)))
        actors = set(session.scalars(select(Event.actor_id).order_by(Event.id.desc()).limit(2)))
    assert kinds[::-1] == [EventKind.PERSON_ADDED, EventKind.LINK_CREATED]
    assert actors == {id_of(app, "admin")}


@pytest.mark.parametrize(
    ("email", "message"),
    [
        ("owner@tests.example", "is there already"),
        ("nonsense", "is not an e-mail address"),
        ("", "Type an e-mail address"),
        ("a" * 300 + "@b", "254"),
    ],
)
def test_an_invitation_that_cannot_be_is_told_beside_the_field(admin_page: Browser, email: str, message: str) -> None:
    page = admin_page.submit(PEOPLE, {"email": email})

    assert message in page.text


def test_a_forgotten_password_is_replaced_by_a_new_link(admin_page: Browser, nobody: Browser, app: Flask) -> None:
    page = admin_page.submit(f"{PEOPLE}/{id_of(app, 'viewer')}/link", status=200)

    assert nobody.post(link_of(page)).status_code == 303
    assert "viewer@tests.example" in nobody.page("/account").text


def test_a_disabled_person_is_out_at_once_and_comes_in_again(
    admin_page: Browser, browser_of: BrowserOf, people_here: People, app: Flask
) -> None:
    editor, number = browser_of("editor"), id_of(app, "editor")

    admin_page.sent_on(f"{PEOPLE}/{number}/disable")

    assert editor.get("/").location == "/login"
    assert people_here.editor.get("/tracesets").status_code == 401
    assert "disabled" in admin_page.page(PEOPLE, search="editor").text
    admin_page.sent_on(f"{PEOPLE}/{number}/link")
    assert "is disabled" in admin_page.page(PEOPLE).text
    admin_page.sent_on(f"{PEOPLE}/{number}/enable")
    assert people_here.editor.get("/tracesets").status_code == 200


def test_a_person_becomes_an_administrator_and_ceases_to_be_one(
    admin_page: Browser, owner_page: Browser, app: Flask
) -> None:
    number = id_of(app, "owner")

    admin_page.sent_on(f"{PEOPLE}/{number}/admin")
    assert owner_page.page(PEOPLE).status == 200
    admin_page.sent_on(f"{PEOPLE}/{number}/no-admin")

    assert owner_page.get(PEOPLE).status_code == 404


def test_somebody_must_be_left_who_administers_the_site(admin_page: Browser, app: Flask) -> None:
    number = id_of(app, "admin")

    admin_page.sent_on(f"{PEOPLE}/{number}/no-admin")
    told = admin_page.page(PEOPLE).text
    admin_page.sent_on(f"{PEOPLE}/{number}/disable")

    assert "Somebody must be left who can administer the site" in told
    assert "You cannot disable yourself" in admin_page.page(PEOPLE).text


def test_an_administrator_who_is_disabled_does_not_count(admin_page: Browser, app: Flask) -> None:
    with app.app_context(), transaction() as session:
        owner = User.email == "owner@tests.example"
        session.execute(update(User).where(owner).values(is_admin=True, is_disabled=True))

    admin_page.sent_on(f"{PEOPLE}/{id_of(app, 'admin')}/no-admin")

    assert "Somebody must be left" in admin_page.page(PEOPLE).text


@pytest.mark.parametrize("action", ["link", "disable", "enable", "admin", "no-admin"])
def test_somebody_unknown_is_not_found(admin_page: Browser, action: str) -> None:
    assert admin_page.post(f"{PEOPLE}/999999/{action}").status_code == 404


@pytest.mark.parametrize("action", ["link", "disable", "enable", "admin", "no-admin"])
def test_others_change_nobody(owner_page: Browser, app: Flask, action: str) -> None:
    assert owner_page.post(f"{PEOPLE}/{id_of(app, 'viewer')}/{action}").status_code == 404


def test_others_invite_nobody(owner_page: Browser) -> None:
    assert owner_page.post(PEOPLE, {"email": "x@y"}).status_code == 404
