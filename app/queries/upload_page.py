"""What the upload page shows beside its form: what a person began before."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.models.tracesets import Kind, Traceset
from app.models.uploads import SessionState, UploadSession

SHOWN_UNFINISHED = 20

_UNFINISHED = (SessionState.OPEN, SessionState.COMPLETING)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A session of a traceset that its owner may go on with; `total_size` in bytes."""

    id: str
    name: str
    state: SessionState
    file_count: int
    total_size: int
    created_at: datetime
    expires_at: datetime


def list_unfinished(session: Session, caller: Caller, now: datetime, *, asked: str = "") -> list[Unfinished]:
    """The newest sessions of the caller that still can be completed, where the caller may still change things.

    Args:
        session: any.
        caller: whose page it is.
        now: sessions that have run out by then are left out.
        asked: the id of one that goes along, and first, whoever began it.
    """
    is_asked = UploadSession.id == asked
    statement = (
        select(UploadSession, Traceset)
        .join(Traceset, Traceset.seq == UploadSession.traceset_seq)
        .where(or_(is_asked, UploadSession.owner_id == caller.user_id), UploadSession.state.in_(_UNFINISHED))
        .where(UploadSession.expires_at > now, Traceset.kind == Kind.TRACESET)
        .order_by(is_asked.desc(), UploadSession.created_at.desc(), UploadSession.id)
        .limit(SHOWN_UNFINISHED)
    )
    return [
        Unfinished(
            id=upload.id,
            name=traceset.name,
            state=upload.state,
            file_count=traceset.file_count,
            total_size=traceset.total_size,
            created_at=upload.created_at,
            expires_at=upload.expires_at,
        )
        for upload, traceset in session.execute(statement)
        if caller.may_change(traceset.workspace_id)
    ]
