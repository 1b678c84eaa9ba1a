"""What is asked of the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from flask import Flask
from sqlalchemy import event

from app.extensions import db


class Executed(NamedTuple):
    """A statement as the driver gets it."""

    text: str
    parameters: Any


@contextmanager
def statements_of(app: Flask) -> Iterator[list[Executed]]:
    """What the app executes in this block; the beginnings of transactions and SQLite's settings are left out."""
    with app.app_context():
        engine = db.engine
    seen: list[Executed] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA")):
            seen.append(Executed(statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)
