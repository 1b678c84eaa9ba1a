"""How fast bytes go in and out of the disk store, beside a bare view that does the same with a plain file.

    python -m tests.benchmarks.disk_throughput [--size MIB] [--rounds N] [--connections N]

Both applications run under gunicorn with the same options on the same disk, and are asked in turn. A bare PUT
streams the body in 1 MiB pieces into a fresh file (to write over an old one costs the kernel half), hashes it with
SHA-256 and renames it, once without and once with a sync before, which the store always does; a bare GET streams the
file. The goal for the store is 90 % of the bare views; CPU is the
worker's, which neighbours on the machine disturb less than the time.

At the end: what it costs to sign the part URLs of a large session, beside the JSON that carries them.
"""

import argparse
import hashlib
import json
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import TypeVar

from flask import Flask, Response, request

from app import clock
from app.storage.disk import DiskStore
from app.storage.disk_urls import DiskURLs
from app.storage.keys import new_key
from tests.storage.disk.door import SIGNING_KEY, Gunicorn

MIB = 1024 * 1024
_FILES, _PARTS = 1024, 64
T = TypeVar("T")


def bare_app(folder: str, origin: str) -> Flask:  # called as the store's application is
    """The reference: files in a folder, by name, with nothing around them."""
    app = Flask("bare")

    @app.put("/<name>")
    def put(name: str) -> Response:
        digest, draft = hashlib.sha256(), Path(folder, secrets.token_hex(8))
        with draft.open("wb", buffering=0) as file:
            while chunk := request.stream.read(MIB):
                digest.update(chunk)
                file.write(chunk)
            if "sync" in request.args:
                os.fsync(file.fileno())
        draft.replace(Path(folder, name))
        return Response(headers={"ETag": digest.hexdigest()})

    @app.get("/<name>")
    def get(name: str) -> Response:
        def chunks() -> Iterator[bytes]:
            with Path(folder, name).open("rb", buffering=0) as file:
                while chunk := file.read(MIB):
                    yield chunk

        return Response(chunks(), headers={"Content-Length": str(Path(folder, name).stat().st_size)})

    return app


@dataclass
class Contestant:
    """One way to move the bytes, and what was measured of it: seconds of time and of the worker's CPU."""

    label: str
    server: Gunicorn
    method: str
    urls: list[str]
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def run(self, content: bytes) -> None:
        """Move the content over each URL, all at once."""
        cpu, start = self.server.cpu_seconds(), time.perf_counter()
        with ThreadPoolExecutor(len(self.urls)) as pool:
            list(pool.map(lambda url: _exchange(self.server, self.method, url, content), self.urls))
        self.seconds.append(time.perf_counter() - start)
        self.cpu_seconds.append(self.server.cpu_seconds() - cpu)


def main() -> None:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=64, help="MiB in one body (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="(default: %(default)s)")
    parser.add_argument("--connections", type=int, default=1, help="bodies at once (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        measure_throughput(Path(folder), options.size * MIB, options.rounds, options.connections)
    measure_signing()


def measure_throughput(folder: Path, size: int, rounds: int, connections: int) -> None:
    """Let the store and the bare views take turns.

    Args:
        size: bytes in one body.
        connections: bodies that are on their way at once.
    """
    content = os.urandom(size)
    bare = Gunicorn("tests.benchmarks.disk_throughput:bare_app", str(folder), folder)
    door = Gunicorn("tests.storage.disk.door:make_app", str(folder / "store"), folder)
    store = DiskStore(folder / "store", SIGNING_KEY, lambda: door.origin)
    until = clock.now() + timedelta(hours=1)
    keys = [new_key() for _ in range(connections)]
    names = [f"/{number}" for number in range(connections)]
    uploads = [store.begin(key, size) for key in keys]
    put_urls = [store.sign_parts(key, upload, [1], until)[0] for key, upload in zip(keys, uploads, strict=True)]
    puts = [
        Contestant("PUT, bare", bare, "PUT", names),
        Contestant("PUT, bare, synced", bare, "PUT", [f"{name}?sync" for name in names]),
        Contestant("PUT, store", door, "PUT", put_urls),
    ]
    _take_turns(puts, content, rounds)
    for key, upload in zip(keys, uploads, strict=True):
        store.finish(key, upload, store.parts(key, upload))
    gets = [
        Contestant("GET, bare", bare, "GET", names),
        Contestant("GET, store", door, "GET", [store.sign_download(key, "name", until) for key in keys]),
    ]
    _take_turns(gets, content, rounds)
    bare.stop()
    door.stop()
    _print_throughput(puts + gets, size * connections)


def measure_signing() -> None:
    """Time the signing of a session's part URLs and the JSON that carries them, in turn."""
    urls = DiskURLs(SIGNING_KEY, lambda: "https://traces.example.org")
    uploads = [(new_key(), "0" * 24) for _ in range(_FILES)]
    until, numbers = clock.now(), range(1, _PARTS + 1)
    signing, writing = [], []
    for _ in range(5):
        signed, seconds = _timed(lambda: [urls.parts(key, upload, numbers, until) for key, upload in uploads])
        signing.append(seconds)
        writing.append(_timed(lambda: json.dumps(signed))[1])  # noqa: B023  # called at once
    print(f"\n{_FILES * _PARTS} part URLs of {_FILES} files: µs for each, median of 5")
    print(f"  signing {_per_url(signing):.2f}   json.dumps {_per_url(writing):.2f}")


def _take_turns(contestants: list[Contestant], content: bytes, rounds: int) -> None:
    for contestant in contestants:  # Once for nothing: files, caches and code are warm from then on.
        contestant.run(content)
        contestant.seconds.clear()
        contestant.cpu_seconds.clear()
    for _ in range(rounds):
        for contestant in contestants:
            contestant.run(content)


def _exchange(server: Gunicorn, method: str, url: str, content: bytes) -> None:
    connection = HTTPConnection(*server.address)
    connection.request(method, url.removeprefix(server.origin), memoryview(content) if method == "PUT" else None)
    answer = connection.getresponse()
    buffer, received = bytearray(MIB), 0
    while piece := answer.readinto(buffer):
        received += piece
    connection.close()
    if answer.status != 200 or received != (0 if method == "PUT" else len(content)):
        raise RuntimeError(f"{method} {url}: {answer.status}, {received} bytes")


def _print_throughput(contestants: list[Contestant], size: int) -> None:
    print(f"{size // MIB} MiB at a time; median time, mean CPU; ratios to the bare views by time and by CPU")
    for one in contestants:
        seconds, cpu = statistics.median(one.seconds), statistics.mean(one.cpu_seconds)
        print(f"  {one.label:18} {size / MIB / seconds:6.0f} MiB/s   CPU {cpu:5.3f} s", end="")
        for other in contestants:
            if other is not one and other.method == one.method and "store" in one.label:
                by_time = statistics.median(other.seconds) / seconds
                by_cpu = statistics.mean(other.cpu_seconds) / cpu
                print(f"   to {other.label.partition(', ')[2]}: {by_time:.2f}, {by_cpu:.2f}", end="")
        print()


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _per_url(seconds: list[float]) -> float:
    return statistics.median(seconds) / (_FILES * _PARTS) * 1e6


if __name__ == "__main__":
    main()
