"""People, their API tokens, and what they sign in with (K1, K2)."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, RowNumber, UTCDateTime

EMAIL_LENGTH = 254
"""Characters. Source: RFC 5321, section 4.5.3.1.3 (a path of 256 with its brackets)."""
TOKEN_NAME_LENGTH = 100


class User(Base):
    """A person. The e-mail address is kept in lower case, since it is what they sign in with."""

    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    email: Mapped[str] = mapped_column(String(EMAIL_LENGTH), unique=True)
    password_hash: Mapped[str | None] = mapped_column(String(200))
    is_admin: Mapped[bool] = mapped_column(default=False)
    is_disabled: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)


class ApiToken(Base):
    """A bearer token: only its SHA-256 is kept, and enough of its beginning to tell it from others."""

    __tablename__ = "api_token"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(TOKEN_NAME_LENGTH))
    prefix: Mapped[str] = mapped_column(String(20), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    is_read_only: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    last_used_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class SignInLink(Base):
    """A link that signs its person in once, within the hour."""

    __tablename__ = "sign_in_link"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    expires_at: Mapped[datetime] = mapped_column(UTCDateTime, index=True)


class WebSession(Base):
    """A browser that is signed in: only the SHA-256 of what its cookie holds is kept.

    `is_by_link` tells that the person proved to own their address, and so may set a password without the old one.
    """

    __tablename__ = "web_session"

    secret_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    is_by_link: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    last_seen_at: Mapped[datetime] = mapped_column(UTCDateTime)
    expires_at: Mapped[datetime] = mapped_column(UTCDateTime, index=True)


class SignInFailure(Base):
    """One failed attempt to sign in, in a table so that all hosts count together.

    The address that was typed is kept as its SHA-256: people type their password there by mistake.
    """

    __tablename__ = "sign_in_failure"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    email_hash: Mapped[str] = mapped_column(String(64))
    remote_address: Mapped[str | None] = mapped_column(String(45))
    at: Mapped[datetime] = mapped_column(UTCDateTime, index=True)

    __table_args__ = (
        Index("ix_sign_in_failure_email", "email_hash", "at"),
        Index("ix_sign_in_failure_address", "remote_address", "at"),
    )
