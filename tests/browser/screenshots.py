"""Pictures of every page with realistic contents.

`python -m tests.browser.screenshots FOLDER [DEMO]` takes every page at 1440 and 390 pixels, light and dark, to be
looked at; `python -m tests.browser.screenshots docs/screenshots [DEMO]` takes the few of the README. DEMO is a folder
in which the demo is made once and kept.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path

from flask import Flask
from playwright.sync_api import Browser, Page

from app import create_app
from app.settings import Settings
from tests.support.api import Api, ok
from tests.support.chromium import chromium
from tests.support.demo import EMAIL, PASSWORD, demo_ids, demo_sessions, make_demo
from tests.support.server import AppServer

WIDTHS = (1440, 390)
SCHEMES = ("light", "dark")
README = (
    ("tracesets-filtered", 1200, "light"),
    ("traceset-ready", 1200, "light"),
    ("upload", 1200, "dark"),
    ("phone", 390, "light"),
)
"""The pictures of the README: what is shown, how wide, in which colours."""


def main(folder: Path, demo: Path) -> None:
    """Take them all."""
    folder.mkdir(parents=True, exist_ok=True)
    given, api = _demo(demo)
    server = AppServer({"data_dir": given.data_dir}, demo / "log")
    try:
        paths = dict(_paths(api))
        with chromium() as browser:
            if folder.parts[-2:] == ("docs", "screenshots"):
                _take_for_readme(browser, server.origin, paths, folder)
            else:
                _take_all(browser, server.origin, paths, folder)
    finally:
        server.stop()


def _take_all(browser: Browser, origin: str, paths: Mapping[str, str], folder: Path) -> None:
    for width, scheme in product(WIDTHS, SCHEMES):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
        _take(context.new_page(), f"{origin}/login", folder / f"sign-in-{width}-{scheme}.png", full_page=True)
        context.close()
        page = _signed_in(browser, origin, width, scheme)
        for name, path in paths.items():
            _take(page, origin + path, folder / f"{name}-{width}-{scheme}.png", full_page=True)
        for name, path, act in SCENES:
            page.goto(origin + paths[path])
            act(page)
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=name.startswith("upload"))
        page.context.close()


def _open_sheet(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("link", name=name, exact=True).click()


def _select(page: Page) -> None:
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Tag, promote or delete").click()


def _revoke(page: Page) -> None:
    page.get_by_role("button", name="Revoke").first.click()


def _choose(page: Page) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in (*range(14), "00", 17):
            Path(folder, f"mixtral-8x22b.{number}.et").write_bytes(b"x" * 5000)
        Path(folder, "comm_groups.json").write_text("{}")
        page.set_input_files("#new-folder", folder)
        page.get_by_label("Rank count").fill("16")
        page.locator("#dp").fill("4")
        page.locator("#tp").fill("2")
        page.get_by_role("button", name="Upload", exact=True).click()


def _resume(page: Page) -> None:
    page.get_by_role("button", name="Continue").first.click()


SCENES: tuple[tuple[str, str, Callable[[Page], None]], ...] = (
    ("dialog-promote", "traceset-ready", _open_sheet("Promote")),
    ("dialog-edit", "traceset-ready", _open_sheet("Edit")),
    ("dialog-delete", "traceset-ready", _open_sheet("Delete")),
    ("dialog-selected", "tracesets", _select),
    ("dialog-revoke", "account", _revoke),
    ("upload-chosen", "upload", _choose),
    ("upload-resumed", "upload", _resume),
)
"""What is seen after something was done: its name, on which page, and what."""


def _take_for_readme(browser: Browser, origin: str, paths: Mapping[str, str], folder: Path) -> None:
    for name, width, scheme in README:
        page = _signed_in(browser, origin, width, scheme)
        _take(page, origin + paths[name], folder / f"{name}.png", full_page=False)
        page.context.close()


def _demo(demo: Path) -> tuple[Settings, Api]:
    token_file = demo / "token"
    if not token_file.exists():
        _, token = make_demo(demo / "data")
        token_file.write_text(token)
    given = Settings(data_dir=demo / "data", secret_key="a key for tests", sweep_interval=0)
    app: Flask = create_app(given)
    return given, Api(app, token_file.read_text())


def _paths(api: Api) -> Iterator[tuple[str, str]]:
    yield "home", "/"
    yield "tracesets", "/tracesets"
    yield "phone", "/tracesets?search=step"
    yield "tracesets-filtered", "/tracesets?search=gpt&workloadFamily=gpt&tag=fp8&rankCountMin=2&sort=name:asc"
    yield "tracesets-none", "/tracesets?search=no+such+traceset"
    yield "hostile", "/tracesets?search=alert"
    yield "upload", "/tracesets/upload"
    yield "workspaces", "/workspaces"
    yield "account", "/account"
    for item in ok(api.get("/workspaces"))["items"][1:2]:
        yield "workspace", f"/workspaces/{item['id']}"
    for part in ("upload-sessions", "people", "library", "settings", "health"):
        yield f"admin-{part}", f"/admin/{part}"
    for name, upload_id in demo_sessions(api.app):
        yield f"admin-session-{name}", f"/admin/upload-sessions/{upload_id}"
    yield "help", "/help"
    yield "error-400", "/tracesets/ts_unknown?after=x"
    yield "error-405", "/logout"
    yield "error-410", "/login/used"
    yield "help-metadata", "/help/metadata"
    yield "not-found", "/tracesets/ts_unknown"
    for name, traceset_id in demo_ids(api):
        yield f"traceset-{name}", f"/tracesets/{traceset_id}"
        if name == "ready":
            for action in ("edit", "promote", "delete", "events"):
                yield f"traceset-{action}", f"/tracesets/{traceset_id}/{action}"


_cookies: dict[str, list[object]] = {}


def _signed_in(browser: Browser, origin: str, width: int, scheme: str) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    if origin not in _cookies:
        page.goto(f"{origin}/login")
        page.get_by_label("E-mail address").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{origin}/")
        _cookies[origin] = list(context.cookies())
    context.add_cookies(_cookies[origin])  # type: ignore[arg-type]
    return page


def _take(page: Page, url: str, path: Path, *, full_page: bool) -> None:
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=path, full_page=full_page)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()))
