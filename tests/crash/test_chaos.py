"""Several hosts, 64 clients that do everything, and no rest: hosts are killed, store and database go away.

Whatever was answered is true in the end, nothing is left that nobody refers to, and no client needed more than to ask
again. `CHAOS_SECONDS` sets how long (10), `CHAOS_SEED` draws the same kills and the same plans of the clients again.
"""

import os
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app import create_app
from app.extensions import db
from app.models.tracesets import LibraryFile, LibraryState
from app.services import people
from app.settings import MIB, Settings
from tests.conftest import Databases
from tests.crash.company import company_servers
from tests.crash.patience import sign_in
from tests.crash.programs import Program
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, column
from tests.support.server import AppServer
from tests.support.upkeep import assert_nothing_left

SECONDS = float(os.environ.get("CHAOS_SECONDS", "10"))
CLIENTS = 64
PEOPLE = 8
PAUSE_SECONDS = (0.5, 2.0)
"""Between two kills."""


@dataclass
class Outage:
    """Something to be away once: when, in seconds from the beginning, and for how long."""

    begins: float
    seconds: float
    away: AbstractContextManager[None]


@dataclass
class Deployment:
    """Hosts without shared memory, a look behind them, and what is to be away when."""

    servers: Sequence[AppServer]
    app: Flask
    programs: Sequence[Program]
    dice: random.Random
    outages: list[Outage] = field(default_factory=list)
    n_kills: int = 0

    def torment(self) -> None:
        """Kill hosts, one after the other, and let everything go away that is to, until the time is over."""
        began = time.monotonic()
        while (passed := time.monotonic() - began) < SECONDS or self.outages:
            if self.outages and passed > self.outages[0].begins:
                outage = self.outages.pop(0)
                with outage.away:
                    time.sleep(outage.seconds)
            server = self.dice.choice(self.servers)
            server.kill()
            self.n_kills += 1
            server.start()
            time.sleep(self.dice.uniform(*PAUSE_SECONDS))


@pytest.fixture(scope="module")
def seed() -> int:
    """What the dice of this run start from."""
    return int(os.environ.get("CHAOS_SEED") or secrets.randbelow(10**9))


@pytest.fixture(params=["sqlite and disk", pytest.param("postgres and s3", marks=pytest.mark.s3)])
def deployment(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> Iterator[Deployment]:
    """Two processes on one machine, or three hosts of a company."""
    print(f"CHAOS_SEED={seed}")
    with ExitStack() as stack:
        n_servers, postgres, store, outages = 2, None, {}, []
        if request.param == "postgres and s3":
            n_servers = 3
            postgres, gateway = company_servers(stack)
            store = gateway.new_bucket_settings()
            outages = [
                Outage(SECONDS / 4, SECONDS / 12, gateway.away()),
                Outage(SECONDS / 2, SECONDS / 24, postgres.away()),
            ]
        databases = Databases(tmp_path, postgres)
        settings: dict[str, Any] = {
            "data_dir": tmp_path / "data",
            "database_url": databases.fresh(tmp_path),
            "secret_key": "a key for tests",
            "part_size": 5 * MIB,
            "complete_lease": 2.0,
            "complete_timeout": 10.0,
            "sweep_interval": 1,
            **store,
        }
        app = create_app(Settings(**settings))
        servers = []
        for _ in range(n_servers):
            servers.append(AppServer(settings, tmp_path / "servers"))
            stack.callback(servers[-1].stop)
        programs = make_programs(app, servers, seed)
        yield Deployment(servers, app, programs, random.Random(seed), outages)
        with app.app_context():
            db.engine.dispose()


def make_programs(app: Flask, servers: Sequence[AppServer], seed: int) -> list[Program]:
    emails = [f"person{i}@tests.example" for i in range(PEOPLE)]
    with app.app_context():
        for email in emails:
            people.create_user(email)
        found = [
            sign_in(servers[0].origin, email, people.create_token(email), people.create_sign_in_link(email))
            for email in emails
        ]
    return [
        Program(
            i,
            servers,
            found[i % PEOPLE],
            colleagues=[email for email in emails if email != found[i % PEOPLE].email],
            dice=random.Random(f"{seed} {i}"),
        )
        for i in range(CLIENTS)
    ]


def run(program: Program, is_over: threading.Event) -> None:
    """One client's life."""
    program.begin()
    while not is_over.is_set():
        program.act()


def test_whatever_was_answered_is_true_and_nothing_else_is_left(deployment: Deployment, moved_clock: Clock) -> None:
    is_over = threading.Event()
    with ThreadPoolExecutor(CLIENTS) as clients:
        running = [clients.submit(run, program, is_over) for program in deployment.programs]
        try:
            deployment.torment()
        finally:
            is_over.set()
        for each in running:
            each.result()
        for checked in [clients.submit(program.check_all) for program in deployment.programs]:
            checked.result()

    answers = sum((program.answers for program in deployment.programs), Counter())
    done = sum((program.done for program in deployment.programs), Counter())
    print(f"{deployment.n_kills} kills; answers: {dict(answers)}; done: {dict(done)}")
    assert deployment.n_kills > 0
    assert answers[500] == 0
    for server in deployment.servers:
        assert server.logged("request.failed") == []
        server.stop()
    assert_counts_right(deployment.app)
    assert_nothing_left(deployment.app, moved_clock)
    assert set(column(deployment.app, LibraryFile.state)) == {LibraryState.STORED}
