"""What a person's first page and a workspace's page sum up."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, literal, or_, select, union_all
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.models.tracesets import Kind, Status, Traceset
from app.models.uploads import SessionState, UploadSession

COUNTED = 10_000
"""Up to so many of each status are counted: a page must not wait for the count of a million."""


class Sum(NamedTuple):
    """How many tracesets have a status, and their bytes; `is_partial`: there are more than `COUNTED` of them."""

    status: Status
    n: int
    size: int

    @property
    def is_partial(self) -> bool:
        """Whether both numbers are lower bounds."""
        return self.n == COUNTED


class OwnUpload(NamedTuple):
    """One of the caller's sessions and its traceset."""

    upload: UploadSession
    traceset: Traceset


def sum_own(session: Session, caller: Caller) -> list[Sum]:
    """The tracesets that the caller made and still sees, by status."""
    visible = caller.visible_workspaces
    mine: list[ColumnElement[bool]] = [Traceset.created_by == caller.user_id]
    if visible is not None:
        mine.append(Traceset.workspace_id.in_(visible))
    return _sums(session, *mine)


def sum_workspace(session: Session, workspace_id: str) -> list[Sum]:
    """The tracesets of a workspace, by status."""
    return _sums(session, Traceset.workspace_id == workspace_id)


def list_under_way(session: Session, caller: Caller, now: datetime, *, limit: int) -> list[OwnUpload]:
    """The caller's newest sessions that can still come to their end, the newest first."""
    states = (SessionState.OPEN, SessionState.COMPLETING)
    has_time = or_(UploadSession.state == SessionState.COMPLETING, UploadSession.expires_at > now)
    return _own_uploads(session, caller, states, has_time, limit=limit)


def list_failed(session: Session, caller: Caller, *, limit: int) -> list[OwnUpload]:
    """The caller's newest sessions that did not come to their end, until their tracesets are deleted."""
    states = (SessionState.FAILED, SessionState.ABORTED, SessionState.EXPIRED)
    return _own_uploads(session, caller, states, limit=limit)


def _own_uploads(
    session: Session, caller: Caller, states: Sequence[SessionState], *more: ColumnElement[bool], limit: int
) -> list[OwnUpload]:
    statement = (
        select(UploadSession, Traceset)
        .join(Traceset, Traceset.seq == UploadSession.traceset_seq)
        .where(
            UploadSession.owner_id == caller.user_id,
            UploadSession.state.in_(states),
            *more,
            Traceset.kind == Kind.TRACESET,
            Traceset.deleted_at.is_(None),
        )
        .order_by(UploadSession.created_at.desc(), UploadSession.id)
        .limit(limit)
    )
    found = [OwnUpload(upload, traceset) for upload, traceset in session.execute(statement)]
    return [own for own in found if caller.may_see(own.traceset.workspace_id)]


def _sums(session: Session, *wanted: ColumnElement[bool]) -> list[Sum]:
    counts = []
    for status in Status:
        if status is Status.DELETED:
            continue
        some = (
            select(Traceset.total_size)
            .where(*wanted, Traceset.status == status, Traceset.deleted_at.is_(None), Traceset.kind == Kind.TRACESET)
            .limit(COUNTED)
            .subquery()
        )
        total = func.coalesce(func.sum(some.c.total_size), 0)
        counts.append(select(literal(status.value), func.count(), total).select_from(some))
    rows = session.execute(union_all(*counts)).all()
    return [Sum(Status(status), n, int(size)) for status, n, size in rows if n]
