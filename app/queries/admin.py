"""Reading what site administrators look at: sessions, people, the library. Who may ask is the pages' to decide."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, case, func, select
from sqlalchemy.orm import Session

from app.domain.part_plan import PartPlan
from app.errors import NotFound
from app.models.base import holds_text
from app.models.events import Event, EventKind
from app.models.people import ApiToken, User, WebSession
from app.models.tracesets import LibraryFile, LibraryState, Traceset, TracesetFile
from app.models.uploads import SessionState, UploadFile, UploadSession
from app.models.workspaces import Membership, Workspace
from app.queries.leaves import AnySelect, Leaf, Turn, read_leaf
from app.queries.uploads import FileToSend

SESSIONS_ON_A_PAGE = 25
FILES_ON_A_PAGE = 50
PEOPLE_ON_A_PAGE = 50
BIGGEST_FILES = 15


@dataclass(frozen=True, slots=True)
class SessionFilters:
    """What the list of sessions is narrowed to; None and empty ask for nothing.

    Args:
        states: any of these.
        lapsed_before: only those whose claim ran out before then.
        owner: part of the owner's address, in lower case.
        workspace_id: of their tracesets.
        begun_before: the first moment that is too late.
    """

    states: Collection[SessionState] = ()
    lapsed_before: datetime | None = None
    owner: str | None = None
    workspace_id: str | None = None
    begun_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session, what it sends and whose it is; `owner` is None where that person is gone."""

    upload: UploadSession
    traceset: Traceset
    owner: str | None
    workspace_name: str


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person, how many workspaces they belong to and tokens they may use, and when they were last seen."""

    user: User
    n_workspaces: int
    n_tokens: int
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class LibraryTotals:
    """What the library holds in one state.

    Args:
        n_files: how many files.
        size: their bytes.
        referred_size: the bytes of all references to them: what the tracesets would hold without sharing.
        by_references: how many files have no, one, and several references.
    """

    n_files: int
    size: int
    referred_size: int
    by_references: tuple[int, int, int]


def list_sessions(session: Session, filters: SessionFilters, turn: Turn) -> Leaf[SessionRow]:
    """A page of the sessions, the newest first; a place is the sequence number of a traceset.

    A session is made together with its traceset, so the two count alike.
    """
    statement = _select_sessions().where(*_conditions(filters))
    leaf = read_leaf(session, statement, UploadSession.traceset_seq, turn, falls=True, limit=SESSIONS_ON_A_PAGE)
    return Leaf([SessionRow(*row) for row in leaf.rows], leaf.has_previous, leaf.has_next)


def get_session(session: Session, upload_id: str) -> SessionRow:
    """One session.

    Raises:
        NotFound: there is none of this id.
    """
    row = session.execute(_select_sessions().where(UploadSession.id == upload_id)).first()
    if row is None:
        raise NotFound(f"Upload session '{upload_id}' not found")
    return SessionRow(*row)


def count_planned_parts(session: Session, upload_ids: Collection[str]) -> Mapping[str, int]:
    """How many parts each of these sessions sends, by its id; those that send nothing are left out."""
    rounded_up = (TracesetFile.size + UploadFile.part_size - 1) // UploadFile.part_size
    parts = func.sum(case((TracesetFile.size == 0, 1), else_=rounded_up))
    statement = _select_files(UploadFile.session_id, parts).where(UploadFile.session_id.in_(upload_ids))
    rows = session.execute(statement.group_by(UploadFile.session_id)).all()
    return {upload_id: int(count) for upload_id, count in rows}


def files_of_sessions(session: Session, upload_ids: Collection[str]) -> list[tuple[str, FileToSend]]:
    """The files that these sessions send, each with its session's id."""
    statement = _select_files(UploadFile, TracesetFile).where(UploadFile.session_id.in_(upload_ids))
    return [(sent.session_id, _to_send(sent, file)) for sent, file in session.execute(statement).all()]


def list_session_files(session: Session, upload: UploadSession, turn: Turn) -> Leaf[tuple[FileToSend, str | None]]:
    """A page of the files that a session sends, in their order, each with the state of its library file."""
    statement = (
        _select_files(UploadFile, TracesetFile, LibraryFile.state)
        .outerjoin(LibraryFile, LibraryFile.key == UploadFile.library_key)
        .where(UploadFile.session_id == upload.id)
    )
    leaf = read_leaf(session, statement, UploadFile.position, turn, falls=False, limit=FILES_ON_A_PAGE)
    rows = [(_to_send(sent, file), state) for sent, file, state in leaf.rows]
    return Leaf(rows, leaf.has_previous, leaf.has_next)


def list_people(session: Session, term: str, now: datetime, turn: Turn) -> Leaf[PersonRow]:
    """A page of the people whose address holds this text, by address, which is also the place."""
    n_workspaces = select(func.count()).where(Membership.user_id == User.id).scalar_subquery()
    is_usable = and_(ApiToken.revoked_at.is_(None), func.coalesce(ApiToken.expires_at, now) >= now)
    n_tokens = select(func.count()).where(ApiToken.user_id == User.id, is_usable).scalar_subquery()
    used_at = select(func.max(ApiToken.last_used_at)).where(ApiToken.user_id == User.id).scalar_subquery()
    seen_at = select(func.max(WebSession.last_seen_at)).where(WebSession.user_id == User.id).scalar_subquery()
    statement = select(User, n_workspaces, n_tokens, used_at, seen_at)
    if term:
        statement = statement.where(holds_text(User.email, term.lower()))
    leaf = read_leaf(session, statement, User.email, turn, falls=False, limit=PEOPLE_ON_A_PAGE)
    rows = [
        PersonRow(user, workspaces, tokens, max((at for at in seen if at is not None), default=None))
        for user, workspaces, tokens, *seen in leaf.rows
    ]
    return Leaf(rows, leaf.has_previous, leaf.has_next)


def get_person(session: Session, user_id: int) -> User:
    """The person of this number.

    Raises:
        NotFound: there is none.
    """
    user = session.get(User, user_id)
    if user is None:
        raise NotFound("There is nobody of this number")
    return user


def sum_library(session: Session) -> Mapping[LibraryState, LibraryTotals]:
    """What the library holds, by state."""
    count = LibraryFile.ref_count
    statement = select(
        LibraryFile.state,
        func.count(),
        func.sum(LibraryFile.size),
        func.sum(LibraryFile.size * count),
        *(func.sum(case((has, 1), else_=0)) for has in (count == 0, count == 1, count > 1)),
    ).group_by(LibraryFile.state)
    return {
        state: LibraryTotals(n, int(size), int(referred), (int(none), int(one), int(several)))
        for state, n, size, referred, none, one, several in session.execute(statement).all()
    }


def list_biggest_files(session: Session) -> Sequence[tuple[LibraryFile, int]]:
    """The biggest library files, each with the number of traceset files that name it, which its count must be."""
    n_names = select(func.count()).where(TracesetFile.library_key == LibraryFile.key).scalar_subquery()
    statement = select(LibraryFile, n_names).order_by(LibraryFile.size.desc(), LibraryFile.key).limit(BIGGEST_FILES)
    return [(file, n) for file, n in session.execute(statement).all()]


def find_last_sweep(session: Session) -> tuple[Event, str | None] | None:
    """The last sweep that ended something, with the address of who asked for it (None: time itself)."""
    statement = (
        select(Event, User.email)
        .outerjoin(User, User.id == Event.actor_id)
        .where(Event.traceset_id.is_(None), Event.kind == EventKind.SWEPT)
        .order_by(Event.id.desc())
        .limit(1)
    )
    row = session.execute(statement).first()
    return None if row is None else (row[0], row[1])


def _select_sessions() -> AnySelect:
    return (
        select(UploadSession, Traceset, User.email, Workspace.name)
        .join(Traceset, Traceset.seq == UploadSession.traceset_seq)
        .join(Workspace, Workspace.id == Traceset.workspace_id)
        .outerjoin(User, User.id == UploadSession.owner_id)
    )


def _conditions(filters: SessionFilters) -> list[Any]:
    conditions: list[Any] = []
    if filters.states:
        conditions.append(UploadSession.state.in_(filters.states))
    if filters.lapsed_before is not None:
        conditions.append(UploadSession.claimed_until < filters.lapsed_before)
    if filters.owner:
        conditions.append(holds_text(User.email, filters.owner))
    if filters.workspace_id:
        conditions.append(Traceset.workspace_id == filters.workspace_id)
    if filters.begun_before is not None:
        conditions.append(UploadSession.created_at < filters.begun_before)
    return conditions


def _select_files(*what: Any) -> AnySelect:
    """Something of the files that sessions send, and of the rows of their tracesets that belong to them."""
    same = and_(TracesetFile.traceset_seq == UploadSession.traceset_seq, TracesetFile.position == UploadFile.position)
    return (
        select(*what)
        .select_from(UploadFile)
        .join(UploadSession, UploadSession.id == UploadFile.session_id)
        .join(TracesetFile, same)
    )


def _to_send(sent: UploadFile, file: TracesetFile) -> FileToSend:
    plan = PartPlan(file.size, sent.part_size)
    return FileToSend(file.position, file.name, file.size, sent.library_key, sent.multipart_id, plan)
