"""Which rank a trace file belongs to, as far as its name tells, and whether a set of files covers all ranks.

A rank stands in the name in one of four ways, tried in this order:

1. `rank`: the word, then digits: `trace-rank-0.json`, `rank0.5.pt.trace.json`.
2. `word`: worker, npu, gpu or r, then digits: `worker0_step_12.1694128201545.pt.trace.json`.
3. `number`: the last number before the extensions: `workload.0.et`, `dlrm_eg_0.json.gz`. Not one that a letter
   follows (`8npus`, `1MB`), that ends a word amid the name (`resnet50_train`) or counts something else (`tp2`,
   `step_12`, `v3`), nor one above 65,535.
4. `folder`: any of these in the name of a folder, the nearest first: `rank00/trace.et`.

The first way under which all names of the set give distinct ranks is taken: `rank` whenever it does, of the
others rather one that leaves no hole from 0. Where none does, the set holds several series, such as a host and a
device trace of each rank: names that differ only in numbers are looked at apart, then names of one folder. A
series that still repeats ranks takes the way that gives most of them, and its twins are told. `01` and `1` are
the same rank. A name that gives no rank under its series' way gives none.

Why names alone: most formats hold no rank at all. The choice is a suggestion that people may overrule; pages and
the command line show the same one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

MAX_RANK = 2**31 - 2
"""The highest rank of the highest rank count that a traceset may declare (U5)."""
MAX_BARE_NUMBER = 65_535
"""A larger number that stands beside no word is a time or a process, not a rank."""

_RANK = re.compile(r"(?<![a-z0-9])rank[-_. =]?([0-9]+)", re.IGNORECASE)
_WORD = re.compile(r"(?<![a-z0-9])(?:worker|npu|gpu|r)[-_. =]?([0-9]+)", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+")
_UNIT = re.compile(r"[a-z]", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?<![a-z])(?:tp|dp|pp|ep|cp|sp|mp|vpp|gbs|mbs|seq|size|world_size|batch|step|profilerstep|iter|iteration|epoch|v)"
    r"[-_. =#]?\Z",
    re.IGNORECASE,
)
_LONGEST_COUNTED = 16
_NUMBERS_TRIED = 8  # From the end of a name; what lies before them is no rank, and names may hold hundreds.
_FOLDERS_TRIED = 4
_SHOWN = 8  # Ranges, series or files named in a message; the rest is counted.

_SUPPORTING_SUFFIXES = frozenset(
    {"xml", "yml", "yaml", "toml", "ini", "cfg", "log", "out", "err", "md", "rst", "pdf", "csv", "topo", "py", "sh"}
)
_SUPPORTING = re.compile(
    r"(?:system|network|topology|remote_memory|logical\w*|comm_groups?|communicator_groups?|custom_collective\w*)"
    r"\.json"
    r"|(?:readme|license|licence|notice|stdout|stderr|log)(?:\.txt)?"
    r"|\.ds_store|thumbs\.db|desktop\.ini|\._.*",
    re.IGNORECASE | re.DOTALL,
)


class RankRule(StrEnum):
    """The ways in which a name gives a rank, in the order in which they are tried."""

    RANK = "rank"
    WORD = "word"
    NUMBER = "number"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class RankSuggestion:
    """What one name tells: its `rank`, by which `rule` (both None where it tells none), in which `series` (from 0)."""

    name: str
    rank: int | None
    rule: RankRule | None
    series: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How ranks lie against 0..N-1.

    `missing`: ranges without a file, ascending. `twins`: ranks given more than once. `beyond`: ranks of N and above.
    """

    missing: tuple[range, ...]
    twins: tuple[int, ...]
    beyond: tuple[int, ...]

    @property
    def is_complete(self) -> bool:
        """Each of the ranks once, and no other."""
        return not (self.missing or self.twins or self.beyond)


def suggest_ranks(names: Sequence[str]) -> list[RankSuggestion]:
    """Suggest a rank for each name of a set, in the order given; linear in the length of the names.

    Args: names: the paths of the primary trace files in their traceset.
    """
    readings = [_read(name) for name in names]
    found: dict[int, RankSuggestion] = {}
    for series, (members, rule) in enumerate(
        _split(list(range(len(names))), names, readings, (_pattern, _folder_pattern))
    ):
        for member in members:
            rank = None if rule is None else readings[member].get(rule)
            found[member] = RankSuggestion(names[member], rank, None if rank is None else rule, series)
    return [found[member] for member in range(len(names))]


def coverage(ranks: Iterable[int], rank_count: int) -> Coverage:
    """Hold ranks against 0..rank_count-1; linear in the number of ranks, however many are missing."""
    counts = Counter(ranks)
    present = sorted(rank for rank in counts if rank < rank_count)
    edges = zip([-1, *present], [*present, rank_count], strict=True)
    return Coverage(
        missing=tuple(range(before + 1, after) for before, after in edges if after > before + 1),
        twins=tuple(sorted(rank for rank, count in counts.items() if count > 1)),
        beyond=tuple(sorted(rank for rank in counts if rank >= rank_count)),
    )


def rank_coverage(primary_names: Sequence[str], rank_count: int | None) -> tuple[bool, str]:
    """Tell whether the primary files of a traceset cover its ranks (V6), and a sentence that says how.

    No primary file has nothing to cover. One may hold all ranks (an archive, a workload for every rank), and
    passes whatever its name. Of several, each series must give every rank once; names that give no rank are told
    and change nothing beside such a series. Where no name gives a rank, as many files as ranks pass; any other
    number is not passed, for nothing shows that the ranks are there.
    """
    if not primary_names:
        return True, "There are no primary files"
    if rank_count is None:
        return False, "The traceset holds no rank count to compare its primary files with"
    if len(primary_names) == 1:
        return True, f"One primary file stands for {_ranks([range(rank_count)])}"
    suggestions = suggest_ranks(primary_names)
    series: dict[int, list[RankSuggestion]] = defaultdict(list)
    for suggestion in suggestions:
        if suggestion.rank is not None:
            series[suggestion.series].append(suggestion)
    if not series:
        return _without_ranks(len(primary_names), rank_count)
    faults = [_fault(members, rank_count, is_only=len(series) == 1) for members in series.values()]
    if any(faults):
        return False, "; ".join(_shortened([fault for fault in faults if fault]))
    unnamed = [suggestion.name for suggestion in suggestions if suggestion.rank is None]
    told = f"{len(primary_names) - len(unnamed)} primary files cover {_ranks([range(rank_count)])}"
    told += f" in {len(series)} series" if len(series) > 1 else ""
    return True, told + (f"; names that give no rank: {_listed(unnamed)}" if unnamed else "")


def suggest_role(name: str) -> Literal["primary", "supporting"]:
    """Suggest a file's role by its own name: descriptions of systems and groups, logs, texts and litter support."""
    folder, _, base = name.rpartition("/")
    if "__MACOSX" in folder.split("/") or _SUPPORTING.fullmatch(base):
        return "supporting"
    return "supporting" if base.lower().removesuffix(".gz").rpartition(".")[2] in _SUPPORTING_SUFFIXES else "primary"


def suggest_roles(names: Sequence[str]) -> list[Literal["primary", "supporting"]]:
    """Suggest roles for a set: as `suggest_role`, and `workload.json` supports beside `workload.0.et`."""
    prefixes = set()
    for name in names:
        stem, _, number = _without_extensions(name).rpartition(".")
        if stem and number.isdecimal():
            prefixes.add(stem)
    return [
        "supporting" if name.lower().endswith(".json") and name[: -len(".json")] in prefixes else suggest_role(name)
        for name in names
    ]


def natural_key(name: str) -> tuple[list[str | tuple[int, str]], str]:
    """Give a sort key that puts 2 before 15, and names that differ only in leading zeros or case next to each other."""
    parts: list[str | tuple[int, str]] = []
    for n_part, part in enumerate(re.split(r"([0-9]+)", name.casefold())):
        # Texts and numbers alternate, so like is compared with like; a number of any length needs no int.
        digits = part.lstrip("0")
        parts.append((len(digits), digits) if n_part % 2 else part)
    return parts, name


def _read(name: str) -> dict[RankRule, int]:
    """Give the rank that the name has under each rule that applies to it."""
    *folders, base = name.split("/")
    found = {
        RankRule.RANK: _after_word(_RANK, base),
        RankRule.WORD: _after_word(_WORD, base),
        RankRule.NUMBER: _last_number(_without_extensions(base)),
        RankRule.FOLDER: _in_folders(folders),
    }
    return {rule: rank for rule, rank in found.items() if rank is not None}


def _in_folders(folders: list[str]) -> int | None:
    for folder in reversed(folders[-_FOLDERS_TRIED:]):
        for rank in (_after_word(_RANK, folder), _after_word(_WORD, folder), _last_number(folder)):
            if rank is not None:
                return rank
    return None


def _after_word(word: re.Pattern[str], text: str) -> int | None:
    match = word.search(text)
    return None if match is None else _as_rank(match[1], MAX_RANK)


def _last_number(text: str) -> int | None:
    for match in reversed(list(_NUMBER.finditer(text))[-_NUMBERS_TRIED:]):
        start, end = match.span()
        is_glued = text[start - 1 : start].isalpha() and end < len(text)
        is_other = is_glued or _UNIT.match(text, end) or _COUNTED.search(text[max(0, start - _LONGEST_COUNTED) : start])
        if not is_other and (rank := _as_rank(match[0], MAX_BARE_NUMBER)) is not None:
            return rank
    return None


def _as_rank(digits: str, highest: int) -> int | None:
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(highest)) or int(digits) > highest:
        return None
    return int(digits)


def _without_extensions(base: str) -> str:
    """Cut the extensions, which have no digits: `.pt.trace.json.gz` of `worker0.3.pt.trace.json.gz`."""
    parts = base.split(".")
    while len(parts) > 1 and not _NUMBER.search(parts[-1]):
        parts.pop()
    return ".".join(parts)


def _pattern(name: str) -> str:
    return _NUMBER.sub("#", name)


def _folder_pattern(name: str) -> str:
    folder, slash, base = name.rpartition("/")
    return folder + slash + _pattern(base)


def _split(
    members: list[int],
    names: Sequence[str],
    readings: list[dict[RankRule, int]],
    splitters: tuple[Callable[[str], str], ...],
) -> Iterator[tuple[list[int], RankRule | None]]:
    """Give the series among these members of the set, each with its rule."""
    rule = _distinct_rule([readings[member] for member in members])
    if rule is not None:
        yield members, rule
    elif splitters:
        groups: dict[str, list[int]] = defaultdict(list)
        for member in members:
            groups[splitters[0](names[member])].append(member)
        for group in groups.values():
            yield from _split(group, names, readings, splitters[1:])
    else:
        yield members, _fullest_rule([readings[member] for member in members])


def _distinct_rule(readings: list[dict[RankRule, int]]) -> RankRule | None:
    """Give the best rule under which all have a rank, and no two the same."""
    distinct = []
    for rule in RankRule:
        ranks = {reading[rule] for reading in readings if rule in reading}
        if not readings or len(ranks) < len(readings):
            continue
        has_no_hole = len(ranks) > 1 and max(ranks) == len(ranks) - 1
        if rule is RankRule.RANK or has_no_hole:
            return rule
        distinct.append(rule)
    return distinct[0] if distinct else None


def _fullest_rule(readings: list[dict[RankRule, int]]) -> RankRule | None:
    """Give the rule under which most different ranks are given; None where there are none."""
    n_ranks = {rule: len({reading[rule] for reading in readings if rule in reading}) for rule in RankRule}
    best = max(RankRule, key=lambda rule: n_ranks[rule])
    return best if n_ranks[best] else None


def _without_ranks(n_files: int, rank_count: int) -> tuple[bool, str]:
    if n_files == rank_count:
        return True, f"There are as many primary files as ranks ({rank_count}); their names do not say which is which"
    return False, (
        f"The names of the {n_files} primary files do not say which of {rank_count} ranks they hold; "
        "name them like rank_0"
    )


def _fault(members: list[RankSuggestion], rank_count: int, *, is_only: bool) -> str:
    """Say what a series lacks; nothing where it is complete."""
    found = coverage((member.rank for member in members if member.rank is not None), rank_count)
    told = []
    if found.missing:
        told.append(f"no file for {_ranks(found.missing)}")
    if found.twins:
        twins = set(found.twins)
        files = sorted((member.name for member in members if member.rank in twins), key=natural_key)
        told.append(f"several files for {_ranks(_as_ranges(found.twins))}: {_listed(files)}")
    if found.beyond:
        told.append(f"files beyond the last rank, {rank_count - 1}: {_ranks(_as_ranges(found.beyond))}")
    if not told:
        return ""
    sentence = "; ".join(told)
    return sentence[0].upper() + sentence[1:] if is_only else f"In the series of {members[0].name}: {sentence}"


def _as_ranges(ranks: Sequence[int]) -> list[range]:
    """Join ascending ranks that follow each other."""
    joined: list[range] = []
    for rank in ranks:
        start = joined.pop().start if joined and joined[-1].stop == rank else rank
        joined.append(range(start, rank + 1))
    return joined


def _ranks(ranges: Sequence[range]) -> str:
    spans = [str(span[0]) if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in ranges]
    return ("rank " if len(ranges) == 1 and len(ranges[0]) == 1 else "ranks ") + _listed(spans)


def _listed(texts: list[str]) -> str:
    return ", ".join(_shortened(texts))


def _shortened(texts: list[str]) -> list[str]:
    return texts if len(texts) <= _SHOWN else [*texts[:_SHOWN], f"and {len(texts) - _SHOWN} more"]
