"""Nobody is led elsewhere: neither browsers, nor the server itself, nor a path out of its folder."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests.conftest import MakeApp
from tests.functional.web.conftest import BrowserAt
from tests.support.api import Api, file_spec, ok
from tests.support.upkeep import sweep


@pytest.fixture
def elsewhere() -> Iterator[socket.socket]:
    """A place that can tell whether anybody came."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def test_the_server_never_visits_an_external_url(
    app: Flask, owner: Api, browser_at: BrowserAt, elsewhere: socket.socket
) -> None:
    url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/x"
    files = [file_spec("outer", 1, externalUrl=url), file_spec("inner", 1)]

    session = owner.open(files)
    traceset_id = ok(owner.complete(session, owner.send(session, {"inner": b"x"})), 201)["id"]
    ok(owner.post(f"/tracesets/{traceset_id}/validate", {"deep": True}))
    ok(owner.post(f"/tracesets/{traceset_id}/promote", {}), 201)
    owner.read(traceset_id)
    browser_at(app, "owner").page(f"/tracesets/{traceset_id}")
    sweep(app)

    with pytest.raises(BlockingIOError):
        elsewhere.accept()


def test_the_data_folder_is_for_its_account_alone(make_app: MakeApp, tmp_path: Path) -> None:
    folder = tmp_path / "var"

    make_app(data_dir=folder, secret_key=None)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "secret_key").stat().st_mode) == 0o600


@pytest.mark.parametrize("target", ["//evil.example/", "https://evil.example/", "/\\evil.example", "/\t/evil.example"])
def test_no_form_sends_a_browser_to_another_site(app: Flask, owner: Api, browser_at: BrowserAt, target: str) -> None:
    browser = browser_at(app, "owner")
    traceset_id = owner.upload({"a": b"x"})["id"]

    for action in ("tag", "promote", "delete"):
        form = {"id": traceset_id, "tags": "t", "workspace_id": "workspace_universal", "next": target}
        assert browser.sent_on(f"/tracesets/selected/{action}", form) == "/tracesets"
    assert browser.sent_on("/tracesets/selected", {"id": "ts_none", "next": target}) == "/tracesets"
    assert browser.get("/login", next=target).location == "/"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../wsgi.py",
        "/static/%2e%2e/wsgi.py",
        "/static/..%2fwsgi.py",
        "/static/css/..%5c..%5cwsgi.py",
        "/static//etc/passwd",
        "/bootstrap/static/../../../wsgi.py",
        "/docs/swagger-ui/../../wsgi.py",
        "/help/..%2f..%2fbase",
        "/help/limits.html",
        "/static/",
        "/static",
        "/.git/config",
        "/.env",
        "/wsgi.py",
        "/var/secret_key",
    ],
)
def test_no_path_leads_out_of_what_is_served_or_lists_it(app: Flask, path: str) -> None:
    assert app.test_client().get(path).status_code == 404
