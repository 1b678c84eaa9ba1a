"""What it costs to open and complete large sessions on the disk store and SQLite.

    python -m tests.benchmarks.sessions [--files N] [--parts N]

Opening: `upload-url` for many files of many parts, beside the `json.dumps` of its own answer in the same run.
Completing: many files of one part each, beside finishing the same number of objects in the bare store, and the
number of database statements for a few files beside that for many.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import event
from werkzeug.test import TestResponse

from app import create_app
from app.extensions import db, object_store
from app.services import people
from app.services.store_calls import in_parallel
from app.settings import MIB, Settings
from app.storage.keys import new_key
from tests.support.api import Api, ok

T = TypeVar("T")
ROUNDS = 5


def main() -> None:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1024)
    parser.add_argument("--parts", type=int, default=64, help="of each file, when opening")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        app = create_app(Settings(data_dir=Path(folder), part_size=5 * MIB, sweep_interval=0, log_level="ERROR"))
        with app.app_context():
            upgrade()
            people.create_user("admin@localhost", is_admin=True)
            api = Api(app, people.create_token("admin@localhost"))
        measure_opening(api, options.files, options.parts)
        measure_completion(app, api, options.files)


def measure_opening(api: Api, n_files: int, n_parts: int) -> None:
    """Time `upload-url` and the JSON of its answer, in turn."""
    request = api.request_of({f"rank_{i}.et": n_parts * 5 * MIB for i in range(n_files)})
    opening, writing, answer = [], [], b""
    for _ in range(ROUNDS):
        response, seconds = timed_call(api, "/tracesets/upload-url", request)
        opening.append(seconds)
        body, answer = ok(response), response.data
        writing.append(timed(lambda: json.dumps(body))[1])  # noqa: B023  # called at once
        api.delete(f"/tracesets/upload-url/{body['uploadId']}")
    view, reference = statistics.median(opening), statistics.median(writing)
    print(f"\nupload-url, {n_files} files of {n_parts} parts ({len(answer) / MIB:.1f} MiB), median of {ROUNDS}")
    print(_row(view, "json.dumps of its answer", reference))


def measure_completion(app: Flask, api: Api, n_files: int) -> None:
    """Time `complete` beside the bare store's work, and count statements."""
    completing, bare = [], []
    for _ in range(ROUNDS):
        seconds, n_statements = _complete(app, api, n_files)
        completing.append(seconds)
        bare.append(_finish_bare(app, n_files))
    view, reference = statistics.median(completing), statistics.median(bare)
    few = _complete(app, api, 2)[1]
    print(f"\ncomplete, {n_files} files of one part, median of {ROUNDS}")
    print(_row(view, "listing and finishing alone", reference))
    print(f"  statements: {n_statements} for {n_files} files, {few} for 2")


def _row(view: float, what: str, reference: float) -> str:
    return f"  view {view * 1000:.0f} ms   {what} {reference * 1000:.0f} ms   ratio {view / reference:.1f}"


def _complete(app: Flask, api: Api, n_files: int) -> tuple[float, int]:
    contents = {f"rank_{i}.et": b"x" * 100 for i in range(n_files)}
    session = api.open(dict.fromkeys(contents, 100))
    files = api.send(session, contents)
    with counted_statements(app) as statements:
        request = {"uploadId": session["uploadId"], "files": files}
        response, seconds = timed_call(api, "/tracesets/upload-url/complete", request)
    ok(response, 201)
    return seconds, len(statements)


def _finish_bare(app: Flask, n_files: int) -> float:
    with app.test_request_context():
        store: Any = object_store()
        uploads = [(key, store.begin(key, 100)) for key in (new_key() for _ in range(n_files))]
        for key, upload_id in uploads:
            store.write_part(key, upload_id, 1, [b"x" * 100])

        def finish(upload: tuple[str, str]) -> None:
            store.finish(*upload, store.parts(*upload))

        return timed(lambda: in_parallel(store, finish, uploads))[1]


@contextmanager
def counted_statements(app: Flask) -> Iterator[list[str]]:
    """The statements that the app's database is sent meanwhile."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    yield statements
    event.remove(engine, "before_cursor_execute", note)


def timed_call(api: Api, path: str, body: object) -> tuple[TestResponse, float]:
    """The answer to a POST, and the seconds that the application took, without the tests' own checks of it."""
    client, data = api.app.test_client(), json.dumps(body)
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
    return timed(lambda: client.post(f"/api/v1{path}", data=data, headers=headers))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """The work's answer, and the seconds that it took."""
    start = time.perf_counter()
    answer = work()
    return answer, time.perf_counter() - start


if __name__ == "__main__":
    main()
