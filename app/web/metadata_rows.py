"""Workload metadata as rows of a tree, flat, so that no nesting is too deep for a template."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from app.domain import strict_json
from app.domain.strict_json import JSONText

MAX_ROWS = 500
"""So many members are shown as a tree; the raw text beside it has them all."""
MAX_DEPTH_SHOWN = 8
MAX_VALUE_LENGTH = 2000


class Row(NamedTuple):
    """One member: how deep it lies, its name or index, and its value as JSON; None for what has rows of its own."""

    depth: int
    name: str
    value: str | None


def metadata_rows(metadata: dict[str, object] | None) -> tuple[list[Row], bool]:
    """The first rows of the tree, and whether there are more of them."""
    rows = list(islice(_walk(metadata or {}), MAX_ROWS + 1))
    return rows[:MAX_ROWS], len(rows) > MAX_ROWS


def _walk(root: object) -> Iterator[Row]:
    """Every member in the order of the text; a stack of its own, since nesting may be deep."""
    stack = [(0, iter(_members(root)))]
    while stack:
        depth, members = stack[-1]
        found = next(members, None)
        if found is None:
            stack.pop()
            continue
        name, value = found
        children = _members(value)
        yield Row(min(depth, MAX_DEPTH_SHOWN), name, None if children else _written(value))
        if children:
            stack.append((depth + 1, iter(children)))


def _members(value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return [(f"[{position}]", item) for position, item in enumerate(value)]
    return []


def _written(value: object) -> str:
    text = value if isinstance(value, str) else value.text if isinstance(value, JSONText) else strict_json.dumps(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"
