"""The page made of all rows that pass, for conditions so rare, or orders so odd, that no walk ends soon.

Why trigrams: an index of the three-character pieces of names finds every text of three characters and more, and,
since each name goes into it with two spaces behind it, those of one and two as beginnings of pieces. PostgreSQL keeps
the pieces as a text search vector, which needs no extension (pg_trgm would index letters and digits alone, and
nothing shorter than a piece); SQLite in a table of its full-text search. Both find candidates, whose names are then
looked at as in a walk.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    cast,
    column,
    func,
    select,
    table,
    text,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from app.queries.listing_conditions import TAG, TRACESET, Shelf, condition
from app.queries.listing_routes import Order
from app.queries.listing_walk import Walk, behind, fixed, is_given_up, ordering, select_items

PIECE_LENGTH = 3
_MAX_PIECES = 40
"""More pieces find nothing that these do not find: they find candidates."""

_NAMES = table("search_names", column("rowid"))
_PIECES = table("search_pieces", column("doc"), column("term"))
_NOT_BY_WORKSPACE = SimpleNamespace(**{**dict(TRACESET.c), "workspace_id": TRACESET.c.workspace_id.concat("")})
"""The columns, such that no index finds rows by their workspace."""


@dataclass(frozen=True, slots=True)
class Passing:
    """All that the text of the statement depends on.

    Args:
        shelf: what rows.
        order: of the list.
        asked: the names of all conditions, `workspaces` among them where the caller does not read all.
        piece_length: 1, 2 or 3 characters where pieces of names find candidates.
        walk: the one that was walked before; where it was not given up, nothing passes.
        is_resumed: the page begins behind a place.
        limit: rows of the page.
        is_postgres: the kind of the database.
    """

    shelf: Shelf
    order: Order
    asked: tuple[str, ...]
    piece_length: int | None
    walk: Walk | None
    is_resumed: bool
    limit: int
    is_postgres: bool


@lru_cache(maxsize=512)
def select_passing(asked: Passing) -> Select[Any]:
    """The items of the page.

    Parameters: those of the conditions, of `piece_values`, of the walk, and `after_<column>`.
    """
    columns = _NOT_BY_WORKSPACE if _finds_better(asked) else TRACESET.c
    rows = select(*(TRACESET.c[name] for name, _ in asked.order))
    rows = rows.where(text(asked.shelf), *(_condition(name, columns) for name in asked.asked))
    if asked.piece_length is not None:
        rows = rows.where(_holds_pieces(asked.piece_length, is_postgres=asked.is_postgres))
    if asked.is_resumed:
        rows = rows.where(behind(asked.order, TRACESET.c))
    if asked.walk is not None:
        rows = rows.where(is_given_up(asked.walk, has_workspaces="workspaces" in asked.asked))
    # Else the databases would walk in order after all, expecting the end of the page soon.
    passing = rows.cte("passing").prefix_with("MATERIALIZED")
    ids = select(passing.c.id).order_by(*ordering(asked.order, passing.c)).limit(fixed(asked.limit))
    return select_items(ids, asked.order)


def piece_values(term: str, *, is_postgres: bool) -> Mapping[str, str]:
    """The parameters that find the candidates for a text in a name."""
    if is_postgres:
        return {"pieces": _tsquery(term)}
    if len(term) < PIECE_LENGTH:
        return {"first_piece": term, "last_piece": term + "\U0010ffff" * PIECE_LENGTH}
    return {"pieces": " AND ".join('"' + piece.replace('"', '""') + '"' for piece in _pieces(term))}


def _pieces(term: str) -> list[str]:
    starts = range(len(term) - PIECE_LENGTH + 1)
    return list(dict.fromkeys(term[start : start + PIECE_LENGTH] for start in starts))[:_MAX_PIECES]


def _tsquery(term: str) -> str:
    """Source: PostgreSQL, "Text Search Types", on quotes and backslashes in lexemes and on `:*`."""
    pieces = [term] if len(term) < PIECE_LENGTH else _pieces(term)
    quoted = ["'" + piece.replace("\\", "\\\\").replace("'", "''") + "'" for piece in pieces]
    return f"{quoted[0]}:*" if len(term) < PIECE_LENGTH else " & ".join(quoted)


def _finds_better(asked: Passing) -> bool:
    """Whether something narrows the rows more than that they are in certain workspaces.

    PostgreSQL knows how many rows have a tag or a rank count, but takes every beginning of a piece for frequent.
    """
    if asked.is_postgres or asked.piece_length is not None:
        return asked.piece_length is not None
    return not {"tag_0", "rank_count_min", "rank_count_max"}.isdisjoint(asked.asked)


def _holds_pieces(length: int, *, is_postgres: bool) -> ColumnElement[bool]:
    if is_postgres:
        return func.search_trigrams(TRACESET.c.name_key).bool_op("@@")(cast(bindparam("pieces"), TSQUERY))
    if length < PIECE_LENGTH:
        begins = _PIECES.c.term.between(bindparam("first_piece"), bindparam("last_piece"))
        return TRACESET.c.seq.in_(select(_PIECES.c.doc).where(begins))
    return TRACESET.c.seq.in_(select(_NAMES.c.rowid).where(text("search_names MATCH :pieces")))


def _condition(name: str, columns: Any) -> ColumnElement[bool]:
    if not name.startswith("tag_"):
        return condition(name, columns)
    # As a list of rows it can be what finds them.
    return TRACESET.c.seq.in_(select(TAG.c.traceset_seq).where(TAG.c.tag == bindparam(name)))
