"""POST /tracesets/{id}/validate (V1-V6)."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import update

from app.extensions import object_store
from app.models.tracesets import LibraryFile, Traceset
from app.settings import MIB
from tests.conftest import MakeApp, PeopleOf
from tests.functional.conftest import FaultyStore
from tests.support.api import JSON, Api, file_spec, ok, refused
from tests.support.database import change, column

THREE = ["file_integrity", "metadata_complete", "topology_correlation"]
DEEP = ["rank_coverage", "content_checksum", "trace_format"]
GOOD, BAD = b"good" * 3000, b"bad!" * 3000
BIG = b"b" * (5 * MIB) + b"last part"
ET = (Path(__file__).parents[2] / "data" / "traces" / "good.0.et").read_bytes()


def checks_of(caller: Api, traceset_id: str, body: object = ...) -> dict[str, JSON]:
    """The checks by name, in their order; `valid` says whether all passed."""
    answer = ok(caller.post(f"/tracesets/{traceset_id}/validate", body))
    assert answer["valid"] is all(check["passed"] for check in answer["checks"])
    return {check["name"]: check for check in answer["checks"]}


@pytest.mark.parametrize(
    "body",
    [
        ...,
        {},
        {"topologyId": None},
        {"topologyId": "config_ghi789"},
        {"topologyId": ""},
        {"deep": None},
        {"deep": False},
        {"x": 1},
    ],
)
def test_a_whole_traceset_passes_three_checks_whatever_is_asked(owner: Api, body: object) -> None:
    traceset = owner.upload({"a": b"x", "b": b""})

    answer = ok(owner.post(f"/tracesets/{traceset['id']}/validate", body))

    assert answer == {
        "valid": True,
        "checks": [
            {"name": "file_integrity", "passed": True},
            {"name": "metadata_complete", "passed": True},
            {"name": "topology_correlation", "passed": True, "message": "Not yet implemented — always passes"},
        ],
    }


@pytest.mark.parametrize(
    "data",
    [
        '{"topologyId":1}',
        '{"topologyId":true}',
        '{"topologyId":["x"]}',
        '{"topologyId":{}}',
        '{"deep":1}',
        '{"deep":"true"}',
        '{"deep":[]}',
        "[]",
        '"x"',
        "null",
        "true",
        "{",
        '{"topologyId":NaN}',
        '{"topologyId":"\\u0000"}',
    ],
)
def test_other_bodies_are_refused(owner: Api, data: str) -> None:
    traceset = owner.upload({"a": b"x"})

    refused(owner.call("POST", f"/tracesets/{traceset['id']}/validate", data=data.encode()), 400)


def test_who_may_see_it_may_validate_it(owner: Api, viewer: Api, stranger: Api) -> None:
    traceset = owner.upload({"a": b"x"})

    assert checks_of(viewer, traceset["id"])["file_integrity"]["passed"]
    refused(stranger.post(f"/tracesets/{traceset['id']}/validate"), 404)


def test_what_is_uploading_is_not_complete(owner: Api) -> None:
    session = owner.open({"a": 1, "b": 1})

    checks = checks_of(owner, session["tracesetId"])

    assert list(checks) == THREE
    assert [checks[name]["passed"] for name in THREE] == [False, False, True]
    assert "a, b" in checks["metadata_complete"]["message"]


def test_primary_files_without_a_rank_count_are_not_complete(app: Flask, owner: Api) -> None:
    metadata = {"shape": {"rankCount": 2}}
    traceset = owner.upload({"a": b"x"}, files=[file_spec("a", 1, "primary")], workloadMetadata=metadata)
    assert checks_of(owner, traceset["id"])["metadata_complete"]["passed"]

    change(app, update(Traceset).values(rank_count=None))

    checks = checks_of(owner, traceset["id"])
    assert [name for name, check in checks.items() if not check["passed"]] == ["metadata_complete"]


def deleted(app: Flask, key: str) -> None:
    with app.app_context():
        object_store().delete([key])


def path_of(app: Flask, content: bytes) -> Path:
    """The file on the disk that begins with this content."""
    root = Path(app.extensions["settings"].data_dir) / "store" / "objects"
    [path] = [path for path in root.rglob("*") if path.is_file() and path.read_bytes().startswith(content)]
    return path


def rewritten(change: Callable[[bytes], bytes], *, keep_time: bool = False) -> Callable[[Flask, bytes], None]:
    """Damage on a disk: the same file, other bytes."""

    def damage(app: Flask, content: bytes) -> None:
        path = path_of(app, content)
        times = path.stat()
        path.chmod(0o600)
        path.write_bytes(change(path.read_bytes()))
        if keep_time:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    return damage


DAMAGE: dict[str, Callable[[Flask, bytes], None]] = {
    "cut": rewritten(lambda content: content[:-1]),
    "emptied": rewritten(lambda content: b""),
    "longer": rewritten(lambda content: content + b"x"),
    "first byte": rewritten(lambda content: b"X" + content[1:]),
    "last byte": rewritten(lambda content: content.replace(BAD, BAD[:-1] + b"X")),
    "swapped": rewritten(lambda content: content.replace(BAD, GOOD)),
    "cut, time kept": rewritten(lambda content: content[:-1], keep_time=True),
    "removed": lambda app, content: path_of(app, content).unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_on_the_disk_is_found_and_its_file_named(make_app: MakeApp, people_of: PeopleOf, damage: str) -> None:
    app = make_app(s3_bucket=None)
    owner = people_of(app).owner
    traceset = owner.upload({"good": GOOD, "dir/bad": BAD})

    DAMAGE[damage](app, BAD)

    checks = checks_of(owner, traceset["id"])
    assert checks["file_integrity"]["passed"] is False
    assert checks["file_integrity"]["message"].startswith("dir/bad: ")
    assert owner.show(traceset["id"])["status"] == "ready"


def test_rot_behind_an_unchanged_time_is_found_by_reading(make_app: MakeApp, people_of: PeopleOf) -> None:
    app = make_app(s3_bucket=None)
    owner = people_of(app).owner
    traceset = owner.upload({"bad": BAD, "good": GOOD})

    rewritten(lambda content: content[:100] + b"X" + content[101:], keep_time=True)(app, BAD)

    assert checks_of(owner, traceset["id"], {"deep": True})["content_checksum"] == {
        "name": "content_checksum",
        "passed": False,
        "message": "bad: not the content that was uploaded, or not the SHA-256 that was declared",
    }


@pytest.mark.parametrize(
    "content", [BAD[:-1], b"", BAD + b"x", b"X" + BAD[1:], None], ids=["cut", "empty", "longer", "altered", "gone"]
)
def test_damage_in_a_bucket_is_found_and_its_file_named(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore, content: bytes | None
) -> None:
    app = make_app(**faulty_store.settings)
    owner = people_of(app).owner
    traceset = owner.upload({"good": b"good", "dir/bad": BAD})
    [key] = column(app, LibraryFile.key, LibraryFile.size == len(BAD))
    if content is None:
        faulty_store.client.delete_object(Bucket=faulty_store.bucket, Key=key)
    else:
        faulty_store.client.put_object(Bucket=faulty_store.bucket, Key=key, Body=content)

    checks = checks_of(owner, traceset["id"], {"deep": True})

    for name in ("file_integrity", "content_checksum"):
        assert checks[name]["passed"] is False
        assert checks[name]["message"].startswith("dir/bad: ")


def test_a_store_that_is_away_says_nothing_about_the_files(
    make_app: MakeApp, people_of: PeopleOf, faulty_store: FaultyStore
) -> None:
    owner = people_of(make_app(**faulty_store.settings)).owner
    traceset = owner.upload({"a": b"x"})
    faulty_store.proxy.rule = lambda *_: "drop"

    answer = owner.post(f"/tracesets/{traceset['id']}/validate")

    refused(answer, 503)
    assert "Retry-After" in answer.headers


def test_many_lost_files_are_counted_after_the_first_ten(app: Flask, owner: Api) -> None:
    traceset = owner.upload({f"f{i:02}": b"x" for i in range(15)})
    for key in column(app, LibraryFile.key):
        deleted(app, key)

    message = checks_of(owner, traceset["id"])["file_integrity"]["message"]

    assert message.startswith("f00, f01, f02, ")
    assert "f09 and 5 more" in message


def test_deep_adds_three_checks_that_whole_traces_pass(owner: Api) -> None:
    contents = {"rank.0.et": ET, "rank.1.et": ET, "notes": BIG}
    specs = [
        file_spec(
            name,
            len(content),
            "supporting" if name == "notes" else "primary",
            sha256=hashlib.sha256(content).hexdigest(),
        )
        for name, content in contents.items()
    ]
    traceset = owner.upload(contents, files=specs, workloadMetadata={"shape": {"rankCount": 2}})

    checks = checks_of(owner, traceset["id"], {"deep": True})

    assert list(checks) == THREE + DEEP
    assert [check["passed"] for check in checks.values()] == [True] * 6, checks


def test_deep_names_missing_ranks_and_what_is_no_trace(owner: Api) -> None:
    contents = {"rank.0.et": ET, "rank.2.et": b"no trace at all"}
    specs = [file_spec(name, len(content), "primary") for name, content in contents.items()]
    traceset = owner.upload(contents, files=specs, workloadMetadata={"shape": {"rankCount": 3}})

    checks = checks_of(owner, traceset["id"], {"deep": True})

    assert [name for name, check in checks.items() if not check["passed"]] == ["rank_coverage", "trace_format"]
    assert "1" in checks["rank_coverage"]["message"]
    assert "rank.2.et" in checks["trace_format"]["message"]


def test_deep_tells_a_declared_digest_that_was_false(owner: Api) -> None:
    traceset = owner.upload({"a": b"x"}, files=[file_spec("a", 1, sha256="0" * 64)])

    checks = checks_of(owner, traceset["id"], {"deep": True})

    assert [name for name, check in checks.items() if not check["passed"]] == ["content_checksum"]


def test_deep_reads_a_file_of_several_parts(owner: Api) -> None:
    traceset = owner.upload({"big": BIG})

    assert checks_of(owner, traceset["id"], {"deep": True})["content_checksum"] == {
        "name": "content_checksum",
        "passed": True,
    }
