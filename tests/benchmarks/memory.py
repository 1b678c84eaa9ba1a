"""Whether the server's memory stays flat while gigabytes go through it.

    python -m tests.benchmarks.memory [--size MIB]

One gunicorn worker on the disk store takes one part of the size, gives it back as a file and as an archive. The peak
of the worker's resident memory meanwhile is set beside what it was before. The goal is at most 64 MiB more.
"""

import argparse
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import requests
from flask_migrate import upgrade

from app import create_app
from app.services import people
from app.settings import MIB, Settings
from tests.support.server import AppServer

GOAL = 64 * MIB


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=4096, help="MiB (default: %(default)s)")
    size = parser.parse_args().size * MIB
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        data = Path(folder, "data")
        token = _make_admin(data)
        server = AppServer({"data_dir": data, "part_size": 5 * 1024 * MIB}, Path(folder), workers=1)
        try:
            measure(server, token, size)
        finally:
            server.stop()


def _make_admin(data: Path) -> str:
    app = create_app(Settings(data_dir=data, secret_key="a key for tests", log_level="ERROR"))
    with app.app_context():
        upgrade()
        people.create_user("admin@localhost", is_admin=True)
        return people.create_token("admin@localhost")


def measure(server: AppServer, token: str, size: int) -> None:
    """Send and fetch `size` bytes, and print the growth of the worker's memory for each way."""
    headers = {"Authorization": f"Bearer {token}"}
    api = f"{server.origin}/api/v1"

    def call(method: str, path: str, body: object = None) -> dict[str, object]:
        answer = requests.request(method, api + path, json=body, headers=headers, timeout=600)
        answer.raise_for_status()
        return answer.json()

    file = {"name": "trace.et", "size": size, "role": "supporting"}
    session = call("POST", "/tracesets/upload-url", {"name": "large", "files": [file]})
    url = session["files"][0]["parts"][0]["url"]  # type: ignore[index]
    print(f"\nworker memory for {size // MIB} MiB (goal: at most {GOAL // MIB} MiB more)")
    etag = report(server, "part up", lambda: _send(url, size))
    parts = [{"partNumber": 1, "etag": etag}]
    call(
        "POST",
        "/tracesets/upload-url/complete",
        {"uploadId": session["uploadId"], "files": [{"name": "trace.et", "parts": parts}]},
    )
    path = f"/tracesets/{session['tracesetId']}/download"
    report(server, "file down", lambda: _drain(str(call("GET", f"{path}?file=trace.et")["url"])))
    report(server, "archive down", lambda: _drain(str(call("GET", path)["url"])))


def report(server: AppServer, what: str, work: Callable[[], str]) -> str:
    """Do the work while watching the server, print what it took, and give its answer."""
    before, peak, done = _resident(server), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, _resident(server))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        answer = work()
    finally:
        done.set()
        watcher.join()
    print(f"  {what:<14} {before / MIB:6.1f} MiB before   {(peak - before) / MIB:+6.1f} MiB at the peak")
    return answer


def _resident(server: AppServer) -> int:
    return sum(worker.memory_info().rss for worker in psutil.Process(server.pid).children(recursive=True))


def _send(url: str, size: int) -> str:
    with tempfile.TemporaryFile() as sparse:
        sparse.truncate(size)
        answer = requests.put(url, data=sparse, timeout=3600)
    answer.raise_for_status()
    return answer.headers["ETag"]


def _drain(url: str) -> str:
    with requests.get(url, stream=True, timeout=3600) as answer:
        answer.raise_for_status()
        received = sum(len(chunk) for chunk in answer.iter_content(MIB))
    if received != int(answer.headers["Content-Length"]):
        raise RuntimeError(f"{received} bytes came of {answer.headers['Content-Length']}")
    return ""


if __name__ == "__main__":
    main()
