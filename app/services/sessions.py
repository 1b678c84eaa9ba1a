"""Every change of an upload session's state.

    open ──claim──► completing ──finish──► completed
      ▲                 │ │
      └────release──────┘ └──end──► failed
      └──end──► failed, aborted, expired

Each is one conditional update whose row count is checked, so that of any number of processes that try, one
succeeds. A claim is a random name with a time until which it counts; its holder renews it while it lives, and
where the holder dies anybody may take over once that time has passed (C5, C7).
"""

import secrets
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, or_, update
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.extensions import app_settings
from app.models.events import EventKind
from app.models.tracesets import Status, Traceset
from app.models.uploads import SessionState, UploadSession
from app.services import events, library
from app.transactions import changed, transaction

HAS_EXPIRED = "The upload session has expired"


def lapsed(now: datetime) -> ColumnElement[bool]:
    """Whether nobody living is completing the session."""
    until = UploadSession.claimed_until
    return or_(until.is_(None), until < now, until > _latest(now))


def is_held(upload: UploadSession, now: datetime) -> bool:
    """Whether somebody living is completing the session, as far as this row tells."""
    until = upload.claimed_until
    return upload.state is SessionState.COMPLETING and until is not None and now <= until <= _latest(now)


def _latest(now: datetime) -> datetime:
    """No living claim counts for longer: one that does was made before the clock was set back."""
    return now + 2 * _lease()


def endable(now: datetime) -> ColumnElement[bool]:
    """Whether the session may be ended: it is open, or its completion died."""
    died = and_(UploadSession.state == SessionState.COMPLETING, lapsed(now))
    return or_(UploadSession.state == SessionState.OPEN, died)


def claim(upload_id: str) -> str | None:
    """Take the session for completion; the claim's name, or None where it cannot be had now."""
    now, name = clock.now(), secrets.token_hex(16)
    available = or_(
        and_(UploadSession.state == SessionState.OPEN, UploadSession.expires_at > now),
        and_(UploadSession.state == SessionState.COMPLETING, lapsed(now)),
    )
    with transaction() as session:
        take = (
            update(UploadSession)
            .where(UploadSession.id == upload_id, available)
            .values(state=SessionState.COMPLETING, claim=name, claimed_until=now + _lease())
        )
        return name if changed(session, take) == 1 else None


def renew(session: Session, upload_id: str, name: str) -> bool:
    """Give the claim another lease; False where it has been lost."""
    return _update_claimed(session, upload_id, name, claimed_until=clock.now() + _lease())


def release(upload_id: str, name: str) -> None:
    """Open the session again; a claim that was lost stays lost."""
    with transaction() as session:
        _update_claimed(session, upload_id, name, state=SessionState.OPEN, claim=None, claimed_until=None)


def free(session: Session, upload_id: str) -> bool:
    """Take the claim from whoever completes the session, and open it again; False where nobody does.

    Safe also while that process lives: each step it still takes in the database asks for the claim it no longer has,
    and what it finishes in the store is what the next completion would finish.
    """
    freeing = (
        update(UploadSession)
        .where(UploadSession.id == upload_id, UploadSession.state == SessionState.COMPLETING)
        .values(state=SessionState.OPEN, claim=None, claimed_until=None)
    )
    return changed(session, freeing) == 1


def finish(session: Session, upload_id: str, name: str) -> bool:
    """Complete the session within the caller's transaction; False where the claim has been lost."""
    return _update_claimed(session, upload_id, name, state=SessionState.COMPLETED, claim=None, claimed_until=None)


def fail(session: Session, upload_id: str, name: str, reason: str) -> bool:
    """Fail the session that we hold; False where the claim has been lost."""
    return _update_claimed(
        session, upload_id, name, state=SessionState.FAILED, claim=None, claimed_until=None, failure=reason
    )


def end(session: Session, upload_id: str, state: SessionState, reason: str) -> bool:
    """End a session that nobody is completing as `aborted` or `expired`; False where it is none such."""
    ending = (
        update(UploadSession)
        .where(UploadSession.id == upload_id, endable(clock.now()))
        .values(state=state, claim=None, claimed_until=None, failure=reason)
    )
    return changed(session, ending) == 1


def overrule(session: Session, upload_id: str, state: SessionState, reason: str) -> None:
    """End the session even while it is being completed: its traceset is going (D3)."""
    unfinished = UploadSession.state.in_((SessionState.OPEN, SessionState.COMPLETING))
    changed(
        session,
        update(UploadSession)
        .where(UploadSession.id == upload_id, unfinished)
        .values(state=state, claim=None, claimed_until=None, failure=reason),
    )


def fail_traceset(session: Session, caller: Caller, traceset: Traceset, upload_id: str, reason: str) -> None:
    """What the end of a session means for its traceset and for what it had sent."""
    uploading = (Traceset.seq == traceset.seq, Traceset.status == Status.UPLOADING)
    changed(session, update(Traceset).where(*uploading).values(status=Status.UPLOAD_FAILED))
    library.condemn_staged(session, upload_id)
    library.drop_references(session, traceset.seq)
    events.record(
        session,
        caller,
        EventKind.FAILED,
        traceset_id=traceset.id,
        workspace_id=traceset.workspace_id,
        upload_id=upload_id,
        reason=reason,
    )


def _update_claimed(session: Session, upload_id: str, name: str, **values: object) -> bool:
    held = (
        UploadSession.id == upload_id,
        UploadSession.state == SessionState.COMPLETING,
        UploadSession.claim == name,
    )
    return changed(session, update(UploadSession).where(*held).values(**values)) == 1


def _lease() -> timedelta:
    return timedelta(seconds=app_settings().complete_lease)
