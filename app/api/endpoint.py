"""How an API route is declared: its method, path, body, answers and errors in one place.

What is declared here checks the requests and is what the OpenAPI document is built from, so the two cannot differ.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, g, request
from pydantic import ValidationError

from app.domain import strict_json
from app.domain.access import Caller
from app.errors import Forbidden, Invalid, UnsupportedMediaType
from app.schemas.base import Schema, invalid

View = Callable[..., Response]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route and all that is promised of it.

    `changes` says that it changes tracesets or mapping files: a read-only token may not call it, and it is absent
    where the deployment is read-only. `answers` maps a status to the schema of its body (None: no body).
    """

    method: str
    path: str
    view: View
    tag: str
    answers: Mapping[int, type[Schema] | None]
    errors: tuple[int, ...]
    body: type[Schema] | None
    is_body_optional: bool
    query: type[Schema] | None
    changes: bool


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
        errors: tuple[int, ...] = (),
        body: type[Schema] | None = None,
        is_body_optional: bool = False,
        query: type[Schema] | None = None,
        changes: bool = False,
    ) -> Callable[[View], View]:
        """Declare the decorated view, which is called with the caller, the path's arguments and the `body`."""

        def declare(view: View) -> View:
            self.endpoints.append(
                Endpoint(method, path, view, self.tag, answers, errors, body, is_body_optional, query, changes=changes)
            )
            return view

        return declare

    def register(self, blueprint: Blueprint, *, is_read_only: bool = False) -> None:
        """Add the routes; those that change something are left out of a read-only deployment (G6)."""
        for endpoint in self.endpoints:
            if not (endpoint.changes and is_read_only):
                name = f"{self.tag}_{endpoint.view.__name__}"
                blueprint.add_url_rule(endpoint.path, name, _handler(endpoint), methods=[endpoint.method])


def _handler(endpoint: Endpoint) -> View:
    def handle(**arguments: Any) -> Response:
        caller: Caller = g.caller
        if endpoint.changes and caller.is_read_only:
            raise Forbidden("A read-only token changes nothing")
        if endpoint.body is not None:
            arguments["body"] = _read_body(endpoint.body, is_optional=endpoint.is_body_optional)
        return endpoint.view(caller, **arguments)

    handle.endpoint = endpoint  # type: ignore[attr-defined]
    return handle


def _read_body(schema: type[Schema], *, is_optional: bool) -> Schema:
    if request.content_type and request.mimetype != "application/json":
        raise UnsupportedMediaType(f"The body must be application/json, got {request.mimetype or request.content_type}")
    data = request.get_data(cache=False)
    if not data and not is_optional:
        raise Invalid("The request needs a body, a JSON object")
    try:
        return schema.model_validate(strict_json.loads_object(data) if data else {})
    except ValidationError as exc:
        raise invalid(exc) from exc


def respond(body: Mapping[str, Any], status: int = 200, *, raw: Mapping[str, str] | None = None) -> Response:
    """A JSON answer.

    Args:
        body: plain values.
        status: of the answer.
        raw: members whose values are JSON text already, which goes out as it is (R3).
    """
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if raw:
        members = ",".join(f"{json.dumps(name)}:{value}" for name, value in raw.items())
        text = f"{text[:-1]}{',' if body else ''}{members}}}"
    return Response(text, status, content_type="application/json")


def no_content() -> Response:
    """204, without a body."""
    response = Response(status=204)
    del response.headers["Content-Type"]
    return response
