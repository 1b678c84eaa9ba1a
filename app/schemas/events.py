"""Events as the API shows them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from app.models.events import EventKind
from app.schemas.base import Schema
from app.schemas.listing import NumberText, Pagination


class Event(Schema):
    """One change: who, when, from where."""

    id: Annotated[int, Field(description="Grows with time.")]
    at: datetime
    kind: EventKind
    actor: Annotated[str | None, Field(description="E-mail address; null: a sweep.")]
    remote_address: str | None
    request_id: str | None
    detail: Annotated[dict[str, Any], Field(description="More about it, by kind.")]


class EventList(Schema):
    """A page of events, newest first."""

    items: list[Event]
    pagination: Pagination


class EventQuery(Schema):
    """Which page of events."""

    limit: Annotated[NumberText | None, Field(description="Events on a page: 50 where absent, 500 at most.")] = None
    next: Annotated[str | None, Field(description="`nextCursor` of the page before.")] = None
