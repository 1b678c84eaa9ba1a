"""How an API route is declared: its method, path, body, answers and errors in one place.

What is declared here checks the requests and is what the OpenAPI document is built from, so the two cannot differ.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from flask import Blueprint, Response, g, request
from pydantic_core import to_json

from app.api.request_body import read_bytes
from app.domain import strict_json
from app.errors import Forbidden, Invalid, NotFound, UnsupportedMediaType
from app.schemas.base import Schema, read_texts, validate
from app.schemas.endpoints import Endpoint, View


class Routes:
    """The endpoints of one resource."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.endpoints: list[Endpoint] = []

    def endpoint(
        self,
        method: str,
        path: str,
        *,
        answers: Mapping[int, type[Schema] | None],
        errors: Mapping[int, str] = MappingProxyType({}),
        body: type[Schema] | None = None,
        is_body_optional: bool = False,
        query: type[Schema] | None = None,
        headers: type[Schema] | None = None,
        changes: bool = False,
        is_public: bool = False,
    ) -> Callable[[View], View]:
        """Declare the decorated view; the arguments are those of `Endpoint`."""

        def declare(view: View) -> View:
            endpoint = Endpoint(
                method=method,
                path=path,
                view=view,
                tag=self.tag,
                answers=answers,
                errors=errors,
                body=body,
                is_body_optional=is_body_optional,
                query=query,
                headers=headers,
                changes=changes,
                is_public=is_public,
            )
            self.endpoints.append(endpoint)
            return view

        return declare

    def register(self, blueprint: Blueprint, *, is_read_only: bool = False) -> None:
        """Add the routes; those that change something are left out of a read-only deployment (G6)."""
        for endpoint in self.endpoints:
            if not (endpoint.changes and is_read_only):
                blueprint.add_url_rule(endpoint.path, endpoint.name, _handler(endpoint), methods=[endpoint.method])


def _handler(endpoint: Endpoint) -> View:
    def handle(**arguments: Any) -> Response:
        if endpoint.changes and g.caller.is_read_only:
            raise Forbidden("A read-only token changes nothing")
        if any("\0" in value for value in arguments.values() if isinstance(value, str)):
            raise NotFound(f"There is nothing at {request.path}")  # and PostgreSQL would not take the question
        if endpoint.query is not None:
            arguments["query"] = read_texts(endpoint.query, _query_texts)
        if endpoint.headers is not None:
            arguments["headers"] = read_texts(endpoint.headers, request.headers.getlist)
        if endpoint.body is not None:
            arguments["body"] = _read_body(endpoint.body, is_optional=endpoint.is_body_optional)
        return endpoint.view(*(() if endpoint.is_public else (g.caller,)), **arguments)

    handle.endpoint = endpoint  # type: ignore[attr-defined]
    return handle


def _query_texts(name: str) -> list[str]:
    """What the query gives for a parameter; an empty one counts as absent (L12)."""
    return [text for text in request.args.getlist(name) if text]


def _read_body(schema: type[Schema], *, is_optional: bool) -> Schema:
    data = read_bytes()
    if data and request.content_type and request.mimetype != "application/json":
        raise UnsupportedMediaType(f"The body must be application/json, got {request.mimetype or request.content_type}")
    if not data and not is_optional:
        raise Invalid("The request needs a body, a JSON object")
    return validate(schema, strict_json.loads_object(data) if data else {})


def respond(body: Mapping[str, Any], status: int = 200, *, raw: Mapping[str, str] | None = None) -> Response:
    """A JSON answer.

    Args:
        body: plain values, at least one.
        status: of the answer.
        raw: members whose values are JSON text already, which goes out as it is (R3).
    """
    text = to_json(body)
    for name, value in (raw or {}).items():
        text = b'%b,"%b":%b}' % (text[:-1], name.encode(), value.encode())
    return Response(text, status, content_type="application/json")


def no_content() -> Response:
    """204, without a body."""
    response = Response(status=204)
    del response.headers["Content-Type"]
    return response
