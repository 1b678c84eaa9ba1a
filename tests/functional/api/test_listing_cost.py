"""What a page of the list asks of the database, whatever there is in it."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade

from app import create_app
from app.domain.access import Caller, Role
from app.domain.listing import parse_sort
from app.extensions import db
from app.models.tracesets import Kind, Status
from app.queries.listing import Filters, list_items
from app.settings import Settings
from app.transactions import reading, transaction
from tests.conftest import People
from tests.support.api import Api, ok
from tests.support.listed import add_workspaces, fill
from tests.support.statements import statements_of

MOST_STATEMENTS = 4
"""Two find the caller, one walks, and one finds what the walk did not."""
QUERIES: list[dict[str, Any]] = [
    {},
    {"limit": 500},
    {"search": "alpha"},
    {"search": "none"},
    {"status": "deleted", "precision": "bf16"},
    {"tag": ["x", "y"], "rankCountMin": 2},
    {"sort": "status,name"},
    {"sort": "name", "workloadFamily": "llm"},
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_page_takes_at_most_four_statements_however_many_rows(app: Flask, people_here: People, query: Any) -> None:
    counts = []
    for n_rows in (5, 300):
        with app.app_context(), transaction() as session:
            fill(session, [people_here.owner.workspace_id, "workspace_universal"], n_rows)
        for api in (people_here.owner, people_here.admin):
            api.get("/tracesets")  # notes the use of the token
            with statements_of(app) as statements:
                ok(api.get("/tracesets", **query))
            counts.append(len(statements))

    assert max(counts) <= MOST_STATEMENTS


def test_a_name_as_long_as_can_be_is_kept_and_found(owner: Api) -> None:
    draw = random.Random(1)
    name = "".join(chr(draw.choice(range(0x1D15E, 0x1D165))) for _ in range(255))  # each becomes three characters

    traceset = owner.open({"a": 1}, name=name, workloadMetadata={"workload_name": "".join(draw.choices(name, k=8000))})

    found = ok(owner.get("/tracesets", search=name[-3:], sort="name"))
    assert [item["id"] for item in found["items"]] == [traceset["tracesetId"]]


def test_a_search_longer_than_any_name_finds_nothing(owner: Api) -> None:
    owner.open({"a": 1}, name="a" * 255)

    assert ok(owner.get("/tracesets", search="a" * 8000))["items"] == []
    assert len(ok(owner.get("/tracesets", search="a" * 255))["items"]) == 1


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Flask]:
    """An app on SQLite, whose plans do not depend on what is in the tables."""
    app = create_app(Settings(data_dir=tmp_path, secret_key="tests", sweep_interval=0))
    with app.app_context():
        upgrade()
        with transaction() as session:
            fill(session, add_workspaces(session, 3), 50)
        yield app
        db.engine.dispose()


MEMBER = Caller(user_id=1, roles={f"workspace_of_tests_{number}": Role.VIEWER for number in range(3)})
ADMIN = Caller(user_id=1, is_admin=True)


@pytest.mark.parametrize(
    ("caller", "filters", "sort", "index"),
    [
        (MEMBER, Filters(), "created:desc", "ix_traceset_listed"),
        (MEMBER, Filters(search="absent"), "created:asc", "ix_traceset_listed"),
        (MEMBER, Filters(), "name:asc", "ix_traceset_named"),
        (MEMBER, Filters(), "name:desc,created:asc", "ix_traceset_named"),
        (MEMBER, Filters(), "status:desc", "ix_traceset_status"),
        (MEMBER, Filters(), "status:asc,created:desc", "ix_traceset_status_listed"),
        (MEMBER, Filters(status=Status.READY), "created:desc", "ix_traceset_status_listed"),
        (MEMBER, Filters(status=Status.READY), "status:asc", "ix_traceset_status"),
        (MEMBER, Filters(words={"workload_family": "llm"}), "created:desc", "ix_traceset_family"),
        (MEMBER, Filters(words={"workload_name": "llm"}), "created:desc", "ix_traceset_workload"),
        (MEMBER, Filters(words={"precision": "bf16"}), "created:desc", "ix_traceset_precision"),
        (MEMBER, Filters(words={"accelerator": "h100"}), "created:desc", "ix_traceset_accelerator"),
        (MEMBER, Filters(tags=["x"]), "created:desc", "ix_traceset_tag_listed"),
        (MEMBER, Filters(rank_count_min=8, rank_count_max=8), "created:asc", "ix_traceset_rank_count"),
        (MEMBER, Filters(status=Status.DELETED), "created:desc", "ix_traceset_deleted"),
        (ADMIN, Filters(), "created:desc", "ix_traceset_newest"),
        (ADMIN, Filters(search="absent"), "created:desc", "ix_traceset_newest"),
        (ADMIN, Filters(), "name:asc", "ix_traceset_named"),
        (ADMIN, Filters(words={"precision": "bf16"}), "created:desc", "ix_traceset_precision"),
    ],
)
def test_a_walk_reads_an_index_in_its_order(
    on_sqlite: Flask, caller: Caller, filters: Filters, sort: str, index: str
) -> None:
    with statements_of(on_sqlite) as statements, reading() as session:
        list_items(session, caller, Kind.TRACESET, filters, sort=parse_sort(sort), limit=10)
    with db.engine.connect() as connection:
        walk = statements[1 if caller is ADMIN and "newest" not in index else 0]
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {walk.text}", walk.parameters)]

    read = {words[words.index("INDEX") + 1] for words in map(str.split, plan) if "INDEX" in words}
    sorted_wholly = [line for line in plan if line == "USE TEMP B-TREE FOR ORDER BY"]
    assert read == {index, "sqlite_autoindex_traceset_1"}
    assert len(sorted_wholly) <= 1  # the page itself, at the end
