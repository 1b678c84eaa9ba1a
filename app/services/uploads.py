"""Opening an upload (U1-U10).

The order of an opening: everything is checked, the rows that say what will be begun are committed, the store
begins its multipart uploads, their ids are stored. A store that fails undoes the rows (U7); a process that dies
in between leaves an open session, which `begin_missing` continues when its owner asks for it again and a sweep
ends when nobody does.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.domain.file_names import check_file_name, find_twin
from app.domain.ids import UNIVERSAL_WORKSPACE_ID, new_id
from app.domain.metadata import CheckedMetadata, check_workload_metadata, descriptive, fold
from app.domain.part_plan import PartPlan, plan_parts
from app.errors import Forbidden, Invalid, RateLimited, Unavailable
from app.extensions import app_settings
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
from app.queries.uploads import count_open_sessions
from app.services import events, library
from app.services.hashing import forget_lost
from app.services.multipart import begin_missing
from app.services.tags import insert_tags
from app.services.upload_view import ShownUpload, show_opened
from app.storage.keys import new_key
from app.transactions import reading, transaction

IDEMPOTENCY_LIFETIME = timedelta(hours=24)
MAX_PARTS = 250_000
"""Of all files of a session: each has a URL in one answer, which a process makes in memory (about a kilobyte each)."""


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
    first = _find_by_key(caller, idempotency)
    if first is not None:
        return show_opened(caller, first, new.kind)
    forget_lost(checked.workspace_id, _sizes_by_digest(new))
    try:
        upload_id = _insert(caller, checked, idempotency)
    except IntegrityError:
        # Another request with this key was quicker.
        first = _find_by_key(caller, idempotency)
        if first is None:
            raise
        return show_opened(caller, first, new.kind)
    try:
        files = begin_missing(upload_id)
    except Unavailable:
        _undo_quietly(upload_id)
        raise
    return show_opened(caller, upload_id, new.kind, files)


def _check(caller: Caller, new: NewUpload) -> _Checked:
    workspace_id = UNIVERSAL_WORKSPACE_ID if new.workspace_id is None else new.workspace_id
    if not caller.may_change(workspace_id):
        raise Invalid(f"workspaceId '{workspace_id}' is not a workspace that you may upload to")
    part_size = app_settings().part_size
    plans: list[PartPlan | None] = []
    for i, file in enumerate(new.files):
        check_file_name(file.name, f"files[{i}].name")
        plan = plan_parts(file.size, part_size, f"files[{i}].size")
        plans.append(None if file.external_url else plan)
    n_parts = sum(plan.count for plan in plans if plan)
    if n_parts > MAX_PARTS:
        raise Invalid(
            f"files need {n_parts} parts altogether, more than {MAX_PARTS}; send them in several uploads, "
            "or ask the operator for a larger PART_SIZE"
        )
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
        insert_tags(session, traceset)
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
    stored = find_stored_content(session, traceset.workspace_id, _sizes_by_digest(checked.new))
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


def _sizes_by_digest(new: NewUpload) -> dict[str, int]:
    return {file.sha256: file.size for file in new.files if file.sha256}


def _find_by_key(caller: Caller, idempotency: Idempotency | None) -> str | None:
    if idempotency is None:
        return None
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


def _undo_quietly(upload_id: str) -> None:
    """What a silent database keeps, a sweep ends."""
    with suppress(Unavailable):
        _undo(upload_id)


def _undo(upload_id: str) -> None:
    """Leave no trace of an opening that the store refused (U7), unless a request with the same key had more luck."""
    with transaction() as session:
        upload = session.get(UploadSession, upload_id, with_for_update=True)
        missing = select(UploadFile).where(UploadFile.session_id == upload_id, UploadFile.multipart_id.is_(None))
        if upload is None or session.scalar(missing.limit(1)) is None:
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
