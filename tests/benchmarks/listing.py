"""What a page of the list costs, at ten thousand tracesets and at a million, on both databases.

    python -m tests.benchmarks.listing [--database NAME] [--sizes N...] [--rounds N] [--only TEXT] [--explain]

Each view is called in turn with a view that gives a body of the same size and does nothing else, and with one that
asks for a token as the API does. The goal: within 5 times the bare view, and within 1.5 times itself at the first
size. The caller reads 20 of 200 workspaces; `admin` reads all.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import text

from app.api.auth import authenticate
from app.extensions import db
from tests.benchmarks.deployment import READ, Deployment, add_references, deploy, deployments, parser_of
from tests.benchmarks.listing_data import NEWEST
from tests.support.api import JSON
from tests.support.statements import statements_of

DEEP = 1000
"""The page that counts as a deep one, or the middle of a list that has fewer."""
CASES: Mapping[str, Mapping[str, Any]] = {
    "first page": {},
    f"page {DEEP}": {"next": ""},
    "search: absent": {"search": "qqqzzz"},
    "search: 3 old rows": {"search": "zebra"},
    "search: 0.01 %": {"search": "gpt-175"},
    "search: 0.15 %, 2 letters": {"search": "q7"},
    "search: 0.5 %": {"search": "777"},
    "search: 1 %, none of it new": {"search": " 012"},
    "search: 30 %": {"search": "baseline"},
    "search: frequent letter": {"search": "a"},
    "search: letter of one row": {"search": "x"},
    "search: two absent letters": {"search": "~~"},
    "status 84 %": {"status": "ready"},
    "status 3 %": {"status": "uploading"},
    "status deleted": {"status": "deleted"},
    "one workspace": {"workspaceId": READ[0]},
    "family 38 %": {"workloadFamily": "LLM"},
    "family 6 %": {"workloadFamily": "graph"},
    "name 23 %": {"workloadName": "gpt-1b"},
    "name 0.6 %": {"workloadName": "sdxl-8b"},
    "precision 9 %": {"precision": "INT8"},
    "accelerator 3 %": {"accelerator": "tpu300"},
    "accelerator, absent": {"accelerator": "abacus"},
    "tag 17 %": {"tag": "tag 0"},
    "tag 0.1 %": {"tag": "tag 199"},
    "two tags": {"tag": ["tag 2", "team 2"]},
    "ranks from 8192": {"rankCountMin": 8192},
    "ranks from 100 to 200": {"rankCountMin": 100, "rankCountMax": 200},
    "ranks, none so many": {"rankCountMin": 1_000_000},
    "ranks, one count": {"rankCountMin": 4096, "rankCountMax": 4096},
    "after a day ago": {"createdAfter": (NEWEST - timedelta(hours=20)).isoformat()},
    "before a day ago": {"createdBefore": (NEWEST - timedelta(hours=20)).isoformat()},
    "created:asc": {"sort": "created:asc"},
    "name:asc": {"sort": "name:asc"},
    "name:desc": {"sort": "name:desc"},
    "status:asc": {"sort": "status:asc"},
    "status:desc": {"sort": "status:desc"},
    "created:desc,name:asc": {"sort": "created:desc,name:asc"},
    "name:asc,created:desc": {"sort": "name:asc,created:desc"},
    "status:asc,created:desc": {"sort": "status:asc,created:desc"},
    "status:asc,created:asc": {"sort": "status:asc,created:asc"},
    "status:desc,name:asc": {"sort": "status:desc,name:asc"},
    "family and precision": {"workloadFamily": "graph", "precision": "int8"},
    "search and status": {"search": "baseline", "status": "uploading"},
    "name:asc and family": {"sort": "name:asc", "workloadFamily": "graph"},
    "name:asc and search": {"sort": "name:asc", "search": "gpt-175"},
}


@dataclass
class Measured:
    """One case: medians in seconds. The body of the references is that of the last size."""

    name: str
    bare: float
    signed_in: float
    views: list[float]
    n_statements: int


def main() -> None:
    """Fill, measure, and print a table for each database and caller."""
    parser = parser_of(__doc__)
    parser.add_argument("--explain", action="store_true", help="show the plans at the last size")
    options = parser.parse_args()
    for database in options.database or ("sqlite", "postgres"):
        with deployments(database, options.sizes, _deploy) as filled:
            _print_indexes(filled[-1])
            for who in ("member", "admin"):
                cases = {name: query for name, query in CASES.items() if options.only in name}
                sizes = "".join(f"{size:9}" for size in options.sizes)
                print(f"\n{database}, {who}: medians of {options.rounds} calls, ms; ratios of the last size")
                print(f"  {'':26}   bare  signed{sizes}   /bare /signed /first  statements")
                for name, query in cases.items():
                    _print(_measure(filled, who, name, query, rounds=options.rounds))
                    if options.explain:
                        _print_plans(filled[-1], who, query)


def _deploy(url: str, folder: Path, size: int) -> Deployment:
    deployment = deploy(url, folder, size)
    add_references(deployment, authenticate, "application/json")
    return deployment


def _measure(deployments: Sequence[Deployment], who: str, name: str, query: JSON, *, rounds: int) -> Measured:
    asked = [query | _deep_cursor(one, who) if "next" in query else query for one in deployments]
    for one, of_one in zip(deployments, asked, strict=True):
        for _ in range(12):  # PostgreSQL keeps a plan from the eleventh time on.
            one.body = one.call("/api/v1/tracesets", who, of_one)[1]
    with statements_of(deployments[-1].app) as statements:
        deployments[-1].call("/api/v1/tracesets", who, asked[-1])
    bare, signed_in, views = [], [], [[] for _ in deployments]
    for _ in range(rounds):
        bare.append(deployments[-1].call("/bare", who, {})[0])
        signed_in.append(deployments[-1].call("/signed-in", who, {})[0])
        for one, of_one, seconds in zip(deployments, asked, views, strict=True):
            seconds.append(one.call("/api/v1/tracesets", who, of_one)[0])
    return Measured(
        name,
        statistics.median(bare),
        statistics.median(signed_in),
        [statistics.median(seconds) for seconds in views],
        len(statements),
    )


def _deep_cursor(deployment: Deployment, who: str) -> JSON:
    """The parameter that leads to the deep page, found by going there."""
    rest, cursor, last = DEEP * 50, "", ""
    while rest > 0:
        query = {"limit": min(rest, 500)} | ({"next": cursor} if cursor else {})
        page = json.loads(deployment.call("/api/v1/tracesets", who, query)[1])["pagination"]
        if page["nextCursor"] is None:
            return {"next": last}
        last, cursor, rest = cursor, page["nextCursor"], rest - page["count"]
    return {"next": cursor}


def _print(one: Measured) -> None:
    views = "".join(f"{seconds * 1000:9.2f}" for seconds in one.views)
    ratios = f"{one.views[-1] / one.bare:7.1f} {one.views[-1] / one.signed_in:6.1f} {one.views[-1] / one.views[0]:6.2f}"
    print(
        f"  {one.name:26}{one.bare * 1000:7.2f}{one.signed_in * 1000:8.2f}{views}{ratios}{one.n_statements:5}",
        flush=True,
    )


def _print_indexes(deployment: Deployment) -> None:
    """The sizes of what the list is found by, in MB."""
    with deployment.app.app_context(), db.engine.connect() as connection:
        if db.engine.dialect.name == "postgresql":
            sizes = text(
                "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i')"
                " AND relname ~ 'traceset|search' ORDER BY 2 DESC"
            )
        else:
            sizes = text("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC")
        found = [(name, size / 1e6) for name, size in connection.execute(sizes)]
    print("MB:", ", ".join(f"{name} {size:.0f}" for name, size in found if size >= 1))


def _print_plans(deployment: Deployment, who: str, query: JSON) -> None:
    with statements_of(deployment.app) as statements:
        deployment.call("/api/v1/tracesets", who, {name: value for name, value in query.items() if name != "next"})
    with deployment.app.app_context(), db.engine.connect() as connection:
        explain = "EXPLAIN (ANALYZE, COSTS OFF)" if db.engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
        for statement, parameters in statements[2:]:
            plan = connection.exec_driver_sql(f"{explain} {statement}", parameters)
            print("\n".join(f"      {row[-1]}" for row in plan), end="\n\n")


if __name__ == "__main__":
    main()
