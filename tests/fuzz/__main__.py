"""Sends made-up requests to a running server, and holds every answer against the document.

    python -m tests.fuzz --database postgres --examples 400

It ends with status 0 where no answer was a fault of the server or other than described. Unlike the few examples that
the test suite tries, half of these name things that exist.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from flask_migrate import upgrade

from app import create_app
from app.extensions import db
from app.services import people
from app.settings import MIB, Settings
from tests.servers.postgres import PostgresServer
from tests.support.api import file_spec, ok
from tests.support.server import AppServer, RemoteApi

EMAIL = "fuzz@tests.example"
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
N_KNOWN = 50


class Tokens(NamedTuple):
    """Two tokens of one site admin."""

    full: str
    read_only: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the status of Schemathesis."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--read-only", action="store_true", help="with a token that may only read")
    parser.add_argument("--examples", type=int, default=200, help="for each operation (default: 200)")
    parser.add_argument("more", nargs="*", help="for `schemathesis run`, behind --")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tracesets-fuzz-") as name, _database(given.database, name) as url:
        folder = Path(name)
        settings = {
            "data_dir": folder / "data",
            "database_url": url,
            "part_size": 5 * MIB,
            "max_open_sessions": 1_000_000,
        }
        tokens = _prepare(settings)
        server = AppServer(settings, folder / "server", workers=2)
        try:
            configuration = folder / "schemathesis.toml"
            known = _known(RemoteApi(server, tokens.full, workspace_id="workspace_universal"))
            configuration.write_text(CONFIGURATION.read_text() + known)
            token = tokens.read_only if given.read_only else tokens.full
            return _fuzz(server, token, configuration, [f"--max-examples={given.examples}", *given.more])
        finally:
            server.stop()
            _tell(server)


@contextmanager
def _database(kind: str, folder: str) -> Iterator[str]:
    """The URL of an empty one."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/fuzz.sqlite3"
        return
    with PostgresServer() as server:
        yield server.url(server.create_database())


def _prepare(settings: Mapping[str, Any]) -> Tokens:
    """Make the database, and a site admin in it."""
    app = create_app(Settings(**settings, secret_key="a key for tests"))
    with app.app_context():
        upgrade()
        people.create_user(EMAIL, is_admin=True)
        tokens = Tokens(people.create_token(EMAIL), people.create_token(EMAIL, is_read_only=True))
        db.engine.dispose()
    return tokens


def _known(caller: RemoteApi) -> str:
    """Configuration that lets requests name what exists: uploads at every stage, and the files in them."""
    text = ""
    for root, subject in (("tracesets", "tracesetId"), ("mapping-files", "mappingFileId")):
        opened = [_open(caller, root) for _ in range(2 * N_KNOWN)]
        for session in opened[:N_KNOWN]:
            body = {"uploadId": session["uploadId"], "files": caller.send(session, {"a.et": b"a"})}
            ok(caller.post(f"/{root}/upload-url/complete", body), 201)
        for session in opened[N_KNOWN : N_KNOWN + N_KNOWN // 2]:
            caller.send(session, {"a.et": b"a"})
        known = {
            "path.id": [session[subject] for session in opened],
            "path.uploadId": [session["uploadId"] for session in opened],
            "body.uploadId": [session["uploadId"] for session in opened],
            "body.workspaceId": [caller.workspace_id],
            "body.files[*].name": ["a.et"],
            "body.files[*].parts[*].partNumber": [1],
            "query.workspaceId": [caller.workspace_id],
            "query.file": ["a.et"],
        }
        text += _dictionaries(root, known)
    return text + _dictionaries("workspaces", {"path.id": [caller.workspace_id], "path.email": [EMAIL]})


def _open(caller: RemoteApi, root: str) -> dict[str, Any]:
    return ok(caller.post(f"/{root}/upload-url", caller.request_of([file_spec("a.et", 1)])))


def _dictionaries(root: str, known: Mapping[str, Sequence[object]]) -> str:
    """In TOML: half of what is made up in these places of a resource's requests comes from these values."""
    names = {place: f"{root}-{number}" for number, place in enumerate(known)}
    text = "".join(f"[dictionaries.{names[place]}]\nvalues = {json.dumps(known[place])}\n" for place in known)
    text += f'[[operations]]\ninclude-path-regex = "^/api/v1/{root}"\n'
    for place, name in names.items():
        text += f'parameters."{place}" = {{ dictionary = "{name}", probability = 0.5 }}\n'
    return text


def _fuzz(server: AppServer, token: str, configuration: Path, more: Sequence[str]) -> int:
    command = [
        *(Path(sys.executable).with_name("schemathesis"), f"--config-file={configuration}", "run"),
        *(f"{server.origin}/api/v1/openapi.json", f"--header=Authorization: Bearer {token}"),
        *("--continue-on-failure", *more),
    ]
    return subprocess.run(command, check=False, cwd=configuration.parent).returncode


def _tell(server: AppServer) -> None:
    """Print how the server answered, and the stack of every fault."""
    answers = Counter(line["status"] for line in server.logged("request"))
    print(f"{answers.total()} requests:", ", ".join(f"{count} × {status}" for status, count in sorted(answers.items())))
    for fault in server.logged("request.failed"):
        print(fault["exception"])


if __name__ == "__main__":
    sys.exit(main())
