"""Tracesets, their files, and the library files that hold the bytes.

Why mapping files are tracesets of another kind: they live the same life (opened, uploaded, ready, deleted) with
the same sessions, files and bytes, and show fewer members. A second pair of tables would be a second copy of
every rule.

Why the sums (`file_count`, `total_size`) and the folded search members are columns: a list of a million rows
must not compute them.

The reference count of a library file is the number of `TracesetFile` rows that name it. A row stops naming it in
the transaction that ends its traceset (deletion, failure, expiry), so the two can be compared at any time.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, Index, Integer, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, RowNumber, UTCDateTime, Word, code_point_text

NAME_LENGTH = 255
"""Characters of a traceset's name (U4)."""
DESCRIPTION_LENGTH = 10_000
"""Characters (U4)."""
MAX_TAGS = 50
TAG_LENGTH = 100
MAX_FILES = 10_000
EXTERNAL_URL_LENGTH = 2048
"""Characters (U8)."""


class Kind(StrEnum):
    """What a row of `traceset` is."""

    TRACESET = "traceset"
    MAPPING = "mapping"


class Status(StrEnum):
    """The life of a traceset (L7)."""

    UPLOADING = "uploading"
    PROCESSING = "processing"
    READY = "ready"
    METADATA_FAILED = "metadata_failed"
    UPLOAD_FAILED = "upload_failed"
    DELETED = "deleted"


class FileRole(StrEnum):
    """Whether a file is a trace of ranks or accompanies them."""

    PRIMARY = "primary"
    SUPPORTING = "supporting"


class MetadataStatus(StrEnum):
    """A file is `pending` until its upload completes (R2)."""

    PENDING = "pending"
    COMPLETE = "complete"


class LibraryState(StrEnum):
    """`staged` while it is uploaded; `condemned` once nothing may refer to it again and its bytes are to go."""

    STAGED = "staged"
    STORED = "stored"
    CONDEMNED = "condemned"


class Traceset(Base):
    """What was captured from one workload, or (kind `mapping`) files that map ranks to places in a topology."""

    __tablename__ = "traceset"

    seq: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    id: Mapped[str] = mapped_column(code_point_text(40), unique=True)
    kind: Mapped[Kind] = mapped_column(Word(Kind))
    workspace_id: Mapped[str] = mapped_column(ForeignKey("workspace.id"))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    name_key: Mapped[str] = mapped_column(code_point_text())
    description: Mapped[str | None] = mapped_column(Text)
    status: Mapped[Status] = mapped_column(Word(Status))
    tags: Mapped[list[str]] = mapped_column(JSON)
    workload_metadata: Mapped[str | None] = mapped_column(Text)
    rank_count: Mapped[int | None] = mapped_column(Integer)
    workload_family: Mapped[str | None] = mapped_column(Text)
    workload_name: Mapped[str | None] = mapped_column(Text)
    precision: Mapped[str | None] = mapped_column(Text)
    accelerator: Mapped[str | None] = mapped_column(Text)
    file_count: Mapped[int] = mapped_column(Integer)
    total_size: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    created_by: Mapped[int | None] = mapped_column(ForeignKey("user_account.id", ondelete="SET NULL"))
    expires_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    deleted_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    promoted_from: Mapped[str | None] = mapped_column(String(40))
    promotion_key: Mapped[str | None] = mapped_column(String(64))

    __table_args__ = (
        Index(
            "ix_traceset_expiry",
            "expires_at",
            postgresql_where=text("deleted_at IS NULL AND expires_at IS NOT NULL"),
            sqlite_where=text("deleted_at IS NULL AND expires_at IS NOT NULL"),
        ),
        # The home page's and the workspaces' sums are read from these alone.
        Index(
            "ix_traceset_creator",
            "created_by",
            "status",
            "kind",
            "workspace_id",
            "total_size",
            "deleted_at",
            postgresql_where=text("deleted_at IS NULL"),
            sqlite_where=text("deleted_at IS NULL"),
        ),
        Index(
            "ix_traceset_sums",
            "workspace_id",
            "status",
            "kind",
            "total_size",
            "deleted_at",
            postgresql_where=text("deleted_at IS NULL"),
            sqlite_where=text("deleted_at IS NULL"),
        ),
        Index(
            "uq_traceset_promotion_key",
            "promotion_key",
            unique=True,
            postgresql_where=text("deleted_at IS NULL"),
            sqlite_where=text("deleted_at IS NULL"),
        ),
    )


class LibraryFile(Base):
    """The bytes of one file in the object store, named by their key there.

    `declared_sha256` is what a client said; `sha256` is what this server read and hashed, the only one that is
    ever matched (U9).
    """

    __tablename__ = "library_file"

    key: Mapped[str] = mapped_column(String(40), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[LibraryState] = mapped_column(Word(LibraryState))
    ref_count: Mapped[int] = mapped_column(Integer)
    etag: Mapped[str | None] = mapped_column(Text)
    declared_sha256: Mapped[str | None] = mapped_column(String(64))
    sha256: Mapped[str | None] = mapped_column(String(64), index=True)
    hash_claimed_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)

    __table_args__ = (
        CheckConstraint("ref_count >= 0", name="ref_count"),
        CheckConstraint("size >= 0", name="size"),
        Index(
            "ix_library_file_unreferenced",
            "state",
            postgresql_where=text("ref_count = 0 AND state <> 'staged'"),
            sqlite_where=text("ref_count = 0 AND state <> 'staged'"),
        ),
        Index(
            "ix_library_file_unhashed",
            "created_at",
            postgresql_where=text("sha256 IS NULL AND state = 'stored'"),
            sqlite_where=text("sha256 IS NULL AND state = 'stored'"),
        ),
    )


class TracesetFile(Base):
    """One file of a traceset, at its place in the request's order."""

    __tablename__ = "traceset_file"

    traceset_seq: Mapped[int] = mapped_column(ForeignKey("traceset.seq", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text)
    size: Mapped[int] = mapped_column(BigInteger)
    role: Mapped[FileRole] = mapped_column(Word(FileRole))
    metadata_status: Mapped[MetadataStatus] = mapped_column(Word(MetadataStatus))
    library_key: Mapped[str | None] = mapped_column(ForeignKey("library_file.key"), index=True)
    external_url: Mapped[str | None] = mapped_column(String(EXTERNAL_URL_LENGTH))

    __table_args__ = (Index("uq_traceset_file_name", "traceset_seq", "name", unique=True),)


class TracesetTag(Base):
    """One tag of a traceset, the same as in `Traceset.tags`: what the list finds tracesets by (L11).

    The columns behind the tag are copies of the traceset's, which never change, so that the index has all the rows of
    a tag in the order of the list.
    """

    __tablename__ = "traceset_tag"

    traceset_seq: Mapped[int] = mapped_column(ForeignKey("traceset.seq", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(code_point_text(TAG_LENGTH), primary_key=True)
    workspace_id: Mapped[str] = mapped_column(String(80))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    traceset_id: Mapped[str] = mapped_column(code_point_text(40))

    __table_args__ = (Index("ix_traceset_tag_listed", "tag", "workspace_id", "created_at", "traceset_id"),)


def _listed(
    name: str, *columns: Any, where: str = "deleted_at IS NULL AND kind = 'traceset'", include: Sequence[str] = ()
) -> Index:
    """An index that has the rows of a list in its order; `queries.listing_routes` tells which list walks which."""
    condition = text(where)
    return Index(name, *columns, postgresql_where=condition, sqlite_where=condition, postgresql_include=include)


_IN_TIME = (Traceset.workspace_id, Traceset.created_at, Traceset.id)

# In PostgreSQL the name goes along, so that a search need not look at the rows. SQLite looks at them anyway.
_listed("ix_traceset_newest", Traceset.created_at, Traceset.id, include=["name_key"])
_listed("ix_traceset_listed", *_IN_TIME, include=["name_key"])
_listed("ix_traceset_named", Traceset.workspace_id, Traceset.name_key, Traceset.id)
_listed("ix_traceset_status", Traceset.workspace_id, Traceset.status, Traceset.id)
_listed(
    "ix_traceset_status_listed",
    Traceset.workspace_id,
    Traceset.status,
    Traceset.created_at.desc(),
    Traceset.id.desc(),
)
_listed("ix_traceset_rank_count", Traceset.rank_count, *_IN_TIME)
_listed("ix_traceset_family", Traceset.workload_family, *_IN_TIME)
_listed("ix_traceset_workload", Traceset.workload_name, *_IN_TIME)
_listed("ix_traceset_precision", Traceset.precision, *_IN_TIME)
_listed("ix_traceset_accelerator", Traceset.accelerator, *_IN_TIME)
_listed("ix_traceset_deleted", *_IN_TIME, where="deleted_at IS NOT NULL")
_listed("ix_traceset_mapping", *_IN_TIME, where="kind = 'mapping'")
