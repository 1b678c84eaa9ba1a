"""A session as its caller sees it: what has arrived, and URLs for what has not (U1, S1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app import clock
from app.domain.access import Caller
from app.domain.part_plan import PartPlan
from app.errors import Invalid
from app.extensions import app_settings, object_store
from app.models.tracesets import Kind
from app.models.uploads import SessionState, UploadSession
from app.queries.uploads import FileToSend, files_to_send, get_upload
from app.services.multipart import begin_missing, is_open
from app.services.store_calls import in_parallel
from app.storage.base import Part, UploadGone
from app.transactions import reading


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One file of a session.

    `plan` is None where nothing is to be sent. Of its parts the store holds those in `held`; `urls` has one for each
    of the others, in ascending number, where the caller may send them, and is empty where not.
    """

    name: str
    size: int
    plan: PartPlan | None
    held: Mapping[int, Part]
    urls: Sequence[str]
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
    until = _urls_until(upload)
    held = _held_parts(upload, files)
    return ShownUpload(
        id=upload.id,
        kind=kind,
        traceset_id=traceset.id,
        state=upload.state,
        expires_at=upload.expires_at,
        failure=upload.failure,
        files=[_shown(file, parts, until, may_send=may_send) for file, parts in zip(files, held, strict=True)],
    )


def show_opened(caller: Caller, upload_id: str, kind: Kind, files: Sequence[FileToSend] | None = None) -> ShownUpload:
    """The answer of upload-url: the plan of every file with a URL for every part, whatever has arrived.

    Args:
        caller: who opened it.
        upload_id: the session.
        kind: of the session.
        files: all its files with their multipart ids, where they have just been begun.
    """
    with reading() as session:
        upload, traceset = get_upload(session, caller, upload_id, kind)
    if not is_open(upload):
        raise Invalid(
            f"Idempotency-Key belongs to upload session '{upload_id}', which is {upload.state}; use a new key"
        )
    until = _urls_until(upload)
    return ShownUpload(
        id=upload.id,
        kind=kind,
        traceset_id=traceset.id,
        state=upload.state,
        expires_at=upload.expires_at,
        failure=None,
        files=[_shown(file, {}, until, may_send=True) for file in files or begin_missing(upload_id)],
    )


def _urls_until(upload: UploadSession) -> datetime:
    return min(clock.now() + timedelta(seconds=app_settings().part_url_ttl), upload.expires_at)


def _held_parts(upload: UploadSession, files: Sequence[FileToSend]) -> list[dict[int, Part]]:
    """Per file, the parts that the store holds by number; an ended session holds none."""
    store = object_store()

    def held(file: FileToSend) -> dict[int, Part]:
        if file.library_key is None or file.multipart_id is None:
            return {}
        try:
            return {part.number: part for part in store.parts(file.library_key, file.multipart_id)}
        except UploadGone:
            return {}

    if upload.state not in (SessionState.OPEN, SessionState.COMPLETING):
        return [{} for _ in files]
    return in_parallel(store, held, files)


def _shown(file: FileToSend, held: Mapping[int, Part], until: datetime, *, may_send: bool) -> ShownFile:
    urls: Sequence[str] = ()
    if may_send and file.plan and file.library_key and file.multipart_id:
        wanted = [number for number in range(1, file.plan.count + 1) if number not in held]
        urls = object_store().sign_parts(file.library_key, file.multipart_id, wanted, until)
    return ShownFile(file.name, file.size, file.plan, held, urls, until)
