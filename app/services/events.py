"""The record of who did what, written in the transaction of the change it tells of."""

from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.models.base import JSONObject
from app.models.events import Event, EventKind

NOBODY = Caller(user_id=None)
"""Who acts when time does: a sweep, an expiry."""


def record(
    session: Session,
    caller: Caller,
    kind: EventKind,
    *,
    traceset_id: str | None = None,
    workspace_id: str | None = None,
    **detail: object,
) -> None:
    """Add one event; `detail` holds plain JSON values and no secret."""
    content: JSONObject = dict(detail)
    session.add(
        Event(
            at=clock.now(),
            kind=kind,
            actor_id=caller.user_id,
            traceset_id=traceset_id,
            workspace_id=workspace_id,
            remote_address=caller.remote_address,
            request_id=caller.request_id,
            detail=content,
        )
    )
