"""Comparing the database and the store, both ways, while the service goes on.

The store is read by pages of its listings, many side by side. What a listing does not show as it should be is looked
at once more before it is called wrong, and in an order that tells a fault from work in progress: first the object,
then the row that speaks of it, since a row goes before its bytes do.

Repaired is only what follows from the rest: counts and sums, what nobody refers to (by the sweep's own code), and
uploads that the store has lost, which their sessions then begin again. Bytes that are gone are told, with the
tracesets that they harm, and nothing more.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, takewhile
from typing import Any, TypeVar

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app import clock
from app.extensions import object_store
from app.models.tracesets import LibraryState, Status, Traceset, TracesetFile
from app.queries import consistency
from app.queries.consistency import LibraryRow, SumsRow
from app.queries.uploads import FileToSend
from app.services import library, multipart, orphans
from app.services.store_calls import in_parallel
from app.storage.base import Stored
from app.transactions import changed, reading, transaction

K = TypeVar("K", str, int)
R = TypeVar("R", bound=tuple[Any, ...])


class Fault(StrEnum):
    """What can be wrong. Words are added here and never changed: people script against them."""

    WRONG_COUNT = "wrong_count"
    NOT_STORED = "not_stored"
    MISSING_OBJECT = "missing_object"
    WRONG_SIZE = "wrong_size"
    WRONG_ETAG = "wrong_etag"
    DAMAGED_OBJECT = "damaged_object"
    ABANDONED_FILE = "abandoned_file"
    WRONG_SUM = "wrong_sum"
    FILE_WITHOUT_BYTES = "file_without_bytes"
    LOST_UPLOAD = "lost_upload"
    ORPHANED_UPLOAD = "orphaned_upload"
    ORPHANED_OBJECT = "orphaned_object"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: of a library file, an object, a traceset or a session (`subject` is its key or id).

    `tracesets` are the ids of those that it harms; `is_repaired`: it is wrong no more.
    """

    fault: Fault
    subject: str
    message: str
    tracesets: Sequence[str] = ()
    is_repaired: bool = False


def find_faults(*, repair: bool = False) -> Iterator[Finding]:
    """Everything that is wrong, one after the other; memory grows with the number of open sessions alone.

    Args:
        repair: mend what can be mended safely. A second call then finds what is left.

    Raises:
        Unavailable: database or store do not answer, so that nothing more can be said.
    """
    # Counts come first: a count that is too low would let the next sweep delete what is needed.
    for check in (_check_library, _check_sums, _check_sessions, _check_orphans):
        yield from check(repair=repair)


def _check_library(*, repair: bool) -> Iterator[Finding]:
    store, pages = object_store(), in_pages(consistency.read_library, "")
    while batch := list(islice(pages, store.concurrency)):
        for page in batch:
            yield from _check_counts(page, repair=repair)
            yield from _check_states(page, repair=repair)
        needed = [[row for row in page if row.state is LibraryState.STORED and row.n_names] for page in batch]
        unlike = in_parallel(
            store, lambda page: unlike_the_store({row.key: (row.size, row.etag) for row in page}), needed
        )
        for page, keys in zip(needed, unlike, strict=True):
            yield from _look_closely([row for row in page if row.key in keys])


def in_pages(read: Callable[[Session, K], list[R]], after: K) -> Iterator[list[R]]:
    """All rows of a query that reads them page by page; no transaction is open between two pages.

    Args:
        read: gives the page behind a place, which is what each of its rows begins with.
        after: the place before the first one.
    """
    while True:
        with reading() as session:
            page = read(session, after)
        if not page:
            return
        yield page
        after = page[-1][0]


def _check_counts(page: Sequence[LibraryRow], *, repair: bool) -> Iterator[Finding]:
    wrong = [row for row in page if row.ref_count != row.n_names]
    if wrong and repair:
        library.recount([row.key for row in wrong])
    for row in wrong:
        message = f"its reference count is {row.ref_count}, but {row.n_names} files name it"
        yield Finding(Fault.WRONG_COUNT, row.key, message, is_repaired=repair)


def _check_states(page: Sequence[LibraryRow], *, repair: bool) -> Iterator[Finding]:
    named = {row.key: row.state for row in page if row.n_names and row.state is not LibraryState.STORED}
    for key, harmed in _harmed(list(named)):
        yield Finding(Fault.NOT_STORED, key, f"files name it, but it is {named[key]}", harmed)
    left = [row.key for row in page if row.state is LibraryState.STAGED and not row.n_names and not row.is_sent]
    if left and repair:
        library.condemn_abandoned(left)
    for key in left:
        yield Finding(Fault.ABANDONED_FILE, key, "no session sends it any more", is_repaired=repair)


def unlike_the_store(expected: Mapping[str, tuple[int, str | None]]) -> set[str]:
    """The keys whose objects the store does not list with the size and ETag that are expected of them."""
    unlike = dict(expected)
    if expected:
        # The database may sort otherwise than the store; what lies between the two ends holds all keys in any order.
        first, last = min(expected), max(expected)
        listed = object_store().objects(after=first[:-1], closely=True)
        for found in takewhile(lambda found: found.key <= last, listed):
            if unlike.get(found.key) == (found.size, found.etag):
                del unlike[found.key]
    return set(unlike)


def _look_closely(unlike: Sequence[LibraryRow]) -> Iterator[Finding]:
    if not unlike:
        return
    looked = in_parallel(object_store(), _fault_of, unlike)
    faults = {row.key: fault for row, fault in zip(unlike, looked, strict=True) if fault is not None}
    with reading() as session:
        there = consistency.find_library(session, faults)
    stored = [key for key in faults if key in there and there[key].state is LibraryState.STORED]
    for key, harmed in _harmed(stored):
        fault, message = faults[key]
        yield Finding(fault, key, message, harmed)


def _fault_of(row: LibraryRow) -> tuple[Fault, str] | None:
    store = object_store()
    found = store.stat(row.key)
    if found is None:
        return Fault.MISSING_OBJECT, f"its {row.size} bytes are not in the store"
    if found.size != row.size:
        return Fault.WRONG_SIZE, f"the store holds {found.size} bytes of it, not {row.size}"
    if found.etag != row.etag:
        return Fault.WRONG_ETAG, f"the store holds something else, by the ETag {found.etag} instead of {row.etag}"
    if not store.is_intact(row.key, Stored(row.size, row.etag)):
        return Fault.DAMAGED_OBJECT, "some of its bytes are gone or altered"
    return None


def _harmed(keys: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """These library files, as far as tracesets name them, with the ids of those."""
    if keys:
        with reading() as session:
            harmed = consistency.name_harmed(session, keys)
        yield from harmed.items()


def _check_sums(*, repair: bool) -> Iterator[Finding]:
    for page in in_pages(consistency.read_sums, 0):
        yield from _check_sums_of(page, repair=repair)


def _check_sums_of(page: Sequence[SumsRow], *, repair: bool) -> Iterator[Finding]:
    wrong = [row for row in page if (row.file_count, row.total_size) != (row.n_files, row.size)]
    if wrong and repair:
        _sum_again([row.seq for row in wrong])
    for row in wrong:
        message = f"{row.file_count} files of {row.total_size} bytes are noted, {row.n_files} of {row.size} are there"
        yield Finding(Fault.WRONG_SUM, row.id, message, is_repaired=repair)
    for row in page:
        if row.status is Status.READY and row.n_without_bytes:
            message = f"it is ready, but {row.n_without_bytes} of its files have no bytes"
            yield Finding(Fault.FILE_WITHOUT_BYTES, row.id, message, [row.id])


def _sum_again(seqs: Sequence[int]) -> None:
    files = TracesetFile.traceset_seq == Traceset.seq
    n_files = select(func.count()).where(files).scalar_subquery()
    size = select(func.coalesce(func.sum(TracesetFile.size), 0)).where(files).scalar_subquery()
    with transaction() as session:
        changed(session, update(Traceset).where(Traceset.seq.in_(seqs)).values(file_count=n_files, total_size=size))


def _check_sessions(*, repair: bool) -> Iterator[Finding]:
    """Sessions whose multipart uploads the store has lost, as a bucket's own rules may do."""
    listed: Counter[str] = Counter()
    for uploads in orphans.batches(object_store().open_uploads()):
        with reading() as session:
            listed.update(consistency.sessions_that_send(session, uploads))
    for page in in_pages(lambda session, after: consistency.count_begun(session, after, clock.now()), ""):
        for upload_id, n_begun in page:
            if listed[upload_id] < n_begun:
                yield from _check_session(upload_id, repair=repair)


def _check_session(upload_id: str, *, repair: bool) -> Iterator[Finding]:
    def begun() -> list[FileToSend]:
        with reading() as session:
            return consistency.begun_files(session, upload_id, clock.now())

    files = begun()
    held = in_parallel(object_store(), multipart.held, files)
    gone = {file for file, found in zip(files, held, strict=True) if found is None}
    lost = [file for file in begun() if file in gone]
    if lost and repair:
        with transaction() as session:
            multipart.forget(session, upload_id, lost)
    for file in lost:
        message = f"the store no longer knows the upload of file '{file.name}'"
        yield Finding(Fault.LOST_UPLOAD, upload_id, message, is_repaired=repair)


def _check_orphans(*, repair: bool) -> Iterator[Finding]:
    for uploads in orphans.find_uploads():
        if repair:
            orphans.end_uploads(uploads)
        for upload in uploads:
            message = f"an upload onto it was begun at {upload.begun_at:%Y-%m-%dT%H:%M:%SZ}, and nobody sends it"
            yield Finding(Fault.ORPHANED_UPLOAD, upload.key, message, is_repaired=repair)
    for objects in orphans.find_objects():
        if repair:
            orphans.delete_found(objects)
        for found in objects:
            message = f"nothing refers to its {found.size} bytes of {found.modified_at:%Y-%m-%dT%H:%M:%SZ}"
            yield Finding(Fault.ORPHANED_OBJECT, found.key, message, is_repaired=repair)
