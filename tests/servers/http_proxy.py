"""A proxy that fails on demand, to stand between a client and a real server."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Literal, NamedTuple, Self
from urllib.parse import urlsplit

Fault = None | float | int | tuple[int, bytes] | Literal["drop", "lose", "cut"]
"""What happens to a request.

None: it is forwarded. A float: it is forwarded after so many seconds. An int: it is answered with this status, and
not forwarded; a pair: with this status and body. "drop": the connection is closed, and nothing forwarded. "lose": it
is forwarded, and the connection closed instead of answered. "cut": the answer breaks off before its last byte.
"""

Rule = Callable[[str, str, str], Fault]
"""From method, path and query (as sent, without `?`) to the fault. Called from many threads."""


class SeenRequest(NamedTuple):
    """A request as it came to the proxy."""

    method: str
    path: str
    query: str
    headers: Message


_HOP_BY_HOP = {"connection", "keep-alive", "expect", "transfer-encoding"}


class FaultyProxy:
    """An HTTP/1.1 proxy on a free loopback port that forwards to `target` (an http origin).

    The Host header goes through as it came, so that signatures made for the proxy's address hold behind it. Bodies
    are held in memory, and those of requests need a Content-Length.

    Attributes:
        rule: decides on each request; may be replaced at any time.
        requests: all that came, in order.
        reword_request, reword_answer: change the bodies, and the ETags, of what goes through.
    """

    def __init__(self, target: str, rule: Rule = lambda method, path, query: None) -> None:
        self.rule = rule
        self.reword_request: Callable[[bytes], bytes] = bytes
        self.reword_answer: Callable[[bytes], bytes] = bytes
        self.requests: list[SeenRequest] = []
        self._target = urlsplit(target)
        self._stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        """Stop listening, and let go of the requests that are being delayed; a second call does nothing."""
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:
                    self.close_connection = True

            def __getattr__(self, name: str) -> Callable[[], None]:
                if name.startswith("do_"):
                    return lambda: proxy._serve(self)
                raise AttributeError(name)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        url = urlsplit(request.path)
        self.requests.append(SeenRequest(request.command, url.path, url.query, request.headers))
        fault = self.rule(request.command, url.path, url.query)
        match fault:
            case "drop":
                _hang_up(request)
            case int(status):
                _answer(request, status, b"")
            case (int(status), bytes(answer)):
                _answer(request, status, answer)
            case float(seconds):
                if self._stopped.wait(seconds):
                    _hang_up(request)
                else:
                    self._forward(request, body, None)
            case _:
                self._forward(request, body, fault)

    def _forward(self, request: BaseHTTPRequestHandler, body: bytes, fault: Fault) -> None:
        connection = HTTPConnection(self._target.hostname or "", self._target.port)
        try:
            connection.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
            sent = self.reword_request(body)
            for name, value in request.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    connection.putheader(name, str(len(sent)) if name.lower() == "content-length" else value)
            connection.endheaders(sent)
            self._pass_on(request, connection.getresponse(), fault)
        except (HTTPException, ConnectionRefusedError):
            _answer(request, 502, b"")
        finally:
            connection.close()

    def _pass_on(self, request: BaseHTTPRequestHandler, response: HTTPResponse, fault: Fault) -> None:
        content = self.reword_answer(response.read())
        if fault == "lose":
            _hang_up(request)
            return
        headers = {name: value for name, value in response.getheaders() if name.lower() not in _HOP_BY_HOP}
        if "ETag" in headers:
            headers["ETag"] = self.reword_answer(headers["ETag"].encode()).decode()
        if request.command != "HEAD" and response.status not in (204, 304):
            headers["Content-Length"] = str(len(content))
        request.send_response_only(response.status, response.reason)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content[:-1] if fault == "cut" else content)
        if fault == "cut":
            _hang_up(request)


def _answer(request: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    request.send_response(status)
    request.send_header("Content-Length", str(len(body)))
    request.send_header("Access-Control-Allow-Origin", "*")  # As stores do, so that the script of a page may see it.
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)


def _hang_up(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True
    with suppress(OSError):  # The client may have left first.
        request.connection.shutdown(socket.SHUT_RDWR)
