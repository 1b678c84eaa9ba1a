"""The sweep: whatever has passed its time or lost its purpose is ended here.

Any number of sweeps may run anywhere at once. Every step is a conditional change in the database, or work on the
store that may be repeated; a step that meets a fault is logged and leaves its work to the next sweep.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

import structlog
from flask import Flask
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from app import clock
from app.domain.access import Caller
from app.errors import AppError, DatabaseUnavailable
from app.extensions import app_settings, object_store
from app.models.events import EventKind
from app.models.tracesets import LibraryFile, LibraryState, Traceset
from app.models.uploads import SessionState, UploadSession
from app.observability import SWEEPS, SWEPT
from app.queries.uploads import files_to_send
from app.services import completion, deletion, hashing, library, orphans, sessions
from app.services.events import NOBODY, record
from app.services.store_calls import in_parallel
from app.transactions import reading, transaction

log = structlog.get_logger()

T = TypeVar("T")

BATCH = 500
"""Rows that one statement takes; a sweep goes on until a batch is not full."""


def sweep(asked_by: Caller = NOBODY, *, is_thorough: bool = True) -> dict[str, int]:
    """One sweep; answers how many of what were ended, and keeps a record of it where there was anything to end.

    A thorough one also goes through all that the store holds.
    """
    counts: Counter[str] = Counter()
    began, outcome = time.perf_counter(), "whole"
    steps = STEPS | THOROUGH_STEPS if is_thorough else STEPS
    for what, step in steps.items():
        try:
            counts[what] = step()
            SWEPT.labels(what).inc(counts[what])
        except (AppError, SQLAlchemyError) as exc:
            log.warning("sweep.step_failed", step=what, error=str(exc))
            counts[what], outcome = 0, "partial"
    SWEEPS.labels(outcome).observe(time.perf_counter() - began)
    if any(counts.values()):
        log.info("sweep.done", **counts)
        _record(asked_by, counts)
    return dict(counts)


def _record(asked_by: Caller, counts: Mapping[str, int]) -> None:
    try:
        with transaction() as session:
            record(session, asked_by, EventKind.SWEPT, ended={what: n for what, n in counts.items() if n})
    except DatabaseUnavailable as exc:
        log.warning("sweep.not_recorded", error=exc.message)


def _end_expired_sessions() -> int:
    """Expired sessions end; where a completion died after the store had finished everything, it is completed (S3)."""
    n = 0
    while batch := _expired_sessions():
        ended = sum(_end_session_quietly(upload_id) for upload_id in batch)
        n += ended
        if len(batch) < BATCH or not ended:
            break
    return n


def _end_session_quietly(upload_id: str) -> bool:
    """One whose files the store does not show now must not keep the others from being ended."""
    try:
        return _end_session(upload_id)
    except AppError as exc:
        log.warning("sweep.session_not_ended", upload_id=upload_id, error=exc.message)
        return False


def _expired_sessions() -> list[str]:
    now = clock.now()
    statement = (
        select(UploadSession.id)
        .where(UploadSession.expires_at <= now, sessions.endable(now))
        .order_by(UploadSession.expires_at)
        .limit(BATCH)
    )
    with reading() as session:
        return list(session.scalars(statement))


def _end_session(upload_id: str) -> bool:
    with reading() as session:
        upload = session.get_one(UploadSession, upload_id)
    if upload.state is SessionState.COMPLETING and _finish_dead_completion(upload_id):
        return True
    with transaction() as session:
        upload = session.get_one(UploadSession, upload_id)
        traceset = session.get_one(Traceset, upload.traceset_seq)
        if not sessions.end(session, upload_id, SessionState.EXPIRED, sessions.HAS_EXPIRED):
            return False
        sessions.fail_traceset(session, NOBODY, traceset, upload_id, sessions.HAS_EXPIRED)
    library.discard_quietly(upload_id)
    return True


def _finish_dead_completion(upload_id: str) -> bool:
    store = object_store()
    claim = sessions.claim(upload_id)
    if claim is None:
        return False
    with reading() as session:
        upload = session.get_one(UploadSession, upload_id)
        sent = [file for file in files_to_send(session, upload) if file.library_key]
    found = in_parallel(store, store.stat, [str(file.library_key) for file in sent])
    objects = {
        str(file.library_key): stored
        for file, stored in zip(sent, found, strict=True)
        if stored is not None and stored.size == file.size
    }
    if len(objects) < len(sent):
        sessions.release(upload_id, claim)
        return False
    return completion.announce(NOBODY, upload_id, claim, objects)


def _expire_tracesets() -> int:
    n = 0
    while batch := _expired_tracesets():
        for traceset in batch:
            with transaction() as session:
                upload_id = deletion.remove(session, NOBODY, traceset, EventKind.EXPIRED)
            if upload_id is not None:
                n += 1
                library.discard_quietly(upload_id)
        if len(batch) < BATCH:
            break
    return n


def _expired_tracesets() -> list[Traceset]:
    statement = (
        select(Traceset)
        .where(Traceset.deleted_at.is_(None), Traceset.expires_at.is_not(None), Traceset.expires_at <= clock.now())
        .order_by(Traceset.expires_at)
        .limit(BATCH)
    )
    with reading() as session:
        return list(session.scalars(statement))


def _delete_unreferenced() -> int:
    while library.condemn_unreferenced(BATCH) == BATCH:
        pass
    n, last = 0, ""
    while batch := _condemned(last):
        library.discard(batch)
        n, last = n + len(batch), batch[-1].key
    return n


def _condemned(after: str) -> list[LibraryFile]:
    statement = (
        select(LibraryFile)
        .where(LibraryFile.state == LibraryState.CONDEMNED, LibraryFile.ref_count == 0, LibraryFile.key > after)
        .order_by(LibraryFile.key)
        .limit(BATCH)
    )
    with reading() as session:
        return list(session.scalars(statement))


STEPS: dict[str, Callable[[], int]] = {
    "expired sessions": _end_expired_sessions,
    "expired tracesets": _expire_tracesets,
    "unreferenced files": _delete_unreferenced,
    "hashed files": hashing.hash_stored_files,
}
THOROUGH_STEPS: dict[str, Callable[[], int]] = {
    "orphaned uploads": orphans.abort_uploads,
    "orphaned objects": orphans.delete_objects,
    "litter": orphans.remove_litter,
}


def start_sweeper(app: Flask) -> None:
    """Sweep every `SWEEP_INTERVAL` seconds in a thread of this process; 0: never."""
    with app.app_context():
        interval = app_settings().sweep_interval
    if interval:
        threading.Thread(target=_sweep_for_ever, args=(app, interval), name="sweeper", daemon=True).start()


def _sweep_for_ever(app: Flask, interval: float) -> None:
    pause = threading.Event()
    while not pause.wait(interval):
        with app.app_context():
            try:
                sweep(is_thorough=orphans.are_due())
            except Exception:
                log.exception("sweep.failed")
