"""Tracesets for the tests of lists, and what a list of them is by its definition (L3-L12)."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from app import clock
from app.domain.metadata import filter_word, fold
from app.models.tracesets import Kind, Status, Traceset
from app.models.workspaces import Workspace
from app.services.tags import insert_tags

FIRST_MOMENT = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
NAMES = (
    "Alpha", "alpha", "ALPHA beta", "Été à Paris", "éclair", "ÉCLAIR", "100% sure", "a_b", "a\\b", "say 'x\"",
    "x", "ab", "漢字 🚀", "Straße", "STRASSE", "q7 run", "run q7", "zz  z", "beta beta beta",
)  # fmt: skip
TERMS = (
    "a",
    "AL",
    "alpha",
    "é",
    "É",
    "ÉC",
    "%",
    "_",
    "\\",
    "'",
    '"',
    "x",
    "q7",
    "Q7 R",
    "ss",
    "z",
    "  z",
    "beta",
    "字 ",
    "no",
)
WORDS: Mapping[str, Sequence[str]] = {
    "workload_family": ("LLM", "llm", "DLRM", "É", "w" * 8190, "w" * 8189 + "x"),
    "workload_name": ("GPT-175B", "gpt-175b", "Llama 3"),
    "precision": ("BF16", "fp8"),
    "accelerator": ("H100", "h100 SXM"),
}
TAGS = ("x", "X", "y", "x,y", "z z")
RANK_COUNTS = (None, 1, 8, 16, 16, 1024, 2_147_483_647)
SORTS: Mapping[str, str] = {"created": "created_at", "name": "name_key", "status": "status"}


def fill(session: Session, workspaces: Sequence[str], count: int, *, kind: Kind = Kind.TRACESET) -> list[Traceset]:
    """Add tracesets that are alike in many ways: few names, moments, words and tags for many rows."""
    draw = random.Random(count)
    rows = [_traceset(draw, kind, draw.choice(workspaces)) for _ in range(count)]
    for row in rows:
        session.add(row)
    session.flush()
    for row in rows:
        insert_tags(session, row)
    return rows


def add_workspaces(session: Session, count: int) -> list[str]:
    """Add workspaces without members; their ids."""
    ids = [f"workspace_of_tests_{number}" for number in range(count)]
    session.add_all(Workspace(id=identity, name=identity, created_at=clock.now()) for identity in ids)
    session.flush()
    return ids


def _traceset(draw: random.Random, kind: Kind, workspace_id: str) -> Traceset:
    status, name = draw.choice(list(Status)), draw.choice(NAMES)
    words = {column: draw.choice((None, *of_column)) for column, of_column in WORDS.items()}
    return Traceset(
        id=f"{'ts' if kind is Kind.TRACESET else 'mapping'}_{draw.randrange(36**8):026d}",
        kind=kind,
        workspace_id=workspace_id,
        name=name,
        name_key=fold(name),
        status=status,
        tags=draw.sample(TAGS, draw.randrange(4)),
        rank_count=draw.choice(RANK_COUNTS),
        file_count=1,
        total_size=draw.randrange(1000),
        created_at=FIRST_MOMENT + draw.randrange(12) * timedelta(microseconds=1),
        deleted_at=clock.now() if status is Status.DELETED else None,
        **{column: None if word is None else filter_word(word) for column, word in words.items()},
    )


Query = Mapping[str, Any]


def listed(rows: Sequence[Traceset], visible: Sequence[str] | None, query: Query) -> list[str]:
    """The ids of the whole list that the query asks for, by its definition.

    Args:
        rows: all that there is of the kind.
        visible: the ids of the caller's workspaces; None: all.
        query: the parameters but `limit` and `next`; times as datetimes.
    """
    shown = [row for row in rows if (visible is None or row.workspace_id in visible) and _passes(row, query)]
    keys = [key.partition(":") for key in str(query.get("sort", "created:desc")).split(",")]
    shown.sort(key=lambda row: row.id, reverse=keys[-1][2] == "desc")
    for field, _, direction in reversed(keys):
        shown.sort(key=lambda row: getattr(row, SORTS[field]), reverse=direction == "desc")
    return [row.id for row in shown]


def _passes(row: Traceset, query: Query) -> bool:
    return all(_asks(row, query))


def _asks(row: Traceset, query: Query) -> Iterator[bool]:
    yield row.status == query.get("status", row.status) and (row.status != Status.DELETED or "status" in query)
    yield row.workspace_id == query.get("workspaceId", row.workspace_id)
    yield fold(query.get("search", "")) in fold(row.name)
    yield query.get("createdAfter", row.created_at) <= row.created_at
    yield "createdBefore" not in query or row.created_at < query["createdBefore"]
    yield set(query.get("tag", ())) <= set(row.tags)
    if "rankCountMin" in query or "rankCountMax" in query:
        yield row.rank_count is not None
        yield query.get("rankCountMin", 0) <= (row.rank_count or 0) <= query.get("rankCountMax", 10**30)
    for column in WORDS:
        word = query.get(_camel(column))
        yield word is None or getattr(row, column) == filter_word(word)


def _camel(column: str) -> str:
    first, *others = column.split("_")
    return first + "".join(map(str.capitalize, others))


def query_string(query: Query) -> str:
    """The query as a request sends it."""
    told = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in query.items()}
    return urlencode(told, doseq=True)
