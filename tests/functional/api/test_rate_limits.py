"""How many requests one token may make."""

from collections.abc import Callable

from flask import Flask

from tests.conftest import MakeApp, People
from tests.support.api import ok, refused


def test_requests_beyond_the_limit_wait_for_the_next_minute(
    make_app: MakeApp, people_of: Callable[[Flask], People]
) -> None:
    people = people_of(make_app(rate_limit_per_minute=3))
    for _ in range(3):
        ok(people.owner.get("/workspaces"))

    response = people.owner.get("/workspaces")

    refused(response, 429, "3 requests a minute")
    assert 1 <= int(response.headers["Retry-After"]) <= 60


def test_each_token_is_counted_by_itself(make_app: MakeApp, people_of: Callable[[Flask], People]) -> None:
    people = people_of(make_app(rate_limit_per_minute=1))
    ok(people.owner.get("/workspaces"))

    ok(people.reader.get("/workspaces"))
    ok(people.viewer.get("/workspaces"))


def test_too_many_open_sessions_wait_until_some_have_ended(
    make_app: MakeApp, people_of: Callable[[Flask], People]
) -> None:
    owner = people_of(make_app(max_open_sessions=2)).owner
    first = owner.open({"a": 1})
    owner.open({"a": 1})

    response = owner.post("/tracesets/upload-url", owner.request_of({"a": 1}))

    refused(response, 429, "2 uploads open")
    assert response.headers["Retry-After"] == "60"
    assert owner.delete(f"/tracesets/upload-url/{first['uploadId']}").status_code == 204
    owner.open({"a": 1})
