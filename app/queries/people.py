"""Reading people, tokens and workspaces."""

from datetime import datetime

from sqlalchemy import bindparam, func, or_, select
from sqlalchemy.orm import Session

from app.domain.access import Caller, Role
from app.domain.ids import UNIVERSAL_WORKSPACE_ID
from app.errors import NotFound
from app.models.people import ApiToken, User, WebSession
from app.models.workspaces import Membership, Workspace

# Asked with every call of the API or of a page, so they are built once.
_TOKEN = (
    select(ApiToken, User)
    .join(User, User.id == ApiToken.user_id)
    .where(
        ApiToken.token_hash == bindparam("token_hash"),
        ApiToken.revoked_at.is_(None),
        or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > bindparam("now")),
        User.is_disabled.is_(False),
    )
)
_WEB_SESSION = (
    select(WebSession, User)
    .join(User, User.id == WebSession.user_id)
    .where(
        WebSession.secret_hash == bindparam("secret_hash"),
        WebSession.expires_at > bindparam("now"),
        User.is_disabled.is_(False),
    )
)
_ROLES = select(Membership.workspace_id, Membership.role).where(Membership.user_id == bindparam("user_id"))
_NAMES = select(Workspace.id, Workspace.name).order_by(Workspace.name, Workspace.id)
_SOME_NAMES = _NAMES.where(Workspace.id.in_(bindparam("ids", expanding=True)))


def find_token(session: Session, token_hash: str, now: datetime) -> tuple[ApiToken, User] | None:
    """The token of this hash and its person, where both may be used now."""
    row = session.execute(_TOKEN, {"token_hash": token_hash, "now": now}).first()
    return None if row is None else (row[0], row[1])


def find_web_session(session: Session, secret_hash: str, now: datetime) -> tuple[WebSession, User] | None:
    """The session of this hash and its person, where both may be used now."""
    row = session.execute(_WEB_SESSION, {"secret_hash": secret_hash, "now": now}).first()
    return None if row is None else (row[0], row[1])


def list_tokens(session: Session, caller: Caller) -> list[ApiToken]:
    """The caller's tokens that were not revoked, the newest first; those that have run out are among them."""
    statement = select(ApiToken).where(ApiToken.user_id == caller.user_id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(statement.order_by(ApiToken.id.desc())))


def count_web_sessions(session: Session, caller: Caller, now: datetime) -> int:
    """In how many browsers the caller is signed in."""
    statement = select(func.count()).where(WebSession.user_id == caller.user_id, WebSession.expires_at > now)
    return session.scalar(statement) or 0


def has_password(session: Session, caller: Caller) -> bool:
    """Whether the caller can sign in by a password."""
    return session.scalar(select(User.password_hash).where(User.id == caller.user_id)) is not None


def roles_of(session: Session, user_id: int) -> dict[str, Role]:
    """The person's role in each workspace that they belong to."""
    return dict(session.execute(_ROLES, {"user_id": user_id}).all())


def get_user(session: Session, email: str) -> User:
    """The person with this address, in any case of letters."""
    user = session.scalar(select(User).where(User.email == email.strip().lower()))
    if user is None:
        raise NotFound(f"There is nobody with the address '{email}'")
    return user


def list_workspaces(session: Session, caller: Caller) -> list[tuple[Workspace, Role | None]]:
    """The workspaces that the caller reads, by name, each with the caller's role there (None: none of their own)."""
    statement = select(Workspace).order_by(Workspace.name, Workspace.id)
    visible = caller.visible_workspaces
    if visible is not None:
        statement = statement.where(Workspace.id.in_(visible))
    found = [(w, caller.roles.get(w.id)) for w in session.scalars(statement)]
    return sorted(found, key=lambda pair: pair[0].id != UNIVERSAL_WORKSPACE_ID)


def workspace_names(session: Session, caller: Caller) -> dict[str, str]:
    """The names of the same by their ids, in the same order, for pages that need no more."""
    visible = caller.visible_workspaces
    rows = session.execute(_NAMES) if visible is None else session.execute(_SOME_NAMES, {"ids": list(visible)})
    names = [(row[0], row[1]) for row in rows]
    return dict(sorted(names, key=lambda pair: pair[0] != UNIVERSAL_WORKSPACE_ID))


def get_workspace(session: Session, caller: Caller, workspace_id: str) -> Workspace:
    """The workspace, where the caller may see it."""
    workspace = session.get(Workspace, workspace_id) if caller.may_see(workspace_id) else None
    if workspace is None:
        raise NotFound(f"Workspace '{workspace_id}' not found")
    return workspace


def list_members(session: Session, workspace_id: str) -> list[tuple[User, Role]]:
    """Everybody who belongs to the workspace, by address."""
    statement = (
        select(User, Membership.role)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.workspace_id == workspace_id)
        .order_by(User.email)
    )
    return [(user, role) for user, role in session.execute(statement).all()]
