"""Reading what must agree: counts with what they count, library files with who names and sends them.

Everything is read in pages of limited size, each by one statement, so that a page is one state of the database.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.orm import Session

from app.models.tracesets import LibraryFile, LibraryState, Status, Traceset, TracesetFile
from app.models.uploads import SessionState, UploadFile, UploadSession
from app.queries.uploads import FileToSend, files_to_send
from app.storage.base import OpenUpload

PAGE = 1000
"""Rows of one statement."""


class LibraryRow(NamedTuple):
    """A library file, how many traceset files name it, and whether an unfinished session sends it."""

    key: str
    size: int
    state: LibraryState
    etag: str | None
    ref_count: int
    n_names: int
    is_sent: bool


class SumsRow(NamedTuple):
    """A traceset's sums as they are kept and as they are, and how many of its files have no bytes."""

    seq: int
    id: str
    status: Status
    file_count: int
    total_size: int
    n_files: int
    size: int
    n_without_bytes: int


def is_named() -> ColumnElement[bool]:
    """Whether a traceset file names the library file."""
    return exists().where(TracesetFile.library_key == LibraryFile.key)


def is_sent() -> ColumnElement[bool]:
    """Whether a session that has not ended sends the library file."""
    unfinished = UploadSession.state.in_((SessionState.OPEN, SessionState.COMPLETING))
    return exists().where(
        UploadFile.library_key == LibraryFile.key, UploadSession.id == UploadFile.session_id, unfinished
    )


def read_library(session: Session, after: str) -> list[LibraryRow]:
    """A page of library files behind this key, in the database's own order of keys."""
    n_names = select(func.count()).where(TracesetFile.library_key == LibraryFile.key).scalar_subquery()
    columns = (LibraryFile.key, LibraryFile.size, LibraryFile.state, LibraryFile.etag, LibraryFile.ref_count)
    statement = select(*columns, n_names, is_sent()).where(LibraryFile.key > after).order_by(LibraryFile.key)
    return [LibraryRow(*row) for row in session.execute(statement.limit(PAGE))]


def find_library(session: Session, keys: Collection[str]) -> Mapping[str, LibraryFile]:
    """These library files, as far as they are there, by their keys."""
    found = session.scalars(select(LibraryFile).where(LibraryFile.key.in_(keys)))
    return {file.key: file for file in found}


def name_harmed(session: Session, keys: Collection[str]) -> Mapping[str, Sequence[str]]:
    """The ids of the tracesets whose files name these library files, by key."""
    statement = (
        select(TracesetFile.library_key, Traceset.id)
        .join(Traceset, Traceset.seq == TracesetFile.traceset_seq)
        .where(TracesetFile.library_key.in_(keys))
        .distinct()
        .order_by(TracesetFile.library_key, Traceset.id)
    )
    harmed: dict[str, list[str]] = defaultdict(list)
    for key, traceset_id in session.execute(statement):
        harmed[str(key)].append(traceset_id)
    return harmed


def read_sums(session: Session, after: int) -> list[SumsRow]:
    """A page of tracesets behind this number."""
    has_no_bytes = TracesetFile.library_key.is_(None) & TracesetFile.external_url.is_(None)
    page = select(Traceset.seq).where(Traceset.seq > after).order_by(Traceset.seq).limit(PAGE).subquery()
    statement = (
        select(
            Traceset.seq,
            Traceset.id,
            Traceset.status,
            Traceset.file_count,
            Traceset.total_size,
            func.count(TracesetFile.position),
            func.coalesce(func.sum(TracesetFile.size), 0),
            func.count(TracesetFile.position).filter(has_no_bytes),
        )
        .outerjoin(TracesetFile, TracesetFile.traceset_seq == Traceset.seq)
        .where(Traceset.seq.in_(select(page.c.seq)))
        .group_by(Traceset.seq)
        .order_by(Traceset.seq)
    )
    return [SumsRow(*row) for row in session.execute(statement)]


def count_begun(session: Session, after: str, now: datetime) -> list[tuple[str, int]]:
    """A page of the open sessions behind this id, each with the number of uploads that it has begun in the store."""
    statement = (
        select(UploadSession.id, func.count(UploadFile.multipart_id))
        .outerjoin(UploadFile, UploadFile.session_id == UploadSession.id)
        .where(UploadSession.id > after, *_is_open(now))
        .group_by(UploadSession.id)
        .order_by(UploadSession.id)
    )
    return [(upload_id, n) for upload_id, n in session.execute(statement.limit(PAGE))]


def sessions_that_send(session: Session, uploads: Collection[OpenUpload]) -> Iterator[str]:
    """The session of each of these uploads that a session has begun."""
    begun = {(upload.key, upload.upload_id) for upload in uploads}
    keys = [upload.key for upload in uploads]
    columns = (UploadFile.session_id, UploadFile.library_key, UploadFile.multipart_id)
    for upload_id, key, multipart_id in session.execute(select(*columns).where(UploadFile.library_key.in_(keys))):
        if (key, multipart_id) in begun:
            yield upload_id


def begun_files(session: Session, upload_id: str, now: datetime) -> list[FileToSend]:
    """What an open session has begun in the store; nothing where it is open no more."""
    upload = session.scalar(select(UploadSession).where(UploadSession.id == upload_id, *_is_open(now)))
    return [] if upload is None else [file for file in files_to_send(session, upload) if file.multipart_id]


def _is_open(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (UploadSession.state == SessionState.OPEN, UploadSession.expires_at > now)
