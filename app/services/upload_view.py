"""A session as its caller sees it: what has arrived, and URLs for what has not (U1, S1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from app import clock
from app.domain.access import Caller
from app.domain.part_plan import PartPlan
from app.errors import Invalid
from app.extensions import app_settings, object_store
from app.models.tracesets import Kind
from app.models.uploads import SessionState, UploadSession
from app.queries.uploads import FileToSend, files_to_send, get_upload
from app.services.multipart import begin_again, begin_missing, is_open, state_now
from app.services.store_calls import in_parallel
from app.storage.base import UploadGone
from app.transactions import reading


class HeldPart(NamedTuple):
    """A part that the store holds: its size in bytes, and its ETag unless its file is finished."""

    size: int
    etag: str | None


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One file of a session.

    `plan` is None where nothing is to be sent. Of its parts the store holds those in `held`, which gives their ETags
    (None: the file is finished, and its parts have none any more). `urls` has one for each part that is still to be
    sent, or to be sent again since it is of another size, where the caller may; both are by part number.
    """

    name: str
    size: int
    plan: PartPlan | None
    held: Mapping[int, str | None]
    urls: Mapping[int, str]
    urls_expire_at: datetime


@dataclass(frozen=True, slots=True)
class ShownUpload:
    """A session as its caller may see it."""

    id: str
    kind: Kind
    traceset_id: str
    state: SessionState
    expires_at: datetime
    failure: str | None
    files: Sequence[ShownFile]


def show_upload(caller: Caller, upload_id: str, kind: Kind) -> ShownUpload:
    """The session with what the store holds now, and fresh URLs for the rest where the caller may send it (S1)."""
    with reading() as session:
        upload, traceset = get_upload(session, caller, upload_id, kind)
        files = files_to_send(session, upload)
    may_send = caller.may_change(traceset.workspace_id) and is_open(upload)
    if may_send:
        files = begin_missing(upload_id)
    held = _held_parts(upload, files)
    lost = [file for file, parts in zip(files, held, strict=True) if parts is None]
    if lost and may_send:
        files = begin_again(upload_id, lost)
    until = _urls_until(upload)
    return ShownUpload(
        id=upload.id,
        kind=kind,
        traceset_id=traceset.id,
        state=state_now(upload),
        expires_at=upload.expires_at,
        failure=upload.failure,
        files=[_shown(file, parts or {}, until, may_send=may_send) for file, parts in zip(files, held, strict=True)],
    )


def show_opened(caller: Caller, upload_id: str, kind: Kind, files: Sequence[FileToSend] | None = None) -> ShownUpload:
    """The answer of upload-url: the plan of every file with a URL for every part, whatever has arrived.

    Those of a completed session change nothing any more; whoever completes it again is told what came of it.

    Args:
        caller: who opened it.
        upload_id: the session.
        kind: of the session.
        files: all its files with their multipart ids, where they have just been begun.
    """
    with reading() as session:
        upload, traceset = get_upload(session, caller, upload_id, kind)
        stored = files_to_send(session, upload) if files is None else files
    state = state_now(upload)
    if state in (SessionState.FAILED, SessionState.ABORTED, SessionState.EXPIRED):
        raise Invalid(f"Idempotency-Key belongs to upload session '{upload_id}', which is {state}; use a new key")
    if files is None and state is SessionState.OPEN:
        stored = begin_missing(upload_id)
    until = _urls_until(upload)
    return ShownUpload(
        id=upload.id,
        kind=kind,
        traceset_id=traceset.id,
        state=state,
        expires_at=upload.expires_at,
        failure=None,
        files=[_shown(file, {}, until, may_send=True) for file in stored],
    )


def _urls_until(upload: UploadSession) -> datetime:
    return min(clock.now() + timedelta(seconds=app_settings().part_url_ttl), upload.expires_at)


def _held_parts(upload: UploadSession, files: Sequence[FileToSend]) -> list[dict[int, HeldPart] | None]:
    """Per file, the parts that the store holds by number; None where it has lost the upload. An ended session
    holds none."""
    if upload.state is SessionState.COMPLETED:
        return [_finished(file) for file in files]
    if upload.state not in (SessionState.OPEN, SessionState.COMPLETING):
        return [{} for _ in files]
    return in_parallel(object_store(), held_of, files)


def held_of(file: FileToSend) -> dict[int, HeldPart] | None:
    """The parts of one file that the store holds, by number; None where it has lost the upload."""
    store = object_store()
    if file.library_key is None or file.multipart_id is None:
        return {}
    try:
        return {
            part.number: HeldPart(part.size, part.etag) for part in store.parts(file.library_key, file.multipart_id)
        }
    except UploadGone:
        # A completion that died may have finished this file.
        stored = store.stat(file.library_key)
    return _finished(file) if stored is not None and stored.size == file.size else None


def _finished(file: FileToSend) -> dict[int, HeldPart]:
    sizes = file.plan.sizes() if file.plan else ()
    return {number: HeldPart(size, None) for number, size in enumerate(sizes, start=1)}


def _shown(file: FileToSend, held: Mapping[int, HeldPart], until: datetime, *, may_send: bool) -> ShownFile:
    urls: dict[int, str] = {}
    if may_send and file.plan and file.library_key and file.multipart_id:
        sizes = enumerate(file.plan.sizes(), start=1)
        wanted = [number for number, size in sizes if number not in held or held[number].size != size]
        signed = object_store().sign_parts(file.library_key, file.multipart_id, wanted, until)
        urls = dict(zip(wanted, signed, strict=True))
    etags = {number: part.etag for number, part in held.items()}
    return ShownFile(file.name, file.size, file.plan, etags, urls, until)
