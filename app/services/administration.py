"""What site administrators do to sessions and to people, beyond what everybody may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.errors import Conflict, NotFound, StoreUnavailable
from app.extensions import object_store
from app.models.events import EventKind
from app.models.people import SignInLink, User, WebSession
from app.models.uploads import SessionState
from app.queries.admin import SessionRow, count_planned_parts, files_of_sessions, get_person, get_session
from app.queries.uploads import FileToSend
from app.services import deletion, events, people, sessions
from app.services.multipart import state_now
from app.services.store_calls import in_parallel
from app.services.sweep import sweep
from app.services.upload_view import HeldPart, held_of
from app.transactions import reading, transaction

ASKED_FILES = 1000
"""Of how many files at most the store is asked for one page: each is a call of its own over a network."""
UNFINISHED = (SessionState.OPEN, SessionState.COMPLETING)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How far sessions are.

    Args:
        planned: how many parts each sends, by its id.
        arrived: how many of them the store holds; sessions of which it was not asked are left out.
        is_answered: whether the store answered at all.
    """

    planned: Mapping[str, int]
    arrived: Mapping[str, int]
    is_answered: bool


def count_arrivals(rows: Sequence[SessionRow]) -> Arrivals:
    """How far these sessions are; the store is asked of those that are being sent, while that is bearable."""
    ids = [row.upload.id for row in rows]
    asked, n_files = [], 0
    for row in rows:
        n_files += row.traceset.file_count
        if state_now(row.upload) in UNFINISHED and n_files <= ASKED_FILES:
            asked.append(row.upload.id)
    with reading() as session:
        planned = count_planned_parts(session, ids)
        files = files_of_sessions(session, asked)
    arrived = {row.upload.id: planned.get(row.upload.id, 0) for row in rows if row.upload.state == "completed"}
    try:
        held = in_parallel(object_store(), held_of, [file for _, file in files])
    except StoreUnavailable:
        return Arrivals(planned, arrived, is_answered=False)
    arrived |= dict.fromkeys(asked, 0)
    for (upload_id, _), parts in zip(files, held, strict=True):
        arrived[upload_id] += len(parts or ())
    return Arrivals(planned, arrived, is_answered=True)


def held_by_store(files: Sequence[FileToSend]) -> Sequence[Mapping[int, HeldPart] | None] | None:
    """Per file, the parts that the store holds by number (None: it has lost the upload); None where it is silent."""
    try:
        return in_parallel(object_store(), held_of, files)
    except StoreUnavailable:
        return None


def release_claim(caller: Caller, upload_id: str) -> None:
    """Open a session that is being completed, so that it can be completed anew or ended.

    The process that completes it now, should it live, ends with a conflict and changes nothing (`sessions.free`).

    Raises:
        NotFound: there is no such session, or the caller is no site administrator.
        Conflict: it is not being completed.
    """
    _require_admin(caller)
    with transaction() as session:
        row = get_session(session, upload_id)
        if not sessions.free(session, upload_id):
            raise Conflict(f"Upload session '{upload_id}' is {row.upload.state}: nobody is completing it")
        events.record(
            session,
            caller,
            EventKind.CLAIM_RELEASED,
            traceset_id=row.traceset.id,
            workspace_id=row.traceset.workspace_id,
            upload_id=upload_id,
        )


def abort_session(caller: Caller, upload_id: str) -> None:
    """End anybody's session and discard its parts; an ended one stays as it is.

    Raises:
        NotFound: there is no such session, or the caller is no site administrator.
        Conflict: it is completed, or being completed.
    """
    _require_admin(caller)
    with reading() as session:
        kind = get_session(session, upload_id).traceset.kind
    deletion.abort_upload(caller, upload_id, kind)


def sweep_now(caller: Caller) -> Mapping[str, int]:
    """One sweep, now; how many of what it ended.

    Raises:
        NotFound: the caller is no site administrator.
    """
    _require_admin(caller)
    return sweep(caller)


def invite(caller: Caller, email: str, *, is_admin: bool) -> str:
    """Add a person, and give the secret of a link that signs them in once.

    Raises:
        NotFound: the caller is no site administrator.
        Invalid: this is no address.
        Conflict: somebody has it already.
    """
    _require_admin(caller)
    people.create_user(email, is_admin=is_admin, actor=caller)
    return people.create_sign_in_link(email, actor=caller)


def new_link(caller: Caller, user_id: int) -> tuple[str, str]:
    """The person's address, and the secret of a new link; by it they sign in once and may set a password.

    Raises:
        NotFound: there is nobody of this number, or the caller is no site administrator.
        Conflict: the person is disabled.
    """
    _require_admin(caller)
    with reading() as session:
        email = get_person(session, user_id).email
    return email, people.create_sign_in_link(email, actor=caller)


def set_disabled(caller: Caller, user_id: int, *, is_disabled: bool) -> str:
    """Let a person in no more, or again, and answer their address; doing it again changes nothing.

    A disabled person's browsers are signed out, and their links end; their tokens rest.

    Raises:
        NotFound: there is nobody of this number, or the caller is no site administrator.
        Conflict: it is the caller, or nobody would be left to administer the site.
    """
    _require_admin(caller)
    if is_disabled and user_id == caller.user_id:
        raise Conflict("You cannot disable yourself")
    with transaction() as session:
        user = _with_other_admins(session, user_id) if is_disabled else get_person(session, user_id)
        user.is_disabled = is_disabled
        if is_disabled:
            session.execute(delete(WebSession).where(WebSession.user_id == user_id))
            session.execute(delete(SignInLink).where(SignInLink.user_id == user_id))
        events.record(session, caller, EventKind.PERSON_CHANGED, user_id=user_id, is_disabled=is_disabled)
    return user.email


def set_admin(caller: Caller, user_id: int, *, is_admin: bool) -> str:
    """Make a person a site administrator, or no longer, and answer their address; again changes nothing.

    Raises:
        NotFound: there is nobody of this number, or the caller is no site administrator.
        Conflict: nobody would be left to administer the site.
    """
    _require_admin(caller)
    with transaction() as session:
        user = get_person(session, user_id) if is_admin else _with_other_admins(session, user_id)
        user.is_admin = is_admin
        events.record(session, caller, EventKind.PERSON_CHANGED, user_id=user_id, is_admin=is_admin)
    return user.email


def _with_other_admins(session: Session, user_id: int) -> User:
    """The person, once it is sure that somebody else can administer the site."""
    # All of their rows are locked, in one order, so that two of them cannot remove each other.
    able = select(User.id).where(User.is_admin, User.is_disabled.is_(False)).order_by(User.id).with_for_update()
    if set(session.scalars(able)) <= {user_id}:
        raise Conflict("Somebody must be left who can administer the site")
    return get_person(session, user_id)


def _require_admin(caller: Caller) -> None:
    if not caller.is_admin or caller.is_read_only:
        raise NotFound("There is nothing here")
