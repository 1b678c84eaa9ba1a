"""Promoted tracesets and the bytes that they share: none moves, none is lost, every count is right (P1, D2)."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.models.tracesets import LibraryFile, TracesetFile
from tests.support.api import Api, file_spec, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right, column
from tests.support.raw_store import raw_content
from tests.support.upkeep import at_once, stored_keys, sweep

UNIVERSAL = "workspace_universal"


def promotion(caller: Api, traceset_id: str, **body: Any) -> TestResponse:
    return caller.post(f"/tracesets/{traceset_id}/promote", body)


def promote(caller: Api, traceset_id: str, **body: Any) -> str:
    id_: str = ok(promotion(caller, traceset_id, **body), 201)["id"]
    return id_


def delete(caller: Api, traceset_id: str) -> int:
    return caller.delete(f"/tracesets/{traceset_id}").status_code


def together(
    promotions: Sequence[Callable[[], TestResponse]], others: Sequence[Callable[[], Any]]
) -> tuple[list[TestResponse], list[Any]]:
    """What all these calls answer that begin together."""
    acts: list[Callable[[], Any]] = [*promotions, *others]
    answers = at_once(len(acts), lambda i: acts[i]())
    return answers[: len(promotions)], answers[len(promotions) :]


def made_by(answers: list[TestResponse]) -> list[str]:
    """The different tracesets that these promotions answer with."""
    return sorted({answer.get_json()["id"] for answer in answers if answer.status_code in (200, 201)})


def test_publishing_256_ranks_moves_no_byte_and_outlives_the_source(app: Flask, owner: Api) -> None:
    contents = {f"rank_{i}.et": b"rank %d" % i for i in range(256)}
    files = [file_spec(name, len(content), "primary") for name, content in contents.items()]
    before = owner.upload(contents, files=files, workloadMetadata={"parallelism": {"dp": 32, "tp": 8}})
    stored = raw_content(app)

    copy = ok(promotion(owner, before["id"]), 201)

    assert copy["files"] == before["files"]
    assert (copy["rankCountDerived"], copy["totalSize"]) == (256, sum(map(len, contents.values())))
    assert raw_content(app) == stored
    assert set(column(app, LibraryFile.ref_count)) == {2}
    assert delete(owner, before["id"]) == 204
    assert set(column(app, LibraryFile.ref_count)) == {1}
    assert "unreferenced files" not in sweep(app)
    assert raw_content(app) == stored
    for i in (0, 100, 255):
        assert owner.read(copy["id"], f"rank_{i}.et") == b"rank %d" % i
    assert ok(owner.post(f"/tracesets/{copy['id']}/validate"))["valid"] is True
    assert_counts_right(app)


def test_the_bytes_go_with_the_last_that_refers_to_them(app: Flask, owner: Api) -> None:
    before = owner.upload({"a": b"a", "b": b""})["id"]
    copies = [promote(owner, before), promote(owner, before, workspaceId=owner.workspace_id)]

    for id_ in (copies[0], before):
        assert delete(owner, id_) == 204
        sweep(app)
        assert_counts_right(app)
        assert len(stored_keys(app)) == 2
    assert owner.read(copies[1], "a") == b"a"

    assert delete(owner, copies[1]) == 204
    assert sweep(app)["unreferenced files"] == 2
    assert stored_keys(app) == []
    assert column(app, LibraryFile.key) == []


def test_the_copy_outlives_a_source_whose_time_has_come(app: Flask, owner: Api, moved_clock: Clock) -> None:
    before = owner.upload({"a": b"a"}, ttlDays=1)["id"]
    copy = promote(owner, before)
    moved_clock.pass_by(days=1, seconds=1)

    assert sweep(app)["expired tracesets"] == 1

    refused(owner.get(f"/tracesets/{before}"), 404)
    assert owner.read(copy, "a") == b"a"
    assert_counts_right(app)
    moved_clock.pass_by(days=365)
    ended = sweep(app)
    assert (ended["expired tracesets"], ended["unreferenced files"]) == (1, 1)
    assert stored_keys(app) == []


def test_a_file_that_a_traceset_names_twice_counts_twice(app: Flask, owner: Api) -> None:
    first = owner.upload({"a": b"same"})["id"]
    sweep(app)
    digest = hashlib.sha256(b"same").hexdigest()
    opened = owner.open([file_spec(name, 4, sha256=digest) for name in ("x", "y")])
    twice = ok(owner.complete(opened, []), 201)["id"]

    copy = promote(owner, twice)

    assert column(app, LibraryFile.ref_count) == [5]
    assert_counts_right(app)
    assert [delete(owner, id_) for id_ in (twice, first)] == [204, 204]
    assert column(app, LibraryFile.ref_count) == [2]
    assert owner.read(copy, "y") == b"same"
    assert delete(owner, copy) == 204
    assert column(app, LibraryFile.ref_count) == [0]


def test_the_copy_of_external_files_alone_refers_to_nothing(app: Flask, owner: Api) -> None:
    opened = owner.open([file_spec("x", 0, externalUrl="s3://bucket/x")])
    before = ok(owner.complete(opened, []), 201)

    copy = ok(promotion(owner, before["id"]), 201)

    assert copy["files"] == before["files"]
    assert column(app, TracesetFile.library_key) == [None, None]


# -- at once


def test_different_promotions_of_one_source_at_once_all_succeed(app: Flask, owner: Api) -> None:
    before = owner.upload({f"f{i}": b"%d" % i for i in range(30)})["id"]

    answers = at_once(8, lambda i: promotion(owner, before, workloadMetadata={"i": i}))

    assert [answer.status_code for answer in answers] == [201] * 8
    assert set(column(app, LibraryFile.ref_count)) == {9}
    assert_counts_right(app)


def test_promotions_of_sources_that_share_their_files_at_once_all_succeed(app: Flask, owner: Api) -> None:
    first = owner.upload({f"f{i}": b"%d" % i for i in range(30)})["id"]
    sources = [first, *(promote(owner, first, workloadMetadata={"i": i}) for i in range(7))]

    answers = at_once(8, lambda i: promotion(owner, sources[i], workloadMetadata={"again": i}))

    assert [answer.status_code for answer in answers] == [201] * 8
    assert set(column(app, LibraryFile.ref_count)) == {16}
    assert_counts_right(app)


def test_uploads_of_known_content_and_deletions_at_once_all_succeed(app: Flask, owner: Api) -> None:
    contents = {f"f{i}": b"%d" % i for i in range(30)}
    first = owner.upload(contents)["id"]
    sweep(app)
    files = [
        file_spec(name, len(content), sha256=hashlib.sha256(content).hexdigest()) for name, content in contents.items()
    ]
    gone = [promote(owner, first, workloadMetadata={"i": i}) for i in range(4)]

    acts: list[Callable[[], Any]] = [*(partial(delete, owner, id_) for id_ in gone), *[partial(owner.open, files)] * 4]
    answers = at_once(8, lambda i: acts[i]())

    assert answers[:4] == [204] * 4
    assert [file["parts"] for opened in answers[4:] for file in opened["files"]] == [[]] * 120
    assert set(column(app, LibraryFile.ref_count)) == {5}
    assert_counts_right(app)


@pytest.mark.parametrize("n_files", [1, 30])
def test_a_promotion_that_meets_the_deletion_of_its_source_is_whole_or_not_at_all(
    app: Flask, owner: Api, n_files: int
) -> None:
    contents = {f"f{i}": b"%d" % i for i in range(n_files)}
    for _ in range(4):
        before = owner.upload(contents)["id"]

        promotions, others = together(
            [partial(promotion, owner, before, workloadMetadata={"i": i}) for i in range(4)],
            [partial(delete, owner, before), partial(sweep, app)],
        )

        assert others[0] == 204
        assert {answer.status_code for answer in promotions} <= {201, 404}
        sweep(app)
        for copy in made_by(promotions):
            assert owner.read(copy, "f0") == b"0"
        assert_counts_right(app)


def test_a_promotion_that_meets_the_deletion_of_the_first_one_answers_with_a_whole_one(app: Flask, owner: Api) -> None:
    before = owner.upload({"a": b"a", "b": b"b"})["id"]
    for _ in range(4):
        first = promotion(owner, before).get_json()["id"]

        promotions, others = together(
            [partial(promotion, owner, before)] * 5, [partial(delete, owner, first), partial(sweep, app)]
        )

        assert others[0] == 204
        assert {answer.status_code for answer in promotions} <= {200, 201, 404}
        left = [item["id"] for item in ok(owner.get("/tracesets", workspaceId=UNIVERSAL))["items"]]
        assert set(left) == set(made_by(promotions)) - {first}
        assert len(left) <= 1
        assert_counts_right(app)


def test_a_promotion_that_meets_the_end_of_the_sources_time_is_whole_or_not_at_all(
    app: Flask, owner: Api, moved_clock: Clock
) -> None:
    before = owner.upload({"a": b"a", "b": b"b"}, ttlDays=1)["id"]
    moved_clock.pass_by(days=2)

    promotions, _ = together(
        [partial(promotion, owner, before, workloadMetadata={"i": i}) for i in range(4)], [partial(sweep, app)] * 3
    )

    assert {answer.status_code for answer in promotions} <= {201, 404}
    refused(owner.get(f"/tracesets/{before}"), 404)
    assert_counts_right(app)
