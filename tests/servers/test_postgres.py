"""The private PostgreSQL that database tests run on."""

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


def connect(server: PostgresServer, database: str) -> psycopg.Connection:
    return psycopg.connect(server.url(database).replace("+psycopg", ""), autocommit=True)


def test_a_database_made_from_a_template_holds_its_tables(server: PostgresServer) -> None:
    template = server.create_database()
    with connect(server, template) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'é' AS word")

    copy = server.create_database(template=template)

    with connect(server, copy) as connection:
        assert connection.execute("SELECT word FROM kept").fetchall() == [("é",)]


def test_a_restart_cuts_connections_and_keeps_the_data(server: PostgresServer) -> None:
    name = server.create_database()
    before = connect(server, name)
    before.execute("CREATE TABLE kept (id int)")

    server.restart()

    with pytest.raises(psycopg.OperationalError):
        before.execute("SELECT 1")
    before.close()
    with connect(server, name) as after:
        assert after.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_a_dropped_database_is_gone_though_someone_is_connected(server: PostgresServer) -> None:
    name = server.create_database()
    connection = connect(server, name)

    server.drop_database(name)

    connection.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        connect(server, name)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT], ids=lambda end: end.name)
def test_the_server_ends_with_the_process_that_started_it(end: signal.Signals) -> None:
    script = (
        "import time; from tests.servers.postgres import PostgresServer\n"
        "server = PostgresServer()\n"
        "print(server._process.pid, server._folder, flush=True); time.sleep(600)"
    )
    command = ["env", "--default-signal=INT", sys.executable, "-c", script]  # Tests in the background ignore it.
    starter = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert starter.stdout is not None
    pid, folder = starter.stdout.readline().split()
    server = os.pidfd_open(int(pid))

    starter.send_signal(end)

    starter.wait(timeout=30)
    starter.stdout.close()
    ended, _, _ = select.select([server], [], [], 30)
    os.close(server)
    shutil.rmtree(folder, ignore_errors=True)
    assert ended
