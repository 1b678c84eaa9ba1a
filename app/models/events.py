"""Who did what, when and from where; written in the transaction of the change."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import JSON, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, JSONObject, RowNumber, UTCDateTime, Word


class EventKind(StrEnum):
    """What happened. Words are added here and never changed, since they are stored."""

    CREATED = "created"
    COMPLETED = "completed"
    FAILED = "failed"
    DELETED = "deleted"
    EDITED = "edited"
    PROMOTED = "promoted"
    EXPIRED = "expired"
    MEMBER_CHANGED = "member_changed"
    TOKEN_CREATED = "token_created"  # noqa: S105
    TOKEN_REVOKED = "token_revoked"  # noqa: S105
    CLAIM_RELEASED = "claim_released"
    PERSON_ADDED = "person_added"
    PERSON_CHANGED = "person_changed"
    LINK_CREATED = "link_created"
    SWEPT = "swept"


class Event(Base):
    """One change. `traceset_id` is the public id, kept also where the row it names is gone."""

    __tablename__ = "event"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    kind: Mapped[EventKind] = mapped_column(Word(EventKind))
    actor_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id", ondelete="SET NULL"))
    traceset_id: Mapped[str | None] = mapped_column(String(40))
    workspace_id: Mapped[str | None] = mapped_column(String(80))
    remote_address: Mapped[str | None] = mapped_column(String(45))
    request_id: Mapped[str | None] = mapped_column(String(64))
    detail: Mapped[JSONObject] = mapped_column(JSON)

    __table_args__ = (Index("ix_event_traceset", "traceset_id", "id"),)
