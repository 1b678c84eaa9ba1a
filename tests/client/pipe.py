"""A wire between a client and a server that counts connections and can alter what goes over it."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

Alter = Callable[[bytes], bytes]


def unchanged(data: bytes) -> bytes:
    """The wire as it should be."""
    return data


def once(old: bytes, new: bytes) -> Alter:
    """Replace the first occurrence of some bytes by as many others."""
    left = [1]

    def alter(data: bytes) -> bytes:
        if left[0] and old in data:
            left[0] -= 1
            return data.replace(old, new, 1)
        return data

    return alter


def always(old: bytes, new: bytes) -> Alter:
    """Replace every occurrence."""
    return lambda data: data.replace(old, new)


class Pipe:
    """Passes bytes on in both directions.

    Args:
        target: origin of the server.
        up, down: alter what goes to the server, and what comes from it; may be replaced.

    Attributes:
        n_connections: opened by the client so far.
    """

    def __init__(self, target: str, *, up: Alter = unchanged, down: Alter = unchanged) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 80)
        self.up, self.down = up, down
        self.n_connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def repair(self) -> None:
        """Alter nothing any more."""
        self.up = self.down = unchanged

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.n_connections += 1
            server = socket.create_connection(self._target)
            for source, sink, side in ((client, server, "up"), (server, client, "down")):
                threading.Thread(target=self._pump, args=(source, sink, side), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, side: str) -> None:
        with suppress(OSError):
            while data := source.recv(1024 * 1024):
                sink.sendall(getattr(self, side)(data))
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
