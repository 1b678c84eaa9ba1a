"""The list is what its definition says, whichever way it is found.

The ways are those of `queries.listing_routes`: walks that reach the end of the page and such that are given up after
five rows, callers of few workspaces, of more than are walked at once, and those who read all.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.models.tracesets import Kind, Status
from app.queries import listing_routes
from app.transactions import transaction
from tests.conftest import People
from tests.support.api import JSON, Api, ok
from tests.support.listed import (
    FIRST_MOMENT,
    RANK_COUNTS,
    TAGS,
    TERMS,
    WORDS,
    Query,
    add_workspaces,
    fill,
    listed,
    query_string,
)

UNIVERSAL = "workspace_universal"
MOST_PAGES = 8

moments = st.integers(-1, 13).map(lambda us: FIRST_MOMENT + timedelta(microseconds=us))
directions = st.sampled_from(["", ":asc", ":desc"])
sorts = st.permutations(["created", "name", "status"]).flatmap(
    lambda fields: st.lists(directions, min_size=1, max_size=3).map(
        lambda of_fields: ",".join(field + direction for field, direction in zip(fields, of_fields, strict=False))
    )
)
filters: dict[str, st.SearchStrategy[Any]] = {
    "status": st.sampled_from([status.value for status in Status]),
    "search": st.sampled_from(TERMS),
    "createdAfter": moments,
    "createdBefore": moments,
    "workloadFamily": st.sampled_from([word.upper() for word in WORDS["workload_family"]]),
    "workloadName": st.sampled_from(WORDS["workload_name"]),
    "precision": st.sampled_from(["bf16", "FP8", "none"]),
    "accelerator": st.sampled_from(WORDS["accelerator"]),
    "tag": st.lists(st.sampled_from([*TAGS, "none"]), min_size=1, max_size=2, unique=True),
    "rankCountMin": st.sampled_from([0, *filter(None, RANK_COUNTS), 10**20]),
    "rankCountMax": st.sampled_from([*filter(None, RANK_COUNTS), 10**20]),
    "sort": sorts,
}
chosen = st.sets(st.sampled_from(sorted(filters)), max_size=4)
queries = chosen.flatmap(lambda names: st.fixed_dictionaries({name: filters[name] for name in sorted(names)}))


class World:
    """An app with tracesets and mapping files in workspaces that not everybody reads."""

    def __init__(self, app: Flask, people: People) -> None:
        self.people = people
        self.shared = people.owner.workspace_id
        with app.app_context(), transaction() as session:
            others = add_workspaces(session, 4)
            places = [self.shared, self.shared, UNIVERSAL, *others]
            self.tracesets = fill(session, places, 220)
            self.mapping_files = fill(session, places, 30, kind=Kind.MAPPING)

    def check(self, api: Api, visible: Sequence[str] | None, query: Query, limit: int) -> None:
        """Whether the pages from the first on are those of the definition."""
        for path, rows in (("/tracesets", self.tracesets), ("/mapping-files", self.mapping_files)):
            expected = listed(rows, visible, query)
            self._check(api, path, expected, query, limit)

    def _check(self, api: Api, path: str, expected: Sequence[str], query: Query, limit: int) -> None:
        seen: list[str] = []
        page: JSON = {"pagination": {"nextCursor": ""}}
        while page["pagination"]["nextCursor"] is not None and len(seen) < MOST_PAGES * limit:
            asked = {**query, "limit": limit, "next": page["pagination"]["nextCursor"]}
            page = ok(api.call("GET", path, query=query_string(asked)))
            seen += [item["id"] for item in page["items"]]
            assert seen == expected[: len(seen)], (path, query_string(asked))
            assert page["pagination"]["hasMore"] is (len(seen) < len(expected))
            assert len(seen) == len(expected) or len(page["items"]) == limit


@pytest.fixture
def world(app: Flask, people_here: People) -> World:
    return World(app, people_here)


def each_query(examples: int) -> Any:
    """The test is called with so many queries and sizes of a page; its fixtures stay."""
    calm = settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

    def decorate(test: Any) -> Any:
        return calm(given(query=queries, limit=st.sampled_from([1, 3, 20, 100, 500]))(test))

    return decorate


@pytest.mark.parametrize("walked", [3000, 5], ids=["walks", "walks given up"])
@pytest.mark.parametrize("workspaces", [64, 1], ids=["few workspaces", "many workspaces"])
@each_query(60)
def test_a_member_gets_the_list_of_its_definition(
    world: World, monkeypatch: pytest.MonkeyPatch, walked: int, workspaces: int, query: Query, limit: int
) -> None:
    monkeypatch.setattr(listing_routes, "WALKED_ROWS", walked)
    monkeypatch.setattr(listing_routes, "MAX_WORKSPACES", workspaces)

    world.check(world.people.viewer, [world.shared, UNIVERSAL], query, limit)


@pytest.mark.parametrize("walked", [3000, 5], ids=["walks", "walks given up"])
@pytest.mark.parametrize("workspaces", [64, 3], ids=["few workspaces", "many workspaces"])
@each_query(60)
def test_a_site_admin_gets_the_list_of_its_definition(
    world: World, monkeypatch: pytest.MonkeyPatch, walked: int, workspaces: int, query: Query, limit: int
) -> None:
    monkeypatch.setattr(listing_routes, "WALKED_ROWS", walked)
    monkeypatch.setattr(listing_routes, "MAX_WORKSPACES", workspaces)

    world.check(world.people.admin, None, query, limit)


@each_query(30)
def test_a_workspace_is_listed_to_those_who_read_it(world: World, query: Query, limit: int) -> None:
    of_shared = {**query, "workspaceId": world.shared}

    world.check(world.people.viewer, [world.shared], of_shared, limit)
    world.check(world.people.stranger, [], of_shared, limit)
