"""Ranks and roles told from file names."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.rank_names import (
    Coverage,
    RankRule,
    coverage,
    natural_key,
    rank_coverage,
    suggest_ranks,
    suggest_role,
    suggest_roles,
)


def ranks(*names: str) -> list[int | None]:
    return [suggestion.rank for suggestion in suggest_ranks(names)]


@pytest.mark.parametrize(
    ("name", "rank", "rule"),
    [
        ("workload.3.et", 3, RankRule.NUMBER),
        ("chakra_trace.1.et.gz", 1, RankRule.NUMBER),
        ("megatron_0.chakra", 0, RankRule.NUMBER),
        ("pytorch_et1.json", 1, RankRule.NUMBER),
        ("rank0.chakra", 0, RankRule.RANK),
        ("rank_0.chakra.json", 0, RankRule.RANK),
        ("profile_et_rank_0_plus.json", 0, RankRule.RANK),
        ("llama2_trace_1-24-lion_rank_0__et.json", 0, RankRule.RANK),
        ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34, RankRule.RANK),
        ("rank0.5.pt.trace.json", 0, RankRule.RANK),
        ("trace-Rank-12.json", 12, RankRule.RANK),
        ("worker0_step_12.1694128201545.pt.trace.json", 0, RankRule.WORD),
        ("r0-2025-3-14-16-24.1741994642707396628.pt.trace.json.gz", 0, RankRule.WORD),
        ("rank07/trace.et", 7, RankRule.FOLDER),
        ("rank07/parts/trace.et", 7, RankRule.FOLDER),
        ("all_reduce_8npus_1MB.2.et", 2, RankRule.NUMBER),
        ("resnet_1gpu_et.json.gz", None, None),
        ("resnet50_train.json", None, None),
        ("benchmark_result_2869224_1695835535_trace.json.gz", None, None),
        ("a-TP-1-DP-2-PP-3-EP-4.trace.json.gz", None, None),
        ("iteration_5/trace.json", None, None),
        ("trace.json", None, None),
        ("rank" + "9" * 30 + ".et", None, None),
        ("", None, None),
    ],
)
def test_a_name_gives_its_rank(name: str, rank: int | None, rule: RankRule | None) -> None:
    (suggestion,) = suggest_ranks([name])

    assert (suggestion.name, suggestion.rank, suggestion.rule) == (name, rank, rule)


def test_the_set_decides_for_the_way_that_tells_its_files_apart() -> None:
    assert ranks("gpu8.0.et", "gpu8.1.et", "gpu8.2.et") == [0, 1, 2]


def test_a_way_without_holes_is_better_than_one_with() -> None:
    assert ranks("gpu4_0.et", "gpu8_1.et") == [0, 1]


def test_the_word_rank_is_believed_even_where_it_leaves_holes() -> None:
    assert ranks("rank4_0.et", "rank8_1.et") == [4, 8]


def test_a_hole_is_kept() -> None:
    assert ranks("a.0.eg", "a.1.eg", "a.63.eg") == [0, 1, 63]


def test_two_series_each_have_their_own_way() -> None:
    names = [
        "dlrm_eg_0.json",
        "worker1_step_12.1694128201556.json",
        "dlrm_eg_1.json",
        "worker0_step_12.1694128201545.json",
    ]

    suggestions = suggest_ranks(names)

    assert [(found.rank, found.rule, found.series) for found in suggestions] == [
        (0, RankRule.NUMBER, 0),
        (1, RankRule.WORD, 1),
        (1, RankRule.NUMBER, 0),
        (0, RankRule.WORD, 1),
    ]


@pytest.mark.parametrize(
    "names",
    [
        ["chakra/rank-0.json", "chakra/rank-1.json", "kineto/rank-0.json", "kineto/rank-1.json"],
        ["iteration_5/rank0.json", "iteration_5/rank1.json", "iteration_10/rank0.json", "iteration_10/rank1.json"],
        ["rank00/host.et", "rank01/host.et", "rank00/device.et", "rank01/device.et"],
    ],
    ids=["folders of kinds", "folders of steps", "folders of ranks"],
)
def test_folders_may_hold_a_series_each(names: list[str]) -> None:
    assert ranks(*names) == [0, 1, 0, 1]
    assert rank_coverage(names, 2) == (True, "4 primary files cover ranks 0 to 1 in 2 series")


def test_one_and_zero_one_are_the_same_rank() -> None:
    assert ranks("a.0.et", "a.1.et", "a.01.et") == [0, 1, 1]
    assert rank_coverage(["a.0.et", "a.1.et", "a.01.et"], 2) == (
        False,
        "Several files for rank 1: a.01.et, a.1.et",
    )


@pytest.mark.parametrize(
    ("given_ranks", "count", "expected"),
    [
        ([0, 1, 2], 3, Coverage((), (), ())),
        ([], 4, Coverage((range(4),), (), ())),
        ([1, 5], 8, Coverage((range(1), range(2, 5), range(6, 8)), (), ())),
        ([0, 0, 1], 2, Coverage((), (0,), ())),
        ([0, 1, 2, 7], 2, Coverage((), (), (2, 7))),
        ([0], 2**31 - 1, Coverage((range(1, 2**31 - 1),), (), ())),
    ],
)
def test_coverage_tells_holes_twins_and_ranks_beyond(given_ranks: list[int], count: int, expected: Coverage) -> None:
    assert coverage(given_ranks, count) == expected


@given(st.lists(st.integers(0, 40)), st.integers(1, 30))
def test_coverage_is_complete_for_each_rank_once_and_nothing_else(given_ranks: list[int], count: int) -> None:
    found = coverage(given_ranks, count)

    assert found.is_complete == (sorted(given_ranks) == list(range(count)))
    assert {rank for span in found.missing for rank in span} == set(range(count)) - set(given_ranks)


@pytest.mark.parametrize(
    ("names", "count", "passed", "message"),
    [
        ([], None, True, "There are no primary files"),
        (["a.0.et"], None, False, "The traceset holds no rank count to compare its primary files with"),
        (["all.tgz"], 64, True, "One primary file stands for ranks 0 to 63"),
        (["rank3.et"], 1, True, "One primary file stands for rank 0"),
        (["a.0.et", "a.1.et"], 2, True, "2 primary files cover ranks 0 to 1"),
        (["a.0.et", "a.1.et", "notes"], 2, True, "2 primary files cover ranks 0 to 1; names that give no rank: notes"),
        (["a.0.et", "a.2.et"], 4, False, "No file for ranks 1, 3"),
        (["a.1.et", "a.2.et"], 2, False, "No file for rank 0; files beyond the last rank, 1: rank 2"),
        (
            ["x.et", "y.et"],
            2,
            True,
            "There are as many primary files as ranks (2); their names do not say which is which",
        ),
        (
            ["x.tar", "y.tar"],
            64,
            False,
            "The names of the 2 primary files do not say which of 64 ranks they hold; name them like rank_0",
        ),
        (
            ["h/rank0", "h/rank1", "d/rank0"],
            2,
            False,
            "In the series of d/rank0: no file for rank 1",
        ),
        (
            [f"a.{rank}.et" for rank in range(0, 40, 2)],
            40,
            False,
            "No file for ranks 1, 3, 5, 7, 9, 11, 13, 15, and 12 more",
        ),
    ],
)
def test_rank_coverage_says_what_is_missing(names: list[str], count: int | None, passed: bool, message: str) -> None:
    assert rank_coverage(names, count) == (passed, message)


@pytest.mark.parametrize(
    "name",
    [
        "system.json", "network.yml", "remote_memory.json", "logical_8nodes.json", "comm_group.json",
        "sub/communicator_group.json", "custom_allreduce.xml", "run.log", "run.log.gz", "README.md", "._workload.0.et",
        "__MACOSX/workload.0.et", ".DS_Store",
    ],
)  # fmt: skip
def test_companions_are_supporting(name: str) -> None:
    assert suggest_role(name) == "supporting"


@pytest.mark.parametrize(
    "name", ["workload.0.et", "rank_0.chakra.json", "gpt_7B.txt", "trace.tgz", "workload.json", ""]
)
def test_what_may_be_a_trace_is_primary(name: str) -> None:
    assert suggest_role(name) == "primary"


def test_a_json_of_the_traces_own_name_is_their_companion() -> None:
    names = ["a/workload.json", "a/workload.0.json", "b/workload.json", "a/system.json"]

    assert suggest_roles(names) == ["supporting", "primary", "primary", "supporting"]


def test_natural_order_counts() -> None:
    names = ["a.15.et", "a.2.et", "A.1.et", "a.01.et", "b", ""]

    assert sorted(names, key=natural_key) == ["", "A.1.et", "a.01.et", "a.2.et", "a.15.et", "b"]


NAMES = st.lists(st.text("ar0159._-/ ٣", max_size=20) | st.text(max_size=20), max_size=12)


@given(NAMES, st.integers(1, 2**31 - 1))
def test_any_names_give_suggestions_and_no_exception(names: list[str], count: int) -> None:
    suggestions = suggest_ranks(names)

    assert [found.name for found in suggestions] == names
    assert all((found.rank is None) == (found.rule is None) for found in suggestions)
    assert len(suggest_roles(names)) == len(names)
    rank_coverage(names, count)
    sorted(names, key=natural_key)


@pytest.mark.parametrize(
    ("name", "n_names"),
    [
        ("rank{}.et", 10_000),
        ("0." * 480 + "{}.et", 500),
        ("1/" * 480 + "a{}", 500),
        ("r1" * 480 + ".{}", 500),
        ("step_" * 190 + "{}", 500),
    ],
    ids=["many", "numbers", "folders", "words", "counted"],
)
def test_many_and_long_names_take_seconds_at_most(name: str, n_names: int) -> None:
    names = [name.format(number % 400) for number in range(n_names)]
    begun_at = time.process_time()

    rank_coverage(names, 2**31 - 1)
    suggest_roles(names)
    sorted(names, key=natural_key)

    # About one second where it is linear; anything quadratic takes minutes.
    assert time.process_time() - begun_at < 15
