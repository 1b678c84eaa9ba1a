"""Ending sessions and deleting tracesets (D1-D3, S2)."""

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.errors import Conflict, Forbidden
from app.models.events import EventKind
from app.models.tracesets import Kind, Status, Traceset
from app.models.uploads import SessionState, UploadSession
from app.queries.tracesets import get_traceset, not_found
from app.queries.uploads import get_upload
from app.services import events, library, sessions
from app.services.multipart import state_now
from app.transactions import changed, transaction


def delete_traceset(caller: Caller, traceset_id: str, kind: Kind = Kind.TRACESET) -> None:
    """Delete it softly: the record stays, its references end at once, its bytes with a later sweep.

    Of any number of calls at once one succeeds. One that is uploading loses its session and its parts (D3).

    Raises:
        NotFound: there is none for this caller, or no more.
        Forbidden: the caller may only read it.
    """
    with transaction() as session:
        traceset = get_traceset(session, caller, traceset_id, kind)
        _require_change(caller, traceset)
        upload_id = remove(session, caller, traceset, EventKind.DELETED)
        if upload_id is None:
            raise not_found(traceset_id, kind)
    library.discard_quietly(upload_id)


def remove(session: Session, caller: Caller, traceset: Traceset, why: EventKind) -> str | None:
    """Mark it deleted within the caller's transaction; its session's id, or None where somebody was quicker."""
    there = (Traceset.seq == traceset.seq, Traceset.deleted_at.is_(None))
    if changed(session, update(Traceset).where(*there).values(status=Status.DELETED, deleted_at=clock.now())) != 1:
        return None
    upload = session.scalar(select(UploadSession).where(UploadSession.traceset_seq == traceset.seq))
    upload_id = "" if upload is None else upload.id
    if upload is not None:
        sessions.overrule(session, upload_id, *_ending(upload, "Its traceset was deleted"))
    library.condemn_staged(session, upload_id)
    library.drop_references(session, traceset.seq)
    events.record(session, caller, why, traceset_id=traceset.id, workspace_id=traceset.workspace_id)
    return upload_id


def abort_upload(caller: Caller, upload_id: str, kind: Kind) -> None:
    """End a session and discard its parts; the traceset becomes `upload_failed`. An ended one stays as it is.

    Raises:
        NotFound: there is none for this caller.
        Forbidden: the caller may only read it.
        Conflict: it is completed, or being completed.
    """
    with transaction() as session:
        upload, traceset = get_upload(session, caller, upload_id, kind)
        _require_change(caller, traceset)
        if upload.state in (SessionState.FAILED, SessionState.ABORTED, SessionState.EXPIRED):
            return
        state, reason = _ending(upload, "The upload was aborted")
        if not sessions.end(session, upload_id, state, reason):
            raise Conflict(f"Upload session '{upload_id}' is {upload.state} and cannot be ended")
        sessions.fail_traceset(session, caller, traceset, upload_id, reason)
    library.discard_quietly(upload_id)


def _ending(upload: UploadSession, reason: str) -> tuple[SessionState, str]:
    """As what a session ends now, and why: one that has passed its time has expired, whether or not a sweep came
    first (C4)."""
    if state_now(upload) is SessionState.EXPIRED:
        return SessionState.EXPIRED, sessions.HAS_EXPIRED
    return SessionState.ABORTED, reason


def _require_change(caller: Caller, traceset: Traceset) -> None:
    if not caller.may_change(traceset.workspace_id):
        raise Forbidden(f"You may not change what is in workspace '{traceset.workspace_id}'")
