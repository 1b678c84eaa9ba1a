"""Publishing a traceset into another workspace (P1-P3): a new traceset over the same bytes."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import insert, literal, select
from sqlalchemy.orm import Session

from app import clock
from app.domain import strict_json
from app.domain.access import Caller
from app.domain.ids import UNIVERSAL_WORKSPACE_ID, new_id
from app.domain.metadata import Metadata, check_promotion, descriptive, fold, read_stored
from app.errors import Invalid
from app.extensions import app_settings
from app.models.events import EventKind
from app.models.tracesets import Kind, Status, Traceset, TracesetFile
from app.models.workspaces import Workspace
from app.queries.tracesets import get_traceset
from app.services import events, library
from app.services.tags import insert_tags
from app.transactions import transaction


@dataclass(frozen=True, slots=True)
class Promotion:
    """The published traceset, and whether this call made it."""

    traceset_id: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was asked for: the target, a name (None: the old one) and metadata (None: the stored one)."""

    workspace_id: str
    name: str | None
    metadata: object


def promote_traceset(
    caller: Caller,
    traceset_id: str,
    *,
    workspace_id: str | None = None,
    name: str | None = None,
    metadata: object = None,
) -> Promotion:
    """Publish a ready traceset; the same again answers with the first one, whatever its name.

    Args:
        caller: sees the traceset, and is an editor of the target.
        traceset_id: what is published.
        workspace_id: the target; None: the universal workspace.
        name: of the new traceset; None: the old name.
        metadata: the new workload metadata; None: the stored one, unchanged.

    Raises:
        NotFound: there is no such traceset for this caller.
        Invalid: the target, the status or the metadata will not do; every fault of the metadata is told.
    """
    target = UNIVERSAL_WORKSPACE_ID if workspace_id is None else workspace_id
    with transaction() as session:
        return _promote(session, caller, traceset_id, _Wanted(target, name, metadata))


def _promote(session: Session, caller: Caller, traceset_id: str, wanted: _Wanted) -> Promotion:
    # A deletion of the source waits, so that the references are counted while it holds its own; so does another
    # promotion, which then finds this one where it is the same.
    source, target = get_traceset(session, caller, traceset_id, is_held=True), wanted.workspace_id
    if not caller.may_change(target) or session.get(Workspace, target) is None:
        raise Invalid(f"workspaceId '{target}' is not a workspace that you may publish to")
    if source.status is not Status.READY:
        raise Invalid(f"'{source.id}' cannot be promoted: its status is {source.status}, not ready")
    metadata = check_promotion(wanted.metadata, read_stored(source.workload_metadata), source.rank_count)
    key = _promotion_key(source, target, metadata)
    there = select(Traceset.id).where(Traceset.promotion_key == key, Traceset.deleted_at.is_(None))
    first = session.scalar(there)
    if first is not None:
        return Promotion(first, is_first=False)
    text = source.workload_metadata if wanted.metadata is None else strict_json.dumps(metadata)
    copy = _copy_of(source, caller, target, wanted.name or source.name, clock.now())
    copy.workload_metadata, copy.promotion_key = text, key
    words = descriptive(metadata)
    copy.workload_family, copy.workload_name = words.workload_family, words.workload_name
    copy.precision, copy.accelerator = words.precision, words.accelerator
    session.add(copy)
    session.flush()
    insert_tags(session, copy)
    _refer_to_same_bytes(session, source, copy)
    for traceset, detail in ((source, {"promoted_to": copy.id}), (copy, {"promoted_from": source.id})):
        events.record(
            session,
            caller,
            EventKind.PROMOTED,
            traceset_id=traceset.id,
            workspace_id=traceset.workspace_id,
            **detail,
        )
    return Promotion(copy.id, is_first=True)


def _copy_of(source: Traceset, caller: Caller, target: str, name: str, now: datetime) -> Traceset:
    days = app_settings().default_ttl_days
    return Traceset(
        id=new_id("ts"),
        kind=Kind.TRACESET,
        workspace_id=target,
        name=name,
        name_key=fold(name),
        description=source.description,
        status=Status.READY,
        tags=source.tags,
        rank_count=source.rank_count,
        file_count=source.file_count,
        total_size=source.total_size,
        created_at=now,
        created_by=caller.user_id,
        expires_at=now + timedelta(days=days) if days else None,
        promoted_from=source.id,
    )


def _refer_to_same_bytes(session: Session, source: Traceset, copy: Traceset) -> None:
    members = [column for column in TracesetFile.__table__.columns if column.name != "traceset_seq"]
    rows = select(literal(copy.seq), *members).where(TracesetFile.traceset_seq == source.seq)
    session.execute(insert(TracesetFile).from_select(["traceset_seq", *(m.name for m in members)], rows))
    library.add_references(session, copy.seq)


def _promotion_key(source: Traceset, target: str, metadata: Metadata | None) -> str:
    """What makes two promotions the same: source, target, and metadata in whatever order of members."""
    text = strict_json.dumps([source.id, target, _sorted(metadata)])
    return hashlib.sha256(text.encode()).hexdigest()


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
