"""Workspaces and their members."""

from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller, Role
from app.domain.ids import new_id
from app.errors import Invalid, NotFound
from app.models.events import EventKind
from app.models.workspaces import WORKSPACE_NAME_LENGTH, Membership, Workspace
from app.queries.people import get_user
from app.services import events
from app.transactions import transaction


def create_workspace(name: str, owner_email: str, *, actor: Caller = events.NOBODY) -> str:
    """Make a workspace that this person owns, and answer its id."""
    name = name.strip()
    if not 1 <= len(name) <= WORKSPACE_NAME_LENGTH:
        raise Invalid(f"A workspace's name has 1 to {WORKSPACE_NAME_LENGTH} characters")
    workspace_id = new_id("workspace")
    with transaction() as session:
        owner = get_user(session, owner_email)
        session.add(Workspace(id=workspace_id, name=name, created_at=clock.now()))
        session.flush()
        _put_member(session, actor, workspace_id, owner.id, Role.OWNER)
    return workspace_id


def set_member(workspace_id: str, email: str, role: Role, *, actor: Caller = events.NOBODY) -> None:
    """Give this person this role, whether or not they were a member; doing it again changes nothing."""
    with transaction() as session:
        if session.get(Workspace, workspace_id) is None:
            raise NotFound(f"Workspace '{workspace_id}' not found")
        _put_member(session, actor, workspace_id, get_user(session, email).id, role)


def _put_member(session: Session, actor: Caller, workspace_id: str, user_id: int, role: Role) -> None:
    session.merge(Membership(workspace_id=workspace_id, user_id=user_id, role=role))
    events.record(session, actor, EventKind.MEMBER_CHANGED, workspace_id=workspace_id, user_id=user_id, role=role.value)
