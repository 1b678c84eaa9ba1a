"""Copies of a whole deployment, made while it serves, and filling an empty one from such a copy.

    backup.json        what it is; written last
    objects.jsonl      every object that the database speaks of: key, size, ETag
    database.sqlite3   or database.dump, from PostgreSQL
    store/             the disk store's objects, as a disk store; a bucket's stay where they are

Why in this order: a copy of the database is of one moment, a copy of the objects takes long. Objects first would lack
those that were finished meanwhile; the database first may speak of some that are deleted before they are copied. So
the objects are copied as the database now tells, then comes the database's copy, then what is new in it; where some of
that has been deleted within those moments, that copy of the database is of no use and another one is taken.

A backup is made in a hidden folder beside its place and moved there when it is on the disk, so that a death leaves
nothing that looks like one.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from alembic.script import ScriptDirectory
from alembic.util import CommandError
from flask import current_app
from flask_migrate import upgrade
from sqlalchemy import inspect

from app import clock
from app.errors import AppError
from app.extensions import app_settings, db, object_store
from app.models.tracesets import LibraryState
from app.queries import consistency
from app.services.fsck import in_pages, unlike_the_store
from app.services.orphans import batches
from app.services.snapshots import Snapshot, StoredRow, is_sqlite, load_snapshot, open_snapshot, require_tools
from app.services.store_calls import in_parallel
from app.storage.disk import DiskStore
from app.transactions import reading

FORMAT = 1
ABOUT, OBJECTS = "backup.json", "objects.jsonl"
TRIES = 100
"""Copies of the database that are taken until nothing of it is deleted before its objects are copied."""
NAMED_OBJECTS = 5


class BackupFailed(AppError):
    """There is no backup, or it was not restored; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class About:
    """What `backup.json` says.

    `missing` are the keys of objects that the database speaks of and the store had lost before; `size` in bytes.
    """

    made_at: str
    database: str
    store: str
    schema: str
    database_sha256: str
    objects: int
    size: int
    missing: Sequence[str]
    format: int = FORMAT


def make_backup(path: Path) -> About:
    """Write a backup to this place, where nothing is yet.

    Raises:
        BackupFailed, SnapshotFailed: nothing is left there.
    """
    if path.exists():
        raise BackupFailed(f"There is something at {path} already")
    require_tools()
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.unfinished")
    try:
        draft.mkdir(mode=0o700)
        about = _fill(draft)
        os.sync()  # Once for all: a million files synced one by one take hours.
        with (draft / ABOUT).open("w") as file:
            json.dump(asdict(about), file, indent=2)
        os.sync()
        draft.rename(path)
        os.sync()
    except OSError as exc:
        raise BackupFailed(f"The backup could not be written: {exc}") from exc
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return about


def restore_backup(path: Path, *, allow_missing: bool = False) -> About:
    """Fill this deployment, which must be empty, and bring it to the newest schema. A call that died may be repeated.

    Args:
        path: of a backup.
        allow_missing: go on although objects are missing; `find_faults` then names what that harms.

    Raises:
        BackupFailed: it is no backup for this deployment, or this one is not empty.
        SnapshotFailed: the database could not be loaded, and is as empty as before.
    """
    about = _read_about(path)
    _require_fit(about)
    _require_empty(path)
    require_tools()
    if _sha256(path / _database_file()) != about.database_sha256:
        raise BackupFailed("The copy of the database is damaged: it is not what backup.json was written for")
    missing = _restore_objects(path)
    if missing and not allow_missing:
        named = ", ".join(missing[:NAMED_OBJECTS]) + (" …" if len(missing) > NAMED_OBJECTS else "")
        raise BackupFailed(
            f"{len(missing)} of {about.objects} objects are not in the store as they were ({named}). "
            "Nothing was restored; with --allow-missing it is, and `flask fsck` then tells what that harms"
        )
    load_snapshot(path / _database_file())
    upgrade()
    return about


def _fill(draft: Path) -> About:
    copies = _copies_below(draft)
    for page in _live_rows():
        _copy(copies, page)
    for _ in range(TRIES):
        with open_snapshot(draft / _database_file()) as snapshot:
            about = _complete(draft, copies, snapshot)
        if about is not None:
            return about
    raise BackupFailed("Files are deleted faster than they can be copied; try again when there is less going on")


def _complete(draft: Path, copies: DiskStore | None, snapshot: Snapshot) -> About | None:
    """Make the backup whole for this copy of the database; None where some of what it speaks of is there no more."""
    n, size, missing = 0, 0, list[str]()
    with (draft / OBJECTS).open("w") as file:
        for batch in batches(snapshot.stored()):
            gone = _copy(copies, batch)
            if not _are_lost(gone):
                return None
            missing += gone
            n, size = n + len(batch), size + sum(row.size for row in batch)
            file.writelines(json.dumps(row._asdict()) + "\n" for row in batch)
    snapshot.save()
    return About(
        made_at=f"{clock.now():%Y-%m-%dT%H:%M:%SZ}",
        database=_database_kind(),
        store=_store_kind(),
        schema=snapshot.revision,
        database_sha256=_sha256(draft / _database_file()),
        objects=n,
        size=size,
        missing=missing,
    )


def _are_lost(gone: Sequence[str]) -> bool:
    """Whether the store has lost all of these. Else some were deleted: bytes go after their row's state changes."""
    if not gone:
        return True
    with reading() as session:
        there = consistency.find_library(session, gone)
    return all(key in there and there[key].state is LibraryState.STORED for key in gone)


def _live_rows() -> Iterator[list[StoredRow]]:
    """What is stored now."""
    for page in in_pages(consistency.read_library, ""):
        yield [StoredRow(row.key, row.size, row.etag) for row in page if row.state is LibraryState.STORED]


def _copy(copies: DiskStore | None, rows: Sequence[StoredRow]) -> list[str]:
    """Copy these objects, as far as they are not there yet; the keys of those that are gone."""
    store = object_store()
    if copies is None or not isinstance(store, DiskStore):
        return []
    found = in_parallel(store, lambda row: store.copy_to(copies, row.key), rows)
    return [row.key for row, stored in zip(rows, found, strict=True) if stored is None]


def _copies_below(path: Path) -> DiskStore | None:
    """The disk store of a backup; None where the bytes are in a bucket."""
    return DiskStore(path / "store", "", str) if isinstance(object_store(), DiskStore) else None


def _restore_objects(path: Path) -> list[str]:
    """Copy the objects, where they are part of the backup; the keys of those that the store does not hold then."""
    store, copies = object_store(), _copies_below(path)
    missing: list[str] = []
    for rows in batches(_listed_objects(path)):
        if copies is not None and isinstance(store, DiskStore):
            in_parallel(store, lambda row: copies.copy_to(store, row.key), rows)
        missing += sorted(unlike_the_store({row.key: (row.size, row.etag) for row in rows}))
    os.sync()
    return missing


def _listed_objects(path: Path) -> Iterator[StoredRow]:
    with (path / OBJECTS).open() as file:
        for line in file:
            yield StoredRow(**json.loads(line))


def _read_about(path: Path) -> About:
    try:
        told = json.loads((path / ABOUT).read_text())
        about = About(**told)
    except (OSError, ValueError, TypeError) as exc:
        raise BackupFailed(f"There is no backup at {path} that this release can read") from exc
    if about.format != FORMAT:
        raise BackupFailed(f"The backup has the format {about.format}, and this release reads {FORMAT}")
    return about


def _require_fit(about: About) -> None:
    if (about.database, about.store) != (_database_kind(), _store_kind()):
        raise BackupFailed(
            f"The backup is of {about.database} and the {about.store} store, and this deployment has "
            f"{_database_kind()} and the {_store_kind()} store"
        )
    try:
        ScriptDirectory.from_config(current_app.extensions["migrate"].migrate.get_config()).get_revision(about.schema)
    except CommandError as exc:
        raise BackupFailed(f"The backup's schema is {about.schema}, of a newer release: install that one") from exc


def _require_empty(path: Path) -> None:
    if inspect(db.engine).get_table_names():
        raise BackupFailed("The database is not empty: restore into a new one, before `flask db upgrade`")
    copies = _copies_below(path)
    if copies is None:
        return
    store = object_store()
    strange = any(copies.stat(found.key) is None for found in store.objects())
    if strange or next(store.open_uploads(), None) is not None:
        raise BackupFailed("The disk store is not empty: restore into a new DATA_DIR")


def _database_kind() -> str:
    return "sqlite" if is_sqlite() else "postgresql"


def _store_kind() -> str:
    return "s3" if app_settings().s3_bucket else "disk"


def _database_file() -> str:
    return "database.sqlite3" if is_sqlite() else "database.dump"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
