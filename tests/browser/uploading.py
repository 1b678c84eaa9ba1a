"""Servers and pages for uploads in a real browser."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from flask import Flask
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

from app.services import people
from tests.servers.http_proxy import FaultyProxy, SeenRequest

UPLOAD = "/tracesets/upload"
PATIENCE_MS = 60_000
"""Machines that test are busy; a page that is stuck is stuck for longer."""


def sign_in(page: Page, app: Flask, origin: str, name: str = "owner") -> None:
    """Sign one of the tests' people in, by a link."""
    with app.app_context():
        secret = people.create_sign_in_link(f"{name}@tests.example")
    page.goto(f"{origin}/login/{secret}")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{origin}/")


@contextmanager
def unsteady(context: BrowserContext) -> Iterator[Page]:
    """A page that may lose its connection, which browsers log, but may show no other fault.

    A store may refuse a URL that has run out without leave to see the refusal (Ceph's gateway does), which to the
    browser is the same as no answer.
    """
    tolerated = re.compile("^Failed to load resource|^Access to XMLHttpRequest .* blocked by CORS policy")
    page = context.new_page()
    faults: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not tolerated.match(message.text):
            faults.append(message.text)

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    assert faults == [], faults


def written(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Files of these names and contents, in a new folder."""
    folder.mkdir()
    paths = [folder / name for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_bytes(content)
    return paths


def choose(page: Page, files: Path | Sequence[Path], *, to: str = "new") -> None:
    """Choose a folder, or some files."""
    page.set_input_files(f"#{to}-{'folder' if isinstance(files, Path) else 'files'}", files)


def fill_in(page: Page, name: str, **fields: str) -> None:
    """Fill the form in; the workspace is the one that the tests' people share."""
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Workspace").select_option(label="Shared")
    for field, text in fields.items():
        page.locator(f"#{field}").fill(text)


def start(page: Page) -> str:
    """Begin the upload; the session's id."""
    with page.expect_response(re.compile(r"/api/v1/tracesets/upload-url$")) as opened:
        page.get_by_role("button", name="Upload", exact=True).click()
    upload_id: str = opened.value.json()["uploadId"]
    return upload_id


def wait_for_traceset(page: Page) -> str:
    """The id of the traceset whose page the browser comes to."""
    page.wait_for_url(re.compile(r"/tracesets/ts_\w+$"), timeout=PATIENCE_MS)
    return page.url.rpartition("/")[2]


def expect_state(page: Page, text: str) -> None:
    """Wait until the upload's page says so."""
    expect(page.locator("[data-state]")).to_contain_text(text, timeout=PATIENCE_MS)


def puts(proxy: FaultyProxy) -> list[SeenRequest]:
    """The part PUTs that came to the proxy."""
    return [request for request in proxy.requests if request.method == "PUT"]
