"""Reading upload sessions."""

from dataclasses import dataclass

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.domain.part_plan import PartPlan
from app.errors import Invalid, NotFound
from app.models.tracesets import Kind, Traceset, TracesetFile
from app.models.uploads import SessionState, UploadFile, UploadSession

ROUTES = {Kind.TRACESET: "/api/v1/tracesets/upload-url", Kind.MAPPING: "/api/v1/mapping-files/upload-url"}


@dataclass(frozen=True, slots=True)
class FileToSend:
    """One file of a session, joined from what the traceset and the session know of it; `size` in bytes.

    `plan` is None for a file that has no parts: an external one, or one whose content is stored already.
    """

    position: int
    name: str
    size: int
    library_key: str | None
    multipart_id: str | None
    plan: PartPlan | None


def get_upload(session: Session, caller: Caller, upload_id: str, kind: Kind) -> tuple[UploadSession, Traceset]:
    """The session and its traceset (deleted or not), where the caller may see them.

    Raises:
        NotFound: there is none for this caller (C4).
        Invalid: it is one of the other kind; the message names the right route (C4).
    """
    statement = (
        select(UploadSession, Traceset)
        .join(Traceset, Traceset.seq == UploadSession.traceset_seq)
        .where(UploadSession.id == upload_id)
    )
    row = session.execute(statement).first()
    if row is None or not caller.may_see(row[1].workspace_id):
        raise NotFound(f"Upload session '{upload_id}' not found")
    upload, traceset = row
    if traceset.kind != kind:
        route = ROUTES[traceset.kind]
        raise Invalid(f"Upload session '{upload_id}' was opened by POST {route}; complete it by POST {route}/complete")
    return upload, traceset


def files_to_send(session: Session, upload: UploadSession) -> list[FileToSend]:
    """All files of the session's traceset in their order."""
    belongs = and_(UploadFile.position == TracesetFile.position, UploadFile.session_id == upload.id)
    statement = (
        select(TracesetFile, UploadFile)
        .outerjoin(UploadFile, belongs)
        .where(TracesetFile.traceset_seq == upload.traceset_seq)
        .order_by(TracesetFile.position)
    )
    return [_joined(file, sent) for file, sent in session.execute(statement)]


def _joined(file: TracesetFile, sent: UploadFile | None) -> FileToSend:
    return FileToSend(
        position=file.position,
        name=file.name,
        size=file.size,
        library_key=sent.library_key if sent else None,
        multipart_id=sent.multipart_id if sent else None,
        plan=PartPlan(file.size, sent.part_size) if sent else None,
    )


def count_open_sessions(session: Session, user_id: int | None) -> int:
    """How many sessions this person has open or completing."""
    unfinished = UploadSession.state.in_((SessionState.OPEN, SessionState.COMPLETING))
    statement = select(func.count()).where(UploadSession.owner_id == user_id, unfinished)
    return session.scalar(statement) or 0
