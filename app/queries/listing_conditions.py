"""What a list can be narrowed to, each condition under a name.

Why names: a statement is built once for all lists that ask for the same conditions, and executed with their values.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, bindparam, func, literal_column, select

from app.models.base import holds_text
from app.models.tracesets import Kind, Status, Traceset, TracesetTag

# Tables and not models: rows of columns come without the ORM's part of the work, a fifth of the time of a list.
TRACESET = Traceset.__table__
TAG = TracesetTag.__table__

SINGLE_TAGS = 4
"""So many of the tags asked for have a condition each, so that the rarest may find the rows. Further ones share one:
PostgreSQL takes seconds to plan a list of fifty conditions, and SQLite refuses one of a few hundred."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list is narrowed to; None and empty ask for nothing.

    Args:
        workspace_id: one of which the caller may see nothing, or which there is not, gives an empty list.
        status: None shows all but the deleted.
        search: folded text that the folded name holds.
        created_after: the first moment.
        created_before: the first moment that is too late.
        words: what is kept of words (`domain.metadata.filter_word`) by the names of their columns.
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

    def values(self) -> dict[str, object]:
        """The values asked for by the names of their conditions; those of workspaces and shelf left out."""
        is_one_count = self.rank_count_min == self.rank_count_max
        further = self.tags[SINGLE_TAGS:]
        found = {
            **self.words,
            **{f"tag_{number}": tag for number, tag in enumerate(self.tags[:SINGLE_TAGS])},
            f"tags_{len(further)}": further or None,
            "status": None if self.status is Status.DELETED else self.status,
            "search": self.search,
            "created_after": self.created_after,
            "created_before": self.created_before,
            "rank_count": self.rank_count_min if is_one_count else None,
            "rank_count_min": None if is_one_count else self.rank_count_min,
            "rank_count_max": None if is_one_count else self.rank_count_max,
        }
        return {name: value for name, value in found.items() if value is not None}


class Shelf(StrEnum):
    """What a list shows rows of (L7, M1), each by SQL that is to the letter the condition of its partial indexes.

    SQLite uses a partial index only where the statement holds the same terms.
    """

    LIVE = "traceset.deleted_at IS NULL AND traceset.kind = 'traceset'"
    DELETED = "traceset.deleted_at IS NOT NULL AND traceset.kind = 'traceset'"
    MAPPING = "traceset.kind = 'mapping' AND traceset.deleted_at IS NULL"
    DELETED_MAPPING = "traceset.kind = 'mapping' AND traceset.deleted_at IS NOT NULL"

    @classmethod
    def of(cls, kind: Kind, status: Status | None) -> "Shelf":
        """Where what is asked for stands."""
        if kind is Kind.MAPPING:
            return cls.DELETED_MAPPING if status is Status.DELETED else cls.MAPPING
        return cls.DELETED if status is Status.DELETED else cls.LIVE


_COMPARED: Mapping[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "search": ("name_key", holds_text),
    "created_after": ("created_at", operator.ge),
    "created_before": ("created_at", operator.lt),
    "rank_count_min": ("rank_count", operator.ge),
    "rank_count_max": ("rank_count", operator.le),
}
"""The column that a condition compares, and how; all others are named after the column that must be equal."""


def column_of(name: str) -> str:
    """The column that the condition of this name looks at."""
    if name == "workspaces":
        return "workspace_id"
    return "seq" if name.startswith(("tag_", "tags_")) else _COMPARED.get(name, (name, operator.eq))[0]


def condition(name: str, columns: Any) -> ColumnElement[bool]:
    """The condition of this name, whose value is a parameter of the same name.

    Args:
        name: one that `Filters.values` gives, or `workspaces`: one of these.
        columns: those of the table, or of a subquery that has them under the same names.
    """
    if name == "workspaces":
        is_one_of: ColumnElement[bool] = columns.workspace_id.in_(bindparam(name, expanding=True))
        return is_one_of
    if name.startswith("tag_"):
        return select(TAG).where(TAG.c.traceset_seq == columns.seq, TAG.c.tag == bindparam(name)).exists()
    if name.startswith("tags_"):
        held = select(func.count()).where(
            TAG.c.traceset_seq == columns.seq, TAG.c.tag.in_(bindparam(name, expanding=True))
        )
        return held.scalar_subquery() == literal_column(name.removeprefix("tags_"))
    column, compare = _COMPARED.get(name, (name, operator.eq))
    # The bound of a rank count may be one above the largest count that the column takes.
    value = bindparam(name, type_=BigInteger()) if column == "rank_count" else bindparam(name)
    holds: ColumnElement[bool] = compare(getattr(columns, column), value)
    return holds
