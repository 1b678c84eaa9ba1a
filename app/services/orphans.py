"""What the store holds and no row knows.

Rows come before bytes and go after them, so nothing is lost here by deleting; the ages below guard against a
database that was restored from a backup, and against clocks that differ.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from sqlalchemy import select, update

from app import clock
from app.extensions import object_store
from app.models.sweeps import SweepMark
from app.models.tracesets import LibraryFile, LibraryState
from app.services.store_calls import in_parallel
from app.storage.base import OpenUpload
from app.transactions import changed, reading, transaction

T = TypeVar("T")

BATCH = 500
ORPHAN_AGE = timedelta(hours=24)
"""How old an object without a row must be."""
LITTER_AGE = timedelta(hours=1)
"""How old an upload that nobody sends, or half a file, must be."""
INTERVAL = timedelta(hours=1)
"""How often the store is gone through, by whichever process comes first."""


def are_due() -> bool:
    """Whether this process is to go through the store now; if so, nobody else is for an hour."""
    now = clock.now()
    due = (SweepMark.name == "orphans", SweepMark.begun_at < now - INTERVAL)
    with transaction() as session:
        return changed(session, update(SweepMark).where(*due).values(begun_at=now)) == 1


def abort_uploads() -> int:
    """End multipart uploads onto keys that nobody is sending: what a store that fell silent had begun (U7)."""
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


def delete_objects() -> int:
    """Delete finished objects that no row names."""
    store, n = object_store(), 0
    before = clock.now() - ORPHAN_AGE
    for batch in _batches(store.objects()):
        known = _known_keys([found.key for found in batch], only_staged=False)
        orphans = [found.key for found in batch if found.key not in known and found.modified_at < before]
        if orphans:
            store.delete(orphans)
        n += len(orphans)
    return n


def remove_litter() -> int:
    """Remove what processes that died left half written."""
    return object_store().remove_litter(clock.now() - LITTER_AGE)


def _known_keys(keys: list[str], *, only_staged: bool) -> set[str]:
    statement = select(LibraryFile.key).where(LibraryFile.key.in_(keys))
    if only_staged:
        statement = statement.where(LibraryFile.state == LibraryState.STAGED)
    with reading() as session:
        return set(session.scalars(statement))


def _batches(items: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(items, BATCH)):
        yield batch
