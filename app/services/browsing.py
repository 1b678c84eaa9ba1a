"""The list of tracesets as people leaf through it: forwards, and back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.access import Caller
from app.domain.listing import SortKey
from app.queries.listing import Item
from app.services.listing import Listing, cursor_behind, list_tracesets


@dataclass(frozen=True, slots=True)
class Leaf:
    """Some items in order, and the cursors to the pages on both sides, None where there is none.

    `previous_cursor` leads backwards: it is good with `is_backward` alone.
    """

    items: Sequence[Item]
    previous_cursor: str | None
    next_cursor: str | None


def leaf_through(caller: Caller, listing: Listing, *, is_backward: bool = False) -> Leaf:
    """One page of what the caller sees.

    A page before is the next one of the list in its opposite order, turned round; so going back costs no more than
    going on.

    Args:
        caller: whose list it is.
        listing: what is asked for.
        is_backward: its cursor is a `previous_cursor`.

    Raises:
        Invalid: the cursor is none of this list in this order and direction.
    """
    opposite = [SortKey(key.field, descending=not key.descending) for key in listing.sort]
    page = list_tracesets(caller, replace(listing, sort=opposite) if is_backward else listing)
    items = list(reversed(page.items)) if is_backward else page.items
    previous_cursor, next_cursor = None, page.next_cursor
    if is_backward:
        previous_cursor = page.next_cursor
        next_cursor = cursor_behind(items[-1], listing.sort, listing.kind) if items else None
    elif listing.cursor is not None and items:
        previous_cursor = cursor_behind(items[0], opposite, listing.kind)
    return Leaf(items, previous_cursor, next_cursor)
