"""Showing one traceset (R1-R3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.access import Caller
from app.models.tracesets import FileRole, Kind, Status, Traceset, TracesetFile
from app.queries.tracesets import files_of, get_traceset
from app.transactions import reading


@dataclass(frozen=True, slots=True)
class ShownTraceset:
    """A traceset and all its files; `ranked` is the position of the one file that holds all ranks, if one does."""

    traceset: Traceset
    files: Sequence[TracesetFile]
    ranked: int | None


def show_traceset(caller: Caller, traceset_id: str, kind: Kind = Kind.TRACESET) -> ShownTraceset:
    """The traceset, where the caller may see it.

    Raises:
        NotFound: else.
    """
    with reading() as session:
        traceset = get_traceset(session, caller, traceset_id, kind)
        files = files_of(session, traceset.seq)
    return ShownTraceset(traceset, files, _ranked(traceset, files))


def _ranked(traceset: Traceset, files: Sequence[TracesetFile]) -> int | None:
    """With exactly one primary file in a completed traceset, that file holds ranks 0 to N-1 (R2)."""
    primary = [file.position for file in files if file.role is FileRole.PRIMARY]
    is_complete = traceset.status is Status.READY and traceset.rank_count is not None
    return primary[0] if is_complete and len(primary) == 1 else None
