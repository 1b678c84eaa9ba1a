"""Requests that no well-behaved client sends, byte by byte to a real gunicorn (G1, G2, G7)."""

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.conftest import Databases, PeopleOf, Serve
from tests.support.api import ok
from tests.support.server import AppServer, RemoteApi

OPEN = b"POST /api/v1/tracesets/upload-url HTTP/1.1"
LIMIT = 100_000


@pytest.fixture(scope="module")
def server(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """One host for all tests here, none of which minds the others."""
    folder = tmp_path_factory.mktemp("raw")
    settings = {"data_dir": folder / "data", "database_url": databases.fresh(folder), "max_body_size": LIMIT}
    server = AppServer(settings, folder)
    yield server
    server.stop()


@pytest.fixture
def token(databases: Databases) -> bytes:
    """Of the owner, as a header."""
    return f"Authorization: Bearer {databases.tokens['owner']}".encode()


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    """A request whose connection ends with it."""
    return b"\r\n".join([line, b"Host: x", b"Connection: close", *headers, b"", body])


def answer(said: bytes) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of an answer."""
    head, _, body = said.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(first.split()[1]), headers, json.loads(body) if body else None


def length_of(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


@pytest.mark.parametrize("size", [LIMIT + 1, 40 * 1024 * 1024], ids=["just over", "40 MiB"])
def test_a_client_that_sends_too_much_is_heard_out_and_told_413(server: AppServer, token: bytes, size: int) -> None:
    body = b"x" * size

    status, _, said = answer(server.converse(request(OPEN, token, length_of(body), body=body), ends=False))

    assert status == 413
    assert said == {
        "error": {"code": "PAYLOAD_TOO_LARGE", "message": f"The request body is larger than the limit of {LIMIT} bytes"}
    }


def test_a_body_in_chunks_has_the_same_limit(server: AppServer, token: bytes) -> None:
    good = b'{"name":1}'
    padded = chunked(good, b" " * LIMIT, b" " * LIMIT)

    status, _, said = answer(
        server.converse(request(OPEN, token, b"Transfer-Encoding: chunked", body=padded), ends=False)
    )

    assert (status, said["error"].get("code")) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_in_chunks_is_read_whole(server: AppServer, token: bytes) -> None:
    body = chunked(b'{"na', b'me":', b"1}")

    status, _, said = answer(
        server.converse(request(OPEN, token, b"Transfer-Encoding: chunked", body=body), ends=False)
    )

    assert (status, said) == (400, {"error": {"message": "name must be a string, got 1"}})


@pytest.mark.parametrize("body", [b"zz\r\nabc\r\n0\r\n\r\n", b"5\r\nabc", b"3\r\nabcdef\r\n0\r\n\r\n", b"", b"-1\r\n"])
def test_broken_chunks_are_a_bad_request(server: AppServer, token: bytes, body: bytes) -> None:
    status, _, said = answer(server.converse(request(OPEN, token, b"Transfer-Encoding: chunked", body=body)))

    assert (status, set(said)) == (400, {"error"})


@pytest.mark.parametrize("body", [b"zz\r\nabc\r\n0\r\n\r\n", b"5\r\nabc", b"3\r\nabcdef\r\n0\r\n\r\n"])
def test_a_part_in_broken_chunks_is_a_bad_request_too_and_is_not_kept(
    server: AppServer, databases: Databases, body: bytes
) -> None:
    owner = RemoteApi(server, databases.tokens["owner"], workspace_id=databases.workspace_id)
    session = owner.open({"a": 3})
    path = session["files"][0]["parts"][0]["url"].removeprefix(server.origin).encode()

    status, _, said = answer(
        server.converse(request(b"PUT " + path + b" HTTP/1.1", b"Transfer-Encoding: chunked", body=body))
    )

    assert (status, set(said)) == (400, {"error"})
    [part] = ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))["files"][0]["parts"]
    assert part["uploaded"] is False


def test_a_body_that_ends_early_is_a_bad_request_though_it_could_be_read(server: AppServer, token: bytes) -> None:
    line = b"POST /api/v1/tracesets/ts_a/validate HTTP/1.1"

    status, _, said = answer(server.converse(request(line, token, b"Content-Length: 500", body=b"{}")))

    assert (status, said) == (400, {"error": {"message": "The body ends 498 bytes before its length of 500"}})


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        (OPEN, [], 401),
        (OPEN, [b"Authorization: Bearer nobody"], 401),
        (b"POST /api/v1/tracesets/ts_a HTTP/1.1", [], 405),
        (b"POST /api/v1/nothing HTTP/1.1", [], 404),
        (b"PUT /nothing HTTP/1.1", [], 404),
    ],
    ids=["no token", "bad token", "wrong method", "unknown", "outside of the API"],
)
def test_a_refused_client_is_heard_out_before_it_is_told(
    server: AppServer, line: bytes, headers: list[bytes], status: int
) -> None:
    body = b"x" * (8 * 1024 * 1024)

    said = server.converse(request(line, *headers, length_of(body), body=body), ends=False)

    assert int(said.split()[1]) == status


def test_a_refusal_leaves_the_connection_open_for_the_next_request(server: AppServer, token: bytes) -> None:
    body = b"x" * (LIMIT + 1)
    first = b"\r\n".join([OPEN, b"Host: x", token, length_of(body), b"", body])
    second = request(b"GET /api/v1/workspaces HTTP/1.1", token)

    said = server.converse(first + second, ends=False)

    assert said.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 413 " in said
    assert b"HTTP/1.1 200 " in said


@pytest.mark.parametrize("method", [b"TRACE", b"BREW", b"PATCH"])
def test_methods_that_nobody_knows_are_not_allowed(server: AppServer, token: bytes, method: bytes) -> None:
    status, headers, said = answer(server.converse(request(method + b" /api/v1/workspaces HTTP/1.1", token)))

    assert (status, headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    assert said == {"error": {"message": f"{method.decode()} is not allowed at /api/v1/workspaces"}}


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Basic b3duZXI6cGFzc3dvcmQ=",
        b"Token %s",
        b"%s",
        b"Bearer %s x",
        b"Bearer %sx",
        b"Bearer \xc3\xa9\xff",
        b"Bearer %s, Bearer %s",
    ],
)
def test_anything_but_a_known_bearer_token_is_401(server: AppServer, databases: Databases, value: bytes) -> None:
    header = b"Authorization: " + value.replace(b"%s", databases.tokens["owner"].encode())

    status, headers, said = answer(server.converse(request(b"GET /api/v1/workspaces HTTP/1.1", header)))

    assert (status, headers["www-authenticate"], set(said)) == (401, "Bearer", {"error"})


@pytest.mark.parametrize("scheme", [b"Bearer ", b"bearer ", b"BEARER  "])
def test_the_scheme_is_read_in_any_case(server: AppServer, databases: Databases, scheme: bytes) -> None:
    header = b"Authorization: " + scheme + databases.tokens["owner"].encode()

    status, _, said = answer(server.converse(request(b"GET /api/v1/workspaces HTTP/1.1", header)))

    assert (status, set(said)) == (200, {"items"})


@pytest.mark.parametrize(
    "path",
    [
        b"/api/v1/tracesets/%00",
        b"/api/v1/tracesets/ts_%00a",
        b"/api/v1/tracesets/%ff%fe",
        b"/api/v1/tracesets/%ED%A0%80",
        b"/api/v1/tracesets/a%2Fb",
        b"/api/v1/tracesets/..%2f",
        b"/api",
        b"/api/",
        b"/api/v2/tracesets",
        b"/api/v1/tracesets/upload-url/%00",
        b"/api/v1/workspaces/",
        b"/api/v1//workspaces",
        b"/api/v1/tracesets//events",
        b"/api/v1/tracesets/" + b"x" * 7000,
    ],
    ids=lambda path: path[:40].decode(),
)
def test_paths_that_lead_nowhere_are_404(server: AppServer, token: bytes, path: bytes) -> None:
    status, headers, said = answer(server.converse(request(b"GET " + path + b" HTTP/1.1", token)))

    assert (status, headers["content-type"], set(said)) == (404, "application/json", {"error"})
    assert set(said["error"]) == {"message"}


# -- two requests in one, and requests without an end

HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n"
"""What a proxy that reads a request differently would have taken for part of it."""
NO_CHUNKS = b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ([b"Content-Length: 5", b"Transfer-Encoding: chunked"], NO_CHUNKS),
        ([b"Transfer-Encoding: chunked", b"Content-Length: 5"], NO_CHUNKS),
        ([b"Content-Length: 0", length_of(HIDDEN)], b""),
        ([b"Content-Length: 0, 65"], b""),
        ([b"Content-Length: +0"], b""),
        ([b"Transfer-Encoding: xchunked"], NO_CHUNKS),
        ([b"Transfer-Encoding: chunked, identity"], NO_CHUNKS),
        ([b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"], NO_CHUNKS),
        ([b"Transfer-Encoding : chunked"], NO_CHUNKS),
        ([b"X-Folded: a", b" Transfer-Encoding: chunked"], NO_CHUNKS),
        ([b"Transfer-Encoding: chunked"], b"-1\r\n\r\n" + NO_CHUNKS),
        ([b"Transfer-Encoding: chunked"], b"1\r\nxyz\r\n" + NO_CHUNKS),
        ([b"X-Bare: a\nTransfer-Encoding: chunked"], NO_CHUNKS),
        ([b"Host: y"], b""),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_request_whose_end_can_be_read_in_two_ways_is_refused(
    server: AppServer, headers: list[bytes], body: bytes
) -> None:
    ambiguous = b"\r\n".join([b"POST /login HTTP/1.1", b"Host: x", *headers, b"", body])

    said = server.converse(ambiguous + HIDDEN)

    assert said.split(b" ", 2)[1] in (b"400", b"501")
    assert said.count(b"HTTP/1.1 ") == 1
    assert b"smuggled" not in said


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET /healthz HT",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        request(
            b"POST /login HTTP/1.1", b"Content-Type: application/x-www-form-urlencoded", length_of(b"x" * 9), body=b"x"
        ),
        request(OPEN, b"Authorization: Bearer x", length_of(b"x" * 9), body=b"x"),
    ],
    ids=["line", "headers", "form", "API"],
)
def test_a_client_that_falls_silent_holds_no_thread_for_ever(one_thread: AppServer, beginning: bytes) -> None:
    with socket.create_connection(one_thread.address) as silent:
        silent.sendall(beginning)

        assert requests.get(f"{one_thread.origin}/healthz", timeout=20).status_code == 200


def test_a_client_that_takes_nothing_of_its_answer_holds_no_thread_for_ever(
    one_thread: AppServer, people_of: PeopleOf
) -> None:
    owner = people_of(one_thread).owner
    traceset = owner.upload({"a": bytes(32 * 1024 * 1024)})
    path = urlsplit(ok(owner.get(f"/tracesets/{traceset['id']}/download"))["url"]).path

    with socket.create_connection(one_thread.address) as silent:
        silent.sendall(request(b"GET %s HTTP/1.1" % path.encode()))

        assert requests.get(f"{one_thread.origin}/healthz", timeout=20).status_code == 200


@pytest.fixture
def one_thread(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> AppServer:
    """A host that a single client could hold, and that waits for a second."""
    monkeypatch.setenv("WEB_THREADS", "1")
    monkeypatch.setenv("WEB_PATIENCE", "1")
    return serve()


LISTING = b"GET /api/v1/tracesets"


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        (LISTING + b"?search=" + b"a" * 9000 + b" HTTP/1.1", [], 414),
        (LISTING + b"?next=" + b"a" * 30_000 + b" HTTP/1.1", [], 414),
        (LISTING + b" HTTP/1.1", [b"Authorization: Bearer " + b"a" * 9000], 431),
        (LISTING + b" HTTP/1.1", [b"X-%d: x" % i for i in range(200)], 431),
        (LISTING + b" HTTP/1.1", [b"Bad header: x"], 400),
        (LISTING + b" HTTP/1.1", [b"Content-Length: -1"], 400),
        (LISTING + b" HTTP/1.1", [b"Content-Length: 1", b"Content-Length: 2"], 400),
        (LISTING + b" with spaces HTTP/1.1", [], 400),
        (b"GET /api/v1/\xff HTTP/1.1", [], 400),
        (OPEN, [b"Content-Length: 5", b"Transfer-Encoding: chunked"], 400),
        (OPEN, [b"Expect: something"], 417),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_the_server_itself_cannot_read_is_told_in_json_too(
    server: AppServer, line: bytes, headers: list[bytes], status: int
) -> None:
    told, fields, said = answer(server.converse(request(line, *headers), ends=False))

    assert (told, fields["content-type"], set(said), set(said["error"])) == (
        status,
        "application/json",
        {"error"},
        {"message"},
    )
    assert said["error"]["message"]
