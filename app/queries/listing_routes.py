"""Which way a page of the list is found. Decided here, and not by the databases' planners, which cannot know that one
walk ends after a hundred rows and another after all of them.

Why these ways: what a workspace holds is in its index in the order of the list already, so merging the indexes of
twenty workspaces reads hardly more rows than the page shows, at any depth. A word, a status or a tag has such an
index too: it leads, and what else is asked for is looked at on the way. Where so few rows pass that the way would be
long it is given up after `WALKED_ROWS`, and the page is made of all rows that pass (`listing_search`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.listing import SortKey
from app.queries.listing_conditions import Shelf

MAX_WORKSPACES = 64
"""How many indexes are merged at once. SQLite takes 500, but each costs PostgreSQL's planner some 50 microseconds."""
WALKED_ROWS = 3000
"""How far a walk goes, which takes one to two milliseconds."""
WORTH_WALKING_ON = 1 / 3
"""Where so much of the page was met on that way, the rest is two more such ways off. Else few rows pass, and to look
at all of them costs less."""
ENDLESS = 2**31 - 1
"""The length of a walk that is not given up."""

COLUMNS = {"created": "created_at", "name": "name_key", "status": "status"}
_LEADERS = ("tag_0", "workload_name", "rank_count", "accelerator", "precision", "workload_family", "status")
_MOMENTS = ("created_after", "created_before")


class Ordered(NamedTuple):
    """A column of an order, and whether it descends."""

    column: str
    descending: bool


Order = tuple[Ordered, ...]
"""The last one is the id, so that no two rows are alike (L3)."""


@dataclass(frozen=True, slots=True)
class Route:
    """One walk through indexes in the order of the list.

    Args:
        shelf: what rows.
        order: of the list, which the index has too.
        leader: the condition that the index begins with, if one does.
        within: conditions that bound the part of the index.
        looked_at: conditions that are looked at row by row.
        is_everywhere: one index of all workspaces, instead of one part of it for each.
        needs_heads: there are too many workspaces; the walk goes through those that hold the first rows.
    """

    shelf: Shelf
    order: Order
    leader: str | None = None
    within: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()
    is_everywhere: bool = False
    needs_heads: bool = False


def order_of(sort: Sequence[SortKey], *, has_status: bool) -> Order:
    """The columns that the list is sorted by; where all rows have one status, it sorts nothing."""
    keys = [key for key in sort if not (has_status and key.field == "status")]
    columns = [Ordered(COLUMNS[key.field], key.descending) for key in keys]
    return (*columns, Ordered("id", sort[-1].descending))


def find_route(shelf: Shelf, order: Order, asked: Collection[str], n_workspaces: int | None) -> Route | None:
    """The walk to the page; None where no index has this order.

    Args:
        shelf: what rows.
        order: of the list.
        asked: the names of the conditions.
        n_workspaces: how many the caller reads; None: all that there are.
    """
    if not _is_indexed(shelf, order):
        return None
    is_by_time = order[0].column == "created_at"
    leader = _leader(shelf, order, asked)
    within = tuple(name for name in _MOMENTS if name in asked and is_by_time)
    looked_at = tuple(sorted(set(asked) - {leader, *within}))
    if n_workspaces is not None and n_workspaces <= MAX_WORKSPACES:
        return Route(shelf, order, leader, within, looked_at)
    if is_by_time and shelf is Shelf.LIVE and (looked_at or (leader is None and n_workspaces is None)):
        looked_at = tuple(sorted({*asked} - {*within} | ({"workspaces"} if n_workspaces else set())))
        return Route(shelf, order, None, within, looked_at, is_everywhere=True)
    return None if looked_at else Route(shelf, order, leader, within, needs_heads=True)


def _leader(shelf: Shelf, order: Order, asked: Collection[str]) -> str | None:
    if shelf is not Shelf.LIVE or order[0].column not in ("created_at", "id"):
        return None
    return next((name for name in _LEADERS if name in asked), None) if order[0].column == "created_at" else "status"


def _is_indexed(shelf: Shelf, order: Order) -> bool:
    """Whether an index has this order; what comes behind a time or a name sorts next to nothing."""
    first, second = order[0], order[min(1, len(order) - 1)]
    if shelf is not Shelf.LIVE:
        return first.column == "created_at"
    if first.column == "status":
        same = first.descending == second.descending
        return second.column == "id" or (second.column == "created_at" and not same)
    return True
