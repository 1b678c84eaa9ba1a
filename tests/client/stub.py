"""A server that answers what it is told to, for answers that no real one gives on demand."""

import threading
from collections.abc import Iterable
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self

JSON_HEADERS = {"Content-Type": "application/json"}


class Scripted(NamedTuple):
    """One answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = JSON_HEADERS


class Asked(NamedTuple):
    """One request, as it came."""

    method: str
    path: str
    headers: Message
    body: bytes


class ScriptedServer:
    """Gives the answers in their order, and the last one for ever.

    Attributes:
        asked: what came.
    """

    def __init__(self, answers: Iterable[Scripted]) -> None:
        self.asked: list[Asked] = []
        script = list(answers)
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append(Asked(self.command, self.path, self.headers, body))
                answer = script.pop(0) if len(script) > 1 else script[0]
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answer.body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_PUT = do_POST = do_DELETE = _serve

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
