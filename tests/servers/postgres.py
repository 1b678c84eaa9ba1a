"""A private PostgreSQL."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql

from tests.servers.process import ServerFailed, ServerProcess, free_port, temporary_folder

_SUPERUSER = "postgres"


class PostgresServer:
    """A PostgreSQL of our own on a free loopback port, whose files are gone after `stop`.

    It trusts every local connection, and gives up durability for speed. Sorting is by code point, as on any
    server that this project asks for.
    """

    def __init__(self) -> None:
        self._account = _unprivileged_account()
        self._folder = temporary_folder("postgres")
        if self._account is not None:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
        self.port = free_port()
        self._make_cluster()
        self._process = self._start()

    def url(self, database: str = "postgres") -> str:
        """SQLAlchemy's URL of a database."""
        return f"postgresql+psycopg://{_SUPERUSER}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str | None = None, template: str | None = None) -> str:
        """Make a database (of a fresh name where none is given; a copy of `template`), and give its name.

        Nobody may be connected to the template meanwhile.
        """
        name = name or f"test_{secrets.token_hex(8)}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self._execute(statement.format(sql.Identifier(name), sql.Identifier(template or "template0")))
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, and end who is still connected to it."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def restart(self) -> None:
        """End the server, cutting every connection, and start it again on the same port and data."""
        with self.away():
            pass

    @contextmanager
    def away(self) -> Iterator[None]:
        """No server meanwhile: every connection is cut, and none is taken."""
        self._process.stop()
        try:
            yield
        finally:
            self._process = self._start()

    def stop(self) -> None:
        """End the server and remove its files; a second call does nothing."""
        self._process.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _make_cluster(self) -> None:
        command = [
            str(_binaries() / "initdb"),
            f"--pgdata={self._folder / 'data'}",
            f"--username={_SUPERUSER}",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]
        account = self._account
        made = subprocess.run(
            command,
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
        if made.returncode != 0:
            raise ServerFailed(f"initdb: {made.stdout}{made.stderr}")

    def _start(self) -> ServerProcess:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 200,
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
        }
        process = ServerProcess(
            [
                str(_binaries() / "postgres"),
                "-D",
                str(self._folder / "data"),
                *(f"--{name}={value}" for name, value in options.items()),
            ],
            self._folder / "server.log",
            # Fast shutdown: connected clients are cut off instead of waited for.
            end_signal=signal.SIGINT,
            account=self._account,
        )
        process.wait_until(self._answers)
        return process

    def _answers(self) -> bool:
        try:
            self._execute(sql.SQL("SELECT 1"))
        except psycopg.OperationalError:
            return False
        return True

    def _execute(self, statement: sql.SQL | sql.Composed) -> None:
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user=_SUPERUSER, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statement)


def _binaries() -> Path:
    """The newest server's programs: Debian keeps them apart by version, and off the PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if versions:
        return versions[-1].parent
    found = shutil.which("initdb")
    if found is None:
        raise ServerFailed("PostgreSQL is not installed: run tests/servers/system_packages.sh postgres")
    return Path(found).resolve().parent


def _unprivileged_account() -> pwd.struct_passwd | None:
    """Whose process the server is: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    return accounts.get("postgres") or accounts["nobody"]
