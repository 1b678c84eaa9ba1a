"""Roles, ranks and declarations."""

from pathlib import Path

import pytest

from app.client.errors import LocalError
from app.client.models import TracesetFile
from app.client.plan import declared_ranks, parse_ranks, plan_upload, select_files, workload_metadata
from app.client.sources import LocalFile, Stamp


def local(*names: str) -> list[LocalFile]:
    return [LocalFile(name, Path(name), Stamp(0, 0, 0)) for name in names]


def test_roles_and_ranks_are_suggested_by_names() -> None:
    plan = plan_upload(local("rank_0.et", "rank_1.et", "system.json"))

    assert plan.roles == ("primary", "primary", "supporting")
    assert [suggestion.rank for suggestion in plan.ranks] == [0, 1]
    assert plan.n_ranks == 2
    assert plan.coverage(2)[0]
    assert plan.coverage(3) == (False, "No file for rank 2")


def test_patterns_decide_over_names() -> None:
    plan = plan_upload(local("a.et", "b.et", "readme.md"), primary=["*.md"], supporting=["b*"])

    assert plan.roles == ("primary", "supporting", "primary")


@pytest.mark.parametrize(("primary", "supporting"), [(["*.json"], []), ([], ["x"]), (["a.et"], ["a*"])])
def test_patterns_that_make_no_sense_are_refused(primary: list[str], supporting: list[str]) -> None:
    with pytest.raises(LocalError):
        plan_upload(local("a.et"), primary=primary, supporting=supporting)


def test_declarations_are_put_into_the_metadata_that_were_given() -> None:
    given = {"workload_family": "gpt", "shape": {"global_batch_size": 8}, "parallelism": {"cp": 2, "dp": 1}}

    made = workload_metadata(given, rank_count=8, degrees={"dp": 4, "tp": 2, "pp": None})

    assert made == {
        "workload_family": "gpt",
        "shape": {"global_batch_size": 8, "rankCount": 8},
        "parallelism": {"cp": 2, "dp": 4, "tp": 2},
    }
    assert given["shape"] == {"global_batch_size": 8}
    assert declared_ranks(made) == 8
    assert workload_metadata(None, rank_count=None, degrees={"dp": None}) is None


@pytest.mark.parametrize(
    ("metadata", "count"),
    [
        (None, None),
        ({"shape": {"rankCount": 3}}, 3),
        ({"parallelism": {"dp": 2, "pp": 3, "cp": 5}}, 6),
        ({"parallelism": {"cp": 5}}, None),
        ({"shape": None, "parallelism": 7}, None),
    ],
)
def test_the_declared_count_is_found(metadata: dict[str, object] | None, count: int | None) -> None:
    assert declared_ranks(metadata) == count


def test_ranks_are_written_as_numbers_and_ranges() -> None:
    assert parse_ranks("0-7, 12") == [range(8), range(12, 13)]


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "0-2147483647"])
def test_ranks_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_ranks(text)


FILES = [
    TracesetFile("host/rank_0.json", 1, "primary"),
    TracesetFile("host/rank_1.json", 1, "primary"),
    TracesetFile("rank_7[a].txt", 1, "supporting"),
    TracesetFile("far.et", 1, "primary", external_url="https://example.org/far.et"),
]


@pytest.mark.parametrize(
    ("patterns", "ranks", "chosen"),
    [
        ([], "", [0, 1, 2]),
        (["host/*"], "", [0, 1]),
        (["rank_7[a].txt"], "", [2]),
        ([], "1-3", [1]),
        (["*.txt"], "0", [0, 2]),
    ],
)
def test_files_are_chosen_by_pattern_or_rank(patterns: list[str], ranks: str, chosen: list[int]) -> None:
    found = select_files(FILES, patterns=patterns, ranks=parse_ranks(ranks) if ranks else ())

    assert [index for index, _ in found] == chosen


@pytest.mark.parametrize(("patterns", "ranks"), [(["*.et"], ""), ([], "7")])
def test_a_choice_of_nothing_is_refused(patterns: list[str], ranks: str) -> None:
    with pytest.raises(LocalError):
        select_files(FILES, patterns=patterns, ranks=parse_ranks(ranks) if ranks else ())


@pytest.mark.parametrize(("ranks", "n_files"), [("3-9", 1), ("8", 0)])
def test_one_file_of_all_ranks_is_chosen_by_each_of_them(ranks: str, n_files: int) -> None:
    whole = [TracesetFile("all.zip", 1, "primary", rank_range=(0, 7)), TracesetFile("x.md", 1, "supporting")]

    chosen = select_files(whole, patterns=["x.md"], ranks=parse_ranks("0")) if n_files else []

    assert len(chosen) == (2 if n_files else 0)
