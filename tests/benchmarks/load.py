"""How many requests a server answers and how soon, at 1, 8 and 64 clients; then 64 clients for minutes.

    python -m tests.benchmarks.load [--database NAME] [--seconds S] [--soak S]

One gunicorn with two workers serves the application on the disk store, and under /fixed a view that does nothing but
read the request and answer as many bytes: the reference, asked by the same clients in turn with each operation. The
clients are threads of this process and share the machine with the server, so figures are of both.

The soak does everything that a life of a traceset has, by all clients at once: no answer may be other than promised,
and the workers may not grow.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from flask import Flask, Response, request
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from app import create_app
from app.settings import MIB, Settings
from tests.benchmarks.deployment import deploy, deployments
from tests.support.api import API, JSON
from tests.support.server import AppServer

N_TRACESETS = 10_000
N_FILES = 8
N_COMPLETIONS = 128
"""Sessions that each measure of `complete` has made ready before it begins."""
AT_ONCE = (1, 8, 64)
CONTENT = b"x" * 100
TIMEOUT_SECONDS = 60
ANSWERED = "answered as promised"


def served() -> Flask:
    """The application with the fixed view under it; called by gunicorn."""
    fixed = Flask("fixed")

    @fixed.route("/<int:size>", methods=["GET", "POST"])
    def answer(size: int) -> Response:
        request.get_data()
        return Response(b" " * size, content_type="application/json")

    app = create_app()
    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/fixed": fixed})  # type: ignore[method-assign]
    return app


class Client:
    """One connection that stays open, with a token."""

    def __init__(self, server: AppServer, token: str) -> None:
        self._connection = HTTPConnection(*server.address, timeout=TIMEOUT_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: bytes | None = None, *, expected: int = 200) -> bytes:
        """The body of the answer.

        Raises:
            RuntimeError: The status is another one.
        """
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != expected:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return content

    def ask(self, method: str, path: str, body: JSON | None = None, *, expected: int = 200) -> JSON:
        """The same in JSON, below the API's path."""
        sent = None if body is None else json.dumps(body).encode()
        answer: JSON = json.loads(self.call(method, API + path, sent, expected=expected) or b"{}")
        return answer

    def open(self) -> JSON:
        """A session of a few small files."""
        return self.ask("POST", "/tracesets/upload-url", json.loads(OPENING))

    def send(self, session: JSON) -> bytes:
        """Send its files, and give the body that completes it."""
        for file in session["files"]:
            for part in file["parts"]:
                url = urlsplit(part["url"])
                self.call("PUT", f"{url.path}?{url.query}", CONTENT)
        files = [{"name": file["name"], "parts": [{"partNumber": 1}]} for file in session["files"]]
        return json.dumps({"uploadId": session["uploadId"], "files": files}).encode()


OPENING = json.dumps(
    {
        "name": "load",
        "files": [{"name": f"rank_{rank}.et", "size": len(CONTENT), "role": "primary"} for rank in range(N_FILES)],
        "workloadMetadata": {"parallelism": {"dp": N_FILES}},
    }
).encode()


@dataclass(frozen=True)
class Times:
    """What the clients saw together: requests in a second; their median and 99th percentile in milliseconds."""

    per_second: float
    median: float
    p99: float


def main() -> None:
    """Measure on the databases that are named, or on both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", choices=("sqlite", "postgres"), action="append")
    parser.add_argument("--seconds", type=float, default=5, help="for each operation (default: %(default)s)")
    parser.add_argument(
        "--soak", type=float, default=300, help="seconds with everything at once (default: %(default)s)"
    )
    options = parser.parse_args()
    for database in options.database or ("sqlite", "postgres"):
        with _deployment(database) as (server, token):
            measure(database, server, token, options.seconds)
            if options.soak:
                soak(server, token, options.soak)


def measure(database: str, server: AppServer, token: str, seconds: float) -> None:
    """Print a row for each operation and number of clients."""
    print(f"\n{database}, {N_TRACESETS} tracesets; requests a second, median and p99 in ms; the fixed view beside it")
    newest = Client(server, token).ask("GET", "/tracesets?limit=1")["items"][0]["id"]
    for n_clients in AT_ONCE:
        clients = [Client(server, token) for _ in range(n_clients)]
        for name, method, path, body, expected in (
            ("list", "GET", "/tracesets", None, 200),
            ("get", "GET", f"/tracesets/{newest}", None, 200),
            ("upload-url", "POST", "/tracesets/upload-url", OPENING, 200),
        ):
            size = len(clients[0].call(method, API + path, body, expected=expected))

            def act(client: Client, asked: tuple = (method, API + path, body), expected: int = expected) -> None:
                client.call(*asked, expected=expected)

            _print(name, n_clients, _for_a_while(clients, act, seconds), _fixed(clients, body, size, seconds / 2))
        ready = _ready(server, token)
        size = len(clients[0].call("POST", f"{API}/tracesets/upload-url/complete", ready.pop(), expected=201))

        def complete(client: Client, ready: list[bytes] = ready) -> None:
            client.call("POST", f"{API}/tracesets/upload-url/complete", ready.pop(), expected=201)

        body = ready[0]
        _print("complete", n_clients, _until_empty(clients, complete, ready), _fixed(clients, body, size, seconds / 2))


def soak(server: AppServer, token: str, seconds: float) -> None:
    """Let the most clients do everything for so long, and print what they did and what the workers held."""
    clients = [Client(server, token) for _ in range(AT_ONCE[-1])]
    until = time.monotonic() + seconds
    memory: list[int] = []
    with ThreadPoolExecutor(len(clients)) as pool:
        lives = [pool.submit(_live, client, until) for client in clients]
        while time.monotonic() < until:
            memory.append(_memory(server))
            time.sleep(min(5.0, seconds / 20))
    faults = sum((life.result() for life in lives), Counter[str]())
    answered = faults.pop(ANSWERED)
    settled = memory[len(memory) // 5 :]
    print(f"\n{len(clients)} clients for {seconds:.0f} s: {answered} requests, {answered / seconds:.0f} a second")
    print(f"  other answers and broken connections: {dict(faults) or 'none'}")
    print(f"  memory of the workers: {settled[0] / MIB:.0f} MiB after a fifth, {settled[-1] / MIB:.0f} MiB at the end")


def _live(client: Client, until: float) -> Counter[str]:
    """The lives of tracesets, one after the other; how many requests were answered, and whatever else came."""
    done: Counter[str] = Counter()
    while time.monotonic() < until:
        try:
            session = client.open()
            body = client.send(session)
            path = f"/tracesets/{session['tracesetId']}"
            client.call("POST", f"{API}/tracesets/upload-url/complete", body, expected=201)
            client.ask("GET", "/tracesets?search=load")
            client.ask("GET", path)
            client.ask("GET", f"{path}/download")
            client.ask("POST", f"{path}/validate")
            client.call("DELETE", f"{API}{path}", expected=204)
            client.call("DELETE", f"{API}/tracesets/upload-url/{client.open()['uploadId']}", expected=204)
            done[ANSWERED] += N_FILES + 9
        except (OSError, HTTPException, RuntimeError) as exc:
            done[str(exc)[:200]] += 1
    return done


def _for_a_while(clients: Sequence[Client], act: Callable[[Client], None], seconds: float) -> Times:
    deadline = time.perf_counter() + seconds
    return _together(clients, act, lambda: time.perf_counter() < deadline)


def _until_empty(clients: Sequence[Client], act: Callable[[Client], None], left: list[bytes]) -> Times:
    def go_on() -> bool:
        return len(left) > len(clients)  # Each may take one more at the same time.

    return _together(clients, act, go_on)


def _together(clients: Sequence[Client], act: Callable[[Client], None], go_on: Callable[[], bool]) -> Times:
    def one(client: Client) -> list[float]:
        taken = []
        while go_on():
            start = time.perf_counter()
            act(client)
            taken.append((time.perf_counter() - start) * 1000)
        return taken

    began = time.perf_counter()
    with ThreadPoolExecutor(len(clients)) as pool:
        taken = sorted(one for of_client in pool.map(one, clients) for one in of_client)
    seconds = time.perf_counter() - began
    return Times(len(taken) / seconds, statistics.median(taken), taken[int(len(taken) * 0.99)])


def _fixed(clients: Sequence[Client], body: bytes | None, size: int, seconds: float) -> Times:
    method = "GET" if body is None else "POST"
    return _for_a_while(clients, lambda client: client.call(method, f"/fixed/{size}", body) and None, seconds)


def _ready(server: AppServer, token: str) -> list[bytes]:
    """The bodies that complete as many sessions, all of whose parts have arrived."""
    clients = [Client(server, token) for _ in range(8)]

    def some(client: Client) -> list[bytes]:
        return [client.send(client.open()) for _ in range(N_COMPLETIONS // len(clients))]

    with ThreadPoolExecutor(len(clients)) as pool:
        return [body for bodies in pool.map(some, clients) for body in bodies]


def _print(name: str, n_clients: int, view: Times, fixed: Times) -> None:
    def told(times: Times) -> str:
        return f"{times.per_second:7.0f}/s {times.median:7.1f} {times.p99:7.1f}"

    ratio = fixed.per_second / view.per_second
    print(f"  {name:11} {n_clients:3}   {told(view)}   fixed {told(fixed)}   ratio {ratio:.1f}", flush=True)


def _memory(server: AppServer) -> int:
    """What all workers hold, in bytes."""
    statuses = [Path(f"/proc/{pid}/status").read_text() for pid in server.worker_pids()]
    return sum(int(status.partition("VmRSS:")[2].split()[0]) * 1024 for status in statuses)


@contextmanager
def _deployment(database: str) -> Iterator[tuple[AppServer, str]]:
    """A server with tracesets in it, and an administrator's token."""
    with deployments(database, [N_TRACESETS], deploy) as [filled]:
        given: Settings = filled.app.extensions["settings"]
        settings = {"data_dir": given.data_dir, "database_url": given.sqlalchemy_url, "max_open_sessions": 10**9}
        settings["log_level"] = "ERROR"
        application = "tests.benchmarks.load:served()"
        server = AppServer(settings, given.data_dir / "server", workers=2, application=application)
        try:
            yield server, filled.callers["admin"]["Authorization"].removeprefix("Bearer ")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
