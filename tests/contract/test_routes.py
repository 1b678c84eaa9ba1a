"""What is true of every route of the API (G1, G2, G6, K1)."""

import re

import pytest
from flask import Flask

from app.api import TRACE_ROUTES, document, workspaces
from app.schemas.endpoints import Endpoint
from tests.conftest import MakeApp, People
from tests.support.api import API, Api, ok, refused

ENDPOINTS = [
    endpoint
    for routes in (document.routes, workspaces.routes, *TRACE_ROUTES)
    for endpoint in routes.endpoints
]  # fmt: skip
PUBLIC = {("GET", "/openapi.json")}
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}

ALWAYS = {
    ("GET", "/openapi.json"),
    ("GET", "/workspaces"),
    ("POST", "/workspaces"),
    ("GET", "/workspaces/*/members"),
    ("PUT", "/workspaces/*/members/*"),
    ("DELETE", "/workspaces/*/members/*"),
}
READING = {
    ("GET", "/tracesets"),
    ("GET", "/tracesets/*"),
    ("GET", "/tracesets/*/download"),
    ("GET", "/tracesets/*/events"),
    ("POST", "/tracesets/*/validate"),
    ("GET", "/tracesets/upload-url/*"),
    ("GET", "/mapping-files"),
    ("GET", "/mapping-files/*"),
    ("GET", "/mapping-files/*/download"),
    ("GET", "/mapping-files/upload-url/*"),
}
CHANGING = {
    ("DELETE", "/tracesets/*"),
    ("POST", "/tracesets/*/promote"),
    ("POST", "/tracesets/upload-url"),
    ("POST", "/tracesets/upload-url/complete"),
    ("DELETE", "/tracesets/upload-url/*"),
    ("DELETE", "/mapping-files/*"),
    ("POST", "/mapping-files/upload-url"),
    ("POST", "/mapping-files/upload-url/complete"),
    ("DELETE", "/mapping-files/upload-url/*"),
}


def path_of(endpoint: Endpoint) -> str:
    """The route's path with some value for each argument."""
    return re.sub("<[^>]+>", "some_value", endpoint.path)


def shape(path: str) -> str:
    return re.sub("<[^>]+>", "*", path)


def routes_of(app: Flask) -> set[tuple[str, str]]:
    """Method and path, with `*` for arguments, of all that the app serves below the API."""
    return {
        (method, shape(rule.rule.removeprefix(API)))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


every_route = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=named)


def test_every_route_of_the_api_is_a_promised_one(app: Flask) -> None:
    assert routes_of(app) == ALWAYS | READING | CHANGING
    assert {(e.method, shape(e.path)) for e in ENDPOINTS} == routes_of(app)
    assert {(e.method, e.path) for e in ENDPOINTS if e.is_public} == PUBLIC


def test_without_the_trace_routes_workspaces_stay(make_app: MakeApp) -> None:
    assert routes_of(make_app(enable_trace_routes=False)) == ALWAYS


def test_a_read_only_deployment_has_every_route_but_those_that_change_traces(make_app: MakeApp) -> None:
    assert routes_of(make_app(trace_routes_read_only=True)) == ALWAYS | READING


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if not e.is_public], ids=named)
@pytest.mark.parametrize("credentials", [{}, {"Authorization": "Bearer unknown"}], ids=["no token", "bad token"])
def test_no_route_answers_without_a_token(people_here: People, endpoint: Endpoint, credentials: dict[str, str]) -> None:
    answer = people_here.nobody.call(endpoint.method, path_of(endpoint), headers=credentials)

    refused(answer, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@every_route
def test_other_methods_are_not_allowed_and_the_right_ones_named(owner: Api, endpoint: Endpoint) -> None:
    path = path_of(endpoint)
    [rule] = {e.path for e in ENDPOINTS if path_of(e) == path}
    allowed = {e.method for e in ENDPOINTS if e.path == rule} | {"OPTIONS"}
    allowed |= {"HEAD"} if "GET" in allowed else set()
    # A fixed path such as `upload-url` may also be read as the id of another route.
    allowed |= {"GET", "HEAD", "DELETE"} if path.endswith(("/upload-url", "/upload-url/complete")) else set()
    wrong = min(METHODS - allowed)

    answer = owner.call(wrong, path)

    refused(answer, 405, wrong, path)
    assert set(answer.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.body], ids=named)
def test_a_body_of_another_media_type_is_refused(people_here: People, endpoint: Endpoint) -> None:
    answer = people_here.admin.call(
        endpoint.method, path_of(endpoint), data=b"{}", headers={"Content-Type": "text/plain"}
    )

    refused(answer, 415)


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.body], ids=named)
def test_a_body_that_is_no_object_is_refused(people_here: People, endpoint: Endpoint) -> None:
    refused(people_here.admin.call(endpoint.method, path_of(endpoint), data=b"[]"), 400)


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.changes], ids=named)
def test_a_read_only_token_changes_nothing(people_here: People, endpoint: Endpoint) -> None:
    refused(people_here.reader.call(endpoint.method, path_of(endpoint), data=b"[]"), 403, "read-only")


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v2/tracesets", "/api/v1/Tracesets"]
)
def test_unknown_routes_are_404_in_json_for_everyone(people_here: People, path: str) -> None:
    for caller in (people_here.nobody, people_here.owner):
        refused(caller.get(path), 404, exactly=f"There is nothing at {path}")


@pytest.mark.parametrize("path", ["/nothing", "/apiary", "/API/v1/tracesets"])
def test_elsewhere_errors_are_pages(app: Flask, path: str) -> None:
    answer = app.test_client().get(path)

    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert answer.headers["X-Request-Id"] in answer.text


def test_every_answer_carries_the_headers_that_keep_browsers_careful(owner: Api) -> None:
    for answer in (owner.get("/workspaces"), owner.get("/nothing")):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Referrer-Policy"] == "same-origin"


def test_a_clients_request_id_comes_back_where_it_is_plain(owner: Api) -> None:
    given = owner.call("GET", "/workspaces", headers={"X-Request-Id": "mine-1.a_B"})
    odd = owner.call("GET", "/workspaces", headers={"X-Request-Id": "a b<c>"})

    assert given.headers["X-Request-Id"] == "mine-1.a_B"
    assert re.fullmatch("[0-9a-f]{16}", odd.headers["X-Request-Id"])
    ok(odd)
