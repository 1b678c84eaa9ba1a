"""Pages of the list of tracesets, with cursors between them (L1-L6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.domain.access import Caller
from app.domain.listing import DEFAULT_LIMIT, DEFAULT_SORT, SortKey, decode_cursor, encode_cursor
from app.extensions import app_settings
from app.models.tracesets import Kind
from app.queries.listing import Filters, Item, Place, list_items
from app.transactions import reading

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Listing:
    """What is asked of a list; `cursor` is text that an earlier page gave."""

    filters: Filters
    kind: Kind = Kind.TRACESET
    sort: Sequence[SortKey] = DEFAULT_SORT
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some items, and the cursor to those after them, None where there are none."""

    items: Sequence[Item]
    next_cursor: str | None


def list_tracesets(caller: Caller, listing: Listing) -> Page:
    """One page of what the caller sees.

    Raises:
        Invalid: the cursor is none of this list in this order.
    """
    after = None if listing.cursor is None else _place(listing)
    with reading() as session:
        found = list_items(
            session, caller, listing.kind, listing.filters, sort=listing.sort, limit=listing.limit + 1, after=after
        )
    items = found[: listing.limit]
    return Page(items, cursor_behind(items[-1], listing.sort, listing.kind) if len(found) > len(items) else None)


def cursor_behind(item: Item, sort: Sequence[SortKey], kind: Kind) -> str:
    """The cursor to what comes after this item in this order."""
    values: dict[str, str | int] = {
        "created": (item.created_at - _EPOCH) // _MICROSECOND,
        "name": item.name_key,
        "status": item.status.value,
    }
    return encode_cursor(sort, [values[sort_key.field] for sort_key in sort], item.id, _key(kind))


def _place(listing: Listing) -> Place:
    values, row_id = decode_cursor(listing.cursor or "", listing.sort, _key(listing.kind))
    return Place([_EPOCH + value * _MICROSECOND if isinstance(value, int) else value for value in values], row_id)


def _key(kind: Kind) -> bytes:
    return f"{kind} {app_settings().signing_key}".encode()
