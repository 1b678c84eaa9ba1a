"""Download URLs of single files and of whole tracesets (W1-W4)."""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import select
from zipstream import ZIP_STORED, ZipStream

from app import clock
from app.domain.access import Caller
from app.domain.file_names import archive_name, last_segment
from app.errors import Invalid, NotFound
from app.extensions import app_settings, object_store, public_origin
from app.models.tracesets import Kind, Status, Traceset, TracesetFile
from app.queries.tracesets import files_of, get_traceset, not_found
from app.services.store_calls import pool_of
from app.storage.base import ObjectStore
from app.storage.disk_urls import SignedTokens
from app.transactions import reading

ARCHIVES = "archives"
"""The purpose of an archive's token."""
EXTERNAL_FILES_MEMBER = "EXTERNAL_FILES.txt"
"""The archive's list of what it leaves out (W3)."""
READ_AHEAD_SIZE = 1024 * 1024
"""Bytes; files up to this size are fetched ahead of their turn, so that a thousand small ones do not wait for a
thousand answers of the store one after the other."""
READ_AHEAD_FILES = 16


@dataclass(frozen=True, slots=True)
class Download:
    """A URL that gives the bytes without other credentials until `expires_at`, under the name `file`."""

    url: str
    expires_at: datetime
    file: str


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip of stored members: its name, its size in bytes, known beforehand, and its bytes."""

    name: str
    size: int
    chunks: Iterator[bytes]


def sign_download(caller: Caller, traceset_id: str, file_name: str | None, kind: Kind = Kind.TRACESET) -> Download:
    """A URL for one file, or for all of them as one archive where no name is given.

    Raises:
        NotFound: there is no such traceset or file for this caller.
        Invalid: the traceset is not ready, or the file is an external one.
    """
    if file_name:
        return _sign_file(caller, traceset_id, file_name, kind)
    return _sign_archive(caller, traceset_id, kind)


def _sign_file(caller: Caller, traceset_id: str, file_name: str, kind: Kind) -> Download:
    with reading() as session:
        traceset = get_traceset(session, caller, traceset_id, kind)
        _require_ready(traceset)
        named = select(TracesetFile).where(TracesetFile.traceset_seq == traceset.seq, TracesetFile.name == file_name)
        file = session.scalar(named)
    if file is None:
        noun = "traceset" if kind is Kind.TRACESET else "mapping file"
        raise NotFound(f"File '{file_name}' not found in {noun} '{traceset_id}'")
    if file.library_key is None:
        raise Invalid(f"File '{file.name}' uses an external URL and cannot be downloaded via presigned URL")
    until = _until()
    url = object_store().sign_download(file.library_key, last_segment(file.name), until)
    return Download(url, until, file.name)


def _sign_archive(caller: Caller, traceset_id: str, kind: Kind) -> Download:
    """The application itself serves archives, whatever the store."""
    with reading() as session:
        traceset = get_traceset(session, caller, traceset_id, kind)
    _require_ready(traceset)
    until = _until()
    token = _tokens().seal(ARCHIVES, [traceset.id, kind.value], until)
    name = archive_name(traceset.name)
    return Download(f"{public_origin()}/archives/{token}", until, name)


def open_archive(token: str) -> Archive:
    """The archive that a signed URL names.

    Raises:
        Forbidden: the token is not ours, was altered, or has run out.
        NotFound: the traceset is no more.
    """
    traceset_id, kind = _tokens().open(ARCHIVES, token)
    with reading() as session:
        everywhere = Caller(user_id=None, is_admin=True)
        traceset = get_traceset(session, everywhere, traceset_id, Kind(kind))
        files = files_of(session, traceset.seq)
    if traceset.status is not Status.READY:
        raise not_found(traceset_id, Kind(kind))
    return _zipped(archive_name(traceset.name), files)


def _zipped(name: str, files: list[TracesetFile]) -> Archive:
    zipped = ZipStream(compress_type=ZIP_STORED, sized=True)
    stored = [file for file in files if file.library_key is not None]
    bodies = _bodies(object_store(), stored)
    for file in stored:
        zipped.add(_lazily(bodies), arcname=file.name, size=file.size)
    external = [f"{file.name}\t{file.external_url}\n" for file in files if file.external_url]
    if external:
        taken = {file.name for file in files}
        member = EXTERNAL_FILES_MEMBER
        while member in taken:
            member = f"_{member}"
        zipped.add("".join(external), arcname=member)
    return Archive(name, len(zipped), iter(zipped))


def _lazily(bodies: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    """The next file's bytes, asked for when the archive comes to it; members are written in their order."""
    yield from next(bodies)


def _bodies(store: ObjectStore, files: list[TracesetFile]) -> Iterator[Iterator[bytes]]:
    """Each file's bytes in turn; small ones are fetched ahead in the store's pool."""
    waiting = iter(files)
    window: list[tuple[TracesetFile, Future[bytes] | None]] = []

    def enter(file: TracesetFile) -> None:
        is_small = file.size <= READ_AHEAD_SIZE
        window.append((file, pool_of(store).submit(_whole, store, str(file.library_key)) if is_small else None))

    for file in islice(waiting, READ_AHEAD_FILES):
        enter(file)
    while window:
        file, fetched = window.pop(0)
        yield iter((fetched.result(),)) if fetched else store.read(str(file.library_key))
        for following in islice(waiting, 1):
            enter(following)


def _whole(store: ObjectStore, key: str) -> bytes:
    return b"".join(store.read(key))


def _require_ready(traceset: Traceset) -> None:
    if traceset.status is not Status.READY:
        raise Invalid(f"'{traceset.id}' cannot be downloaded: its status is {traceset.status}, not ready")


def _until() -> datetime:
    return clock.now() + timedelta(seconds=app_settings().download_url_ttl)


def _tokens() -> SignedTokens:
    return SignedTokens(app_settings().signing_key)
