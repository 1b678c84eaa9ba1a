"""Mapping files: the exchange of tracesets for files that map ranks to places in a topology (M1, G6)."""

import io
import zipfile
from collections.abc import Callable

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.conftest import People
from tests.support.api import JSON, Api, ok, refused
from tests.support.clock import Clock
from tests.support.database import assert_counts_right
from tests.support.mapping_files import MAP, ROOT, begin, complete, listed, request_of, upload
from tests.support.upkeep import at_once, open_uploads, stored_keys, sweep

NOTHING = {"items": [], "pagination": {"count": 0, "hasMore": False, "nextCursor": None}}


# -- the exchange


def test_a_map_goes_up_shows_and_comes_down(owner: Api) -> None:
    opened = begin(owner, name="  Näme ")
    files = owner.send(opened, MAP)

    completed = ok(complete(owner, opened, files), 201)

    assert set(opened) == {"uploadId", "mappingFileId", "checksumAlgorithm", "files", "expiresAt"}
    assert completed == {
        "id": opened["mappingFileId"],
        "name": "Näme",
        "status": "ready",
        "files": [{"name": "map.json", "size": 15}, {"name": "sub/é.csv", "size": 0}],
        "totalSize": 15,
        "workspaceId": owner.workspace_id,
        "createdAt": completed["createdAt"],
    }
    assert completed["id"].startswith("mapping_")
    assert ok(complete(owner, opened, files)) == completed
    assert ok(owner.get(f"{ROOT}/{completed['id']}")) == completed
    for name, content in MAP.items():
        download = ok(owner.get(f"{ROOT}/{completed['id']}/download", file=name))
        assert set(download) == {"url", "expiresAt", "file"}
        assert download["file"] == name
        assert owner.fetch(download["url"]) == content


def test_without_a_file_name_all_come_as_one_archive(owner: Api) -> None:
    mapping = upload(owner, name="My map")["id"]

    download = ok(owner.get(f"{ROOT}/{mapping}/download"))

    assert download["file"] == "My map.zip"
    with zipfile.ZipFile(io.BytesIO(owner.fetch(download["url"]))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == MAP


def test_what_is_no_file_of_it_or_not_ready_does_not_come_down(owner: Api) -> None:
    mapping, opened = upload(owner)["id"], begin(owner)

    answer = owner.get(f"{ROOT}/{mapping}/download", file="other")
    refused(answer, 404, exactly=f"File 'other' not found in mapping file '{mapping}'")
    refused(owner.get(f"{ROOT}/{opened['mappingFileId']}/download", file="map.json"), 400, "uploading")


def test_roles_ranks_and_whatever_else_tracesets_have_are_not_looked_at(owner: Api) -> None:
    opened = begin(owner, {"a": b"x"}, workloadMetadata=5, tags="x", description=[], ttlDays="y")
    request = request_of(owner, {"a": b"x"})
    request["files"][0] |= {"role": "neither", "externalUrl": 7}

    again = ok(owner.post(f"{ROOT}/upload-url", request))

    for session in (opened, again):
        assert len(session["files"][0]["parts"]) == 1
        assert "role" not in ok(complete(owner, session, owner.send(session, {"a": b"x"})), 201)["files"][0]


def test_an_omitted_workspace_is_the_universal_one(people_here: People) -> None:
    for more in ({"workspaceId": None}, {"workspaceId": "workspace_universal"}):
        mapping = upload(people_here.owner, **more)
        assert mapping["workspaceId"] == "workspace_universal"
        assert ok(people_here.stranger.get(f"{ROOT}/{mapping['id']}")) == mapping


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"name": ""}, "name must have 1 to 255 characters"),
        ({"name": 5}, "name must be a string"),
        ({"files": []}, "files must have at least 1"),
        ({"files": None}, "files must be an array"),
        ({"files": [{"name": "../x", "size": 1}]}, "files[0].name"),
        ({"files": [{"name": "a", "size": 2.0}]}, "files[0].size must be a whole number"),
        ({"files": [{"name": "a", "size": None}]}, "files[0].size must be a whole number"),
        ({"files": [{"name": "a"}]}, "files[0].size is required"),
        ({"files": [{"name": "a", "size": 1}, {"name": "a", "size": 1}]}, "files[1].name"),
        ({"files": [{"name": "é", "size": 1}, {"name": "e\u0301", "size": 1}]}, "files[1].name"),
        ({"workspaceId": "workspace_zzzz"}, "workspaceId 'workspace_zzzz'"),
        ({"workspaceId": ""}, "workspaceId ''"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_request_that_will_not_do_is_told_with_its_field(owner: Api, change: JSON, part: str) -> None:
    refused(owner.post(f"{ROOT}/upload-url", {**request_of(owner, MAP), **change}), 400, part)

    assert ok(owner.get(ROOT)) == NOTHING


def test_a_completion_is_checked_as_that_of_a_traceset(owner: Api) -> None:
    contents = {"a": b"aa", "b": b"b"}
    opened = begin(owner, contents)
    a, b = owner.send(opened, contents)
    bad = {"name": "a", "parts": [{"partNumber": 1, "etag": "0" * 32}]}

    refused(complete(owner, opened, [b]), 400, exactly="Missing parts for file 'a'")
    refused(complete(owner, opened, [bad, b]), 400, "'a'", "1")
    refused(
        complete(owner, {"uploadId": "upload_notfound"}, []), 404, exactly="Upload session 'upload_notfound' not found"
    )

    assert ok(complete(owner, opened, [b, a]), 201)["status"] == "ready"


def test_a_file_larger_than_declared_ends_it(app: Flask, owner: Api) -> None:
    opened = begin(owner, {"a": b"x"})
    files = owner.send(opened, {"a": b"x"})
    owner.put(opened["files"][0]["parts"][0]["url"], b"xyz")

    message = "File a is 3 bytes, larger than its declared size of 1 bytes"
    refused(complete(owner, opened, files), 413, exactly=message)

    assert ok(owner.get(f"{ROOT}/{opened['mappingFileId']}"))["status"] == "upload_failed"
    refused(complete(owner, opened, files), 400, "POST /api/v1/mapping-files/upload-url")
    assert open_uploads(app) == stored_keys(app) == []


def test_of_many_completions_at_once_one_is_the_first(app: Flask, owner: Api) -> None:
    opened = begin(owner)
    files = owner.send(opened, MAP)

    statuses = [answer.status_code for answer in at_once(10, lambda _: complete(owner, opened, files))]

    assert statuses.count(201) == 1
    assert set(statuses) <= {200, 201, 409}
    assert_counts_right(app)


def test_an_idempotency_key_belongs_to_one_kind(owner: Api) -> None:
    request, headers = request_of(owner, MAP), {"Idempotency-Key": "mine"}

    first, again = (ok(owner.post(f"{ROOT}/upload-url", request, headers=headers)) for _ in range(2))

    assert again["uploadId"] == first["uploadId"]
    spec = owner.request_of({name: len(content) for name, content in MAP.items()}, name="A map")
    refused(owner.post("/tracesets/upload-url", spec, headers=headers), 400, "Idempotency-Key")


# -- sessions


def test_a_session_shows_and_is_ended(app: Flask, people_here: People) -> None:
    owner = people_here.owner
    opened = begin(owner)
    path = f"{ROOT}/upload-url/{opened['uploadId']}"
    etag = owner.put(opened["files"][0]["parts"][0]["url"], MAP["map.json"])

    session = ok(owner.get(path))

    assert (session["mappingFileId"], session["state"]) == (opened["mappingFileId"], "open")
    assert session["files"][0]["parts"] == [{"partNumber": 1, "size": 15, "uploaded": True, "etag": etag}]
    assert [getattr(people_here, who).delete(path).status_code for who in ("viewer", "reader", "stranger")] == [
        *(403, 403, 404)
    ]
    assert [owner.delete(path).status_code for _ in range(2)] == [204, 204]
    assert ok(owner.get(path))["state"] == "aborted"
    refused(complete(owner, opened, []), 400, "aborted", "POST /api/v1/mapping-files/upload-url")
    assert open_uploads(app) == []


def test_a_session_that_ran_out_is_gone(app: Flask, owner: Api, moved_clock: Clock) -> None:
    opened = begin(owner)
    moved_clock.pass_by(hours=25)

    refused(complete(owner, opened, []), 410, exactly=f"Upload session '{opened['uploadId']}' has expired")

    assert sweep(app)["expired sessions"] == 1
    assert ok(owner.get(f"{ROOT}/{opened['mappingFileId']}"))["status"] == "upload_failed"


Ask = Callable[[Api, str, str], TestResponse]
ASKS: dict[str, Ask] = {
    "complete": lambda api, root, id_: api.post(f"{root}/upload-url/complete", {"uploadId": id_, "files": []}),
    "show": lambda api, root, id_: api.get(f"{root}/upload-url/{id_}"),
    "end": lambda api, root, id_: api.delete(f"{root}/upload-url/{id_}"),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_a_session_of_the_other_kind_is_told_its_route_in_both_directions(people_here: People, ask: Ask) -> None:
    owner = people_here.owner
    mapping, traceset = begin(owner)["uploadId"], owner.open({"a": 1})["uploadId"]

    for other, id_, right in (("/tracesets", mapping, ROOT), (ROOT, traceset, "/tracesets")):
        refused(ask(owner, other, id_), 400, f"'{id_}'", f"POST /api/v1{right}/upload-url/complete")
        refused(ask(people_here.stranger, other, id_), 404, exactly=f"Upload session '{id_}' not found")
        assert ok(owner.get(f"{right}/upload-url/{id_}"))["state"] == "open"


# -- the list


def test_the_list_is_that_of_tracesets_and_shows_no_tracesets(owner: Api) -> None:
    owner.upload({"a": b"x"}, name="B map")
    mapping = upload(owner, name="B map")

    item = ok(owner.get(ROOT))["items"][0]

    assert ok(owner.get(ROOT)) == {
        "items": [
            {
                "id": mapping["id"],
                "name": "B map",
                "status": "ready",
                "fileCount": 2,
                "totalSize": 15,
                "tags": [],
                "workspaceId": owner.workspace_id,
                "rankCountDerived": None,
                "createdAt": mapping["createdAt"],
                "expiresAt": item["expiresAt"],
            }
        ],
        "pagination": {"count": 1, "hasMore": False, "nextCursor": None},
    }
    for status in ({}, {"status": "ready"}, {"search": "map"}):
        assert mapping["id"] not in [item["id"] for item in ok(owner.get("/tracesets", **status))["items"]]


def test_the_list_is_filtered_sorted_and_paged(owner: Api) -> None:
    a, b, c = (upload(owner, {"x": b""}, name=name)["id"] for name in ("A", "é b", "C"))
    gone = upload(owner, {"x": b""}, name="Gone")["id"]
    owner.delete(f"{ROOT}/{gone}")

    assert listed(owner) == [c, b, a]
    assert listed(owner, sort="name") == [a, c, b]
    assert listed(owner, search="É") == [b]
    assert listed(owner, status="deleted") == [gone]
    assert listed(owner, status="uploading") == []
    first = ok(owner.get(ROOT, sort="name:desc", limit=2))
    assert [item["id"] for item in first["items"]] == [b, c]
    assert listed(owner, sort="name:desc", limit=2, next=first["pagination"]["nextCursor"]) == [a]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("sort=unknown", "Invalid sort field: 'unknown'. Valid fields: created, name, status"),
        ("limit=0", "limit"),
        ("next=x", "next"),
        ("status=Ready", "Invalid status: 'Ready'"),
        ("workspaceId=mapping_x", "workspaceId"),
    ],
)
def test_a_parameter_that_cannot_be_read_is_told(owner: Api, query: str, message: str) -> None:
    refused(owner.call("GET", ROOT, query=query), 400, message)


# -- the end, and the other kind


def test_a_deleted_map_is_gone_and_its_bytes_go_with_the_next_sweep(app: Flask, owner: Api) -> None:
    opened = begin(owner)
    files = owner.send(opened, MAP)
    mapping = ok(complete(owner, opened, files), 201)["id"]

    answer = owner.delete(f"{ROOT}/{mapping}")

    assert (answer.status_code, answer.data) == (204, b"")
    message = f"Mapping file '{mapping}' not found"
    for answer in (
        owner.get(f"{ROOT}/{mapping}"),
        owner.delete(f"{ROOT}/{mapping}"),
        owner.get(f"{ROOT}/{mapping}/download"),
        owner.get(f"{ROOT}/{mapping}/download", file="map.json"),
        complete(owner, opened, files),
    ):
        refused(answer, 404, exactly=message)
    assert_counts_right(app)
    assert sweep(app)["unreferenced files"] == 2
    assert stored_keys(app) == []


def test_deleting_one_that_is_uploading_ends_its_session(app: Flask, owner: Api) -> None:
    opened = begin(owner)
    files = owner.send(opened, MAP)

    assert owner.delete(f"{ROOT}/{opened['mappingFileId']}").status_code == 204

    assert open_uploads(app) == []
    refused(complete(owner, opened, files), 400, "aborted")


def test_maps_and_tracesets_are_not_found_at_each_others_routes(owner: Api) -> None:
    mapping, traceset = upload(owner)["id"], owner.upload({"a": b"x"})["id"]

    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/download"), ("POST", "/validate"), ("GET", "/events")):
        answer = owner.call(method, f"/tracesets/{mapping}{path}")
        refused(answer, 404, exactly=f"Traceset '{mapping}' not found")
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/download")):
        answer = owner.call(method, f"{ROOT}/{traceset}{path}")
        refused(answer, 404, exactly=f"Mapping file '{traceset}' not found")
    assert ok(owner.get(f"{ROOT}/{mapping}"))["status"] == owner.show(traceset)["status"] == "ready"
