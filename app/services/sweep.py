"""The sweep: whatever has passed its time or lost its purpose is ended here.

Any number of sweeps may run anywhere at once. Every step is a conditional change in the database, or work on the
store that may be repeated; a step that meets a fault is logged and leaves its work to the next sweep.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from typing import TypeVar

import structlog
from flask import Flask
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from app import clock
from app.errors import AppError
from app.extensions import app_settings, object_store
from app.models.events import EventKind
from app.models.tracesets import LibraryFile, LibraryState, Traceset
from app.models.uploads import SessionState, UploadSession
from app.observability import SWEPT
from app.queries.uploads import files_to_send
from app.services import completion, deletion, hashing, library, sessions
from app.services.events import NOBODY
from app.services.store_calls import in_parallel
from app.storage.base import OpenUpload
from app.transactions import reading, transaction

log = structlog.get_logger()

T = TypeVar("T")

BATCH = 500
"""Rows that one statement takes; a sweep goes on until a batch is not full."""
ORPHAN_AGE = timedelta(hours=24)
"""How old an object without a row must be before it is deleted: a database restored from a backup must not
make a sweep delete the newest bytes at once."""
LITTER_AGE = timedelta(hours=1)


def sweep() -> dict[str, int]:
    """One sweep; answers how many of what were ended."""
    counts: Counter[str] = Counter()
    for what, step in STEPS.items():
        try:
            counts[what] = step()
            SWEPT.labels(what).inc(counts[what])
        except (AppError, SQLAlchemyError) as exc:
            log.warning("sweep.step_failed", step=what, error=str(exc))
            counts[what] = 0
    if any(counts.values()):
        log.info("sweep.done", **counts)
    return dict(counts)


def _end_expired_sessions() -> int:
    """Expired sessions end; where a completion died after the store had finished everything, it is completed (S3)."""
    n = 0
    while batch := _expired_sessions():
        n += sum(_end_session(upload_id) for upload_id in batch)
        if len(batch) < BATCH:
            break
    return n


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
        reason = "The upload session has expired"
        if not sessions.end(session, upload_id, SessionState.EXPIRED, reason):
            return False
        sessions.fail_traceset(session, NOBODY, traceset, upload_id, reason)
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


def _abort_orphaned_uploads() -> int:
    """Open multipart uploads onto keys that nobody is sending: what a store that fell silent had begun (U7)."""
    store, n = object_store(), 0
    before = clock.now() - LITTER_AGE
    for batch in _batches(store.open_uploads()):
        staged = _known_keys([upload.key for upload in batch], only_staged=True)
        orphans = [upload for upload in batch if upload.key not in staged and upload.begun_at < before]
        in_parallel(store, _abort, orphans)
        n += len(orphans)
    return n


def _abort(upload: OpenUpload) -> None:
    object_store().abort(upload.key, upload.upload_id)


def _delete_orphaned_objects() -> int:
    store, n = object_store(), 0
    before = clock.now() - ORPHAN_AGE
    for batch in _batches(store.objects()):
        known = _known_keys([found.key for found in batch], only_staged=False)
        orphans = [found.key for found in batch if found.key not in known and found.modified_at < before]
        if orphans:
            store.delete(orphans)
        n += len(orphans)
    return n + store.remove_litter(clock.now() - LITTER_AGE)


def _known_keys(keys: list[str], *, only_staged: bool) -> set[str]:
    statement = select(LibraryFile.key).where(LibraryFile.key.in_(keys))
    if only_staged:
        statement = statement.where(LibraryFile.state == LibraryState.STAGED)
    with reading() as session:
        return set(session.scalars(statement))


STEPS: dict[str, Callable[[], int]] = {
    "expired sessions": _end_expired_sessions,
    "expired tracesets": _expire_tracesets,
    "unreferenced files": _delete_unreferenced,
    "orphaned uploads": _abort_orphaned_uploads,
    "orphaned objects": _delete_orphaned_objects,
    "hashed files": hashing.hash_stored_files,
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
                sweep()
            except Exception:
                log.exception("sweep.failed")


def _batches(items: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(items, BATCH)):
        yield batch
