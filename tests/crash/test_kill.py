"""The whole server, killed at random instants of completions, restarted and asked again (C7).

Every traceset ends ready with the right bytes, and every file is counted once. `KILLS` sets how often (50), `KILL_SEED`
repeats a run whose seed a failure has printed.
"""

import os
import random
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from flask import Flask

from app import create_app
from app.extensions import db
from app.settings import MIB, Settings
from tests.conftest import Databases
from tests.crash.company import company_servers
from tests.support.api import JSON, Api
from tests.support.database import assert_counts_right
from tests.support.server import AppServer, RemoteApi
from tests.support.upkeep import open_uploads, stored_keys, sweep

KILLS = int(os.environ.get("KILLS", "50"))
SESSIONS_AT_ONCE = 3
LEASE_SECONDS = 1.0


@dataclass
class Upload:
    """A session, all of whose parts have been sent."""

    session: JSON
    files: list[JSON]
    contents: dict[str, bytes]
    is_completed: bool = False


@dataclass
class Deployment:
    """A server that can be killed, a look behind it, and a caller."""

    server: AppServer
    app: Flask
    caller: Api
    dice: random.Random
    pending: list[Upload] = field(default_factory=list)
    done: list[Upload] = field(default_factory=list)
    n_interrupted: int = 0

    def send(self) -> Upload:
        """Open a session of a few files, one of them now and then of two parts, and send everything."""
        contents = {
            f"rank_{i}.et": secrets.token_bytes(self.dice.randrange(2000)) for i in range(self.dice.randint(1, 6))
        }
        if self.dice.random() < 0.2:
            contents["large.et"] = secrets.token_bytes(5 * MIB + 1)
        session = self.caller.open({name: len(content) for name, content in contents.items()})
        return Upload(session, self.caller.send(session, contents), contents)

    def complete(self, upload: Upload) -> None:
        """Ask once; a server that dies meanwhile leaves it to the next time."""
        try:
            answer = self.caller.complete(upload.session, upload.files)
        except requests.RequestException:
            self.n_interrupted += 1
            return
        assert answer.status_code in (200, 201, 409), answer.text
        upload.is_completed = answer.status_code != 409

    def complete_pending(self, after: float | None = None) -> float:
        """Complete all that is pending at once, and kill the server after so many seconds; how long it took."""
        began = time.monotonic()
        threads = [threading.Thread(target=self.complete, args=(upload,)) for upload in self.pending]
        for thread in threads:
            thread.start()
        if after is not None:
            time.sleep(after)
            self.server.kill()
        for thread in threads:
            thread.join()
        self.done += [upload for upload in self.pending if upload.is_completed]
        self.pending = [upload for upload in self.pending if not upload.is_completed]
        return time.monotonic() - began


@pytest.fixture(scope="module")
def seed() -> int:
    """What the dice of this run start from."""
    return int(os.environ.get("KILL_SEED") or secrets.randbelow(10**9))


@pytest.fixture(params=["sqlite and disk", pytest.param("postgres and s3", marks=pytest.mark.s3)])
def deployment(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> Iterator[Deployment]:
    """The deployment of one person, or that of a company."""
    print(f"KILL_SEED={seed}")
    with ExitStack() as servers:
        postgres, store = None, {}
        if request.param == "postgres and s3":
            postgres, gateway = company_servers(servers)
            store = gateway.new_bucket_settings()
        databases = Databases(tmp_path, postgres)
        settings: dict[str, Any] = {
            "data_dir": tmp_path / "data",
            "database_url": databases.fresh(tmp_path),
            "secret_key": "a key for tests",
            "part_size": 5 * MIB,
            "complete_lease": LEASE_SECONDS,
            "sweep_interval": 0,
            **store,
        }
        app = create_app(Settings(**settings))
        server = AppServer(settings, tmp_path / "server")
        servers.callback(server.stop)
        caller = RemoteApi(server, databases.tokens["owner"], workspace_id=databases.workspace_id)
        yield Deployment(server, app, caller, random.Random(seed))
        with app.app_context():
            db.engine.dispose()


def test_a_server_killed_at_any_instant_of_a_completion_loses_and_doubles_nothing(deployment: Deployment) -> None:
    deployment.pending = [deployment.send() for _ in range(SESSIONS_AT_ONCE)]
    usual_seconds = deployment.complete_pending()

    for _ in range(KILLS):
        deployment.pending += [deployment.send() for _ in range(SESSIONS_AT_ONCE)]
        deployment.complete_pending(after=deployment.dice.uniform(0, 1.5 * usual_seconds))
        deployment.server.start()
    deadline = time.monotonic() + 60
    while deployment.pending and time.monotonic() < deadline:
        deployment.complete_pending()

    assert deployment.pending == []
    assert len(deployment.done) == SESSIONS_AT_ONCE * (KILLS + 1)
    assert deployment.n_interrupted >= KILLS / 5
    for upload in deployment.done:
        traceset_id = upload.session["tracesetId"]
        assert deployment.caller.show(traceset_id)["status"] == "ready"
        for name, content in upload.contents.items():
            assert deployment.caller.read(traceset_id, name) == content
    assert_counts_right(deployment.app)
    sweep(deployment.app)
    assert len(stored_keys(deployment.app)) == sum(len(upload.contents) for upload in deployment.done)
    assert open_uploads(deployment.app) == []
