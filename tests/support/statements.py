"""What is asked of the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from sqlalchemy import event

from app.extensions import db


@contextmanager
def statements_of(app: Flask) -> Iterator[list[str]]:
    """The texts of the statements that the app executes in this block; those of SQLite's own settings are left out."""
    with app.app_context():
        engine = db.engine
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA")):
            seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)
