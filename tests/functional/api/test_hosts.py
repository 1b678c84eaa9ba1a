"""Real servers: killed, stopped, abandoned, two on one database and store (C5-C7, design of deployments)."""

import signal
import threading
from typing import Any

import pytest
import requests
from flask import Flask

from app import clock
from app.models.tracesets import LibraryFile
from app.models.uploads import UploadSession
from tests.conftest import MakeApp, PeopleOf, Serve
from tests.functional.conftest import FaultyStore
from tests.servers.http_proxy import Fault, Rule
from tests.support.api import API, JSON, Api, ok
from tests.support.database import assert_counts_right, column
from tests.support.server import AppServer, until

CONTENTS = {f"rank_{i}.et": b"%d" % i * 1000 for i in range(4)}
LEASE = 2.0


@pytest.fixture
def here(make_app: MakeApp, faulty_store: FaultyStore) -> Flask:
    """A look at the servers' database and store from within the test."""
    return make_app(**faulty_store.settings)


def host(serve: Serve, faulty_store: FaultyStore, **settings: Any) -> AppServer:
    return serve(**faulty_store.settings, complete_lease=LEASE, **settings)


def opened_by(owner: Api) -> tuple[JSON, list[JSON]]:
    session = owner.open({name: len(content) for name, content in CONTENTS.items()})
    return session, owner.send(session, CONTENTS)


def held_back(nth: int) -> Rule:
    """The nth of the files never comes to its end; the others are finished."""
    seen: list[str] = []

    def rule(method: str, path: str, query: str) -> Fault:
        if method != "POST" or "uploadId" not in query:
            return None
        if path not in seen:
            seen.append(path)
        return 600.0 if seen.index(path) == nth else None

    return rule


def in_background(owner: Api, session: JSON, files: list[JSON]) -> tuple[threading.Thread, list[int]]:
    """A completion whose answer, if it gets one, is looked at later."""
    statuses: list[int] = []

    def complete() -> None:
        try:
            statuses.append(owner.complete(session, files).status_code)
        except requests.ConnectionError:
            statuses.append(0)

    thread = threading.Thread(target=complete)
    thread.start()
    return thread, statuses


def wait_for_finishes(faulty_store: FaultyStore, n: int = len(CONTENTS)) -> None:
    """Until the store has been asked to finish so many files."""
    until(
        lambda: len({r.path for r in faulty_store.proxy.requests if r.method == "POST" and "uploadId" in r.query}) >= n
    )


def assert_ready(here: Flask, owner: Api, session: JSON) -> None:
    assert owner.show(session["tracesetId"])["status"] == "ready"
    for name, content in CONTENTS.items():
        assert owner.read(session["tracesetId"], name) == content
    assert column(here, LibraryFile.ref_count) == [1] * len(CONTENTS)
    assert_counts_right(here)


def test_a_process_killed_in_mid_completion_loses_nothing(
    here: Flask, serve: Serve, faulty_store: FaultyStore, people_of: PeopleOf
) -> None:
    server = host(serve, faulty_store)
    owner = people_of(server).owner
    session, files = opened_by(owner)
    faulty_store.proxy.rule = held_back(2)
    thread, statuses = in_background(owner, session, files)
    wait_for_finishes(faulty_store)

    server.kill()
    thread.join()
    faulty_store.proxy.rule = lambda *_: None
    server.start()

    assert statuses == [0]
    until(lambda: owner.complete(session, files).status_code == 201)
    assert ok(owner.complete(session, files))["status"] == "ready"
    assert_ready(here, owner, session)


def test_another_host_takes_over_from_one_that_died_when_its_claim_has_lapsed(
    here: Flask, serve: Serve, faulty_store: FaultyStore, people_of: PeopleOf
) -> None:
    hosts = [host(serve, faulty_store), host(serve, faulty_store)]
    owners = [people_of(server).owner for server in hosts]
    session, files = opened_by(owners[0])
    faulty_store.proxy.rule = held_back(0)
    thread, _ = in_background(owners[0], session, files)
    wait_for_finishes(faulty_store)
    hosts[0].kill()
    thread.join()
    faulty_store.proxy.rule = lambda *_: None
    [lapses_at] = column(here, UploadSession.claimed_until)

    until(lambda: owners[1].complete(session, files).status_code != 409)

    assert clock.now() > lapses_at
    assert owners[1].complete(session, files).status_code == 200
    assert_ready(here, owners[1], session)


def test_a_host_that_slept_through_its_lease_changes_nothing_when_it_wakes(
    here: Flask, serve: Serve, faulty_store: FaultyStore, people_of: PeopleOf
) -> None:
    hosts = [host(serve, faulty_store), host(serve, faulty_store)]
    owners = [people_of(server).owner for server in hosts]
    session, files = opened_by(owners[0])
    faulty_store.proxy.rule = lambda method, _, query: 0.5 if method == "POST" and "uploadId" in query else None
    thread, statuses = in_background(owners[0], session, files)
    wait_for_finishes(faulty_store, 1)
    hosts[0].send(signal.SIGSTOP)
    faulty_store.proxy.rule = lambda *_: None

    until(lambda: owners[1].complete(session, files).status_code == 201)
    hosts[0].send(signal.SIGCONT)
    thread.join()

    assert statuses in ([409], [200])
    assert owners[0].complete(session, files).status_code == 200
    assert_ready(here, owners[1], session)


def test_a_client_that_hangs_up_changes_nothing(
    here: Flask, serve: Serve, faulty_store: FaultyStore, people_of: PeopleOf
) -> None:
    server = host(serve, faulty_store)
    owner = people_of(server).owner
    session, files = opened_by(owner)
    faulty_store.proxy.rule = lambda method, _, query: 1.0 if method == "POST" and "uploadId" in query else None
    with pytest.raises(requests.Timeout):
        requests.post(
            f"{server.origin}{API}/tracesets/upload-url/complete",
            json={"uploadId": session["uploadId"], "files": files},
            headers={"Authorization": f"Bearer {owner.token}"},
            timeout=0.3,
        )

    assert owner.complete(session, files).status_code == 409
    until(lambda: owner.complete(session, files).status_code == 200)
    assert_ready(here, owner, session)


def test_two_hosts_with_several_processes_are_one_service(serve: Serve, app: Flask, people_of: PeopleOf) -> None:
    """On the store and database that the run is about."""
    owners = [people_of(serve(workers=2)).owner for _ in range(2)]
    opened, files = opened_by(owners[0])
    shown = ok(owners[1].get(f"/tracesets/upload-url/{opened['uploadId']}"))
    assert all(part["uploaded"] for file in shown["files"] for part in file["parts"])

    statuses: list[int] = []
    threads = []
    for i in range(12):
        thread = threading.Thread(target=lambda i=i: statuses.append(owners[i % 2].complete(opened, files).status_code))
        threads.append(thread)
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses.count(201) == 1
    assert set(statuses) <= {200, 201, 409}
    for owner in owners:
        for name, content in CONTENTS.items():
            assert owner.read(opened["tracesetId"], name) == content
    assert_counts_right(app)


def test_a_session_survives_the_death_of_the_server_that_opened_it(serve: Serve, people_of: PeopleOf) -> None:
    server = serve()
    owner = people_of(server).owner
    session = owner.open({"a": 4, "b": 4})
    owner.put(session["files"][0]["parts"][0]["url"], b"aaaa")

    server.kill()
    server.start()

    shown = ok(owner.get(f"/tracesets/upload-url/{session['uploadId']}"))
    a, b = (file["parts"][0] for file in shown["files"])
    assert a["uploaded"]
    etag = owner.put(b["url"], b"bbbb")
    files = [
        {"name": "a", "parts": [{"partNumber": 1, "etag": a["etag"]}]},
        {"name": "b", "parts": [{"partNumber": 1, "etag": etag}]},
    ]
    assert ok(owner.complete(session, files), 201)["status"] == "ready"
    assert owner.read(session["tracesetId"], "b") == b"bbbb"


def test_a_server_that_is_told_to_end_answers_what_it_has_begun(
    here: Flask, serve: Serve, faulty_store: FaultyStore, people_of: PeopleOf
) -> None:
    server = host(serve, faulty_store)
    owner = people_of(server).owner
    session, files = opened_by(owner)
    faulty_store.proxy.rule = lambda method, _, query: 1.0 if method == "POST" and "uploadId" in query else None
    thread, statuses = in_background(owner, session, files)
    wait_for_finishes(faulty_store, 1)

    server.stop()

    thread.join()
    assert statuses == [201]
    server.start()
    assert_ready(here, owner, session)
