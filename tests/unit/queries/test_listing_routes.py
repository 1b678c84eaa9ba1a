"""Which way a list is found: what leads, what is looked at, where no walk is possible."""

import pytest

from app.domain.listing import parse_sort
from app.queries.listing_conditions import Shelf
from app.queries.listing_routes import MAX_WORKSPACES, Route, find_route, order_of

FEW, MANY, ALL = 20, MAX_WORKSPACES + 1, None


def route_of(sort: str | None, asked: str, n_workspaces: int | None, shelf: Shelf = Shelf.LIVE) -> Route | None:
    names = asked.split()
    order = order_of(parse_sort(sort), has_status="status" in names or shelf is Shelf.DELETED)
    return find_route(shelf, order, names, n_workspaces)


def shown(route: Route | None) -> str:
    """The route in words."""
    if route is None:
        return "no walk"
    words = [f"led by {route.leader}"] if route.leader else []
    words += [f"within {' '.join(route.within)}"] if route.within else []
    words += [f"looking at {' '.join(route.looked_at)}"] if route.looked_at else []
    words += ["everywhere"] if route.is_everywhere else []
    words += ["of heads"] if route.needs_heads else []
    return ", ".join(words) or "plain"


@pytest.mark.parametrize(
    ("sort", "columns"),
    [
        (None, "-created_at -id"),
        ("created", "+created_at +id"),
        ("name:desc", "-name_key -id"),
        ("status,name:desc,created", "+status -name_key +created_at +id"),
    ],
)
def test_ids_break_ties_in_the_direction_of_the_last_key(sort: str | None, columns: str) -> None:
    order = order_of(parse_sort(sort), has_status=False)

    assert " ".join(f"{'-' if one.descending else '+'}{one.column}" for one in order) == columns


def test_a_status_that_all_rows_have_sorts_nothing() -> None:
    order = order_of(parse_sort("created:asc,status:desc"), has_status=True)

    assert order == (("created_at", False), ("id", True))


@pytest.mark.parametrize(
    ("asked", "n_workspaces", "way"),
    [
        ("", FEW, "plain"),
        ("", MANY, "of heads"),
        ("", ALL, "everywhere"),
        ("precision tag_0 tag_1", FEW, "led by tag_0, looking at precision tag_1"),
        ("status precision", FEW, "led by precision, looking at status"),
        ("workload_name rank_count", MANY, "looking at rank_count workload_name workspaces, everywhere"),
        ("status", ALL, "led by status, of heads"),
        ("status", MANY, "led by status, of heads"),
        ("rank_count", FEW, "led by rank_count"),
        ("rank_count_min", FEW, "looking at rank_count_min"),
        ("search created_after", FEW, "within created_after, looking at search"),
        ("search created_before", ALL, "within created_before, looking at search, everywhere"),
        ("search", MANY, "looking at search workspaces, everywhere"),
    ],
)
def test_newest_first(asked: str, n_workspaces: int | None, way: str) -> None:
    assert shown(route_of(None, asked, n_workspaces)) == way


@pytest.mark.parametrize(
    ("sort", "asked", "n_workspaces", "way"),
    [
        ("name", "", FEW, "plain"),
        ("name:desc,created", "", ALL, "of heads"),
        ("name", "tag_0 created_after", FEW, "looking at created_after tag_0"),
        ("name", "tag_0", MANY, "no walk"),
        ("status", "", FEW, "plain"),
        ("status:desc", "search", FEW, "looking at search"),
        ("status", "status", FEW, "led by status"),
        ("status:asc,created:desc", "", FEW, "plain"),
        ("status:desc,created:asc", "", ALL, "of heads"),
        ("status:asc,created:asc", "", FEW, "no walk"),
        ("status,name", "", FEW, "no walk"),
        ("created,name,status", "precision", FEW, "led by precision"),
    ],
)
def test_other_orders(sort: str, asked: str, n_workspaces: int | None, way: str) -> None:
    assert shown(route_of(sort, asked, n_workspaces)) == way


@pytest.mark.parametrize("shelf", [Shelf.DELETED, Shelf.MAPPING, Shelf.DELETED_MAPPING])
@pytest.mark.parametrize(
    ("sort", "asked", "n_workspaces", "way"),
    [
        (None, "", FEW, "plain"),
        (None, "precision", FEW, "looking at precision"),
        (None, "", ALL, "of heads"),
        (None, "precision", ALL, "no walk"),
        ("name", "", FEW, "no walk"),
        ("status", "", FEW, "no walk"),
    ],
)
def test_what_is_not_live_has_one_index(
    shelf: Shelf, sort: str | None, asked: str, n_workspaces: int | None, way: str
) -> None:
    assert shown(route_of(sort, asked, n_workspaces, shelf)) == way
