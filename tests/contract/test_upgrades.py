"""Databases of every release: each is filled as that release would have, upgraded, and served."""

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import MetaData

from app import clock, create_app
from app.extensions import db, object_store
from app.settings import Settings
from app.storage.keys import new_key
from tests.support.api import Api, ok
from tests.support.pages import PASSWORD, Browser
from tests.support.server import PROJECT

REVISIONS = sorted(path.name[:4] for path in (PROJECT / "migrations" / "versions").glob("[0-9]*.py"))
TOKEN = "tracesets_of-an-old-release"
PASSWORD_HASH = (
    "$argon2id$v=19$m=65536,t=3,p=4$gP5OAnVr9n7pcFlK9L7Y3Q$B+30VgExbXqUS0umeOW20sq3YW5Ojgl7m2qi8cMSxxA"  # PASSWORD's
)
EMAIL = "somebody@tests.example"
CONTENT = b"kept since then"
NAME = "Kept À since"

NewApp = Callable[[], Flask]


@pytest.fixture(params=["sqlite", "postgres"])
def new_app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewApp]:
    """Gives apps on empty databases of that kind."""
    made: list[Flask] = []

    def make() -> Flask:
        folder = tmp_path / f"data-{len(made)}"
        url = f"sqlite:///{folder}/old.sqlite3"
        if request.param == "postgres":
            server = request.getfixturevalue("postgres")
            url = server.url(server.create_database())
        made.append(create_app(Settings(data_dir=folder, database_url=url, secret_key="tests", sweep_interval=0)))
        return made[-1]

    yield make
    for app in made:
        with app.app_context():
            db.engine.dispose()


def make_old(app: Flask, revision: str) -> None:
    """A database of that revision with a person, a workspace, a traceset and its file."""
    with app.app_context():
        upgrade(revision=revision)
        tables = MetaData()
        with db.engine.connect().execution_options(writes=True) as connection, connection.begin():
            tables.reflect(connection)
            is_sqlite = connection.dialect.name == "sqlite"
            for name, row in old_rows(*make_object()):
                if name in tables.tables:
                    columns = tables.tables[name].c
                    # SQLite's times have no zone.
                    values = {
                        column: value.replace(tzinfo=None) if is_sqlite and isinstance(value, datetime) else value
                        for column, value in row.items()
                        if column in columns
                    }
                    connection.execute(tables.tables[name].insert(), values)


def make_object() -> tuple[str, str]:
    """Key and ETag of an object that holds `CONTENT`."""
    key, store = new_key(), object_store()
    upload_id = store.begin(key, len(CONTENT))
    store.write_part(key, upload_id, 1, [CONTENT])  # type: ignore[attr-defined]
    return key, store.finish(key, upload_id, store.parts(key, upload_id)).etag


def old_rows(key: str, etag: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows for all tables, in the order of their references, each being the first of its table (numbers count from 1).

    Tables and columns that a revision has not are left out by `make_old`.
    """
    now = clock.now()
    file = {"size": len(CONTENT), "library_key": key}
    session = {"owner_id": 1, "created_at": now, "expires_at": now + timedelta(days=1), "traceset_seq": 1}
    yield (
        "user_account",
        {
            "email": EMAIL,
            "password_hash": PASSWORD_HASH,
            "is_admin": True,
            "is_disabled": False,
            "created_at": now,
        },
    )
    yield (
        "api_token",
        {
            "user_id": 1,
            "name": "laptop",
            "prefix": TOKEN[:16],
            "token_hash": hashlib.sha256(TOKEN.encode()).hexdigest(),
            "is_read_only": False,
            "created_at": now,
        },
    )
    yield "workspace", {"id": "workspace_old", "name": "Old", "created_at": now}
    yield "membership", {"workspace_id": "workspace_old", "user_id": 1, "role": "owner"}
    yield (
        "library_file",
        {"key": key, "size": len(CONTENT), "state": "stored", "ref_count": 1, "etag": etag} | {"created_at": now},
    )
    yield (
        "traceset",
        {
            "id": "ts_old",
            "kind": "traceset",
            "workspace_id": "workspace_old",
            "name": NAME,
            "name_key": NAME.casefold(),
            "status": "ready",
            "tags": ["kept", "old"],
            "workload_metadata": '{"parallelism": {"dp": 8}, "precision": "bf16"}',
            "rank_count": 8,
            "precision": "bf16",
            "file_count": 1,
            "total_size": len(CONTENT),
            "created_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            "created_by": 1,
        },
    )
    # What a release with this table wrote beside the traceset; an older one leaves it to the migration.
    for tag in ("kept", "old"):
        yield (
            "traceset_tag",
            {
                "traceset_seq": 1,
                "tag": tag,
                "workspace_id": "workspace_old",
                "created_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
                "traceset_id": "ts_old",
            },
        )
    yield (
        "traceset_file",
        file
        | {
            "traceset_seq": 1,
            "position": 0,
            "name": "rank.et",
            "role": "primary",
            "metadata_status": "complete",
        },
    )
    yield "upload_session", session | {"id": "upload_old", "state": "completed"}
    yield "upload_file", {"session_id": "upload_old", "position": 0, "part_size": 5 * 2**20, **file}
    yield "event", {"at": now, "kind": "completed", "actor_id": 1, "traceset_id": "ts_old", "detail": {}}


def assert_served(app: Flask) -> None:
    """Everything that the old release had is found, shown, downloaded and checked, and new things are made."""
    old = Api(app, TOKEN, workspace_id="workspace_old")
    for query in ({}, {"search": "à SINCE"}, {"tag": "kept"}, {"precision": "BF16", "rankCountMin": 8}):
        assert [item["id"] for item in ok(old.get("/tracesets", **query))["items"]] == ["ts_old"]
    shown = old.show("ts_old")
    assert (shown["name"], shown["createdAt"], shown["tags"]) == (NAME, "2026-01-02T03:04:05Z", ["kept", "old"])
    assert shown["workloadMetadata"] == {"parallelism": {"dp": 8}, "precision": "bf16"}
    assert old.read("ts_old", "rank.et") == CONTENT
    assert ok(old.post("/tracesets/ts_old/validate"))["valid"] is True
    fresh = old.upload({"a": b"new"}, tags=["kept"])
    assert [item["id"] for item in ok(old.get("/tracesets", tag="kept"))["items"]] == [fresh["id"], "ts_old"]
    ok(old.post("/tracesets/ts_old/promote", {}), 201)

    browser = Browser(app)
    assert browser.sent_on("/login", {"email": EMAIL, "password": PASSWORD}) == "/"
    assert NAME in browser.page("/tracesets").text
    assert "rank.et" in browser.page("/tracesets/ts_old").text

    result = app.test_cli_runner().invoke(args=["fsck"])
    assert (result.exit_code, result.stdout) == (0, "Database and store agree.\n")


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_database_of_each_release_is_upgraded_and_served(new_app: NewApp, revision: str) -> None:
    app = new_app()
    make_old(app, revision)

    with app.app_context():
        upgrade()

    assert_served(app)


def test_a_backup_of_the_first_release_is_restored_and_served(new_app: NewApp, tmp_path: Path) -> None:
    old, new = new_app(), new_app()
    make_old(old, REVISIONS[0])

    saved = old.test_cli_runner().invoke(args=["backup", str(tmp_path / "old")])
    restored = new.test_cli_runner().invoke(args=["restore", str(tmp_path / "old")])

    assert (saved.exit_code, restored.exit_code) == (0, 0), saved.output + restored.output
    assert_served(new)
