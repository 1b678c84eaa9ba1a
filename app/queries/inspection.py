"""Reading one traceset for the page that shows it: all that is said of it, and its files page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.models.base import holds_text
from app.models.people import User
from app.models.tracesets import FileRole, LibraryFile, Status, Traceset, TracesetFile
from app.models.uploads import UploadSession
from app.models.validations import Validation
from app.models.workspaces import Workspace
from app.queries.tracesets import not_found, select_visible_tracesets

FILES_ON_A_PAGE = 100
COUNTED = 1000
"""So many files that a search finds are counted: to look at the names of all takes longer than to show a page."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """A traceset and what belongs to it.

    Args:
        traceset: its row.
        workspace_name: of its workspace.
        creator: the address of who made it; None where they are gone.
        upload: the session that brought it; None for a promoted one.
        validation: the last result, if there is one.
        n_files: how many files there are of each role.
        n_external: how many of them lie elsewhere.
        holds_all_ranks: whether its one primary file holds ranks 0 to N-1 (R2).
    """

    traceset: Traceset
    workspace_name: str
    creator: str | None
    upload: UploadSession | None
    validation: Validation | None
    n_files: Mapping[FileRole, int]
    n_external: int
    holds_all_ranks: bool


class ShownFile(NamedTuple):
    """What is shown of a file; `size` in bytes, `etag` None where there is none yet."""

    position: int
    name: str
    size: int
    role: FileRole
    external_url: str | None
    etag: str | None


@dataclass(frozen=True, slots=True)
class FilePage:
    """Some files, and how many there are in all (`is_partial`: or more); the positions before and behind which to go
    on are None at the ends."""

    rows: Sequence[ShownFile]
    n_found: int
    is_partial: bool
    previous: int | None
    next: int | None


def inspect_traceset(session: Session, caller: Caller, traceset_id: str) -> Inspected:
    """The traceset and what belongs to it.

    Raises:
        NotFound: there is none for this caller.
    """
    statement = (
        select_visible_tracesets(caller)
        .add_columns(Workspace.name, User.email, UploadSession, Validation)
        .join(Workspace, Workspace.id == Traceset.workspace_id)
        .outerjoin(User, User.id == Traceset.created_by)
        .outerjoin(UploadSession, UploadSession.traceset_seq == Traceset.seq)
        .outerjoin(Validation, Validation.traceset_seq == Traceset.seq)
        .where(Traceset.id == traceset_id)
    )
    row = session.execute(statement).first()
    if row is None:
        raise not_found(traceset_id)
    traceset, workspace_name, creator, upload, validation = row
    counts = (
        select(TracesetFile.role, func.count(), func.count(TracesetFile.external_url))
        .where(TracesetFile.traceset_seq == traceset.seq)
        .group_by(TracesetFile.role)
    )
    found = session.execute(counts).all()
    n_files = {role: n for role, n, _ in found}
    return Inspected(
        traceset=traceset,
        workspace_name=workspace_name,
        creator=creator,
        upload=upload,
        validation=validation,
        n_files=n_files,
        n_external=sum(n for _, _, n in found),
        holds_all_ranks=_is_ranked(traceset) and n_files.get(FileRole.PRIMARY) == 1,
    )


def holds_all_ranks(session: Session, traceset: Traceset) -> bool:
    """Whether its one primary file holds ranks 0 to N-1 (R2)."""
    if not _is_ranked(traceset):
        return False
    primary = (TracesetFile.traceset_seq == traceset.seq, TracesetFile.role == FileRole.PRIMARY)
    return len(session.scalars(select(TracesetFile.position).where(*primary).limit(2)).all()) == 1


def _is_ranked(traceset: Traceset) -> bool:
    return traceset.status is Status.READY and traceset.rank_count is not None


def list_files(
    session: Session, traceset: Traceset, *, search: str = "", after: int | None = None, before: int | None = None
) -> FilePage:
    """A page of a traceset's files in their order.

    Args:
        session: any.
        traceset: whose files.
        search: only files whose names hold this text, in any case of letters.
        after: only files behind this position; or
        before: the last ones before this position.
    """
    wanted: list[ColumnElement[bool]] = [TracesetFile.traceset_seq == traceset.seq]
    if search:
        wanted.append(holds_text(func.lower(TracesetFile.name), func.lower(search)))
    statement = (
        select(
            TracesetFile.position,
            TracesetFile.name,
            TracesetFile.size,
            TracesetFile.role,
            TracesetFile.external_url,
            LibraryFile.etag,
        )
        .outerjoin(LibraryFile, LibraryFile.key == TracesetFile.library_key)
        .where(*wanted)
    )
    if before is not None:
        statement = statement.where(TracesetFile.position < before).order_by(TracesetFile.position.desc())
    else:
        statement = statement.where(TracesetFile.position > (-1 if after is None else after))
        statement = statement.order_by(TracesetFile.position)
    rows = [ShownFile._make(row) for row in session.execute(statement.limit(FILES_ON_A_PAGE + 1))]
    goes_on, rows = len(rows) > FILES_ON_A_PAGE, rows[:FILES_ON_A_PAGE]
    n_found = traceset.file_count
    if search:
        is_whole = not goes_on and after is None and before is None
        n_found = len(rows) if is_whole else _count_files(session, wanted)
    has_previous, has_next = (goes_on, True) if before is not None else (after is not None, goes_on)
    if before is not None:
        rows.reverse()
    return FilePage(
        rows,
        n_found,
        is_partial=bool(search) and n_found == COUNTED,
        previous=rows[0].position if rows and has_previous else None,
        next=rows[-1].position if rows and has_next else None,
    )


def _count_files(session: Session, wanted: Sequence[ColumnElement[bool]]) -> int:
    some = select(TracesetFile.position).where(*wanted).limit(COUNTED).subquery()
    return session.scalar(select(func.count()).select_from(some)) or 0
