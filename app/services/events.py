"""The record of who did what, written in the transaction of the change it tells of."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app import clock
from app.domain.access import Caller
from app.errors import Invalid
from app.models.base import JSONObject
from app.models.events import Event, EventKind
from app.queries.events import list_events
from app.queries.tracesets import get_traceset
from app.transactions import reading

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


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, newest first, each with its actor's address (None: nobody, but time); and where the list goes on."""

    items: Sequence[tuple[Event, str | None]]
    next_cursor: str | None


def list_traceset_events(caller: Caller, traceset_id: str, *, limit: int, cursor: str | None) -> EventPage:
    """What happened to a traceset that the caller may see.

    Args:
        caller: whoever asks.
        traceset_id: the traceset.
        limit: events on a page.
        cursor: `next_cursor` of the page before; None: the newest.

    Raises:
        NotFound: there is no such traceset for this caller.
        Invalid: the cursor is none of ours.
    """
    before = None if cursor is None else _event_id(cursor)
    with reading() as session:
        get_traceset(session, caller, traceset_id)
        found = list_events(session, traceset_id=traceset_id, before=before, limit=limit + 1)
    return EventPage(found[:limit], str(found[limit - 1][0].id) if len(found) > limit else None)


def _event_id(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise Invalid("next is not a cursor of this list")
    return int(cursor)
