"""The API's document (OpenAPI 3.1), built from what the routes declare and from nothing else.

Why our own builder: pydantic writes JSON Schema 2020-12, which is the dialect of OpenAPI 3.1, so what is left are the
rules of this API: which errors a route can answer follows from what it declares. A library would ask for each.

Source: OpenAPI Specification 3.1.1.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from typing import Any, NamedTuple

from flask import Flask
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from app.schemas.base import Schema
from app.schemas.endpoints import Endpoint
from app.schemas.errors import FAULTS, Error
from app.schemas.examples import EXAMPLES
from app.schemas.workload import UploadWorkloadMetadata

JSON = dict[str, Any]

_DESCRIPTION = """\
One **traceset** holds the trace files of one workload.

**Uploads** take three steps: open an upload, PUT the bytes of each part to its `url`, complete the upload.
The URLs of parts and downloads carry their own permission and take no token.

**Errors** are `{"error": {"message": "…"}}`. An answer's `X-Request-Id` finds the request in the server's log.

**Times** go out as UTC with seconds and `Z`. **Ids** are opaque. `null` counts as absent; unknown members and
parameters are ignored.
"""

_ARGUMENT = re.compile(r"<(?:(?P<converter>\w+)(?:\([^)]*\))?:)?(?P<name>\w+)>")
_CLAUSES = re.compile(r" \([A-Z]\d+(?:(?:, | to |-)[A-Z]?\d+)*\)")
_REF = "#/components/{}/{}"
_SCHEMA_REF = _REF.format("schemas", "{model}")


class _PathArgument(NamedTuple):
    """How a view's argument is described: its name in the path, what it is, and an example."""

    name: str
    description: str = ""
    example: str = ""


_PATH_ARGUMENTS = {
    "traceset_id": _PathArgument("id", "The traceset's id.", "ts_abc123xyz"),
    "mapping_id": _PathArgument("id", "The mapping file's id.", "mapping_abc123xyz"),
    "upload_id": _PathArgument("uploadId", "The upload session's id.", "upload_ghi789"),
    "workspace_id": _PathArgument("id", "The workspace's id.", "workspace_def456"),
    "email": _PathArgument("email", "The member's e-mail address.", "ada@tracesets.example"),
}

_HEADERS: JSON = {
    "X-Request-Id": {
        "description": "Names the request; the one that came with it, where that was plain.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
    },
    "Retry-After": {
        "description": "Seconds to wait.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}},
}
_HEADERS_OF = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}


def build_document(app: Flask) -> JSON:
    """The document of all routes that this app serves below its API."""
    paths: JSON = {}
    endpoints = sorted(_endpoints(app), key=lambda found: found[0])
    for path, endpoint in endpoints:
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tracesets", "version": "1", "description": _DESCRIPTION},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "tags": [{"name": tag} for tag in sorted({_tag(endpoint) for _, endpoint in endpoints})],
        "paths": paths,
        "components": {
            "schemas": _schemas(endpoint for _, endpoint in endpoints),
            "responses": {fault.name: _error(status) for status, fault in FAULTS.items()},
            "headers": _HEADERS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API token, made on the account page."}
            },
        },
    }


def describe_path(rule: str) -> str:
    """A path as the document writes it: `/api/v1/tracesets/{id}`."""
    return _ARGUMENT.sub(lambda found: f"{{{_path_argument(found).name}}}", rule)


def _endpoints(app: Flask) -> Iterator[tuple[str, Endpoint]]:
    for rule in app.url_map.iter_rules():
        endpoint = getattr(app.view_functions[rule.endpoint], "endpoint", None)
        if isinstance(endpoint, Endpoint):
            yield describe_path(rule.rule), endpoint


def _operation(endpoint: Endpoint) -> JSON:
    summary, _, description = _prose(endpoint.view.__doc__).partition("\n")
    operation: JSON = {"operationId": endpoint.name, "tags": [_tag(endpoint)], "summary": summary.removesuffix(".")}
    if description:
        operation["description"] = description.strip()
    if parameters := list(_parameters(endpoint)):
        operation["parameters"] = parameters
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": not endpoint.is_body_optional,
            "content": _content(endpoint.body),
        }
    if endpoint.is_public:
        operation["security"] = []
    operation["responses"] = dict(sorted(_responses(endpoint)))
    return operation


def _tag(endpoint: Endpoint) -> str:
    return endpoint.tag.replace("_", " ")


def _parameters(endpoint: Endpoint) -> Iterator[JSON]:
    for found in _ARGUMENT.finditer(endpoint.path):
        described = _path_argument(found)
        yield {
            "name": described.name,
            "in": "path",
            "required": True,
            "description": described.description,
            "schema": {"type": "integer" if found["converter"] == "int" else "string"},
            **({"example": described.example} if described.example else {}),
        }
    for place, schema in (("query", endpoint.query), ("header", endpoint.headers)):
        if schema is not None:
            yield from _text_parameters(place, schema)


def _path_argument(found: re.Match[str]) -> _PathArgument:
    name = found["name"]
    return _PATH_ARGUMENTS.get(name) or _PathArgument(to_camel(name))


def _text_parameters(place: str, schema: type[Schema]) -> Iterator[JSON]:
    whole = _text_schema(schema)
    for name, member in whole["properties"].items():
        described = {"description": member.pop("description")} if "description" in member else {}
        # An empty one counts as absent (L12). A list has no text of its own that could be empty.
        is_emptiable = place == "query" and member.get("type") != "array"
        more: JSON = described | ({"allowEmptyValue": True} if is_emptiable else {})
        yield {"name": name, "in": place, "required": name in whole.get("required", ()), **more, "schema": member}


def _text_schema(schema: type[Schema]) -> JSON:
    """What the query or the headers may hold. A parameter is there or not; that there may be null is ours alone."""
    return schema.model_json_schema(ref_template=_SCHEMA_REF, schema_generator=_TextGenerator)


def _responses(endpoint: Endpoint) -> Iterator[tuple[str, JSON]]:
    for status, schema in endpoint.answers.items():
        yield str(status), _answer(endpoint, status, schema)
    for status in {*endpoint.errors, *_usual_errors(endpoint)}:
        own, usual = endpoint.errors.get(status), {"$ref": _REF.format("responses", FAULTS[status].name)}
        yield str(status), _error(status, own) if own else usual


def _usual_errors(endpoint: Endpoint) -> Iterator[int]:
    """The errors that no endpoint declares, because they follow from what it does declare."""
    yield 500
    if not endpoint.is_public:
        yield from (401, 429, 503)
    if endpoint.changes:
        yield 403
    if "<" in endpoint.path:
        yield 404
    if "<" in endpoint.path or endpoint.body or endpoint.query or endpoint.headers:
        yield 400
    if endpoint.body:
        yield from (413, 415)


def _answer(endpoint: Endpoint, status: int, schema: type[Schema] | None) -> JSON:
    description = "Done." if schema is None else _prose(schema.__doc__)
    if {200, 201} <= endpoint.answers.keys():
        description += " This request made it." if status == 201 else " An earlier request made it."
    answer: JSON = {"description": description, "headers": _headers(status)}
    if schema is not None:
        answer["content"] = _content(schema)
    return answer


def _error(status: int, message: str = "") -> JSON:
    fault = FAULTS[status]
    content = _content(Error, fault.example(status, message))
    return {"description": fault.description, "headers": _headers(status), "content": content}


def _headers(status: int) -> JSON:
    names = ("X-Request-Id", *_HEADERS_OF.get(status, ()))
    return {name: {"$ref": _REF.format("headers", name)} for name in names}


def _prose(docstring: str | None) -> str:
    """A docstring without the clauses that it names, which its readers here do not have."""
    return _CLAUSES.sub("", cleandoc(docstring or ""))


def _content(schema: type[Schema], example: Mapping[str, object] | None = None) -> JSON:
    described: JSON = {"schema": {"$ref": _REF.format("schemas", schema.__name__)}}
    if example := example or EXAMPLES.get(schema.__name__):
        described["example"] = example
    return {"application/json": described}


def _schemas(endpoints: Iterable[Endpoint]) -> JSON:
    """The named schemas: what the bodies of requests and answers are made of, and the words that parameters take."""
    # That of workload metadata is referred to by name alone: a request with anything else in it must pass.
    bodies: set[type[Schema]] = {Error, UploadWorkloadMetadata}
    found: JSON = {}
    for endpoint in endpoints:
        bodies |= {schema for schema in (endpoint.body, *endpoint.answers.values()) if schema is not None}
        for texts in filter(None, (endpoint.query, endpoint.headers)):
            found |= _text_schema(texts).get("$defs", {})
    _, document = models_json_schema(
        [(schema, "validation") for schema in bodies], ref_template=_SCHEMA_REF, schema_generator=_Generator
    )
    found |= document["$defs"]
    return {name: found[name] | {"description": _prose(found[name].get("description"))} for name in sorted(found)}


class _Generator(GenerateJsonSchema):
    """JSON Schema without what says nothing: titles made of names, defaults of null."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        """Never: the title would repeat the member's name."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """The schema with its default, but null: a member that may be left out says so itself."""
        described = super().default_schema(schema)
        if described.get("default", ...) is None:
            del described["default"]
        return described

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """`type: [string, "null"]` where the type has a name, else any of the two."""
        described = self.generate_inner(schema["schema"])
        if isinstance(described.get("type"), str) and not {"enum", "const"} & described.keys():
            return {**described, "type": [described["type"], "null"]}
        return super().nullable_schema(schema)


class _TextGenerator(_Generator):
    """The same for parameters, which know no null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """The schema of what is there."""
        return self.generate_inner(schema["schema"])
