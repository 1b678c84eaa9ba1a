"""Lists of the administration, page by page and back, each ordered by one column that differs in every row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Row, Select
from sqlalchemy.orm import InstrumentedAttribute, Session

R = TypeVar("R")

AnySelect = Select[*tuple[Any, ...]]
AnyRow = Row[*tuple[Any, ...]]


class Turn(NamedTuple):
    """Where a page begins: behind the row with this key or, backwards, before it; None: at the start of the list."""

    key: int | str | None = None
    is_backward: bool = False


@dataclass(frozen=True, slots=True)
class Leaf(Generic[R]):
    """Some rows in order, and whether there are more on either side."""

    rows: Sequence[R]
    has_previous: bool
    has_next: bool


def read_leaf(
    session: Session, statement: AnySelect, column: InstrumentedAttribute[Any], turn: Turn, *, falls: bool, limit: int
) -> Leaf[AnyRow]:
    """The page of the statement's rows at this place.

    Args:
        session: any.
        statement: without an order.
        column: by which the list is ordered.
        turn: the place.
        falls: whether the list begins with the highest key.
        limit: rows on a page.
    """
    is_downward = falls is not turn.is_backward
    if turn.key is not None:
        statement = statement.where(column < turn.key if is_downward else column > turn.key)
    order = column.desc() if is_downward else column.asc()
    found = list(session.execute(statement.order_by(order).limit(limit + 1)).all())
    has_more, rows = len(found) > limit, found[:limit]
    if turn.is_backward:
        rows.reverse()
        return Leaf(rows, has_previous=has_more, has_next=True)
    return Leaf(rows, has_previous=turn.key is not None, has_next=has_more)
