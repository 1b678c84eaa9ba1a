"""The statements that walk a route: parts of an index, each in the order of the list, merged.

Both databases merge a `UNION ALL` row by row where each part has the order of the whole, and stop at the end of the
page. PostgreSQL does so only where the parts are limited; SQLite takes no limits there, and needs none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    and_,
    bindparam,
    column,
    literal_column,
    or_,
    select,
    text,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.sql.elements import SQLCoreOperations
from sqlalchemy.sql.selectable import GenerativeSelect

from app.models.tracesets import Status
from app.models.workspaces import Workspace
from app.queries.listing_conditions import TAG, TRACESET, column_of, condition
from app.queries.listing_routes import Order, Route


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


_WORKSPACE = Workspace.__table__
_TAGGED = SimpleNamespace(
    **{**dict(TRACESET.c), "id": TAG.c.traceset_id, "created_at": TAG.c.created_at, "workspace_id": TAG.c.workspace_id}
)
"""The columns of a traceset that is found by a tag: the tag's index has copies of some."""


@dataclass(frozen=True, slots=True)
class Walk:
    """All that the text of a walk's statements depends on.

    Args:
        route: where it goes.
        n_parts: workspaces whose parts of the index are merged; None where the index is walked as a whole.
        length: rows that are walked at most.
        limit: rows of the page.
        is_resumed: it begins behind a place.
        is_postgres: the kind of the database.
    """

    route: Route
    n_parts: int | None
    length: int
    limit: int
    is_resumed: bool
    is_postgres: bool


@lru_cache(maxsize=512)
def select_met(walk: Walk) -> Select[Any]:
    """The items of the page that the walk meets: all of them, or fewer where it was given up.

    Parameters: `workspace_0` and on, those of the conditions, and `after_<column>` for each column of the order.
    """
    route = walk.route
    rows = _merged(walk).limit(fixed(walk.length)).subquery("walked")
    met = select(rows.c.id)
    if route.looked_at:
        met = met.where(*(condition(name, rows.c) for name in route.looked_at)).limit(fixed(walk.limit))
        if walk.is_postgres:
            # SQLite would walk to the end and sort; there the rows come in the order of the subquery.
            met = met.order_by(*ordering(route.order, rows.c))
    return select_items(met, route.order)


def is_given_up(walk: Walk, *, has_workspaces: bool) -> ColumnElement[bool]:
    """Whether there are more rows than were walked. Parameters: as of `select_heads`."""
    columns = _columns(walk.route)
    rows = _part(walk.route, None).with_only_columns(columns.id)
    if has_workspaces and not walk.route.is_everywhere:
        rows = rows.where(condition("workspaces", columns))
    if walk.is_resumed:
        rows = rows.where(behind(walk.route.order, columns))
    return rows.limit(fixed(1)).offset(fixed(walk.length)).correlate(None).exists()


@lru_cache(maxsize=512)
def select_heads(walk: Walk, limit: int, *, has_workspaces: bool) -> Select[Any]:
    """The ids of the workspaces whose first rows come before those of all others.

    Of the first rows of all workspaces, as many as there are such workspaces lie in these. Parameters: those of the
    walk, and `workspaces` where the caller does not read all that there are.
    """
    order, head = walk.route.order, TRACESET.alias("head")
    columns = _columns(walk.route)
    first = _part(walk.route, _WORKSPACE.c.id).with_only_columns(columns.id).correlate(_WORKSPACE)
    if walk.is_resumed:
        first = first.where(behind(order, columns))
    first = first.order_by(*ordering(order, columns)).limit(fixed(1))
    heads = select(_WORKSPACE.c.id).join(head, head.c.id == first.scalar_subquery()).order_by(*ordering(order, head.c))
    if has_workspaces:
        heads = heads.where(_WORKSPACE.c.id.in_(bindparam("workspaces", expanding=True)))
    return heads.limit(fixed(limit))


def select_items(ids: Select[Any], order: Order) -> Select[Any]:
    """The items with these ids, in order."""
    columns = (TRACESET.c[name] for name in Item._fields)
    return select(*columns).where(TRACESET.c.id.in_(ids)).order_by(*ordering(order, TRACESET.c))


def ordering(order: Order, columns: Any) -> list[ColumnElement[Any]]:
    """What to order by, of these columns."""
    return [getattr(columns, name).desc() if descending else getattr(columns, name).asc() for name, descending in order]


def behind(order: Order, columns: Any) -> ColumnElement[bool]:
    """Whether a row comes after the place `after_<column>`."""
    return or_(*_runs_behind(order, columns))


def fixed(number: int) -> ColumnElement[int]:
    """A limit in the text and not as a parameter, so that PostgreSQL sees it when it plans a prepared statement."""
    return literal_column(str(number))


def _merged(walk: Walk) -> GenerativeSelect:
    """The parts, merged in order, without an end."""
    route, columns = walk.route, _columns(walk.route)
    places = [None] if walk.n_parts is None else list(map(_workspace, range(walk.n_parts)))
    starts = _runs_behind(route.order, columns) if walk.is_resumed else [true()]
    parts = [_part(route, place).where(start) for place in places for start in starts]
    if walk.is_postgres:
        parts = [part.order_by(*ordering(route.order, columns)).limit(fixed(walk.length + 1)) for part in parts]
    merged = union_all(*parts) if len(parts) > 1 else parts[0].order_by(None).limit(None)
    named = SimpleNamespace(**{name: column(name) for name, _ in route.order})
    return merged.order_by(*ordering(route.order, named))


def _part(route: Route, workspace: SQLCoreOperations[str] | None) -> Select[Any]:
    """One workspace's part of the index, or all of the index."""
    columns = _columns(route)
    names = {name for name, _ in route.order} | {column_of(name) for name in route.looked_at}
    part = select(*(getattr(columns, name).label(name) for name in sorted(names))).where(text(route.shelf))
    if columns is _TAGGED:
        part = part.select_from(TAG).join(TRACESET, TRACESET.c.seq == TAG.c.traceset_seq)
        part = part.where(TAG.c.tag == bindparam("tag_0"))
    elif route.leader is not None:
        part = part.where(condition(route.leader, columns))
    if workspace is not None:
        part = part.where(columns.workspace_id == workspace)
    return part.where(*(condition(name, columns) for name in route.within))


def _workspace(number: int) -> ColumnElement[str] | None:
    return bindparam(f"workspace_{number}", type_=String())


def _columns(route: Route) -> Any:
    return _TAGGED if route.leader == "tag_0" else TRACESET.c


def _runs_behind(order: Order, columns: Any) -> list[ColumnElement[bool]]:
    """The rows after the place, in as many parts of an index as the order has runs of one direction."""
    length = next((i for i, one in enumerate(order) if one.descending != order[0].descending), len(order))
    run, rest = order[:length], order[length:]
    of_run = tuple_(*(getattr(columns, name) for name, _ in run))
    place = tuple_(*(_after(name, columns) for name, _ in run))
    beyond = of_run < place if order[0].descending else of_run > place
    same = and_(true(), *(getattr(columns, name) == _after(name, columns) for name, _ in run))
    return [beyond, *(and_(same, further) for further in _runs_behind(rest, columns))] if rest else [beyond]


def _after(name: str, columns: Any) -> ColumnElement[Any]:
    return bindparam(f"after_{name}", type_=getattr(columns, name).type)
