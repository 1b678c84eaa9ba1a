"""Words that tracesets use, as they are spelt there."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import bindparam, case, func, select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.domain.metadata import Descriptive, read_quickly
from app.models.tracesets import Kind, Traceset
from app.queries.listing import Filters, list_items

LOOKED_AT = 200
"""Tracesets, the newest, whose words are suggested: a page must not wait for a walk through the catalogue."""
LOOKED_AT_CHARACTERS = 8192
"""Of a traceset's metadata; what is longer is no source of short words worth its reading."""
SUGGESTED = 30
SUGGESTED_CHARACTERS = 100

_SHORT_METADATA = case((func.length(Traceset.workload_metadata) <= LOOKED_AT_CHARACTERS, Traceset.workload_metadata))
_FAMILIES = select(Traceset.id, Traceset.workload_family, _SHORT_METADATA).where(
    Traceset.id.in_(bindparam("ids", expanding=True)), Traceset.workload_family.is_not(None)
)


def suggest_words(session: Session, caller: Caller) -> dict[str, list[str]]:
    """Words that the newest tracesets the caller sees use, the most frequent first.

    By the name of a descriptive member, and `tags`; as they are spelt there.
    """
    items = list_items(session, caller, Kind.TRACESET, Filters(), limit=LOOKED_AT)
    statement = select(_SHORT_METADATA).where(Traceset.id.in_([item.id for item in items]))
    members = [read_quickly(text) for text in session.scalars(statement) if text]
    words = {name: _most_frequent(found.get(name) for found in members) for name in Descriptive.__slots__}
    return words | {"tags": _most_frequent(tag for item in items for tag in item.tags)}


def _most_frequent(values: Iterable[object]) -> list[str]:
    counts: dict[str, int] = {}
    for value in values:
        if isinstance(value, str) and 1 <= len(value) <= SUGGESTED_CHARACTERS:
            counts[value] = counts.get(value, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))[:SUGGESTED]


def families_of(session: Session, traceset_ids: Sequence[str]) -> Mapping[str, str]:
    """The workload families of those of these tracesets that have one, by id; as the list folds it where the metadata
    is too long to be read for that."""
    if not traceset_ids:
        return {}
    return {
        traceset_id: _declared(text, "workload_family") or folded
        for traceset_id, folded, text in session.execute(_FAMILIES, {"ids": list(traceset_ids)})
    }


def _declared(text: str | None, name: str) -> str | None:
    word = read_quickly(text).get(name) if text else None
    return word if isinstance(word, str) else None
