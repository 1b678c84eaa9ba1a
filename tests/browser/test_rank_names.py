"""The upload page suggests the ranks and roles that the server tells: both read the same names."""

import random

import pytest
from playwright.sync_api import Page

from app.domain.rank_names import coverage, rank_coverage, suggest_ranks, suggest_roles
from tests.conftest import Serve

PIECES = (
    *("rank", "Rank", "RAN\u212a", "worker", "r", "gpu", "npu", "step", "\u017ftep", "\u0131ter", "tp", "TP-", "v"),
    *("x", "é", "😀", "７", "_", "-", ".", "/", " ", "=", "#", "0", "1", "01", "2", "15", "70000", "99999999999"),
    *(".et", ".json", ".json.gz", "workload", "trace", "system.json", "logical_x.json", "__MACOSX/", "._a", "log"),
    *("README.txt", "LICENSE", ".DS_Store", "notes.md"),
)
IN_THE_WILD = [
    ["workload.0.et", "workload.1.et", "workload.json", "system.json"],
    [
        "chakra/rank-0.json.gz",
        "chakra/rank-1.json.gz",
        "pytorch_profile/rank-0.json.gz",
        "pytorch_profile/rank-1.json.gz",
    ],
    ["worker0_step_12.1694128201545.pt.trace.json", "worker1_step_12.1694128201556.pt.trace.json"],
    ["rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "r0-2025-3-14-16-24.1741994642707396628.pt.trace.json.gz"],
    ["rank00/trace.et", "rank01/trace.et"],
    ["a.0.et", "a.1.et", "a.01.et"],
    [f"rank_{n}.et" for n in range(0, 40, 3)],
]
RANK_COUNT = 3
READ_IN_THE_BROWSER = """
async (sets) => {
  const js = await import("/static/js/upload/rank_names.js");
  return sets.map((names) => {
    const told = js.suggestRanks(names);
    const ranks = told.map(({ rank }) => rank).filter((rank) => rank !== null);
    const held = js.coverage(ranks, 3);
    return [
      told.map(({ rank, rule, series }) => [rank, rule, series]),
      js.suggestRoles(names),
      js.rankCoverage(told, 3),
      [held.missing, held.twins, held.beyond],
    ];
  });
}
"""


def read_here(names: list[str]) -> list[object]:
    """What the server tells of a set of names, in the form of the browser's answer."""
    told = suggest_ranks(names)
    held = coverage([found.rank for found in told if found.rank is not None], RANK_COUNT)
    return [
        [[found.rank, found.rule and found.rule.value, found.series] for found in told],
        suggest_roles(names),
        list(rank_coverage(names, RANK_COUNT)),
        [[[span[0], span[-1]] for span in held.missing], list(held.twins), list(held.beyond)],
    ]


@pytest.mark.parametrize("seed", range(3))
def test_browser_and_server_read_the_same_out_of_names(page: Page, serve: Serve, seed: int) -> None:
    draw = random.Random(seed)
    sets = [
        ["".join(draw.choices(PIECES, k=draw.randint(1, 6))) for _ in range(draw.randint(0, 6))] for _ in range(500)
    ]
    sets += IN_THE_WILD
    page.goto(f"{serve(s3_bucket='').origin}/login")

    told = page.evaluate(READ_IN_THE_BROWSER, sets)

    assert told == [read_here(names) for names in sets]
