"""Backups of a deployment that goes on, and what they bring back (operators' interface)."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import Result
from flask import Flask

from app.extensions import object_store
from app.models.tracesets import LibraryFile
from app.services import backup
from app.services.snapshots import open_snapshot
from tests.conftest import Databases, MakeApp, PeopleOf
from tests.support.api import Api, ok
from tests.support.database import assert_counts_right, column
from tests.support.server import PROJECT
from tests.support.upkeep import stored_keys, sweep

NewDeployment = Callable[[], Flask]


def flask(app: Flask, *args: object) -> Result:
    return app.test_cli_runner().invoke(args=[str(arg) for arg in args])


def done(app: Flask, *args: object) -> str:
    result = flask(app, *args)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def refusal(app: Flask, *args: object) -> str:
    """The one line that tells why not."""
    result = flask(app, *args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    return str(result.stderr)


@pytest.fixture
def new_deployment(make_app: MakeApp, databases: Databases, tmp_path: Path) -> NewDeployment:
    """Gives apps whose database and disk store are empty; a bucket is that of the test."""
    numbers = iter(range(100))

    def make() -> Flask:
        folder = tmp_path / f"new-{next(numbers)}"
        server = databases.postgres
        url = f"sqlite:///{folder}/new.sqlite3" if server is None else server.url(server.create_database())
        return make_app(data_dir=folder, database_url=url)

    return make


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the backup goes."""
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "monday"


@contextmanager
def going_on(act: Callable[[], object]) -> Iterator[None]:
    """Do it over and over meanwhile, at least once."""
    once, ended = Event(), Event()

    def run() -> None:
        while not ended.is_set():
            act()
            once.set()

    thread = Thread(target=run)
    thread.start()
    try:
        assert once.wait(60)
        yield
    finally:
        ended.set()
        thread.join()


def is_on_disk(app: Flask) -> bool:
    return not app.extensions["settings"].s3_bucket


def test_what_is_restored_is_what_was_there(
    app: Flask, owner: Api, people_of: PeopleOf, new_deployment: NewDeployment, place: Path
) -> None:
    contents = {"a": os.urandom(5 * 2**20 + 3), "b": b"", "c/d é.txt": b"three"}
    traceset = owner.upload(contents, tags=["kept"], description="An old one")
    copy = ok(owner.post(f"/tracesets/{traceset['id']}/promote", {}), 201)
    gone = owner.upload({"a": b"gone"})["id"]
    owner.delete(f"/tracesets/{gone}")
    sweep(app)
    session = owner.open({"a": 1, "b": 1})
    listed = ok(owner.get("/tracesets"))

    assert "3 objects" in done(app, "backup", place)
    fresh = new_deployment()
    assert "3 objects" in done(fresh, "restore", place)

    there = people_of(fresh).owner
    assert ok(there.get("/tracesets")) == listed
    assert there.show(traceset["id"]) == owner.show(traceset["id"])
    assert {name: there.read(traceset["id"], name) for name in contents} == contents
    assert there.read(copy["id"], "a") == contents["a"]
    assert ok(there.post(f"/tracesets/{traceset['id']}/validate"))["valid"] is True
    assert [item["id"] for item in ok(there.get("/tracesets", status="deleted"))["items"]] == [gone]
    # Parts that had been sent are not in the backup of a disk store: their session begins again.
    assert flask(fresh, "fsck", "--repair").exit_code == 0
    assert "agree" in done(fresh, "fsck")
    again = ok(there.get(f"/tracesets/upload-url/{session['uploadId']}"))
    ok(there.complete(session, there.send({**session, "files": again["files"]}, {"a": b"x", "b": b"y"})), 201)
    assert_counts_right(fresh)


def test_a_backup_while_others_go_on_is_whole(
    app: Flask, owner: Api, people_of: PeopleOf, new_deployment: NewDeployment, place: Path
) -> None:
    kept = owner.upload({"a": b"kept"})["id"]

    def live() -> None:
        traceset = owner.upload({"a": b"1", "b": b"22"})
        owner.upload({"c": b"333"})
        owner.delete(f"/tracesets/{traceset['id']}")
        sweep(app)

    with going_on(live):
        done(app, "backup", place)
    fresh = new_deployment()

    # The bucket's objects went on without the backup.
    done(fresh, "restore", place, *([] if is_on_disk(app) else ["--allow-missing"]))

    if is_on_disk(app):
        # A session that was open at that moment begins its uploads again; nothing else is wrong.
        told = done(fresh, "fsck", "--json", "--repair").splitlines()
        assert {json.loads(line)["fault"] for line in told[:-1]} <= {"lost_upload"}
        assert "agree" in done(fresh, "fsck")
        assert_counts_right(fresh)
    assert people_of(fresh).owner.read(kept, "a") == b"kept"


def test_bytes_that_go_before_they_are_copied_go_from_the_database_too(
    app: Flask, owner: Api, new_deployment: NewDeployment, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_on_disk(app):
        pytest.skip("a bucket's objects are not copied")
    owner.upload({"a": b"kept"})
    n_opened = 0

    @contextmanager
    def opened(path: Path) -> Iterator[Any]:
        nonlocal n_opened
        n_opened += 1
        late = owner.upload({"a": b"late"})["id"] if n_opened <= 2 else None
        with open_snapshot(path) as snapshot:
            if late:
                owner.delete(f"/tracesets/{late}")
                sweep(app)
            yield snapshot

    monkeypatch.setattr(backup, "open_snapshot", opened)
    done(app, "backup", place)
    fresh = new_deployment()
    done(fresh, "restore", place)

    assert n_opened == 3
    assert "agree" in done(fresh, "fsck")
    assert stored_keys(fresh) == stored_keys(app)


def test_an_object_that_was_lost_before_does_not_keep_the_rest_from_being_saved(
    app: Flask, owner: Api, people_of: PeopleOf, new_deployment: NewDeployment, place: Path
) -> None:
    harmed, sound = owner.upload({"a": b"lost"})["id"], owner.upload({"a": b"sound"})["id"]
    [lost] = column(app, LibraryFile.key, LibraryFile.size == 4)
    with app.app_context():
        object_store().delete([lost])

    told = flask(app, "backup", place)

    assert told.exit_code == 0
    assert (lost in told.stderr) is is_on_disk(app)
    fresh = new_deployment()
    assert lost in refusal(fresh, "restore", place)
    done(fresh, "restore", place, "--allow-missing")
    assert people_of(fresh).owner.read(sound, "a") == b"sound"
    found = flask(fresh, "fsck")
    assert (found.exit_code, f"harms {harmed}" in found.stdout) == (1, True)


def test_on_one_file_system_the_bytes_are_shared(app: Flask, owner: Api, place: Path) -> None:
    if not is_on_disk(app):
        pytest.skip("a bucket's objects are not copied")
    owner.upload({"a": b"shared"})
    root: Path = app.extensions["settings"].data_dir / "store" / "objects"

    done(app, "backup", place)

    [live], [copied] = (list(folder.rglob("1")) for folder in (root, place / "store"))
    assert live.samefile(copied)


def test_elsewhere_they_are_copied(
    app: Flask,
    owner: Api,
    people_of: PeopleOf,
    new_deployment: NewDeployment,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    traceset = owner.upload({"a": b"copied"})["id"]
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    done(app, "backup", place)
    if is_on_disk(app):
        shutil.rmtree(app.extensions["settings"].data_dir / "store")
    fresh = new_deployment()
    done(fresh, "restore", place)

    assert people_of(fresh).owner.read(traceset, "a") == b"copied"
    assert "agree" in done(fresh, "fsck")


def killed(app: Flask, settings: dict[str, Any], at: str, *args: object) -> None:
    """A command that ends by SIGKILL where it would call this function of the module."""
    script = "import os, signal; from app.services import backup; "
    script += f"backup.{at} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL); "
    script += f"from wsgi import app; app.test_cli_runner().invoke(args={[str(arg) for arg in args]!r})"
    environment = {f"TRACESETS_{name.upper()}": str(value) for name, value in settings.items()}
    process = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | environment, cwd=PROJECT, timeout=120, check=False
    )
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("at", ["open_snapshot", "os.sync"])
def test_a_kill_leaves_nothing_that_looks_like_a_backup(
    app: Flask, deployment: dict[str, Any], owner: Api, new_deployment: NewDeployment, place: Path, at: str
) -> None:
    owner.upload({"a": b"x"})

    killed(app, deployment, at, "backup", place)

    [left] = place.parent.iterdir()
    assert left.name.startswith(".monday.")
    assert left.name.endswith(".unfinished")
    fresh = new_deployment()
    assert "no backup" in refusal(fresh, "restore", left)
    done(app, "backup", place)
    done(fresh, "restore", place)


@pytest.mark.parametrize("at", ["load_snapshot", "upgrade"])
def test_a_restore_that_was_killed(
    app: Flask, owner: Api, new_deployment: NewDeployment, people_of: PeopleOf, place: Path, at: str
) -> None:
    traceset = owner.upload({"a": b"x"})["id"]
    done(app, "backup", place)
    fresh = new_deployment()
    settings = fresh.extensions["settings"]
    there = {name: getattr(settings, name) for name in ("data_dir", "part_size", "secret_key", "database_url")}
    there |= {name: there[name].get_secret_value() for name in ("secret_key", "database_url")}
    if settings.s3_bucket:
        there |= {name: getattr(settings, name) for name in ("s3_bucket", "s3_endpoint_url", "s3_addressing_style")}

    killed(fresh, there, at, "restore", place)

    again = ["db", "upgrade"] if at == "upgrade" else ["restore", place]
    done(fresh, *again)
    assert people_of(fresh).owner.read(traceset, "a") == b"x"


def test_nothing_is_restored_over_what_is_there(
    app: Flask, owner: Api, new_deployment: NewDeployment, make_app: MakeApp, place: Path
) -> None:
    owner.upload({"a": b"x"})
    done(app, "backup", place)

    assert "database is not empty" in refusal(app, "restore", place)

    empty = new_deployment()
    if is_on_disk(app):
        url = empty.extensions["settings"].database_url
        strange = make_app(database_url=url)
        owner.upload({"a": b"not in the backup"})
        assert "disk store is not empty" in refusal(strange, "restore", place)
    done(empty, "restore", place)
    assert "database is not empty" in refusal(empty, "restore", place)


def test_a_backup_is_not_written_over_another(app: Flask, owner: Api, place: Path) -> None:
    done(app, "backup", place)
    before = (place / "backup.json").read_text()

    assert "something at" in refusal(app, "backup", place)

    assert (place / "backup.json").read_text() == before
    assert [path.name for path in place.parent.iterdir()] == ["monday"]


def test_what_cannot_be_written_leaves_nothing(app: Flask, owner: Api, place: Path) -> None:
    owner.upload({"a": b"x"})
    done(app, "backup", place)

    assert "could not be written" in refusal(app, "backup", place.with_name("no such folder") / "tuesday")
    assert "could not be written" in refusal(app, "backup", place / "backup.json" / "tuesday")

    assert [path.name for path in place.parent.iterdir()] == ["monday"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schema": "9999"}, "newer release"),
        ({"format": 2}, "format 2"),
        ({"database": "oracle"}, "oracle"),
        ({"store": "tape"}, "tape"),
        ({"database_sha256": "0" * 64}, "damaged"),
        ({"surprise": 1}, "no backup"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_this_release_cannot_restore_is_refused(
    app: Flask, owner: Api, new_deployment: NewDeployment, place: Path, change: dict[str, Any], why: str
) -> None:
    done(app, "backup", place)
    about = place / "backup.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | change))
    fresh = new_deployment()

    assert why in refusal(fresh, "restore", place)

    assert stored_keys(fresh) == []


def test_a_backup_tells_what_it_is(app: Flask, owner: Api, place: Path) -> None:
    owner.upload({"a": b"one", "b": b"four"})

    done(app, "backup", place)

    about = json.loads((place / "backup.json").read_text())
    assert (about["format"], about["objects"], about["size"], about["missing"]) == (1, 2, 7, [])
    rows = [json.loads(line) for line in (place / "objects.jsonl").read_text().splitlines()]
    assert sorted(row["key"] for row in rows) == sorted(column(app, LibraryFile.key))
    assert place.stat().st_mode & 0o077 == 0
