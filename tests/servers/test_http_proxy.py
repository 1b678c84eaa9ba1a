"""The proxy that fails on demand, before a small server that counts what reaches it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic

import pytest
import requests

from tests.servers.http_proxy import Fault, FaultyProxy


class Echo(BaseHTTPRequestHandler):
    """Answers with the body that it got, or with its path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    reached: list[str]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or self.path.encode()
        self.reached.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Host", self.headers["Host"])
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def reached() -> list[str]:
    """The paths of the requests that reached the target."""
    return []


@pytest.fixture
def proxy(reached: list[str]) -> Iterator[FaultyProxy]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Echo", (Echo,), {"reached": reached}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    with FaultyProxy(f"http://127.0.0.1:{server.server_port}") as proxy:
        yield proxy
    server.shutdown()
    server.server_close()
    thread.join()


def test_requests_go_through_with_their_host_and_come_back(proxy: FaultyProxy, reached: list[str]) -> None:
    answer = requests.put(f"{proxy.endpoint}/a%20b?c=d&e", data=b"body", timeout=10)

    assert (answer.status_code, answer.content) == (200, b"body")
    assert answer.headers["X-Host"] == proxy.endpoint.removeprefix("http://")
    assert reached == ["/a%20b?c=d&e"]
    [seen] = proxy.requests
    assert seen[:3] == ("PUT", "/a%20b", "c=d&e")
    assert seen.headers["Content-Length"] == "4"


def test_head_tells_the_length_without_the_body(proxy: FaultyProxy) -> None:
    answer = requests.head(f"{proxy.endpoint}/path", timeout=10)

    assert (answer.headers["Content-Length"], answer.content) == ("5", b"")


def test_the_rule_sees_method_path_and_query(proxy: FaultyProxy) -> None:
    proxy.rule = lambda *request: 418 if request == ("GET", "/tea", "pot=1") else None

    assert requests.get(f"{proxy.endpoint}/tea?pot=1", timeout=10).status_code == 418
    assert requests.get(f"{proxy.endpoint}/tea?pot=2", timeout=10).status_code == 200


@pytest.mark.parametrize("fault", [503, (200, b"<Error/>")], ids=["status", "body"])
def test_an_answer_of_the_proxys_own_reaches_nobody(proxy: FaultyProxy, reached: list[str], fault: Fault) -> None:
    proxy.rule = lambda *_: fault

    answer = requests.get(proxy.endpoint, timeout=10)

    assert (answer.status_code, answer.content) == (fault if isinstance(fault, tuple) else (fault, b""))
    assert reached == []


@pytest.mark.parametrize(
    ("fault", "n_reached"),
    [pytest.param("drop", 0, id="drop"), pytest.param("lose", 1, id="lose"), pytest.param("cut", 1, id="cut")],
)
def test_broken_connections(proxy: FaultyProxy, reached: list[str], fault: Fault, n_reached: int) -> None:
    proxy.rule = lambda *_: fault

    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        requests.get(f"{proxy.endpoint}/path", timeout=10)

    assert len(reached) == n_reached


def test_a_delayed_request_comes_late(proxy: FaultyProxy) -> None:
    proxy.rule = lambda *_: 0.3
    start = monotonic()

    assert requests.get(f"{proxy.endpoint}/path", timeout=10).content == b"/path"
    assert monotonic() - start >= 0.3


def test_stopping_does_not_wait_for_delayed_requests(proxy: FaultyProxy) -> None:
    proxy.rule = lambda *_: 600.0
    with pytest.raises(requests.ReadTimeout):
        requests.get(f"{proxy.endpoint}/path", timeout=0.2)
    start = monotonic()

    proxy.stop()

    assert monotonic() - start < 5


def test_a_target_that_is_away_is_a_bad_gateway() -> None:
    with FaultyProxy("http://127.0.0.1:1") as proxy:
        assert requests.get(proxy.endpoint, timeout=10).status_code == 502
