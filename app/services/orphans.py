"""What the store holds and no row knows.

Rows come before bytes and go after them, so nothing is lost here by deleting; the ages below guard against a
database that was restored from a backup, and against clocks that differ.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice, takewhile
from typing import TypeVar

from sqlalchemy import select, update

from app import clock
from app.extensions import object_store
from app.models.sweeps import SweepMark
from app.models.tracesets import LibraryFile, LibraryState
from app.services.store_calls import in_parallel
from app.storage.base import FoundObject, ObjectStore, OpenUpload
from app.storage.keys import BEGINNINGS
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
    n = 0
    for orphans in find_uploads():
        end_uploads(orphans)
        n += len(orphans)
    return n


def find_uploads() -> Iterator[list[OpenUpload]]:
    """The uploads that are to be ended, some at a time."""
    before = clock.now() - LITTER_AGE
    for batch in batches(object_store().open_uploads()):
        staged = _known_keys([upload.key for upload in batch], only_staged=True)
        yield [upload for upload in batch if upload.key not in staged and upload.begun_at < before]


def end_uploads(orphans: Sequence[OpenUpload]) -> None:
    """End what `find_uploads` found."""
    store = object_store()
    in_parallel(store, lambda upload: store.abort(upload.key, upload.upload_id), orphans)


def delete_objects() -> int:
    """Delete finished objects that no row names."""
    n = 0
    for orphans in find_objects():
        delete_found(orphans)
        n += len(orphans)
    return n


def find_objects() -> Iterator[list[FoundObject]]:
    """The objects that are to be deleted, some at a time."""
    before = clock.now() - ORPHAN_AGE
    for batch in _all_objects(object_store()):
        known = _known_keys([found.key for found in batch], only_staged=False)
        yield [found for found in batch if found.key not in known and found.modified_at < before]


def delete_found(orphans: Sequence[FoundObject]) -> None:
    """Delete what `find_objects` found."""
    if orphans:
        object_store().delete([found.key for found in orphans])


def _all_objects(store: ObjectStore) -> Iterator[list[FoundObject]]:
    """All that is stored, in batches, from many listings side by side: each waits for its next page."""
    listings = [takewhile(partial(_begins, beginning), store.objects(after=beginning)) for beginning in BEGINNINGS]
    while listings:
        found = in_parallel(store, lambda listing: list(islice(listing, BATCH)), listings)
        yield from filter(None, found)
        listings = [listing for listing, batch in zip(listings, found, strict=True) if len(batch) == BATCH]


def _begins(beginning: str, found: FoundObject) -> bool:
    return found.key.startswith(beginning)


def remove_litter() -> int:
    """Remove what processes that died left half written."""
    return object_store().remove_litter(clock.now() - LITTER_AGE)


def _known_keys(keys: list[str], *, only_staged: bool) -> set[str]:
    statement = select(LibraryFile.key).where(LibraryFile.key.in_(keys))
    if only_staged:
        statement = statement.where(LibraryFile.state == LibraryState.STAGED)
    with reading() as session:
        return set(session.scalars(statement))


def batches(items: Iterator[T]) -> Iterator[list[T]]:
    """The items, `BATCH` of them at a time."""
    while batch := list(islice(items, BATCH)):
        yield batch
