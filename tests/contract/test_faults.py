"""Faults of ours: told without a stack, found in the log by the request's id (G2)."""

import io
import json
import sys
from typing import ClassVar

import pytest
from sqlalchemy import text

from app.transactions import transaction
from tests.conftest import MakeApp, PeopleOf
from tests.support.api import Api, refused


def test_a_fault_is_500_with_an_id_that_the_log_has_too(
    capsys: pytest.CaptureFixture[str], make_app: MakeApp, people_of: PeopleOf
) -> None:
    app = make_app()
    with app.app_context(), transaction() as session:
        session.execute(text("ALTER TABLE membership RENAME TO elsewhere"))

    answer = people_of(app).owner.get("/workspaces")

    identifier = answer.headers["X-Request-Id"]
    refused(answer, 500, exactly=f"Something went wrong on our side; the request id is {identifier}")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    [fault] = [line for line in lines if line["event"] == "request.failed"]
    assert fault["request_id"] == identifier
    assert "membership" in fault["exception"]


def test_a_message_quotes_no_more_than_people_read(owner: Api) -> None:
    answer = owner.complete(owner.open({"a": 1}), [{"name": "x" * 1_000_000}])

    message = refused(answer, 400, "File 'xxx")
    assert len(message) <= 4001


def test_the_log_tells_of_requests_but_not_of_secrets(
    capsys: pytest.CaptureFixture[str], make_app: MakeApp, people_of: PeopleOf
) -> None:
    owner = people_of(make_app()).owner
    session = owner.open({"secret-name.et": 1})
    files = owner.send(session, {"secret-name.et": b"x"})
    owner.complete(session, files)
    owner.read(session["tracesetId"], "secret-name.et")

    log = capsys.readouterr().err

    assert '"endpoint": "api.tracesets_complete"' in log
    for secret in (str(owner.token), "secret-name", "/objects/", session["files"][0]["parts"][0]["url"]):
        assert secret not in log


def test_each_line_of_the_log_is_written_at_once(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    class Noted(io.StringIO):
        """Writes down what each write was."""

        writes: ClassVar[list[str]] = []

        def write(self, text: str) -> int:
            self.writes.append(text)
            return super().write(text)

    monkeypatch.setattr(sys, "stderr", Noted())

    make_app().test_client().get("/healthz")

    assert [json.loads(written)["event"] for written in Noted.writes if written.endswith("\n")] == ["request"]
