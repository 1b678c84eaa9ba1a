"""The list of tracesets (L1-L12): what a caller sees of them, filtered, in order, page by page."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Select
from sqlalchemy.orm import Session

from app.domain.access import Caller
from app.domain.listing import DEFAULT_LIMIT, DEFAULT_SORT, SortKey
from app.models.tracesets import MAX_TAGS, Kind
from app.queries import listing_routes
from app.queries.listing_conditions import Filters, Shelf
from app.queries.listing_routes import COLUMNS, ENDLESS, Route, find_route, order_of
from app.queries.listing_search import PIECE_LENGTH, Passing, piece_values, select_passing
from app.queries.listing_walk import Item, Walk, select_heads, select_met

__all__ = ["Filters", "Item", "Place", "list_items"]


class Place(NamedTuple):
    """Where a page begins: behind the row with these sort keys and this id."""

    values: Sequence[object]
    row_id: str


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
    """The first rows in this order of what the caller sees and the filters let through, by two statements at most.

    Args:
        session: to read with.
        caller: whose list it is.
        kind: of what.
        filters: what it is narrowed to.
        sort: ties are broken by id, in the direction of the last key (L3).
        limit: how many rows at most.
        after: only rows behind this place.
    """
    workspaces = _workspaces(caller, filters.workspace_id)
    if workspaces == [] or len(filters.tags) > MAX_TAGS:  # nothing has more tags than that
        return []
    question = _Question(session, workspaces, kind=kind, filters=filters, sort=sort, limit=limit, after=after)
    return question.answer()


def _workspaces(caller: Caller, workspace_id: str | None) -> list[str] | None:
    """The ids of the workspaces to list; None: all that there are."""
    if workspace_id is not None:
        return [workspace_id] if caller.may_see(workspace_id) else []
    visible = caller.visible_workspaces
    return None if visible is None else sorted(visible)


class _Question:
    """One list as it is asked for, with the parameters of its statements."""

    def __init__(
        self,
        session: Session,
        workspaces: list[str] | None,
        *,
        kind: Kind,
        filters: Filters,
        sort: Sequence[SortKey],
        limit: int,
        after: Place | None,
    ) -> None:
        self.session = session
        self.is_postgres = session.get_bind().dialect.name == "postgresql"
        self.workspaces = workspaces
        self.shelf = Shelf.of(kind, filters.status)
        self.order = order_of(sort, has_status=filters.status is not None)
        self.search = filters.search
        self.limit = limit
        self.is_resumed = after is not None
        self.values = filters.values()
        self.asked = tuple(self.values)
        if workspaces is not None:
            self.values["workspaces"] = workspaces
        if after is not None:
            self.values |= _place_values(sort, after)

    def answer(self) -> list[Item]:
        """The page: what a walk meets, or where it was given up, or there is none, what is found among all rows."""
        route = find_route(self.shelf, self.order, self.asked, _count(self.workspaces))
        walk = None if route is None else self._begin(route)
        if walk is None:
            return self._execute(select_passing(self._passing(None)))
        if walk.n_parts == 0:
            return []
        met = self._execute(select_met(walk))
        if len(met) == self.limit or not walk.route.looked_at:
            return met
        if len(met) >= listing_routes.WORTH_WALKING_ON * self.limit:
            return self._execute(select_met(replace(walk, length=ENDLESS)))
        return self._execute(select_passing(self._passing(walk))) or met

    def _begin(self, route: Route) -> Walk | None:
        """The walk, whose workspaces become parameters; None where there are too many of them."""
        n_parts = None if route.is_everywhere else _count(self.workspaces)
        length = listing_routes.WALKED_ROWS if route.looked_at else self.limit
        walk = Walk(route, n_parts, length, self.limit, is_resumed=self.is_resumed, is_postgres=self.is_postgres)
        places = self.workspaces or []
        if route.needs_heads:
            most = listing_routes.MAX_WORKSPACES
            heads = select_heads(walk, most, has_workspaces=self.workspaces is not None)
            places = list(self.session.scalars(heads, self.values))
            if len(places) == most < self.limit:
                return None
            walk = replace(walk, n_parts=len(places))
        self.values |= {f"workspace_{number}": place for number, place in enumerate(places)}
        return walk

    def _passing(self, walk: Walk | None) -> Passing:
        piece_length = None
        if self.search is not None and self.shelf is Shelf.LIVE:
            self.values |= piece_values(self.search, is_postgres=self.is_postgres)
            piece_length = min(len(self.search), PIECE_LENGTH)
        return Passing(
            shelf=self.shelf,
            order=self.order,
            asked=self.asked if self.workspaces is None else (*self.asked, "workspaces"),
            piece_length=piece_length,
            walk=walk,
            is_resumed=self.is_resumed,
            limit=self.limit,
            is_postgres=self.is_postgres,
        )

    def _execute(self, statement: Select[Any]) -> list[Item]:
        return [Item._make(row) for row in self.session.execute(statement, self.values).all()]


def _count(workspaces: Sequence[str] | None) -> int | None:
    return None if workspaces is None else len(workspaces)


def _place_values(sort: Sequence[SortKey], after: Place) -> dict[str, object]:
    values = {f"after_{COLUMNS[key.field]}": value for key, value in zip(sort, after.values, strict=True)}
    return values | {"after_id": after.row_id}
