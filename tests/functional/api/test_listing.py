"""The list through the API: its shape, its parameters, who sees what."""

from collections.abc import Sequence
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.models.tracesets import Traceset
from app.transactions import transaction
from tests.conftest import People
from tests.support.api import JSON, Api, ok, refused
from tests.support.database import change
from tests.support.listed import FIRST_MOMENT, fill

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
        ("sort=unknown", ["Invalid sort field: 'unknown'. Valid fields: created, name, status"]),
        ("sort=name,Created:asc", ["Invalid sort field: 'Created'. Valid fields: created, name, status"]),
        ("sort=created:up", ["direction", "'up'", "asc, desc"]),
        ("sort=name:asc,name:desc", ["name", "twice"]),
        ("limit=0", ["limit"]),
        ("limit=-1", ["limit"]),
        ("limit=1.0", ["limit"]),
        ("next=x", ["next"]),
        ("status=Ready", ["Invalid status: 'Ready'", "uploading, processing, ready, metadata_failed"]),
        ("status=%00", ["uploading"]),
        ("createdAfter=yesterday", ["createdAfter"]),
        ("createdBefore=2026-02-30", ["createdBefore"]),
        ("workspaceId=workspace_A", ["workspaceId"]),
        ("workspaceId=workspace_", ["workspaceId"]),
        (f"workspaceId=workspace_{'a' * 65}", ["workspaceId"]),
        ("rankCountMin=x", ["rankCountMin"]),
        ("rankCountMax=0", ["rankCountMax"]),
        ("search=%00", ["search", "NUL"]),
        ("tag=a&tag=%00", ["tag", "NUL"]),
    ],
)
def test_a_parameter_that_cannot_be_read_is_told(owner: Api, query: str, fragments: list[str]) -> None:
    refused(owner.call("GET", "/tracesets", query=query), 400, *fragments)


@pytest.mark.parametrize(
    "query",
    [
        "search=%FF%FE",
        "unknown=1&Limit=x&page=-1",
        "limit=&sort=&next=&status=&tag=&workspaceId=&search=&createdAfter=&createdBefore=",
        "workloadFamily=&workloadName=&precision=&accelerator=&rankCountMin=&rankCountMax=",
        f"workspaceId=workspace_{'a' * 64}",
        "status=processing",
        "status=metadata_failed",
        "&&=",
    ],
)
def test_what_means_nothing_is_no_fault(owner: Api, query: str) -> None:
    assert ok(owner.call("GET", "/tracesets", query=query)) == NOTHING


# -- pages


def fill_workspace(app: Flask, owner: Api, count: int) -> Sequence[str]:
    """Tracesets that are alike in many ways; the ids of those that lists show."""
    with app.app_context(), transaction() as session:
        return [row.id for row in fill(session, [owner.workspace_id], count) if row.deleted_at is None]


def test_a_page_has_fifty_items_or_as_many_as_asked_for_up_to_five_hundred(app: Flask, owner: Api) -> None:
    n_shown = len(fill_workspace(app, owner, 700))
    assert n_shown > 500

    for limit, count in ((None, 50), ("", 50), (1, 1), (499, 499), (500, 500), (501, 500), ("9" * 30, 500)):
        listed = page(owner) if limit is None else page(owner, limit=limit)
        assert (len(listed["items"]), listed["pagination"]["count"]) == (count, count)
        assert listed["pagination"]["hasMore"] is True
    rest = page(owner, limit=500, next=page(owner, limit=500)["pagination"]["nextCursor"])
    assert rest["pagination"] == {"count": n_shown - 500, "hasMore": False, "nextCursor": None}


@pytest.mark.parametrize("sort", ["", "name", "status,name:desc"])
def test_pages_neither_repeat_nor_lose_an_item_while_others_come_and_go(app: Flask, owner: Api, sort: str) -> None:
    before = fill_workspace(app, owner, 45)
    gone: set[str] = set()
    seen: list[str] = []
    cursor = ""
    for n in range(100):
        listed = page(owner, sort=sort, limit=5, next=cursor)
        shown = [item["id"] for item in listed["items"]]
        seen += shown
        cursor = listed["pagination"]["nextCursor"]
        if cursor is None:
            break
        later = sorted(set(before) - set(seen) - gone)
        for traceset_id in (shown[0], shown[-1], *later[:1]):  # the one that the cursor stands behind among them
            assert owner.delete(f"/tracesets/{traceset_id}").status_code == 204
        gone |= set(later[:1])
        fill_workspace(app, owner, n + 1)

    assert cursor is None
    assert len(set(seen)) == len(seen)
    assert set(before) - gone <= set(seen)
    assert not gone & set(seen)


def test_a_cursor_that_is_not_as_it_was_given_is_refused(owner: Api) -> None:
    for name in ("a", "b", "c"):
        owner.open({"a": 1}, name=name)
    cursor = page(owner, limit=1)["pagination"]["nextCursor"]

    altered = [cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :] for at in range(len(cursor))]
    for wrong in (*altered, cursor[:-1], cursor[1:], cursor + "A", cursor + "=", "x" * 3000, "null", "0"):
        refused(owner.get("/tracesets", next=wrong), 400, "next")
    for sort in ("created", "name", "created:desc,name", "status:desc"):
        refused(owner.get("/tracesets", next=cursor, sort=sort), 400, "next")
    refused(owner.get("/mapping-files", next=cursor), 400, "next")
    assert ids(owner, next=cursor, sort="created:desc") == ids(owner, next=cursor)


def test_a_cursor_of_another_caller_or_other_filters_shows_nothing_that_is_hidden(people_here: People) -> None:
    public = people_here.owner.open({"a": 1}, workspaceId=None, name="old")["tracesetId"]
    people_here.owner.open({"a": 1}, name="secret")
    people_here.owner.open({"a": 1}, name="newest")
    cursor = page(people_here.owner, limit=1)["pagination"]["nextCursor"]

    assert ids(people_here.stranger, next=cursor) == [public]
    assert ids(people_here.stranger, next=cursor, workspaceId=people_here.owner.workspace_id) == []
    assert ids(people_here.owner, next=cursor, search="OLD") == [public]
    assert ids(people_here.owner, next=cursor, search="newest") == []


# -- filters


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T12:30:15.250000Z", 0),
        ("2026-03-01T12:30:15.25", 0),
        ("2026-03-01T13:30:15.250%2B01:00", 0),
        ("2026-03-01T13:30:15.250+01:00", 0),
        ("2026-03-01T07:00:15,25-05:30", 0),
        ("2026-03-01T12:30:15.250001Z", 1),
        ("2026-03-01T12:30:15.249999Z", -1),
        ("2026-03-01T12:30:15Z", -1),
        ("2026-03-01", -1),
        ("2026-03-02", 1),
    ],
)
def test_times_are_read_in_every_form_and_compared_to_the_microsecond(
    app: Flask, owner: Api, text: str, moment: int
) -> None:
    """`moment` is before (-1), at (0) or after (1) that of the traceset's creation."""
    traceset = owner.open({"a": 1})["tracesetId"]
    change(app, update(Traceset).values(created_at=FIRST_MOMENT))

    after, before = (
        [item["id"] for item in ok(owner.call("GET", "/tracesets", query=f"{name}={text}"))["items"]]
        for name in ("createdAfter", "createdBefore")
    )

    assert after == ([traceset] if moment <= 0 else [])
    assert before == ([traceset] if moment > 0 else [])


def test_words_are_those_of_the_snake_case_members_and_equal_but_for_case(owner: Api) -> None:
    loads = {
        "one": {"workload_family": "LLM", "workload_name": "GPT-175B", "precision": "BF16", "accelerator": "H100"},
        "two": {"workload_family": "llm É", "accelerator": "h100 SXM", "shape": {"precision": "bf16"}},
        "three": {"workloadFamily": "LLM", "workload_family": 5, "precision": None, "accelerator": ["H100"]},
        "four": None,
    }
    for name, metadata in loads.items():
        owner.open({"a": 1}, name=name, workloadMetadata=metadata)

    def found(**query: str) -> list[str]:
        return [item["name"] for item in page(owner, **query)["items"]]

    assert found(workloadFamily="Llm") == ["one"]
    assert found(workloadFamily="LLM é") == ["two"]
    assert found(workloadName="gpt-175b") == ["one"]
    assert found(precision="bf16") == ["one"]
    assert found(accelerator="h100") == ["one"]
    for nothing in ({"workloadFamily": "LL"}, {"workloadFamily": "%"}, {"workloadFamily": "5"}, {"precision": "null"}):
        assert found(**nothing) == []
    assert found(workloadFamily="llm", precision="fp8") == []


@pytest.mark.parametrize(("n_asked", "n_found"), [(4, 2), (5, 1), (50, 1), (51, 0), (1300, 0)])
def test_any_number_of_tags_may_be_asked_for_at_once(owner: Api, n_asked: int, n_found: int) -> None:
    owner.open({"a": 1}, tags=[f"t{i}" for i in range(50)])
    owner.open({"a": 1}, tags=[f"t{i}" for i in range(4)])

    for more in ({}, {"sort": "name"}, {"sort": "status,name"}, {"search": "a"}, {"status": "uploading"}):
        assert len(ids(owner, tag=[f"t{i}" for i in range(n_asked)], **more)) == n_found
