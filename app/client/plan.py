"""What an upload says of its files, and what names and degrees say of each other.

Why the rules for ranks and roles are imported and not written again: the pages, the deep validation and this client
must suggest the same. `app.domain.rank_names` is the one module of the application that the client uses; it is pure,
needs the standard library alone, and a contract of the import linter holds the client to this one exception.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from app.client.errors import LocalError
from app.client.models import TracesetFile
from app.client.service import JSON
from app.client.sources import LocalFile
from app.domain.rank_names import MAX_RANK, RankSuggestion, rank_coverage, suggest_ranks, suggest_roles

Role = Literal["primary", "supporting"]

DEGREES = ("dp", "tp", "sp", "ep", "pp")
"""The parallelism degrees whose product is the rank count (U5)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The files of an upload with their roles, and what their names tell of ranks.

    Attributes:
        ranks: of the primary files, in the order of `files`.
    """

    files: tuple[LocalFile, ...]
    roles: tuple[Role, ...]
    ranks: tuple[RankSuggestion, ...]

    @property
    def primary_names(self) -> list[str]:
        """Names of the files that hold traces."""
        return [file.name for file, role in zip(self.files, self.roles, strict=True) if role == "primary"]

    @property
    def n_ranks(self) -> int | None:
        """How many ranks the names suggest; None where they suggest none."""
        ranks = [suggestion.rank for suggestion in self.ranks if suggestion.rank is not None]
        return max(ranks) + 1 if ranks else None

    def coverage(self, rank_count: int | None) -> tuple[bool, str]:
        """Whether the primary files cover the declared ranks, and a sentence that says how."""
        return rank_coverage(self.primary_names, rank_count)


def plan_upload(files: Sequence[LocalFile], *, primary: Iterable[str] = (), supporting: Iterable[str] = ()) -> Plan:
    """Give each file its role: as its name suggests, unless a pattern says otherwise.

    Args:
        files: what is to be sent.
        primary, supporting: patterns such as `*.json` or `host/*`, for whole names; `*` also stands for `/`.

    Raises:
        LocalError: a pattern fits no file, or patterns of both roles fit one.
    """
    names = [file.name for file in files]
    roles: list[Role] = suggest_roles(names)
    wanted: dict[str, Role] = {}
    for name in _matching(names, supporting):
        wanted[name] = "supporting"
    for name in _matching(names, primary):
        if name in wanted:
            raise LocalError(f"{name} is named both as primary and as supporting")
        wanted[name] = "primary"
    roles = [wanted.get(name, role) for name, role in zip(names, roles, strict=True)]
    primary_names = [name for name, role in zip(names, roles, strict=True) if role == "primary"]
    return Plan(tuple(files), tuple(roles), tuple(suggest_ranks(primary_names)))


def workload_metadata(
    given: Mapping[str, Any] | None, *, rank_count: int | None, degrees: Mapping[str, int | None]
) -> JSON | None:
    """The metadata with the declared ranks in it; None where there is nothing to declare.

    Args:
        given: other members, kept as they are; a count or degree below takes the place of one in it.
        rank_count: `shape.rankCount`.
        degrees: dp, tp, sp, ep, pp; None where not given.
    """
    metadata: JSON = dict(given or {})
    declared = {name: degree for name, degree in degrees.items() if degree is not None}
    if rank_count is not None:
        metadata["shape"] = {**(metadata.get("shape") or {}), "rankCount": rank_count}
    if declared:
        metadata["parallelism"] = {**(metadata.get("parallelism") or {}), **declared}
    return metadata or None


def declared_ranks(metadata: Mapping[str, Any] | None) -> int | None:
    """The rank count that metadata declare, as far as they are well formed; the service checks them."""
    shape, parallelism = ((metadata or {}).get(name) for name in ("shape", "parallelism"))
    count = shape.get("rankCount") if isinstance(shape, Mapping) else None
    if isinstance(count, int):
        return count
    degrees = [parallelism.get(name) for name in DEGREES] if isinstance(parallelism, Mapping) else []
    whole = [degree for degree in degrees if isinstance(degree, int)]
    return math.prod(whole) if whole else None


def parse_ranks(text: str) -> list[range]:
    """Ranks such as `0-7,12`.

    Raises:
        LocalError: they are written otherwise.
    """
    spans = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise LocalError(f"Ranks are written like 0-7,12, got '{text}'")
        span = range(int(first), int(last if dash else first) + 1)
        if not span or span[-1] > MAX_RANK:
            raise LocalError(f"'{word.strip()}' is no range of ranks")
        spans.append(span)
    return spans


def select_files(
    files: Sequence[TracesetFile], *, patterns: Sequence[str] = (), ranks: Sequence[range] = ()
) -> list[tuple[int, TracesetFile]]:
    """The files that a pattern or a rank names, each with its index; all where neither is given.

    Args:
        files: of a traceset; those at external URLs are left out.
        patterns: for whole names, such as `host/*`; `*` also stands for `/`.
        ranks: as the names of the primary files suggest them.

    Raises:
        LocalError: a pattern or the ranks name no file.
    """
    stored = [(index, file) for index, file in enumerate(files) if file.external_url is None]
    if not patterns and not ranks:
        return stored
    wanted = set(_matching([file.name for _, file in stored], patterns))
    if ranks:
        of_ranks = _names_of_ranks(files, ranks)
        if not of_ranks:
            raise LocalError("No name of a primary file suggests one of these ranks")
        wanted |= of_ranks
    return [(index, file) for index, file in stored if file.name in wanted]


def _names_of_ranks(files: Sequence[TracesetFile], ranks: Sequence[range]) -> set[str]:
    primary = [file for file in files if file.role == "primary"]
    if len(primary) == 1 and primary[0].rank_range is not None:
        first, last = primary[0].rank_range
        return {primary[0].name} if any(span.start <= last and span.stop > first for span in ranks) else set()
    suggestions = suggest_ranks([file.name for file in primary])
    return {each.name for each in suggestions if each.rank is not None and any(each.rank in span for span in ranks)}


def _matching(names: Sequence[str], patterns: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for pattern in patterns:
        matches = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matches:
            raise LocalError(f"No file is named like '{pattern}'")
        found.update(dict.fromkeys(matches))
    return list(found)
