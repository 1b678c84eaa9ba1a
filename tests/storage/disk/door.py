"""The disk store's door as an application of its own, and a gunicorn that serves it (or any other)."""

import sys
from pathlib import Path

from flask import Flask

from app.storage.disk import DiskStore
from app.web.objects import blueprint
from tests.servers.process import ServerProcess, accepts_connections, free_port

SIGNING_KEY = "a key for tests"
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

    @property
    def pid(self) -> int:
        """The master's process id; the worker is its only child."""
        return self._process.pid

    def stop(self) -> None:
        """End it."""
        self._process.stop()
