"""What tests read behind the application's back, and change there."""

from collections import Counter
from typing import Any

from flask import Flask
from sqlalchemy import Delete, Update, func, select, update
from sqlalchemy.orm import InstrumentedAttribute

from app.extensions import object_store
from app.models.base import Base
from app.models.events import Event
from app.models.tracesets import LibraryFile, LibraryState, Status, Traceset, TracesetFile
from app.models.uploads import UploadFile, UploadSession
from app.storage.base import Stored
from app.transactions import reading, transaction

RECORDS: tuple[type[Base], ...] = (Traceset, TracesetFile, LibraryFile, UploadSession, UploadFile)


def count_rows(app: Flask) -> dict[str, int]:
    """How many rows the tables of tracesets, files and sessions have, and how many events speak of tracesets."""
    with app.app_context(), reading() as session:
        counts = {model.__tablename__: _count(session, select(func.count()).select_from(model)) for model in RECORDS}
        told = select(func.count()).where(Event.traceset_id.is_not(None))
        return counts | {"event": _count(session, told)}


def assert_nothing_stored(app: Flask) -> None:
    """No traceset, file, session or event of one is there."""
    assert set(count_rows(app).values()) == {0}


def column(app: Flask, attribute: InstrumentedAttribute[Any], *conditions: Any) -> list[Any]:
    """The values of one column in the rows that the conditions choose."""
    with app.app_context(), reading() as session:
        return list(session.scalars(select(attribute).where(*conditions)))


def change(app: Flask, statement: Update | Delete) -> None:
    """Change rows as no request could."""
    with app.app_context(), transaction() as session:
        session.execute(statement)


def forget_begun(app: Flask) -> None:
    """Leave what a process leaves that died before it noted which uploads the store had begun."""
    change(app, update(UploadFile).values(multipart_id=None))


def assert_counts_right(app: Flask) -> None:
    """Every library file counts the traceset files that name it; what is ready is whole in the store."""
    named = Counter(column(app, TracesetFile.library_key, TracesetFile.library_key.is_not(None)))
    with app.app_context():
        with reading() as session:
            library = {file.key: file for file in session.scalars(select(LibraryFile))}
            ready = select(TracesetFile).join(Traceset).where(Traceset.status == Status.READY)
            files = list(session.scalars(ready))
        assert {key: file.ref_count for key, file in library.items() if file.ref_count} == dict(named)
        assert {library[key].state for key in named} <= {LibraryState.STORED}
        for file in files:
            assert file.library_key or file.external_url
            if file.library_key:
                stored = Stored(file.size, library[file.library_key].etag or "")
                assert object_store().stat(file.library_key) == stored


def _count(session: Any, statement: Any) -> int:
    return int(session.scalar(statement))
