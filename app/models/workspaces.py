"""Workspaces and who belongs to them (K1)."""

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.access import Role
from app.models.base import Base, UTCDateTime, Word

WORKSPACE_NAME_LENGTH = 255


class Workspace(Base):
    """A place for tracesets with its own members. The universal one is made by the first migration."""

    __tablename__ = "workspace"

    id: Mapped[str] = mapped_column(String(80), primary_key=True)
    name: Mapped[str] = mapped_column(String(WORKSPACE_NAME_LENGTH))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)


class Membership(Base):
    """One person's role in one workspace."""

    __tablename__ = "membership"

    workspace_id: Mapped[str] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[Role] = mapped_column(Word(Role))
