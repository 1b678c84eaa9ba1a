"""The three pages that machines look at (operators' interface)."""

from pathlib import Path

import requests
from flask import Flask
from sqlalchemy import text

from app import create_app
from app.settings import Settings
from app.transactions import transaction
from tests.conftest import Databases, MakeApp, PeopleOf, Serve
from tests.functional.conftest import FaultyStore
from tests.servers.postgres import PostgresServer
from tests.support.api import Api, ok, refused


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
