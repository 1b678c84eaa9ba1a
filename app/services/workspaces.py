"""Workspaces and their members (K1, K3)."""

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller, Role
from app.domain.ids import UNIVERSAL_WORKSPACE_ID, new_id
from app.errors import Conflict, Forbidden, Invalid, NotFound
from app.models.events import EventKind
from app.models.people import User
from app.models.workspaces import WORKSPACE_NAME_LENGTH, Membership, Workspace
from app.queries.people import get_user, get_workspace
from app.services import events
from app.transactions import changed, transaction

OPERATOR = Caller(user_id=None, is_admin=True)
"""Whoever may run the server's commands may do everything."""


def create_workspace(caller: Caller, name: str, owner_email: str | None = None) -> str:
    """Make a workspace that this person owns (None: the caller), and answer its id.

    Raises:
        Forbidden: the token is read-only.
        Invalid: the name is empty or too long.
        NotFound: there is no such person.
    """
    if caller.is_read_only:
        raise Forbidden("A read-only token changes nothing")
    name = name.strip()
    if not 1 <= len(name) <= WORKSPACE_NAME_LENGTH:
        raise Invalid(f"name must have 1 to {WORKSPACE_NAME_LENGTH} characters after trimming")
    workspace_id = new_id("workspace")
    with transaction() as session:
        owner = get_user(session, owner_email or caller.email)
        session.add(Workspace(id=workspace_id, name=name, created_at=clock.now()))
        session.flush()
        _put_member(session, caller, workspace_id, owner, Role.OWNER)
    return workspace_id


def set_member(caller: Caller, workspace_id: str, email: str, role: Role) -> None:
    """Give this person this role, whether or not they were a member; doing it again changes nothing.

    Raises:
        NotFound: there is no such workspace for this caller, or no such person.
        Forbidden: the caller does not manage the workspace.
        Conflict: the workspace would be left without an owner.
    """
    with transaction() as session:
        _require_managed(session, caller, workspace_id)
        _hold(session, workspace_id)
        user = get_user(session, email)
        if role is not Role.OWNER:
            _require_another_owner(session, workspace_id, user.id)
        _put_member(session, caller, workspace_id, user, role)


def remove_member(caller: Caller, workspace_id: str, email: str) -> None:
    """End this person's membership.

    Raises:
        NotFound: there is no such workspace for this caller, or the person is no member.
        Forbidden: the caller does not manage the workspace, and is not the one who leaves.
        Conflict: the workspace would be left without an owner.
    """
    with transaction() as session:
        if email.strip().lower() == caller.email and not caller.is_read_only:
            get_workspace(session, caller, workspace_id)
        else:
            _require_managed(session, caller, workspace_id)
        _hold(session, workspace_id)
        user = get_user(session, email)
        _require_another_owner(session, workspace_id, user.id)
        membership = (Membership.workspace_id == workspace_id, Membership.user_id == user.id)
        if changed(session, delete(Membership).where(*membership)) != 1:
            raise NotFound(f"'{email}' is no member of this workspace")
        events.record(
            session, caller, EventKind.MEMBER_CHANGED, workspace_id=workspace_id, user_id=user.id, email=user.email
        )


def _require_managed(session: Session, caller: Caller, workspace_id: str) -> None:
    get_workspace(session, caller, workspace_id)
    if not caller.may_manage(workspace_id):
        raise Forbidden(f"You do not manage the members of workspace '{workspace_id}'")


def _hold(session: Session, workspace_id: str) -> None:
    """Let nobody else change its members before this transaction ends, so that two owners cannot leave at once."""
    session.get(Workspace, workspace_id, with_for_update={"key_share": True})


def _require_another_owner(session: Session, workspace_id: str, user_id: int) -> None:
    """A workspace keeps an owner, so that somebody can manage it; the universal one has the site admins."""
    owners = (Membership.workspace_id == workspace_id, Membership.role == Role.OWNER)
    is_owner = session.scalar(select(func.count()).where(*owners, Membership.user_id == user_id))
    others = session.scalar(select(func.count()).where(*owners, Membership.user_id != user_id))
    if is_owner and not others and workspace_id != UNIVERSAL_WORKSPACE_ID:
        raise Conflict("A workspace keeps at least one owner; make somebody else an owner first")


def _put_member(session: Session, actor: Caller, workspace_id: str, user: User, role: Role) -> None:
    session.merge(Membership(workspace_id=workspace_id, user_id=user.id, role=role))
    events.record(
        session,
        actor,
        EventKind.MEMBER_CHANGED,
        workspace_id=workspace_id,
        user_id=user.id,
        email=user.email,
        role=role.value,
    )
