"""The three pages that machines look at (operators' interface)."""

from pathlib import Path

import pytest
import requests
from flask import Flask
from prometheus_client import REGISTRY
from sqlalchemy import text

from app import create_app
from app.errors import StoreUnavailable
from app.extensions import object_store
from app.settings import Settings
from app.storage.base import ObjectGone
from app.storage.keys import new_key
from app.transactions import transaction
from tests.conftest import Databases, MakeApp, PeopleOf, Serve
from tests.functional.conftest import FaultyStore
from tests.servers.postgres import PostgresServer
from tests.support.api import Api, ok, refused
from tests.support.server import until


def test_a_sound_deployment_is_alive_and_ready(app: Flask) -> None:
    client = app.test_client()

    assert client.get("/healthz").status_code == 200
    assert (client.get("/readyz").status_code, client.get("/readyz").json) == (200, {"status": "ready"})


def test_a_store_that_does_not_answer_is_named(make_app: MakeApp, faulty_store: FaultyStore) -> None:
    client = make_app(**faulty_store.settings).test_client()
    assert client.get("/readyz").status_code == 200
    faulty_store.proxy.rule = lambda *_: "drop"

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json) == (503, {"status": "unavailable", "object store": "does not answer"})
    assert client.get("/healthz").status_code == 200
    faulty_store.proxy.rule = lambda *_: None
    assert client.get("/readyz").status_code == 200


def test_a_database_without_its_schema_is_named(app: Flask) -> None:
    with app.app_context(), transaction() as session:
        session.execute(text("DROP TABLE alembic_version"))

    answer = app.test_client().get("/readyz")

    assert (answer.status_code, answer.json) == (503, {"status": "unavailable", "database": "does not answer"})


def test_a_database_that_is_away_is_a_passing_fault(tmp_path: Path) -> None:
    with PostgresServer() as server:
        databases = Databases(tmp_path, server)
        url = databases.fresh(tmp_path)
        app = create_app(Settings(data_dir=tmp_path / "data", database_url=url, secret_key="tests", sweep_interval=0))
        owner = Api(app, databases.tokens["owner"])
        ok(owner.get("/workspaces"))

    answer = owner.get("/workspaces")

    refused(answer, 503, "database")
    assert "Retry-After" in answer.headers
    assert app.test_client().get("/readyz").json == {"status": "unavailable", "database": "does not answer"}
    assert app.test_client().get("/healthz").status_code == 200


def test_the_metrics_count_requests_over_all_processes(serve: Serve, people_of: PeopleOf) -> None:
    server = serve(workers=2)
    owner = people_of(server).owner
    for _ in range(20):
        owner.get("/workspaces")
        owner.get("/nothing")

    answer = requests.get(f"{server.origin}/metrics", timeout=30)

    assert answer.headers["Content-Type"].startswith("text/plain")
    lines = answer.text.splitlines()
    listed = 'tracesets_requests_total{endpoint="api.workspaces_list_all",method="GET",status="200"} 20.0'
    unknown = 'tracesets_requests_total{endpoint="none",method="GET",status="404"} 20.0'
    assert {listed, unknown} <= set(lines)
    assert any(line.startswith("tracesets_request_seconds_bucket{") for line in lines)


def test_the_metrics_count_calls_to_the_store_completions_sweeps_and_bytes(people_of: PeopleOf, serve: Serve) -> None:
    server = serve(sweep_interval=0.2)
    owner = people_of(server).owner
    traceset = owner.upload({"a": b"12345", "b": b"678"})
    lost = owner.open({"a": 1})
    files = owner.send(lost, {"a": b"x"})
    refused(owner.complete(lost, [{**files[0], "parts": [{"partNumber": 1, "etag": "0" * 64}]}]), 400)
    owner.delete(f"/tracesets/{traceset['id']}")
    wanted = {
        'tracesets_store_call_seconds_count{kind="begin",outcome="ok"}': 3,
        'tracesets_store_call_seconds_count{kind="finish",outcome="ok"}': 2,
        'tracesets_completions_total{outcome="completed"}': 1,
        'tracesets_completions_total{outcome="Invalid"}': 1,
        "tracesets_completed_bytes_total": 8,
        'tracesets_swept_total{what="unreferenced files"}': 2,
    }
    if not server.settings.get("s3_bucket"):
        wanted |= {'tracesets_store_bytes_total{direction="written"}': 9}

    def metrics() -> dict[str, float]:
        lines = requests.get(f"{server.origin}/metrics", timeout=30).text.splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    until(lambda: {name: metrics().get(name) for name in wanted} == wanted)
    assert metrics()['tracesets_sweep_seconds_count{outcome="whole"}'] > 0


def test_calls_that_fail_are_counted_by_how_they_end(make_app: MakeApp, faulty_store: FaultyStore) -> None:
    app = make_app(**faulty_store.settings)
    key = new_key()

    def count(kind: str, outcome: str) -> float:
        labels = {"kind": kind, "outcome": outcome}
        return REGISTRY.get_sample_value("tracesets_store_call_seconds_count", labels) or 0

    kinds = [("read", "gone"), ("stat", "unavailable"), ("objects", "unavailable"), ("objects", "ok")]
    before = [count(*kind) for kind in kinds]
    with app.app_context():
        store = object_store()
        with pytest.raises(ObjectGone):
            list(store.read(key))
        list(store.objects())
        faulty_store.proxy.rule = lambda *_: 403
        for call in (lambda: store.stat(key), lambda: list(store.objects())):
            with pytest.raises(StoreUnavailable):
                call()

    assert [count(*kind) for kind in kinds] == [n + 1 for n in before]
