"""The list of tracesets (L1-L12): what a caller sees of them, filtered, in order, page by page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Select, and_, false, literal, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.domain.access import Caller
from app.domain.listing import DEFAULT_LIMIT, DEFAULT_SORT, SortKey
from app.models.base import holds_text
from app.models.tracesets import Kind, Status, Traceset, TracesetTag


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list is narrowed to; None and empty ask for nothing.

    Args:
        workspace_id: one of which the caller may see nothing, or which there is not, gives an empty list.
        status: None shows all but the deleted.
        search: folded text that the folded name holds.
        created_after: the first moment.
        created_before: the first moment that is too late.
        words: folded words by the name of their column.
        tags: all of them, to the letter.
        rank_count_min: only what declares a count, and at least this one.
        rank_count_max: only what declares a count, and at most this one.
    """

    workspace_id: str | None = None
    status: Status | None = None
    search: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ()
    rank_count_min: int | None = None
    rank_count_max: int | None = None


class Place(NamedTuple):
    """Where a page begins: behind the row with these sort keys and this id."""

    values: Sequence[object]
    row_id: str


class Item(NamedTuple):
    """What the list shows of a traceset."""

    id: str
    name: str
    name_key: str
    status: Status
    file_count: int
    total_size: int
    tags: Sequence[str]
    workspace_id: str
    rank_count: int | None
    created_at: datetime
    expires_at: datetime | None


SORT_COLUMNS: Mapping[str, InstrumentedAttribute[Any]] = {
    "created": Traceset.created_at,
    "name": Traceset.name_key,
    "status": Traceset.status,
}
_ITEM_COLUMNS = [getattr(Traceset, name) for name in Item._fields]


def list_items(
    session: Session,
    caller: Caller,
    kind: Kind,
    filters: Filters,
    *,
    sort: Sequence[SortKey] = DEFAULT_SORT,
    limit: int = DEFAULT_LIMIT,
    after: Place | None = None,
) -> list[Item]:
    """The first rows in this order of what the caller sees and the filters let through.

    Args:
        sort: ties are broken by id, in the direction of the last key (L3).
        limit: how many rows at most.
        after: only rows behind this place.
    """
    order = [*((SORT_COLUMNS[key.field], key.descending) for key in sort), (Traceset.id, sort[-1].descending)]
    statement = select(*_ITEM_COLUMNS).where(Traceset.kind == kind, *_conditions(caller, filters))
    if after is not None:
        statement = statement.where(_behind(order, [*after.values, after.row_id]))
    return _items(session, statement.order_by(*(c.desc() if down else c.asc() for c, down in order)).limit(limit))


def _items(session: Session, statement: Select[tuple[object, ...]]) -> list[Item]:
    return [Item._make(row) for row in session.execute(statement)]


def _conditions(caller: Caller, filters: Filters) -> Iterator[ColumnElement[bool]]:
    yield _visible(caller, filters.workspace_id)
    yield Traceset.deleted_at.is_(None) if filters.status is None else Traceset.status == filters.status
    if filters.search is not None:
        yield holds_text(Traceset.name_key, filters.search)
    if filters.created_after is not None:
        yield Traceset.created_at >= filters.created_after
    if filters.created_before is not None:
        yield Traceset.created_at < filters.created_before
    for name, word in filters.words.items():
        yield getattr(Traceset, name) == word
    for tag in filters.tags:
        yield select(TracesetTag).where(TracesetTag.traceset_seq == Traceset.seq, TracesetTag.tag == tag).exists()
    # As big integers, since a bound may be one above the largest count.
    if filters.rank_count_min is not None:
        yield Traceset.rank_count >= literal(filters.rank_count_min, BigInteger)
    if filters.rank_count_max is not None:
        yield Traceset.rank_count <= literal(filters.rank_count_max, BigInteger)


def _visible(caller: Caller, workspace_id: str | None) -> ColumnElement[bool]:
    if workspace_id is not None:
        return Traceset.workspace_id == workspace_id if caller.may_see(workspace_id) else false()
    visible = caller.visible_workspaces
    return true() if visible is None else Traceset.workspace_id.in_(visible)


def _behind(order: Sequence[tuple[InstrumentedAttribute[Any], bool]], values: Sequence[object]) -> ColumnElement[bool]:
    """Whether a row comes after these values in this order of (column, descending) pairs."""
    alternatives = []
    for position, ((column, descending), value) in enumerate(zip(order, values, strict=True)):
        same = [earlier == value for (earlier, _), value in zip(order[:position], values, strict=False)]
        alternatives.append(and_(*same, column < value if descending else column > value))
    return or_(*alternatives)
