"""GET /tracesets/{id}, and how ids and times look (R1, R4, G3, G4)."""

import re
from datetime import UTC, datetime

import pytest
from flask import Flask
from sqlalchemy import update

from app.models.tracesets import Traceset
from tests.conftest import People
from tests.support.api import Api, file_spec, ok, refused
from tests.support.clock import Clock
from tests.support.database import change


def test_ids_are_of_their_forms_and_tell_nothing(people_here: People) -> None:
    owner = people_here.owner
    mapping = {"name": "m", "workspaceId": owner.workspace_id, "files": [{"name": "a", "size": 1}]}
    opened = [owner.open({"a": 1}) for _ in range(3)]
    sessions = [session["uploadId"] for session in opened]
    tracesets = [session["tracesetId"] for session in opened]
    mappings = [ok(owner.post("/mapping-files/upload-url", mapping))["mappingFileId"]]
    workspaces = [ok(people_here.admin.post("/workspaces", {"name": "w"}), 201)["id"]]

    for ids, prefix in ((sessions, "upload"), (tracesets, "ts"), (mappings, "mapping"), (workspaces, "workspace")):
        assert all(re.fullmatch(f"{prefix}_[a-z0-9]{{26}}", identifier) for identifier in ids)
    assert len({identifier[:12] for identifier in tracesets + sessions}) == 6


@pytest.mark.parametrize("microsecond", [0, 1, 499_999, 500_000, 999_999])
def test_times_are_cut_to_the_second_in_utc(app: Flask, owner: Api, microsecond: int) -> None:
    session = owner.open({"a": 1})
    moment = datetime(2026, 2, 20, 14, 30, 59, microsecond, tzinfo=UTC)
    change(app, update(Traceset).values(created_at=moment, expires_at=moment))

    traceset = owner.show(session["tracesetId"])

    assert traceset["createdAt"] == traceset["expiresAt"] == "2026-02-20T14:30:59Z"


def test_the_time_of_creation_is_that_of_the_request(owner: Api, moved_clock: Clock) -> None:
    moved_clock.pass_by(hours=5)
    before = moved_clock.now().replace(microsecond=0)

    traceset = owner.show(owner.open({"a": 1})["tracesetId"])

    created = datetime.strptime(traceset["createdAt"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert before <= created <= moved_clock.now()


def test_who_may_see_the_workspace_may_see_it(people_here: People) -> None:
    traceset = people_here.owner.upload({"a": b"x"})

    for caller in (people_here.editor, people_here.viewer, people_here.reader, people_here.admin):
        assert caller.show(traceset["id"]) == traceset
    refused(people_here.stranger.get(f"/tracesets/{traceset['id']}"), 404)


def test_everyone_reads_the_universal_workspace(people_here: People) -> None:
    traceset = people_here.owner.upload({"a": b"x"}, workspaceId=None)

    assert people_here.stranger.show(traceset["id"]) == traceset
    assert people_here.stranger.read(traceset["id"], "a") == b"x"
    refused(people_here.stranger.delete(f"/tracesets/{traceset['id']}"), 403)


@pytest.mark.parametrize("identifier", ["ts_notfound", "ts_", "nope", "TS_ABC", "ts_" + "a" * 300, "ts_1'--", "ts_é"])
def test_an_unknown_id_is_not_found_in_these_words(owner: Api, identifier: str) -> None:
    refused(owner.get(f"/tracesets/{identifier}"), 404, exactly=f"Traceset '{identifier}' not found")


def test_an_id_is_read_to_the_letter_and_of_its_kind_alone(owner: Api) -> None:
    session = owner.open({"a": 1})
    traceset_id = session["tracesetId"]

    for wrong in (traceset_id.upper(), traceset_id[3:], traceset_id + " ", session["uploadId"]):
        refused(owner.get(f"/tracesets/{wrong}"), 404)
    refused(owner.get(f"/mapping-files/{traceset_id}"), 404)


def test_a_traceset_of_a_thousand_files_is_shown_whole(owner: Api) -> None:
    files = [file_spec(f"rank_{i}.et", i, externalUrl="s3://bucket/key") for i in range(1000)]

    traceset = owner.show(owner.open(files)["tracesetId"])

    assert [file["size"] for file in traceset["files"]] == list(range(1000))
    assert traceset["totalSize"] == sum(range(1000))
