"""Where credentials may not be: in the database as they are, in logs, on error pages; and how they are compared."""

import hmac
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text

from app.models.base import Base
from app.services import people, sign_in
from app.storage.disk_urls import DiskURLs
from app.storage.keys import new_key
from app.transactions import reading, transaction
from tests.conftest import MakeApp, PeopleOf
from tests.storage.disk.test_urls import UPLOAD_ID, soon
from tests.support.api import Api, ok
from tests.support.pages import PASSWORD, Browser

EMAIL = "pat@tests.example"


def test_no_credential_is_stored_as_it_is(app: Flask) -> None:
    with app.app_context():
        people.create_user(EMAIL, password=PASSWORD)
        secrets = [people.create_token(EMAIL), people.create_sign_in_link(EMAIL), PASSWORD]
        secrets.append(sign_in.sign_in(EMAIL, PASSWORD, remote_address=None))

        with reading() as session:
            stored = [list(session.execute(select(table)).all()) for table in Base.metadata.sorted_tables]

    assert EMAIL in str(stored)
    assert [secret for secret in secrets if secret in str(stored)] == []


def test_no_error_and_no_log_line_holds_a_secret(
    make_app: MakeApp, people_of: PeopleOf, capsys: pytest.CaptureFixture[str]
) -> None:
    app = make_app()
    owner, browser = people_of(app).owner, Browser(app)
    traceset = owner.upload({"a": b"x"})
    archive = ok(owner.get(f"/tracesets/{traceset['id']}/download"))["url"].rpartition("/")[2]
    token, sealed = str(owner.token), DiskURLs("a key for tests", lambda: "").download(new_key(), "name", soon())
    with app.app_context():
        link = people.create_sign_in_link("owner@tests.example")
        with transaction() as session:
            session.execute(text("ALTER TABLE membership RENAME TO elsewhere"))

    answers = [
        owner.get("/workspaces"),
        owner.call("POST", "/workspaces", {"name": "x"}),
        owner.call("GET", "/workspaces", headers={"Authorization": f"Token {token}"}),
        owner.call("GET", "/workspaces", headers={"Authorization": f"Bearer {token}x"}),
        browser.get(f"/login/{link}x"),
        browser.client.put(f"/login/{link}"),
        browser.client.put(f"/archives/{archive}"),
        browser.get(f"/archives/{archive}x"),
        browser.get(f"/archives/{archive}/more"),
        browser.client.delete(sealed),
        browser.client.get(sealed),
        browser.client.get(f"{sealed}x"),
    ]

    assert [answer.status_code for answer in answers[:9]] == [500, 500, 401, 401, 410, 405, 405, 403, 404]
    told = capsys.readouterr().err + "".join(answer.text for answer in answers)
    assert "no such table" in told or "UndefinedTable" in told
    assert [secret for secret in (token, link, archive, sealed.split("/")[3]) if secret in told] == []


def test_the_log_of_a_fault_holds_no_values(
    make_app: MakeApp, people_of: PeopleOf, capsys: pytest.CaptureFixture[str]
) -> None:
    app = make_app()
    with app.app_context(), transaction() as session:
        session.execute(text("ALTER TABLE traceset_file RENAME TO elsewhere"))
    owner = people_of(app).owner

    answer = owner.post("/tracesets/upload-url", owner.request_of({"what-nobody-may-know": 1}))

    assert answer.status_code == 500
    log = capsys.readouterr().err
    assert "traceset_file" in log
    assert "what-nobody-may-know" not in log


def test_the_log_tells_of_failures_to_sign_in_and_whose_a_request_is(
    make_app: MakeApp, people_of: PeopleOf, capsys: pytest.CaptureFixture[str]
) -> None:
    app = make_app()
    Browser(app).submit("/login", {"email": EMAIL, "password": PASSWORD})
    people_of(app).owner.get("/workspaces")

    lines = capsys.readouterr().err.splitlines()

    [failure] = [line for line in lines if "sign_in.failed" in line]
    assert '"remote_address": "127.0.0.1"' in failure
    assert EMAIL not in failure
    [known] = [line for line in lines if "api.workspaces_list_all" in line]
    assert '"user_id": ' in known


def test_signatures_are_compared_in_constant_time(app: Flask, owner: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    traceset = owner.upload({"a": b"x"})
    archive = ok(owner.get(f"/tracesets/{traceset['id']}/download"))["url"].removeprefix("http://localhost")
    urls = DiskURLs("a key", lambda: "")
    [part] = urls.parts(new_key(), UPLOAD_ID, [1], soon())
    token = Browser(app).csrf_token()
    compared: list[Any] = []

    def compare(*texts: Any) -> bool:
        compared.append(texts)
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)

    assert app.test_client().get(archive).status_code == 403
    with pytest.raises(Exception, match="not valid"):
        urls.open_part(part.split("/")[3], 1)
    assert app.test_client().post("/login", data={"csrf_token": token}).status_code == 400
    assert len(compared) >= 2
