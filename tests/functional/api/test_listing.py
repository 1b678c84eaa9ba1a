"""The list through the API: its shape, its parameters, who sees what."""

from typing import Any

import pytest

from tests.conftest import People
from tests.support.api import JSON, Api, ok, refused

NOTHING = {"items": [], "pagination": {"count": 0, "hasMore": False, "nextCursor": None}}


def page(api: Api, **query: Any) -> JSON:
    return ok(api.get("/tracesets", **query))


def ids(api: Api, **query: Any) -> list[str]:
    return [item["id"] for item in page(api, **query)["items"]]


def test_an_item_shows_what_the_list_is_read_for(owner: Api) -> None:
    session = owner.open(
        {"a": 5, "b": 7}, name="One", tags=["x", "y"], workloadMetadata={"shape": {"rankCount": 8}}, ttlDays=3
    )

    listed = page(owner)

    shown = owner.show(session["tracesetId"])
    item = {
        "id": session["tracesetId"],
        "name": "One",
        "status": "uploading",
        "fileCount": 2,
        "totalSize": 12,
        "tags": ["x", "y"],
        "workspaceId": owner.workspace_id,
        "rankCountDerived": 8,
        "createdAt": shown["createdAt"],
        "expiresAt": shown["expiresAt"],
    }
    assert listed == {"items": [item], "pagination": {"count": 1, "hasMore": False, "nextCursor": None}}


def test_nobody_gets_no_list(people_here: People) -> None:
    refused(people_here.nobody.get("/tracesets"), 401)


def test_one_sees_ones_workspaces_and_the_universal_one(people_here: People) -> None:
    shared = people_here.owner.open({"a": 1})["tracesetId"]
    universal = people_here.owner.open({"a": 1}, workspaceId=None)["tracesetId"]

    assert ids(people_here.viewer) == ids(people_here.admin) == [universal, shared]
    assert ids(people_here.stranger) == [universal]
    assert page(people_here.stranger, workspaceId=people_here.owner.workspace_id) == NOTHING
    assert page(people_here.stranger, workspaceId="workspace_unknown") == NOTHING


def test_mapping_files_do_not_show(owner: Api) -> None:
    body = {"name": "Map", "workspaceId": owner.workspace_id, "files": [{"name": "a", "size": 1}]}
    ok(owner.post("/mapping-files/upload-url", body))

    assert page(owner) == NOTHING


def test_a_promoted_traceset_is_found_by_its_tags(owner: Api) -> None:
    source = owner.upload({"a": b"a"}, tags=["x", "y"])

    copy = ok(owner.post(f"/tracesets/{source['id']}/promote", {}), 201)

    assert ids(owner, tag="x") == [copy["id"], source["id"]]


@pytest.mark.parametrize(
    ("query", "fragments"),
    [
        ("sort=size", ["Invalid sort field: 'size'. Valid fields: created, name, status"]),
        ("limit=0", ["limit"]),
        ("next=x", ["next"]),
        ("status=Ready", ["Invalid status: 'Ready'", "uploading, processing, ready, metadata_failed"]),
        ("status=%00", ["uploading"]),
        ("createdAfter=yesterday", ["createdAfter"]),
        ("createdBefore=2026-02-30", ["createdBefore"]),
        ("workspaceId=workspace_A", ["workspaceId"]),
        ("rankCountMin=x", ["rankCountMin"]),
        ("rankCountMax=0", ["rankCountMax"]),
        ("search=%00", ["search", "NUL"]),
        ("tag=a&tag=%00", ["tag", "NUL"]),
    ],
)
def test_a_parameter_that_cannot_be_read_is_told(owner: Api, query: str, fragments: list[str]) -> None:
    refused(owner.call("GET", "/tracesets", query=query), 400, *fragments)


@pytest.mark.parametrize("query", ["search=%FF%FE", "unknown=1", "limit=&sort=&next=&status=&tag=&workspaceId=", "&&="])
def test_what_means_nothing_is_no_fault(owner: Api, query: str) -> None:
    assert ok(owner.call("GET", "/tracesets", query=query)) == NOTHING


@pytest.mark.parametrize(("n_asked", "n_found"), [(4, 2), (5, 1), (50, 1), (51, 0), (1300, 0)])
def test_any_number_of_tags_may_be_asked_for_at_once(owner: Api, n_asked: int, n_found: int) -> None:
    owner.open({"a": 1}, tags=[f"t{i}" for i in range(50)])
    owner.open({"a": 1}, tags=[f"t{i}" for i in range(4)])

    for more in ({}, {"sort": "name"}, {"sort": "status,name"}, {"search": "a"}, {"status": "uploading"}):
        assert len(ids(owner, tag=[f"t{i}" for i in range(n_asked)], **more)) == n_found
