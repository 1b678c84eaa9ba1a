"""A real browser, and a page in it that may show no fault and load nothing from elsewhere."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

from tests.support import chromium as support

PATIENCE_MS = 60_000
"""Machines that test are busy; a page that is stuck is stuck for longer."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium."""
    with support.chromium() as browser:
        yield browser


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser without any history."""
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page; the test fails where it logged an error (a breach of its policy is one) or asked another host."""
    page = context.new_page()
    faults: list[str] = []
    hosts: set[str] = set()

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(message.text)

    def on_request(request: Request) -> None:
        if (host := urlsplit(request.url).hostname) is not None:
            hosts.add(host)

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", on_request)
    yield page
    assert faults == []
    assert hosts <= {"127.0.0.1"}
