"""Reading the record of who did what."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models.events import Event
from app.models.people import User


def list_events(
    session: Session, *, traceset_id: str | None = None, workspace_id: str | None = None, before: int | None, limit: int
) -> list[tuple[Event, str | None]]:
    """The newest events of a traceset or of a workspace's members, each with its actor's address (None: time itself).

    Args:
        session: any.
        traceset_id: events of this traceset; or
        workspace_id: events that concern the workspace and no traceset.
        before: the id behind which to go on (the last one of the page before); None: from the newest.
        limit: how many at most.
    """
    statement = select(Event, User.email).outerjoin(User, User.id == Event.actor_id)
    if traceset_id is not None:
        statement = statement.where(Event.traceset_id == traceset_id)
    else:
        statement = statement.where(Event.workspace_id == workspace_id, Event.traceset_id.is_(None))
    if before is not None:
        statement = statement.where(Event.id < before)
    rows = session.execute(statement.order_by(Event.id.desc()).limit(limit)).all()
    return [(event, email) for event, email in rows]
