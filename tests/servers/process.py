"""Server processes that never outlive the one who started them."""

import atexit
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_START_SECONDS = 60
_STOP_SECONDS = 15


class ServerFailed(Exception):
    """A server did not start; the message ends with the last lines of its log."""


class ServerProcess:
    """One running server.

    Three things end it: `stop`, the interpreter's exit, and, should this process be killed, the kernel, which
    then sends `end_signal`. The kernel watches the thread that starts the server: start it from one that stays.

    Args:
        command: the program and its arguments; it must stay in the foreground.
        log: the file that takes its standard output and error.
        end_signal: what makes it end at once and in order.
        account: whose process it is (root only; None: one's own).
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        end_signal: signal.Signals = signal.SIGTERM,
        account: pwd.struct_passwd | None = None,
    ) -> None:
        self._log = log
        self._end_signal = end_signal
        guard = ["setpriv", "--pdeathsig", end_signal.name.removeprefix("SIG")]
        if account is not None:
            guard += [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        with log.open("ab") as output:
            # A session of its own keeps the terminal's Ctrl-C from ending the server under a test that is being
            # wound up, and the database's signals from reaching us.
            self._process = subprocess.Popen(
                [*guard, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=log.parent,
                start_new_session=True,
            )
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Wait for the server to serve.

        Raises:
            ServerFailed: it ended, or was not ready within a minute; it is stopped then.
        """
        deadline = time.monotonic() + _START_SECONDS
        while not is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                tail = "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
                raise ServerFailed(f"{self._process.args!r} did not start:\n{tail}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server in order, or by force after some seconds; a second call does nothing."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.send_signal(self._end_signal)
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()


def temporary_folder(name: str) -> Path:
    """A fresh folder, removed at the interpreter's exit, after the servers that were started later have ended."""
    folder = Path(tempfile.mkdtemp(prefix=f"tracesets-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def free_port() -> int:
    """A loopback port that nobody listens on.

    It is drawn from below the range that the kernel gives to outgoing connections, so that none of those can
    take it before the server does, and not by `random`, which the tests' workers all seed alike.
    """
    while True:
        port = 15_000 + secrets.randbelow(15_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def accepts_connections(port: int) -> bool:
    """Whether a server listens on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
