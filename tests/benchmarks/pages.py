"""What the pages cost that show the most: the list of tracesets, and a traceset of ten thousand files.

    python -m tests.benchmarks.pages [--database NAME] [--sizes N...] [--rounds N] [--only TEXT] [--profile]

Each page is called in turn with a view that gives a body of the same size and does nothing else, and with one that
asks who is signed in, as every page does. The goal: within 5 times the fixed view, by the same number of statements at
every size. The traceset has a hundredth as many files as there are tracesets. The caller reads 20 of 200 workspaces;
`admin` reads all.
"""

import cProfile
import json
import pstats
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert, update

from app.models.tracesets import (
    FileRole,
    LibraryFile,
    LibraryState,
    MetadataStatus,
    Traceset,
    TracesetFile,
)
from app.services.people import create_sign_in_link
from app.transactions import transaction
from app.web import auth
from tests.benchmarks.deployment import READ, Deployment, add_references, deploy, deployments, parser_of, tidy_up
from tests.benchmarks.listing_data import NEWEST
from tests.support.pages import Browser
from tests.support.statements import statements_of

BIG = "ts_aaaaaaaaaaaaaaaaaaaaaaaaaa"
LIST, DETAIL = "/tracesets", f"/tracesets/{BIG}"
FRAGMENT = {"X-Fragment": "1"}
METADATA = {
    "workload_family": "LLM",
    "workload_name": "gpt-1b",
    "precision": "BF16",
    "accelerator": "H100",
    "parallelism": {"dp": 32, "tp": 8},
    "shape": {"rankCount": 256, "global_batch_size": 2048, "sequence_length": 8192},
    "software": {"pytorch": "2.9.1", "nccl": "2.28.3"},
}
DESCRIBED = 50_000
"""So many of the newest tracesets have metadata as text too, which pages read."""


@dataclass(frozen=True)
class Case:
    """A page: its path and query; `next` in the query stands for the middle of the list, a fragment for what a script
    asks for."""

    path: str
    query: Mapping[str, Any]
    is_fragment: bool = False


CASES = {
    "list": Case(LIST, {}),
    "list, its middle": Case(LIST, {"next": ""}),
    "list, a common word": Case(LIST, {"search": "baseline"}),
    "list, a rare word": Case(LIST, {"search": "gpt-175"}),
    "list, no such word": Case(LIST, {"search": "qqqzzz"}),
    "list, ready and a tag": Case(LIST, {"status": "ready", "tag": "tag 2"}),
    "list, by name": Case(LIST, {"sort": "name:asc"}),
    "list, as one types": Case(LIST, {"search": "base"}, is_fragment=True),
    "home": Case("/", {}),
    "workspace": Case(f"/workspaces/{READ[0]}", {}),
    "files": Case(DETAIL, {}),
    "files, in the middle": Case(DETAIL, {"after": "middle"}),
    "files, the last": Case(DETAIL, {"before": "last"}),
    "files, a common word": Case(DETAIL, {"file": "RANK_"}),
    "files, a rare word": Case(DETAIL, {"file": "00077"}),
    "files, no such word": Case(DETAIL, {"file": "qqq"}),
    "files, as one types": Case(DETAIL, {"file": "rank_000"}, is_fragment=True),
    "files, the next page": Case(DETAIL, {"after": "middle"}, is_fragment=True),
}


@dataclass
class Measured:
    """One case: medians in seconds, statements at each size, and the size of the body at the last one."""

    name: str
    bare: float
    signed_in: float
    views: list[float]
    n_statements: list[int]
    n_bytes: int


def main() -> None:
    """Fill, measure, and print a table for each database and caller."""
    parser = parser_of(__doc__)
    parser.add_argument("--profile", action="store_true", help="show where the time of the last size goes")
    options = parser.parse_args()
    for database in options.database or ("sqlite", "postgres"):
        with deployments(database, options.sizes, _deploy) as filled:
            for who in ("member", "admin"):
                cases = {name: case for name, case in CASES.items() if options.only in name}
                sizes = "".join(f"{size:9}" for size in options.sizes)
                print(f"\n{database}, {who}: medians of {options.rounds} calls, ms; ratios of the last size")
                print(f"  {'':24}    KB   bare  signed{sizes}   /bare /signed /first  statements")
                for name, case in cases.items():
                    _print(_measure(filled, who, name, case, rounds=options.rounds))
                    if options.profile:
                        _print_profile(filled[-1], who, case)


def _deploy(url: str, folder: Path, size: int) -> Deployment:
    deployment = deploy(url, folder, size)
    add_references(deployment, auth.guard, "text/html; charset=utf-8")
    with deployment.app.app_context():
        with transaction() as session:
            described = update(Traceset).where(Traceset.seq > size - DESCRIBED)
            session.execute(described.values(workload_metadata=json.dumps(METADATA)))
        _add_files(size // 100)
        tidy_up()
    callers = {who: {"Cookie": _cookie(deployment, who)} for who in deployment.callers}
    return Deployment(deployment.app, size, callers)


def _add_files(count: int) -> None:
    """A traceset of so many files, all of them stored."""
    names = [f"capture/host{number // 8:04}/rank_{number:05}.et" for number in range(count)]
    at = NEWEST + timedelta(seconds=5)
    keys = [f"lib/00/{number:032x}" for number in range(count)]
    values: dict[str, Any] = {"tags": ["nightly", "fp8"], "workload_metadata": json.dumps(METADATA), "status": "ready"}
    row = Traceset(id=BIG, kind="traceset", workspace_id=READ[0], name="Big", name_key="big", created_at=at, **values)
    row.file_count, row.total_size, row.rank_count = count, count * 1_000_000, 256
    with transaction() as session:
        session.add(row)
        session.flush()
        stored = {"size": 1_000_000, "state": LibraryState.STORED, "ref_count": 1, "created_at": at}
        session.execute(insert(LibraryFile), [{**stored, "key": key, "etag": f"{key[-8:]}-4" * 4} for key in keys])
        shared = {"traceset_seq": row.seq, "size": 1_000_000, "role": FileRole.PRIMARY}
        shared["metadata_status"] = MetadataStatus.COMPLETE
        files = [
            {**shared, "position": position, "name": name, "library_key": key}
            for position, (name, key) in enumerate(zip(names, keys, strict=True))
        ]
        session.execute(insert(TracesetFile), files)


def _cookie(deployment: Deployment, who: str) -> str:
    browser = Browser(deployment.app)
    with deployment.app.app_context():
        secret = create_sign_in_link(f"{who}@benchmark.example")
    browser.follow_link(secret)
    cookie = browser.client.get_cookie("tracesets_session")
    if cookie is None:
        raise RuntimeError("Nobody is signed in")
    return f"tracesets_session={cookie.value}"


def _measure(deployments: Sequence[Deployment], who: str, name: str, case: Case, *, rounds: int) -> Measured:
    asked = [_asked(one, who, case) for one in deployments]
    counts = []
    for one, query in zip(deployments, asked, strict=True):
        for _ in range(12):  # PostgreSQL keeps a plan from the eleventh time on.
            one.body = _call(one, who, case, query)[1]
        with statements_of(one.app) as statements:
            _call(one, who, case, query)
        counts.append(len(statements))
    bare, signed_in, views = [], [], [[] for _ in deployments]
    for _ in range(rounds):
        bare.append(deployments[-1].call("/bare", who, {})[0])
        signed_in.append(deployments[-1].call("/signed-in", who, {})[0])
        for one, query, seconds in zip(deployments, asked, views, strict=True):
            seconds.append(_call(one, who, case, query)[0])
    medians = [statistics.median(seconds) for seconds in (bare, signed_in, *views)]
    return Measured(name, medians[0], medians[1], medians[2:], counts, len(deployments[-1].body))


def _call(deployment: Deployment, who: str, case: Case, query: Mapping[str, Any]) -> tuple[float, bytes]:
    if not case.is_fragment:
        return deployment.call(case.path, who, query)
    headers = dict(deployment.callers[who]) | FRAGMENT
    return Deployment(deployment.app, deployment.size, {who: headers}).call(case.path, who, query)


def _asked(deployment: Deployment, who: str, case: Case) -> dict[str, Any]:
    """The query with the places that its words stand for."""
    n_files = deployment.size // 100
    places = {"middle": str(n_files // 2), "last": str(n_files)}
    query = {name: places.get(text, text) for name, text in case.query.items()}
    if "next" not in query:
        return query
    middle = (NEWEST - deployment.size * timedelta(seconds=10) / 2).isoformat()
    page = deployment.call(LIST, who, {"createdBefore": middle})[1].decode()
    return {"next": page.rpartition("next=")[2].partition('"')[0], "createdBefore": middle}


def _print(one: Measured) -> None:
    views = "".join(f"{seconds * 1000:9.2f}" for seconds in one.views)
    last = one.views[-1]
    ratios = f"{last / one.bare:8.1f} {last / one.signed_in:6.1f} {last / one.views[0]:6.2f}"
    counts = " ".join(f"{count:3}" for count in one.n_statements)
    fixed = f"{one.n_bytes / 1000:6.0f}{one.bare * 1000:7.2f}{one.signed_in * 1000:8.2f}"
    print(f"  {one.name:24}{fixed}{views}{ratios}  {counts}", flush=True)


def _print_profile(deployment: Deployment, who: str, case: Case) -> None:
    query = _asked(deployment, who, case)
    with cProfile.Profile() as profile:
        for _ in range(20):
            _call(deployment, who, case, query)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


if __name__ == "__main__":
    main()
