"""Tracesets by the million for `tests.benchmarks.listing`.

200 workspaces, the largest with ten times the rows of the smallest; one traceset every ten seconds; 5 % deleted, 84 %
ready. `baseline` is in 30 % of the names, `q7` in 0.15 %, `gpt-175` in 0.01 %, `zebra` in three of the oldest, and `x`
in one. Of words, tags and rank counts the most frequent value is in a fifth to a half of the rows, the rarest in less
than a hundredth.
"""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from psycopg import Connection as PostgresConnection

N_WORKSPACES = 200
NEWEST = datetime(2026, 11, 1, tzinfo=UTC)
STEP = timedelta(seconds=10)

COLUMNS = (
    "seq, id, workspace_id, name, name_key, status, tags, rank_count, workload_family, workload_name, precision,"
    " accelerator, created_at, deleted_at, expires_at, kind, file_count, total_size"
)
Row = tuple[object, ...]
T = TypeVar("T")

_BLOCK = 1000
_STATUSES = {"ready": 84, "upload_failed": 5, "deleted": 5, "uploading": 3, "metadata_failed": 2, "processing": 1}
_FAMILIES = ("llm", "dlrm", "moe", "diffusion", "vision", "speech", "graph")
_MODELS = [f"{family}-{size}b" for family in ("gpt", "llama", "mixtral", "dlrm", "sdxl") for size in range(1, 9)]
_PRECISIONS = ("bf16", "fp8", "fp16", "fp32", "int8")
_ACCELERATORS = [f"{maker}{number}" for maker in ("h", "b", "mi", "tpu") for number in (100, 200, 300)]
_RANK_COUNTS = [2**exponent for exponent in range(3, 15)]
_TAGS = [f'["tag {number}", "team {number % 7}"]' for number in range(200)]
_WORDS = ("sweep", "nightly", "regression", "profile", "scaling", "ablation", "debug", "release")


def workspace_id(number: int) -> str:
    """The id of a workspace, as long as real ones are."""
    return f"workspace_benchmark{number:017d}"


def rows(count: int) -> Iterator[Row]:
    """As many tracesets, oldest first, the same ones each time, in the order of `COLUMNS`; times as datetimes."""
    draw = random.Random(count)
    first = NEWEST - count * STEP
    for start in range(1, count + 1, _BLOCK):
        yield from _block(draw, start, first)


def fill_postgres(connection: PostgresConnection, count: int) -> None:
    """Copy workspaces and tracesets into a database that has its first migration."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO workspace (id, name, created_at) VALUES (%s, %s, now())",
            [(workspace_id(number), f"Workspace {number}") for number in range(N_WORKSPACES)],
        )
        with cursor.copy(f"COPY traceset ({COLUMNS}) FROM STDIN") as copy:
            for row in rows(count):
                copy.write_row(row)
        cursor.execute("SELECT setval(pg_get_serial_sequence('traceset', 'seq'), max(seq)) FROM traceset")


def fill_sqlite(connection: sqlite3.Connection, count: int) -> None:
    """Insert the same into SQLite."""
    connection.executemany(
        "INSERT INTO workspace (id, name, created_at) VALUES (?, ?, '2026-01-01 00:00:00.000000')",
        [(workspace_id(number), f"Workspace {number}") for number in range(N_WORKSPACES)],
    )
    places = ", ".join("?" * len(COLUMNS.split(",")))
    texts = ([_sqlite_value(value) for value in row] for row in rows(count))
    connection.executemany(f"INSERT INTO traceset ({COLUMNS}) VALUES ({places})", texts)


def _sqlite_value(value: object) -> object:
    """As the app stores it: times in UTC with microseconds."""
    return value.replace(tzinfo=None).isoformat(" ", "microseconds") if isinstance(value, datetime) else value


def _block(draw: random.Random, start: int, first: datetime) -> Iterator[Row]:
    """A thousand rows, drawn column by column, which is several times as fast as row by row."""
    places = draw.choices(range(N_WORKSPACES), [1 / (number + 22) for number in range(N_WORKSPACES)], k=_BLOCK)
    columns = zip(
        places,
        draw.choices(list(_STATUSES), list(_STATUSES.values()), k=_BLOCK),
        draw.choices(_WORDS, k=_BLOCK),
        _skewed(draw, _TAGS),
        _skewed(draw, _RANK_COUNTS),
        _skewed(draw, _FAMILIES),
        _skewed(draw, _MODELS),
        _skewed(draw, _PRECISIONS),
        _skewed(draw, _ACCELERATORS),
        strict=True,
    )
    for seq, (place, status, word, tags, *words) in enumerate(columns, start):
        name, moment = f"{word} {_term(draw, seq)} {seq:07d}", first + seq * STEP
        deleted_at = moment + timedelta(hours=1) if status == "deleted" else None
        times = (moment, deleted_at, moment + timedelta(days=365))
        shared = (workspace_id(place), name, name.casefold(), status, tags, *words, *times)
        yield (seq, f"ts_{draw.getrandbits(104):026x}", *shared, "traceset", 8, 10**9)


def _term(draw: random.Random, seq: int) -> str:
    if seq in {11, 13, 17, 19}:
        return "x" if seq == 19 else "zebra"
    chance = draw.random()
    if chance < 0.0016:
        return "gpt-175" if chance < 0.0001 else "q7"
    return "Baseline" if chance < 0.3016 else "run"


def _skewed(draw: random.Random, values: Sequence[T]) -> list[T]:
    """A thousand of the values, the first ones the most frequent."""
    weights = [1 / (place + 1) for place in range(len(values))]
    return draw.choices(values, weights, k=_BLOCK)
