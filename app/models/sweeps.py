"""When what was last swept."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, UTCDateTime


class SweepMark(Base):
    """When somebody last began a kind of sweep that need not be made everywhere and always.

    The rows are made by the migration, so that to begin one is to move its time by a conditional update.
    """

    __tablename__ = "sweep_mark"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    begun_at: Mapped[datetime] = mapped_column(UTCDateTime)
