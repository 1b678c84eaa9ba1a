"""Reading stored files once to learn their SHA-256 (U9).

A client's word is never believed: content is matched, and deep validation compares, by what is computed here. On
a store whose ETag is the SHA-256 of a file of one part, it is known without reading.
"""

import hashlib
import time
from collections.abc import Mapping
from datetime import timedelta
from itertools import accumulate

import structlog
from sqlalchemy import or_, select, update

from app import clock
from app.errors import StoreUnavailable
from app.extensions import object_store
from app.models.tracesets import LibraryFile, LibraryState
from app.queries.content import find_stored_content
from app.services.store_calls import in_parallel
from app.storage.base import ObjectGone, Stored
from app.transactions import reading, transaction

log = structlog.get_logger()

BUDGET_SECONDS = 600.0
"""How long one sweep goes on hashing before it leaves the rest to the next."""
SLOWEST_RATE = 10 * 1024 * 1024
"""Bytes a second; a claim on a file counts for as long as reading it so slowly would take, and a minute more."""
BATCH_FILES = 100
BATCH_BYTES = 64 * 1024 * 1024
"""What one sweep claims and reads at a time."""
RETRY_AFTER = timedelta(hours=1)
"""When a file whose bytes could not be read is tried again."""


def hash_stored_files() -> int:
    """Hash what is stored and not hashed yet, oldest first; answers how many files."""
    n, end = 0, time.monotonic() + BUDGET_SECONDS
    while time.monotonic() < end and (files := _claim_batch()):
        digests = in_parallel(object_store(), _digest_or_none, files, is_reading=True)
        read = {file.key: digest for file, digest in zip(files, digests, strict=True) if digest is not None}
        _note(read, unread=[file.key for file in files if file.key not in read])
        n += len(read)
    return n


def _digest_or_none(file: LibraryFile) -> str | None:
    try:
        digest = sha256_of(file.key)
    except (ObjectGone, StoreUnavailable) as exc:
        log.warning("hashing.unreadable", key=file.key, error=str(exc))
        return None
    if file.declared_sha256 not in (None, digest):
        log.warning("hashing.differs", key=file.key)
    return digest


def sha256_of(key: str) -> str:
    """The SHA-256 of the object's bytes, in hex, read as a stream.

    Raises:
        ObjectGone: there is no such object, or it ends early.
    """
    digest = hashlib.sha256()
    for chunk in object_store().read(key):
        digest.update(chunk)
    return digest.hexdigest()


def forget_lost(workspace_id: str, sizes: Mapping[str, int]) -> None:
    """Let content be known no more that the store has lost; where it comes back, a sweep hashes it again.

    Args:
        workspace_id: where the content is to be matched.
        sizes: SHA-256 to size in bytes, of that content.

    Raises:
        StoreUnavailable: the store does not say.
    """
    while lost := _lost(workspace_id, sizes):
        log.warning("content.lost", keys=lost)
        later = clock.now() + RETRY_AFTER
        with transaction() as session:
            forgetting = update(LibraryFile).where(LibraryFile.key.in_(lost))
            session.execute(forgetting.values(sha256=None, hash_claimed_until=later))


def _lost(workspace_id: str, sizes: Mapping[str, int]) -> list[str]:
    """The keys of what would be matched and is not in the store as it was."""
    store = object_store()
    with reading() as session:
        keys = find_stored_content(session, workspace_id, sizes).values()
        files = list(session.scalars(select(LibraryFile).where(LibraryFile.key.in_(keys)))) if keys else []

    def is_intact(file: LibraryFile) -> bool:
        return store.is_intact(file.key, Stored(file.size, file.etag or ""))

    return [file.key for file, whole in zip(files, in_parallel(store, is_intact, files), strict=True) if not whole]


def _claim_batch() -> list[LibraryFile]:
    """Some files that no other sweep is reading: many small ones, or one that is large."""
    now = clock.now()
    unclaimed = or_(LibraryFile.hash_claimed_until.is_(None), LibraryFile.hash_claimed_until < now)
    waiting = (LibraryFile.sha256.is_(None), LibraryFile.state == LibraryState.STORED, unclaimed)
    oldest = select(LibraryFile).where(*waiting).order_by(LibraryFile.created_at).limit(BATCH_FILES)
    with transaction() as session:
        files = list(session.scalars(oldest.with_for_update(skip_locked=True)))
        sizes = accumulate(file.size for file in files)
        batch = [file for file, total in zip(files, sizes, strict=True) if total <= BATCH_BYTES] or files[:1]
        seconds = 60 + sum(file.size for file in batch) / SLOWEST_RATE
        for file in batch:
            file.hash_claimed_until = now + timedelta(seconds=seconds)
    return batch


def _note(read: dict[str, str], *, unread: list[str]) -> None:
    with transaction() as session:
        for file in session.scalars(select(LibraryFile).where(LibraryFile.key.in_(read))):
            file.sha256 = read[file.key]
        later = clock.now() + RETRY_AFTER
        session.execute(update(LibraryFile).where(LibraryFile.key.in_(unread)).values(hash_claimed_until=later))
