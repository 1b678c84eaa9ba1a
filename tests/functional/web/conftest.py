"""People at the pages."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from flask import Flask

from app.services import people
from tests.support.pages import Browser

BrowserOf: TypeAlias = Callable[[str], Browser]
BrowserAt: TypeAlias = Callable[[Flask, str], Browser]


@pytest.fixture
def browser_at() -> BrowserAt:
    """The browser of one of the tests' people ("owner"), signed in at any app of the test."""

    def make(app: Flask, name: str) -> Browser:
        browser = Browser(app, f"{name}@tests.example")
        with app.app_context():
            secret = people.create_sign_in_link(f"{name}@tests.example")
        browser.follow_link(secret)
        return browser

    return make


@pytest.fixture
def browser_of(app: Flask, browser_at: BrowserAt) -> BrowserOf:
    """The same at the test's app."""
    return lambda name: browser_at(app, name)


@pytest.fixture
def nobody(app: Flask) -> Browser:
    """A browser that is not signed in."""
    return Browser(app)


@pytest.fixture
def owner_page(browser_of: BrowserOf) -> Browser:
    """The owner of the shared workspace."""
    return browser_of("owner")


@pytest.fixture
def viewer_page(browser_of: BrowserOf) -> Browser:
    """May only read the shared workspace."""
    return browser_of("viewer")


@pytest.fixture
def stranger_page(browser_of: BrowserOf) -> Browser:
    """Belongs to no workspace."""
    return browser_of("stranger")


@pytest.fixture
def admin_page(browser_of: BrowserOf) -> Browser:
    """May do everything everywhere."""
    return browser_of("admin")
