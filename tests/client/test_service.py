"""Calls of the API: what is tried again, what is told, and what never is."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

import app.errors as of_the_server
from app.client import errors
from app.client.service import Service
from app.client.transport import Http
from tests.client.stub import Scripted, ScriptedServer
from tests.servers.process import free_port

TOKEN = "a-token-that-nobody-may-see"
FINE = Scripted(200, b'{"items": []}')


@contextmanager
def service_at(origin: str, *, patience: float = 10.0, timeout: float = 10.0) -> Iterator[Service]:
    http = Http(timeout=timeout, connections=2)
    yield Service(origin, TOKEN, http, patience=patience, first_wait=0.01)
    http.close()


def refusal(status: int, message: str = "No", headers: dict[str, str] | None = None) -> Scripted:
    body = json.dumps({"error": {"message": message}}).encode()
    return Scripted(status, body, {"Content-Type": "application/json", **(headers or {})})


def ask(answers: Sequence[Scripted], method: str = "GET", *, patience: float = 10.0) -> tuple[int, int]:
    """The final status, and the number of requests that it took."""
    with ScriptedServer(answers) as server, service_at(server.origin, patience=patience) as service:
        reply = service.call(method, "/workspaces", is_removal=method == "DELETE")
        return reply.status, len(server.asked)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_call_is_tried_again_where_that_may_heal(status: int) -> None:
    assert ask([refusal(status), refusal(status), FINE]) == (200, 3)


def test_a_foreign_403_is_tried_again() -> None:
    assert ask([Scripted(403, b"<html>Forbidden</html>", {}), FINE]) == (200, 2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 410, 413, 415, 507])
def test_a_refusal_is_raised_at_once_as_the_error_of_its_status(status: int) -> None:
    with ScriptedServer([refusal(status, "So it is")]) as server, service_at(server.origin) as service:
        with pytest.raises(errors.ApiError) as caught:
            service.call("GET", "/workspaces")

    assert caught.value.status == type(caught.value).own_status == status
    assert caught.value.message == "So it is"
    assert len(server.asked) == 1


def test_errors_have_the_names_and_statuses_of_the_servers() -> None:
    raised = [of_the_server.AppError, *_children(of_the_server.AppError)]
    theirs = {error.__name__: error.status for error in raised if "status" in vars(error) and error.status != 500}

    ours = {error.__name__: error.own_status for error in errors.ApiError.__subclasses__()}

    assert ours == theirs


def test_patience_ends() -> None:
    with ScriptedServer([refusal(503, "Busy")]) as server, service_at(server.origin, patience=0.2) as service:
        with pytest.raises(errors.Unavailable, match="Busy"):
            service.call("GET", "/workspaces")

    assert len(server.asked) > 1


def test_a_wait_that_the_service_asks_for_is_kept() -> None:
    busy = refusal(429, "Slowly", {"Retry-After": "30"})
    with ScriptedServer([busy]) as server, service_at(server.origin, patience=5) as service:
        with pytest.raises(errors.RateLimited) as caught:
            service.call("GET", "/workspaces")

    assert caught.value.retry_after == 30
    assert len(server.asked) == 1  # The wait is longer than the patience.


def test_a_removal_whose_answer_was_lost_has_been_done() -> None:
    assert ask([refusal(502), refusal(404)], "DELETE") == (204, 2)


def test_a_removal_of_what_is_not_there_is_an_error() -> None:
    with pytest.raises(errors.NotFound):
        ask([refusal(404)], "DELETE")


def test_what_is_no_service_is_told_apart() -> None:
    with pytest.raises(errors.NotReachable, match="is not the service"):
        ask([Scripted(200, b"<html></html>", {"Content-Type": "text/html"})])
    with pytest.raises(errors.NotReachable, match="answered 404, but not as the service does"):
        ask([Scripted(404, b"<html></html>", {"Content-Type": "text/html"})])


@pytest.mark.parametrize("url", ["traces.example.org", "ftp://traces.example.org", ""])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(errors.LocalError, match="must begin with http"):
        Service(url, TOKEN, Http(timeout=1, connections=1), patience=1)


def test_a_token_that_would_break_the_header_is_refused_unseen() -> None:
    with pytest.raises(errors.LocalError) as caught:
        Service("http://127.0.0.1", "secret\r\nHost: elsewhere", Http(timeout=1, connections=1), patience=1)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["refused", "silent", "broken"])
def test_no_error_tells_the_token_or_the_query(kind: str) -> None:
    port = free_port()
    with ScriptedServer([Scripted(200, b"", {"Transfer-Encoding": "chunked"})]) as server:
        origin = f"http://127.0.0.1:{port}" if kind == "refused" else server.origin
        timeout = 0.000001 if kind == "silent" else 0.2
        with service_at(origin, patience=0, timeout=timeout) as service:
            with pytest.raises(errors.NotReachable) as caught:
                service.call("GET", "/workspaces", query={"signature": "hidden"})

            told = repr(caught.value) + str(caught.value) + repr(service) + repr(caught.value.__cause__)

    assert TOKEN not in told
    assert "hidden" not in told
    assert "127.0.0.1" in told


def test_no_log_tells_the_token_or_a_signature(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer([FINE]) as server, service_at(server.origin) as service:
        service.call("GET", "/workspaces", query={"signature": "hidden"})
        http = Http(timeout=5, connections=1)
        http.request("GET", f"{server.origin}/objects/parts/signed-token/1")
        http.request("GET", f"{server.origin}/archives/signed-token")
        http.close()

    assert "/workspaces?…" in caplog.text
    assert TOKEN not in caplog.text
    assert "hidden" not in caplog.text
    assert "signed-token" not in caplog.text


def test_the_token_goes_to_the_service_alone() -> None:
    with ScriptedServer([Scripted(307, b"", {"Location": "http://127.0.0.1:9/"})]) as server:
        with service_at(server.origin) as service, pytest.raises(errors.NotReachable, match="answered 307"):
            service.call("GET", "/workspaces")

    assert server.asked[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer([FINE]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.origin.replace("http://", "http://user:word@"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with service_at("http://traces.example.org") as service:
            service.call("GET", "/workspaces")
        with ScriptedServer([FINE]) as direct, service_at(direct.origin) as service:
            service.call("GET", "/workspaces")

    assert [asked.path for asked in proxy.asked] == ["http://traces.example.org/api/v1/workspaces"]
    assert proxy.asked[0].headers["Proxy-Authorization"] == "Basic dXNlcjp3b3Jk"
    assert [asked.path for asked in direct.asked] == ["/api/v1/workspaces"]


def test_numbers_of_any_length_are_read() -> None:
    digits = "9" * 5000
    with ScriptedServer([Scripted(200, f'{{"n": {digits}}}'.encode())]) as server, service_at(server.origin) as service:
        reply = service.call("GET", "/workspaces")

    assert str(reply.json()["n"]) == digits
    assert reply.text == f'{{"n": {digits}}}'


def _children(error: type[of_the_server.AppError]) -> list[type[of_the_server.AppError]]:
    return [each for child in error.__subclasses__() for each in (child, *_children(child))]
