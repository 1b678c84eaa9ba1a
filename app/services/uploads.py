"""Opening an upload, and showing a session as it stands (U1-U10, S1).

The order of an opening: everything is checked, the rows that say what will be begun are committed, the store
begins its multipart uploads, their ids are stored. A store that fails undoes the rows (U7); a process that dies
in between leaves an open session, which `begin_missing` continues when its owner asks for it again and a sweep
ends when nobody does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.domain.file_names import check_file_name, find_twin
from app.domain.ids import UNIVERSAL_WORKSPACE_ID, new_id
from app.domain.metadata import CheckedMetadata, check_workload_metadata, descriptive, fold
from app.domain.part_plan import PartPlan, plan_parts
from app.errors import AppError, Conflict, Forbidden, Invalid, RateLimited, StoreUnavailable
from app.extensions import app_settings, object_store
from app.models.events import Event, EventKind
from app.models.tracesets import (
    FileRole,
    Kind,
    LibraryFile,
    LibraryState,
    MetadataStatus,
    Status,
    Traceset,
    TracesetFile,
)
from app.models.uploads import SessionState, UploadFile, UploadSession
from app.models.workspaces import Workspace
from app.queries.content import find_stored_content
from app.queries.uploads import FileToSend, count_open_sessions, files_to_send, get_upload
from app.services import events, library
from app.services.store_calls import in_parallel
from app.storage.base import Part, UploadGone
from app.storage.keys import new_key
from app.transactions import change_each, reading, transaction

IDEMPOTENCY_LIFETIME = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file as its uploader describes it; `size` in bytes."""

    name: str
    size: int
    role: FileRole = FileRole.PRIMARY
    external_url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class NewUpload:
    """What is to be uploaded; the types and lengths have been checked at the door."""

    kind: Kind
    workspace_id: str | None
    name: str
    files: Sequence[NewFile]
    description: str | None = None
    tags: Sequence[str] = ()
    ttl_days: int | None = None
    workload_metadata: object = None


@dataclass(frozen=True, slots=True)
class Idempotency:
    """The client's key for this request, and the hash of the request's body (U10)."""

    key: str
    request_hash: str


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One part of the plan: held by the store (with its ETag), or still to be sent (with a URL where one may)."""

    number: int
    size: int
    etag: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One file of a session and its parts (none where nothing is to be sent)."""

    name: str
    size: int
    parts: Sequence[ShownPart]
    urls_expire_at: datetime


@dataclass(frozen=True, slots=True)
class ShownUpload:
    """A session as its caller may see it."""

    id: str
    traceset_id: str
    state: SessionState
    expires_at: datetime
    failure: str | None
    files: Sequence[ShownFile]


@dataclass(frozen=True, slots=True)
class _Checked:
    """A new upload after every rule has been applied."""

    new: NewUpload
    name: str
    workspace_id: str
    metadata: CheckedMetadata
    plans: Sequence[PartPlan | None]
    tags: Sequence[str] = field(default=())


def open_upload(caller: Caller, new: NewUpload, idempotency: Idempotency | None = None) -> ShownUpload:
    """Open a session and answer it with the URLs of all its parts.

    With an idempotency key, a second call answers with the session that the first one opened.

    Raises:
        Forbidden: the token is read-only.
        Invalid: any rule of U4 to U8 is broken, or the key belongs to another body.
        StoreUnavailable: nothing was left behind.
    """
    if caller.is_read_only:
        raise Forbidden("A read-only token changes nothing")
    checked = _check(caller, new)
    upload_id = _find_by_key(caller, idempotency) if idempotency else None
    if upload_id is None:
        try:
            upload_id = _insert(caller, checked, idempotency)
        except IntegrityError:
            upload_id = _find_by_key(caller, idempotency) if idempotency else None
            if upload_id is None:
                raise
            return _show_opened(caller, upload_id, new.kind)
        try:
            begin_missing(upload_id)
        except StoreUnavailable:
            _undo(upload_id)
            raise
    return _show_opened(caller, upload_id, new.kind)


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
        traceset_id=traceset.id,
        state=upload.state,
        expires_at=upload.expires_at,
        failure=upload.failure,
        files=[_shown(file, parts, until, may_send=may_send) for file, parts in zip(files, held, strict=True)],
    )


def is_open(upload: UploadSession) -> bool:
    """Whether parts may still be sent."""
    return upload.state is SessionState.OPEN and upload.expires_at > clock.now()


def begin_missing(upload_id: str) -> list[FileToSend]:
    """Begin the multipart uploads that this open session has not begun yet, and answer all its files.

    Several callers may do so at once: the first id stored for a file counts, the others are ended again.

    Raises:
        Conflict: the session was ended meanwhile.
    """
    store = object_store()
    with reading() as session:
        upload = session.get_one(UploadSession, upload_id)
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
    except AppError:
        _abort_quietly(begun)
        raise
    counted = {f.library_key: f.multipart_id for f in files}
    _abort_quietly({key: mid for key, mid in begun.items() if counted.get(key) != mid})
    return files


def _check(caller: Caller, new: NewUpload) -> _Checked:
    workspace_id = new.workspace_id or UNIVERSAL_WORKSPACE_ID
    if not caller.may_change(workspace_id):
        raise Invalid(f"workspaceId '{workspace_id}' is not a workspace that you may upload to")
    part_size = app_settings().part_size
    plans: list[PartPlan | None] = []
    for i, file in enumerate(new.files):
        check_file_name(file.name, f"files[{i}].name")
        plan = plan_parts(file.size, part_size, f"files[{i}].size")
        plans.append(None if file.external_url else plan)
    twin = find_twin([file.name for file in new.files])
    if twin is not None:
        first, second = twin
        raise Invalid(
            f"files[{second}].name '{new.files[second].name}' is the name of files[{first}] already; "
            "names must differ, and two spellings of one Unicode normal form count as the same"
        )
    has_primary = new.kind is Kind.TRACESET and any(file.role is FileRole.PRIMARY for file in new.files)
    return _Checked(
        new=new,
        name=new.name.strip(),
        workspace_id=workspace_id,
        metadata=check_workload_metadata(new.workload_metadata, has_primary=has_primary),
        plans=plans,
        tags=list(dict.fromkeys(new.tags)),
    )


def _insert(caller: Caller, checked: _Checked, idempotency: Idempotency | None) -> str:
    settings, now, upload_id = app_settings(), clock.now(), new_id("upload")
    with transaction() as session:
        if session.get(Workspace, checked.workspace_id) is None:
            raise Invalid(f"workspaceId '{checked.workspace_id}' is not a workspace that you may upload to")
        if count_open_sessions(session, caller.user_id) >= settings.max_open_sessions:
            raise RateLimited(
                f"You have {settings.max_open_sessions} uploads open; complete or end some first", retry_after=60
            )
        if idempotency:
            _free_old_key(session, caller, idempotency.key)
        traceset = _new_traceset(caller, checked, now)
        session.add(traceset)
        session.flush()
        session.add(
            UploadSession(
                id=upload_id,
                traceset_seq=traceset.seq,
                state=SessionState.OPEN,
                owner_id=caller.user_id,
                created_at=now,
                expires_at=now + timedelta(seconds=settings.session_ttl),
                idempotency_key=idempotency.key if idempotency else None,
                request_hash=idempotency.request_hash if idempotency else None,
            )
        )
        session.flush()
        _insert_files(session, checked, traceset, upload_id)
        events.record(
            session,
            caller,
            EventKind.CREATED,
            traceset_id=traceset.id,
            workspace_id=traceset.workspace_id,
            upload_id=upload_id,
        )
    return upload_id


def _new_traceset(caller: Caller, checked: _Checked, now: datetime) -> Traceset:
    new, metadata = checked.new, checked.metadata
    words = descriptive(new.workload_metadata if isinstance(new.workload_metadata, dict) else None)
    days = app_settings().default_ttl_days if new.ttl_days is None else new.ttl_days
    return Traceset(
        id=new_id("ts" if new.kind is Kind.TRACESET else "mapping"),
        kind=new.kind,
        workspace_id=checked.workspace_id,
        name=checked.name,
        name_key=fold(checked.name),
        description=new.description,
        status=Status.UPLOADING,
        tags=list(checked.tags),
        workload_metadata=metadata.text,
        rank_count=metadata.rank_count,
        workload_family=words.workload_family,
        workload_name=words.workload_name,
        precision=words.precision,
        accelerator=words.accelerator,
        file_count=len(new.files),
        total_size=sum(file.size for file in new.files),
        created_at=now,
        created_by=caller.user_id,
        expires_at=now + timedelta(days=days) if days else None,
    )


def _insert_files(session: Session, checked: _Checked, traceset: Traceset, upload_id: str) -> None:
    files = checked.new.files
    stored = find_stored_content(session, traceset.workspace_id, {f.sha256: f.size for f in files if f.sha256})
    matched = [None if f.external_url else stored.get((f.sha256, f.size)) for f in files]
    sent = [
        (position, new_key(), plan)
        for position, (plan, match) in enumerate(zip(checked.plans, matched, strict=True))
        if plan is not None and match is None
    ]
    session.execute(
        insert(TracesetFile),
        [
            {
                "traceset_seq": traceset.seq,
                "position": position,
                "name": file.name,
                "size": file.size,
                "role": file.role,
                "metadata_status": MetadataStatus.PENDING,
                "library_key": match,
                "external_url": file.external_url,
            }
            for position, (file, match) in enumerate(zip(files, matched, strict=True))
        ],
    )
    if any(matched):
        library.add_references(session, traceset.seq)
    if sent:
        session.execute(
            insert(LibraryFile),
            [
                {
                    "key": key,
                    "size": plan.size,
                    "state": LibraryState.STAGED,
                    "ref_count": 0,
                    "declared_sha256": files[position].sha256,
                    "created_at": traceset.created_at,
                }
                for position, key, plan in sent
            ],
        )
        session.execute(
            insert(UploadFile),
            [
                {"session_id": upload_id, "position": position, "library_key": key, "part_size": plan.part_size}
                for position, key, plan in sent
            ],
        )


def _find_by_key(caller: Caller, idempotency: Idempotency) -> str | None:
    with reading() as session:
        upload = session.scalar(
            select(UploadSession).where(
                UploadSession.owner_id == caller.user_id,
                UploadSession.idempotency_key == idempotency.key,
                UploadSession.created_at > clock.now() - IDEMPOTENCY_LIFETIME,
            )
        )
    if upload is None:
        return None
    if upload.request_hash != idempotency.request_hash:
        raise Invalid("Idempotency-Key was used with another request body in the last 24 hours")
    return upload.id


def _free_old_key(session: Session, caller: Caller, key: str) -> None:
    session.execute(
        update(UploadSession)
        .where(
            UploadSession.owner_id == caller.user_id,
            UploadSession.idempotency_key == key,
            UploadSession.created_at <= clock.now() - IDEMPOTENCY_LIFETIME,
        )
        .values(idempotency_key=None)
    )


def _store_multipart_ids(upload_id: str, begun: dict[str, str]) -> list[FileToSend]:
    with transaction() as session:
        upload = session.get(UploadSession, upload_id, with_for_update=True)
        if upload is None or not is_open(upload):
            raise Conflict(f"Upload session '{upload_id}' was ended meanwhile")
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
    """End uploads that nobody will use; what a silent store keeps, a sweep ends."""
    store = object_store()

    def abort(item: tuple[str, str]) -> None:
        try:
            store.abort(*item)
        except StoreUnavailable:
            return

    in_parallel(store, abort, begun.items())


def _undo(upload_id: str) -> None:
    """Leave no trace of an opening that the store refused (U7)."""
    with transaction() as session:
        upload = session.get(UploadSession, upload_id)
        if upload is None:
            return
        traceset = session.get_one(Traceset, upload.traceset_seq)
        keys = list(session.scalars(select(UploadFile.library_key).where(UploadFile.session_id == upload_id)))
        library.drop_references(session, traceset.seq)
        session.execute(delete(Event).where(Event.traceset_id == traceset.id))
        session.execute(delete(UploadFile).where(UploadFile.session_id == upload_id))
        session.execute(delete(LibraryFile).where(LibraryFile.key.in_(keys)))
        session.execute(delete(TracesetFile).where(TracesetFile.traceset_seq == traceset.seq))
        session.delete(upload)
        session.flush()
        session.delete(traceset)


def _show_opened(caller: Caller, upload_id: str, kind: Kind) -> ShownUpload:
    """The answer of upload-url: the plan of every file with a URL for every part, whatever has arrived."""
    with reading() as session:
        upload, traceset = get_upload(session, caller, upload_id, kind)
    if not is_open(upload):
        raise Invalid(
            f"Idempotency-Key belongs to upload session '{upload_id}', which is {upload.state}; use a new key"
        )
    until = _urls_until(upload)
    return ShownUpload(
        id=upload.id,
        traceset_id=traceset.id,
        state=upload.state,
        expires_at=upload.expires_at,
        failure=None,
        files=[_shown(file, {}, until, may_send=True) for file in begin_missing(upload_id)],
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


def _shown(file: FileToSend, held: dict[int, Part], until: datetime, *, may_send: bool) -> ShownFile:
    if file.plan is None:
        return ShownFile(file.name, file.size, (), until)
    numbers = range(1, file.plan.count + 1)
    urls: Iterator[str] = iter(())
    if may_send and file.library_key and file.multipart_id:
        wanted = [number for number in numbers if number not in held]
        urls = iter(object_store().sign_parts(file.library_key, file.multipart_id, wanted, until))
    parts = [
        ShownPart(number, file.plan.size_of(number), etag=held[number].etag)
        if number in held
        else ShownPart(number, file.plan.size_of(number), url=next(urls, None))
        for number in numbers
    ]
    return ShownFile(file.name, file.size, parts, until)
