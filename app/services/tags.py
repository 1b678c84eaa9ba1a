"""The tags of a traceset as rows, which the list finds tracesets by (L11)."""

from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.models.tracesets import Traceset, TracesetTag


def insert_tags(session: Session, traceset: Traceset) -> None:
    """Make a row of each tag of a traceset that was flushed in this transaction; its tags differ from each other."""
    if traceset.tags:
        copies = {
            "traceset_seq": traceset.seq,
            "workspace_id": traceset.workspace_id,
            "created_at": traceset.created_at,
            "traceset_id": traceset.id,
        }
        session.execute(insert(TracesetTag), [copies | {"tag": tag} for tag in traceset.tags])
