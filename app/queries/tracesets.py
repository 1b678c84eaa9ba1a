"""Reading tracesets. Who sees what is decided here and nowhere else (G5)."""

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.errors import NotFound
from app.models.tracesets import Kind, Traceset, TracesetFile

NOUNS = {Kind.TRACESET: "Traceset", Kind.MAPPING: "Mapping file"}


def select_visible_tracesets(caller: Caller, kind: Kind = Kind.TRACESET) -> Select[Traceset]:
    """What the caller may see, deleted ones left out."""
    statement = select(Traceset).where(Traceset.kind == kind, Traceset.deleted_at.is_(None))
    visible = caller.visible_workspaces
    return statement if visible is None else statement.where(Traceset.workspace_id.in_(visible))


def get_traceset(
    session: Session, caller: Caller, traceset_id: str, kind: Kind = Kind.TRACESET, *, is_held: bool = False
) -> Traceset:
    """The traceset, where it is there and the caller may see it.

    Args:
        session: any.
        caller: whoever asks.
        traceset_id: of one of this
        kind.
        is_held: nobody else changes it, deletes it or holds it before this transaction ends.

    Raises:
        NotFound: else, with the words of R4.
    """
    statement = select_visible_tracesets(caller, kind).where(Traceset.id == traceset_id)
    if is_held:
        # Whoever had to wait for another transaction here sees what that one left, also that it is deleted.
        statement = statement.with_for_update(key_share=True)
    traceset = session.scalar(statement)
    if traceset is None:
        raise not_found(traceset_id, kind)
    return traceset


def not_found(traceset_id: str, kind: Kind = Kind.TRACESET) -> NotFound:
    """The answer of R4, which is the same for what is not there and what may not be seen."""
    return NotFound(f"{NOUNS[kind]} '{traceset_id}' not found")


def files_of(session: Session, seq: int) -> list[TracesetFile]:
    """All files in the order of the request."""
    statement = select(TracesetFile).where(TracesetFile.traceset_seq == seq).order_by(TracesetFile.position)
    return list(session.scalars(statement))
