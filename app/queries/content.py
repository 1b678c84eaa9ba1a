"""Finding content that is stored already (U9)."""

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models.tracesets import LibraryFile, LibraryState, Status, Traceset, TracesetFile


def find_stored_content(
    session: Session, workspace_id: str, sizes: Mapping[str, int]
) -> dict[tuple[str | None, int], str]:
    """The keys of library files that a ready traceset of this workspace refers to and that hold this content.

    Only what this server has read and hashed itself counts.

    Args:
        session: within the transaction that will refer to them.
        workspace_id: content of other workspaces is never told of.
        sizes: SHA-256 in lower-case hex to size in bytes.

    Returns:
        (SHA-256, size) to key; what is not stored is left out.
    """
    if not sizes:
        return {}
    statement = (
        select(LibraryFile.sha256, LibraryFile.size, LibraryFile.key)
        .join(TracesetFile, TracesetFile.library_key == LibraryFile.key)
        .join(Traceset, Traceset.seq == TracesetFile.traceset_seq)
        .where(
            LibraryFile.sha256.in_(sizes),
            LibraryFile.state == LibraryState.STORED,
            Traceset.workspace_id == workspace_id,
            Traceset.status == Status.READY,
        )
    )
    return {(sha256, size): key for sha256, size, key in session.execute(statement)}
