"""What the last validation of a traceset found, for the page that shows it."""

from datetime import datetime

from sqlalchemy import JSON, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, JSONObject, UTCDateTime


class Validation(Base):
    """The newest result for one traceset; `checks` are objects of `name`, `passed` and `message`, in their order."""

    __tablename__ = "traceset_validation"

    traceset_seq: Mapped[int] = mapped_column(ForeignKey("traceset.seq", ondelete="CASCADE"), primary_key=True)
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    is_deep: Mapped[bool]
    checks: Mapped[list[JSONObject]] = mapped_column(JSON)
