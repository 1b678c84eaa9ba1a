"""moto's S3 server.

It is there in seconds and needs no system package, but it checks no signature, no expiry and no digest: what
is said about those is tested on `ceph.RadosGateway`.
"""

import shutil
import sys

from tests.servers.process import ServerProcess, accepts_connections, free_port, temporary_folder
from tests.servers.s3 import S3Server


class MotoServer(S3Server):
    """A moto server in a process of its own; everything it holds is in its memory."""

    def __init__(self) -> None:
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self._folder = temporary_folder("moto")
        self._process = ServerProcess(
            [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)],
            self._folder / "server.log",
        )
        self._process.wait_until(lambda: accepts_connections(port))

    def stop(self) -> None:
        self._process.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
