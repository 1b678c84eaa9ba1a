"""The extension objects, not yet bound to an app, and what each database needs to be told."""

import sqlite3
from typing import Any

from flask import Flask, current_app, has_request_context, request
from flask_bootstrap import Bootstrap5
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from flask_wtf import CSRFProtect
from pydantic_core import from_json
from sqlalchemy import Connection, Engine, event

from app.models import Base
from app.settings import ROOT, Settings
from app.storage.base import ObjectStore

db = SQLAlchemy(model_class=Base, disable_autonaming=True)
migrate = Migrate(db=db, directory=str(ROOT / "migrations"), compare_type=True, render_as_batch=True)
csrf = CSRFProtect()
bootstrap = Bootstrap5()

DEFAULT_ORIGIN = "http://127.0.0.1:8000"
"""Where `make run` serves."""
SQLITE_BUSY_SECONDS = 30
"""How long a writer waits for another one before it gives up with 503."""

MAX_PREPARED = 50
"""Statements that PostgreSQL keeps the plans of, per connection: a list's takes half a megabyte there."""


def database_config(settings: Settings) -> dict[str, Any]:
    """What Flask-SQLAlchemy is told: the URL and the engine's options for its database."""
    url = settings.sqlalchemy_url
    options: dict[str, Any] = {
        "pool_size": settings.database_pool_size,
        "max_overflow": settings.database_pool_size,
        "pool_timeout": 20,
        # Else the log of a fault would hold what people typed.
        "hide_parameters": True,
        "json_deserializer": from_json,
    }
    if url.startswith("sqlite"):
        options["connect_args"] = {"timeout": SQLITE_BUSY_SECONDS}
    else:
        # A server that restarted or fell silent must not hold a thread for the kernel's fifteen minutes. To compile a
        # query takes PostgreSQL up to a second, and no query of ours is worth it (jit).
        options["pool_pre_ping"] = True
        options["connect_args"] = {
            "connect_timeout": 5,
            "tcp_user_timeout": 20_000,
            "options": "-c lock_timeout=15000 -c idle_in_transaction_session_timeout=60000 -c timezone=UTC -c jit=off",
        }
    return {"SQLALCHEMY_DATABASE_URI": url, "SQLALCHEMY_ENGINE_OPTIONS": options}


def configure_engine(app: Flask) -> None:
    """Tell SQLite to behave as a server would, and psycopg how many plans a connection may keep."""
    with app.app_context():
        engine = db.engine
    if engine.dialect.name == "sqlite":
        _configure_sqlite(engine)
    else:
        event.listen(engine, "connect", _bound_plans)


def _bound_plans(connection: Any, _record: object) -> None:
    connection.prepared_max = MAX_PREPARED


def _configure_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def on_connect(connection: sqlite3.Connection, _record: object) -> None:
        # The driver must not begin transactions by itself: it would begin them as readers, and a reader that
        # turns writer fails at once where another one wrote meanwhile, however long it would have waited.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-65536"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def app_settings() -> Settings:
    """The settings of the app whose context we are in."""
    settings: Settings = current_app.extensions["settings"]
    return settings


def object_store() -> ObjectStore:
    """The object store of the app whose context we are in."""
    store: ObjectStore = current_app.extensions["object_store"]
    return store


def public_origin() -> str:
    """Where people reach us: what the operator set, else what the request was sent to."""
    base_url = app_settings().base_url
    if base_url:
        return base_url
    return request.host_url.rstrip("/") if has_request_context() else DEFAULT_ORIGIN
