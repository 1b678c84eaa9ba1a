"""A gunicorn that serves the application as an operator would start it, on a free loopback port."""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder, TestResponse
from werkzeug.wrappers import Request

from tests.servers.process import ServerProcess, accepts_connections, free_port
from tests.support.api import API, Api

PROJECT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60


class AppServer:
    """One host: a gunicorn with its workers.

    Args:
        settings: of the deployment, by their field names; None: the default. The credentials of S3 are inherited.
        folder: takes the log and the metrics.
        workers: processes beside the master.
        application: what it serves, in gunicorn's words.
    """

    def __init__(
        self, settings: Mapping[str, Any], folder: Path, *, workers: int = 1, application: str = "wsgi:app"
    ) -> None:
        port = free_port()
        self.address = ("127.0.0.1", port)
        self.origin = f"http://127.0.0.1:{port}"
        self.settings = {"secret_key": "a key for tests", "sweep_interval": 0, **settings}
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"gunicorn-{port}.log"
        metrics = folder / f"metrics-{port}"
        told = {name: value for name, value in self.settings.items() if value is not None}
        variables = {f"TRACESETS_{name.upper()}": _written(value) for name, value in told.items()}
        variables |= {"PROMETHEUS_MULTIPROC_DIR": str(metrics), "WEB_CONCURRENCY": str(workers)}
        self._command = [
            "env",
            *(f"{name}={value}" for name, value in variables.items()),
            *(sys.executable, "-m", "gunicorn", f"--chdir={PROJECT}", f"--config={PROJECT / 'gunicorn.conf.py'}"),
            *(f"--bind=127.0.0.1:{port}", "--graceful-timeout=5", application),
        ]
        self.start()

    def start(self) -> None:
        """Serve (again), on the same port."""
        self._process = ServerProcess(self._command, self.log)
        self._process.wait_until(self._answers)

    @property
    def pid(self) -> int:
        """The master's process id."""
        return self._process.pid

    def worker_pids(self) -> list[int]:
        """The process ids of the workers."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def stop(self) -> None:
        """End it in order; a second call does nothing."""
        self._process.stop()

    def kill(self) -> None:
        """End master and workers at once, as a power failure would."""
        self.send(signal.SIGKILL)
        self._process.stop()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to master and workers."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The lines that the application has logged under this name so far."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def converse(self, said: bytes, *, ends: bool = True) -> bytes:
        """All that the server answers to these bytes; `ends`: the client says no more after them."""
        with socket.create_connection(self.address, TIMEOUT_SECONDS) as client:
            client.sendall(said)
            if ends:
                client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def _answers(self) -> bool:
        if not accepts_connections(self.address[1]):
            return False
        with suppress(requests.RequestException):
            return requests.get(f"{self.origin}/healthz", timeout=5).status_code == 200
        return False


class RemoteApi(Api):
    """A caller over HTTP; everything else is as with one in the test's own process."""

    def __init__(self, server: AppServer, token: str | None, *, workspace_id: str) -> None:
        self.server = server
        self.token = token
        self.workspace_id = workspace_id

    def call(
        self,
        method: str,
        path: str,
        body: object = ...,
        *,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | str | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> TestResponse:
        """The answer of the server, in the form that the test client gives."""
        sent = dict(headers or {})
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        if body is not ...:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        path = path if path.startswith("/api") else API + path
        answer = requests.request(
            method, self.server.origin + path, params=query, data=data, headers=sent, timeout=timeout
        )
        asked = Request(EnvironBuilder(urlsplit(path).path, method=method).get_environ())
        headers_back = Headers(list(answer.headers.items()))
        return TestResponse([answer.content], f"{answer.status_code} {answer.reason}", headers_back, asked)


def until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"not so within {seconds} s"
        time.sleep(0.02)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
