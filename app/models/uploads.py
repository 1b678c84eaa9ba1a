"""Upload sessions: what is being sent, by whom, and who is completing it.

Parts have no rows: their sizes follow from the plan, and which of them have arrived is the store's to say.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, UTCDateTime, Word

IDEMPOTENCY_KEY_LENGTH = 255
"""Characters (U10)."""


class SessionState(StrEnum):
    """`open → completing → completed`, or one of the other ends (S1)."""

    OPEN = "open"
    COMPLETING = "completing"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    EXPIRED = "expired"


class UploadSession(Base):
    """One upload of one traceset.

    `claim` is the name that the process now completing or ending it gave itself; it counts until
    `claimed_until`, which that process keeps moving while it lives.
    """

    __tablename__ = "upload_session"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    traceset_seq: Mapped[int] = mapped_column(ForeignKey("traceset.seq", ondelete="CASCADE"), index=True)
    state: Mapped[SessionState] = mapped_column(Word(SessionState))
    owner_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    expires_at: Mapped[datetime] = mapped_column(UTCDateTime)
    claim: Mapped[str | None] = mapped_column(String(40))
    claimed_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
    failure: Mapped[str | None] = mapped_column(Text)
    idempotency_key: Mapped[str | None] = mapped_column(String(IDEMPOTENCY_KEY_LENGTH))
    request_hash: Mapped[str | None] = mapped_column(String(64))

    __table_args__ = (
        Index("ix_upload_session_state", "state", "expires_at"),
        Index("ix_upload_session_owner", "owner_id", "state", "created_at"),
        Index("uq_upload_session_idempotency", "owner_id", "idempotency_key", unique=True),
    )


class UploadFile(Base):
    """One file that a session sends: where its bytes go and how they are cut.

    The row outlives the bytes, as the session's record, so `library_key` is no foreign key.

    `multipart_id` is the store's name for the upload, of any length; null until it has been begun.
    """

    __tablename__ = "upload_file"

    session_id: Mapped[str] = mapped_column(ForeignKey("upload_session.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    library_key: Mapped[str] = mapped_column(String(40), index=True)
    multipart_id: Mapped[str | None] = mapped_column(Text)
    part_size: Mapped[int] = mapped_column(BigInteger)
