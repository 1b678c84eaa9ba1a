"""Beginning the multipart uploads of a session in the store."""

from collections.abc import Sequence
from concurrent.futures import wait
from contextlib import suppress

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from app import clock
from app.errors import AppError, Conflict, DatabaseUnavailable, StoreUnavailable
from app.extensions import object_store
from app.models.uploads import SessionState, UploadFile, UploadSession
from app.queries.uploads import FileToSend, files_to_send
from app.services.store_calls import in_parallel, pool_of
from app.storage.base import Part, Stored, UploadGone
from app.transactions import change_each, reading, transaction

ABORT_SECONDS = 10.0
"""How long an opening that has failed waits for the store to end what it had begun."""


def is_open(upload: UploadSession) -> bool:
    """Whether parts may still be sent."""
    return upload.state is SessionState.OPEN and upload.expires_at > clock.now()


def state_now(upload: UploadSession) -> SessionState:
    """The session's state: one that has passed its time has expired, whether or not a sweep came by."""
    return SessionState.EXPIRED if upload.state is SessionState.OPEN and not is_open(upload) else upload.state


def begin_missing(upload_id: str) -> list[FileToSend]:
    """Begin the multipart uploads that this open session has not begun yet, and answer all its files.

    Several callers may do so at once: the first id stored for a file counts, the others are ended again.

    Raises:
        Conflict: the session was ended meanwhile.
    """
    store = object_store()
    with reading() as session:
        upload = session.get(UploadSession, upload_id)
        if upload is None:
            raise Conflict(f"Upload session '{upload_id}' was ended meanwhile")
        files = files_to_send(session, upload)
    missing = [(f.library_key, f.size) for f in files if f.library_key and f.multipart_id is None]
    if not missing:
        return files
    begun: dict[str, str] = {}

    def begin(file: tuple[str, int]) -> None:
        key, size = file
        begun[key] = store.begin(key, size)

    try:
        in_parallel(store, begin, missing)
        files = _store_multipart_ids(upload_id, begun)
    except DatabaseUnavailable:
        raise  # It may have taken the ids, and only its answer was lost. If it has not, a sweep ends these uploads.
    except AppError:
        _abort_quietly(begun)
        raise
    counted = {f.library_key: f.multipart_id for f in files}
    _abort_quietly({key: mid for key, mid in begun.items() if counted.get(key) != mid})
    return files


def held(file: FileToSend) -> list[Part] | Stored | None:
    """The parts that the store holds; the object where it is finished already; None where both are gone."""
    store, key = object_store(), str(file.library_key)
    if file.multipart_id is None:
        return []
    try:
        return store.parts(key, file.multipart_id)
    except UploadGone:
        return store.stat(key)


def begin_again(upload_id: str, lost: Sequence[FileToSend]) -> list[FileToSend]:
    """As `begin_missing`, after the store has lost these uploads (a bucket may end what stays open for long)."""
    with transaction() as session:
        _require_open(session, upload_id)
        forget(session, upload_id, lost)
    return begin_missing(upload_id)


def forget(session: Session, upload_id: str, lost: Sequence[FileToSend]) -> None:
    """Take these uploads for not begun; where somebody has begun them again meanwhile, that counts."""
    change_each(
        session,
        update(UploadFile)
        .where(UploadFile.session_id == upload_id, UploadFile.library_key == bindparam("key"))
        .where(UploadFile.multipart_id == bindparam("lost_id"))
        .values(multipart_id=None),
        [{"key": file.library_key, "lost_id": file.multipart_id} for file in lost],
    )


def _require_open(session: Session, upload_id: str) -> UploadSession:
    """The session, locked."""
    upload = session.get(UploadSession, upload_id, with_for_update=True)
    if upload is None or not is_open(upload):
        raise Conflict(f"Upload session '{upload_id}' was ended meanwhile")
    return upload


def _store_multipart_ids(upload_id: str, begun: dict[str, str]) -> list[FileToSend]:
    with transaction() as session:
        upload = _require_open(session, upload_id)
        change_each(
            session,
            update(UploadFile)
            .where(UploadFile.session_id == upload_id, UploadFile.library_key == bindparam("key"))
            .where(UploadFile.multipart_id.is_(None))
            .values(multipart_id=bindparam("begun_id")),
            [{"key": key, "begun_id": multipart_id} for key, multipart_id in begun.items()],
        )
        return files_to_send(session, upload)


def _abort_quietly(begun: dict[str, str]) -> None:
    """End uploads that nobody will use; what a silent store keeps, a sweep ends, and nobody waits for it."""
    store = object_store()

    def abort(item: tuple[str, str]) -> None:
        with suppress(StoreUnavailable):
            store.abort(*item)

    wait([pool_of(store).submit(abort, item) for item in begun.items()], timeout=ABORT_SECONDS)
