"""What the upload page shows beside its form: what a person began before, and words that others used."""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.domain.metadata import Descriptive
from app.models.tracesets import Kind, Traceset
from app.models.uploads import SessionState, UploadSession
from app.queries.listing import Filters, list_items

SHOWN_UNFINISHED = 20
LOOKED_AT = 200
"""Tracesets, the newest, whose words are suggested: a page must not wait for a walk through the catalogue."""
LOOKED_AT_CHARACTERS = 8192
"""Of a traceset's metadata; what is longer is no source of short words worth its reading."""
SUGGESTED = 30
SUGGESTED_CHARACTERS = 100

_UNFINISHED = (SessionState.OPEN, SessionState.COMPLETING)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A session of a traceset that its owner may go on with; `total_size` in bytes."""

    id: str
    name: str
    state: SessionState
    file_count: int
    total_size: int
    created_at: datetime
    expires_at: datetime


def list_unfinished(session: Session, caller: Caller, now: datetime) -> list[Unfinished]:
    """The newest sessions of the caller that still can be completed, where the caller may still change things."""
    statement = (
        select(UploadSession, Traceset)
        .join(Traceset, Traceset.seq == UploadSession.traceset_seq)
        .where(UploadSession.owner_id == caller.user_id, UploadSession.state.in_(_UNFINISHED))
        .where(UploadSession.expires_at > now, Traceset.kind == Kind.TRACESET)
        .order_by(UploadSession.created_at.desc(), UploadSession.id)
        .limit(SHOWN_UNFINISHED)
    )
    return [
        Unfinished(
            id=upload.id,
            name=traceset.name,
            state=upload.state,
            file_count=traceset.file_count,
            total_size=traceset.total_size,
            created_at=upload.created_at,
            expires_at=upload.expires_at,
        )
        for upload, traceset in session.execute(statement)
        if caller.may_change(traceset.workspace_id)
    ]


def suggest_words(session: Session, caller: Caller) -> dict[str, list[str]]:
    """Words that the newest tracesets the caller sees use, the most frequent first.

    By the name of a descriptive member, and `tags`; as they are spelt there.
    """
    items = list_items(session, caller, Kind.TRACESET, Filters(), limit=LOOKED_AT)
    statement = select(Traceset.workload_metadata).where(
        Traceset.id.in_([item.id for item in items]), func.length(Traceset.workload_metadata) <= LOOKED_AT_CHARACTERS
    )
    members = [_members(text) for text in session.scalars(statement) if text]
    words = {name: _most_frequent(found.get(name) for found in members) for name in Descriptive.__slots__}
    return words | {"tags": _most_frequent(tag for item in items for tag in item.tags)}


def _members(text: str) -> dict[str, object]:
    """The members of stored metadata; none where it holds integers that `json` does not convert."""
    with suppress(ValueError):
        found: dict[str, object] = json.loads(text)
        return found
    return {}


def _most_frequent(values: Iterable[object]) -> list[str]:
    counts: dict[str, int] = {}
    for value in values:
        if isinstance(value, str) and 1 <= len(value) <= SUGGESTED_CHARACTERS:
            counts[value] = counts.get(value, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))[:SUGGESTED]
