"""The disk store's door as an application of its own, and a gunicorn that serves it (or any other)."""

import json
import os
import socket
import sys
from pathlib import Path

import requests
from flask import Flask

from app.storage.disk import DiskStore
from app.web.objects import blueprint
from tests.servers.process import ServerProcess, accepts_connections, free_port
from tests.storage.under_test import StoreUnderTest

SIGNING_KEY = "a key for tests"
TIMEOUT_SECONDS = 30
PROJECT = Path(__file__).resolve().parents[3]


def make_app(root: str, origin: str) -> Flask:
    """A Flask application with nothing but the door to the store below `root`."""
    app = Flask("disk_door")
    app.config["MAX_CONTENT_LENGTH"] = 1024  # A limit for JSON, which must not hold for parts.
    app.extensions["object_store"] = DiskStore(Path(root), SIGNING_KEY, lambda: origin)
    app.register_blueprint(blueprint)
    return app


class Gunicorn:
    """One gthread worker that serves an application on a free loopback port, until `stop`.

    Args:
        factory: gives the application; module, colon, function.
        argument: what it is called with, beside the server's origin.
        folder: takes the log.
    """

    def __init__(self, factory: str, argument: str, folder: Path) -> None:
        port = free_port()
        self.origin = f"http://127.0.0.1:{port}"
        self.address = ("127.0.0.1", port)
        options = ["--worker-class=gthread", "--threads=8", f"--bind=127.0.0.1:{port}", f"--chdir={PROJECT}"]
        command = [sys.executable, "-m", "gunicorn", *options, f"{factory}({argument!r}, {self.origin!r})"]
        self._process = ServerProcess(command, folder / "gunicorn.log")
        self._process.wait_until(lambda: accepts_connections(port))

    def stop(self) -> None:
        """End it."""
        self._process.stop()

    def peak_memory(self) -> int:
        """The most memory that the worker ever held, in bytes."""
        status = (self._worker / "status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def cpu_seconds(self) -> float:
        """The time that the worker has computed so far."""
        fields = (self._worker / "stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    @property
    def _worker(self) -> Path:
        """What the kernel tells of the master's only child."""
        [pid] = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return Path("/proc", pid)


class Door(StoreUnderTest):
    """The store, and the gunicorn before it."""

    def __init__(self, root: Path, server: Gunicorn) -> None:
        self.disk = DiskStore(root, SIGNING_KEY, lambda: server.origin)
        super().__init__(self.disk, lambda key, data: None)
        self.root, self.server = root, server


def converse(door: Door, said: bytes) -> bytes:
    """All that the server answers to these bytes, after which the client says no more."""
    with socket.create_connection(door.server.address, TIMEOUT_SECONDS) as client:
        client.sendall(said)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


def head_of(url: str, *headers: str) -> bytes:
    """The head of a PUT to this URL."""
    path = url.split("/", 3)[3]
    return "\r\n".join([f"PUT /{path} HTTP/1.1", "Host: traces.example", *headers, "", ""]).encode()


def error_of(answer: bytes | requests.Response) -> tuple[int, object]:
    """Status and body of a refusal."""
    if isinstance(answer, requests.Response):
        return answer.status_code, answer.json()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)
