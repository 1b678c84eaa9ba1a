"""Holds the API's answers against its document: status, headers, content type and body must be as described.

Stricter than the document in one point: an answer has no member that its schema does not name, so that nothing goes
out undescribed.
"""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cache, lru_cache
from typing import Any

from flask import Flask
from jsonschema_rs import Draft202012Validator
from werkzeug.test import TestResponse

from app.openapi import build_document

JSON = dict[str, Any]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Document:
    """A document, and the validators made of it."""

    def __init__(self, document: JSON) -> None:
        self.content = document
        self._components = {"schemas": _closed(document["components"]["schemas"])}
        # A path with fewer variables goes before one that has variables in the same place. An address may hold a
        # slash, which is sent escaped.
        self._paths = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path.replace("{email}", ".+"))), path)
            for path in sorted(document["paths"], key=lambda path: (path.count("{"), -path.find("{")))
        ]
        self.validator_of = cache(self._validator_of)

    def check(self, response: TestResponse) -> None:
        """Whether the answer to a request at the API is described.

        Raises:
            AssertionError: it is not; the message tells what.
        """
        method, path = response.request.method, response.request.path
        if method not in METHODS:
            return
        where = f"{method} {path}: {response.status_code}"
        described = self._described(method, path, response.status_code)
        assert described is not None, f"{where} is not described"
        for name, header in described["headers"].items():
            self._check_header(f"{where}: {name}", self.resolve(header), response.headers.get(name))
        content = described.get("content")
        if content is None:
            assert not response.data, f"{where} is described without a body"
            return
        assert response.content_type in content, f"{where} is {response.content_type}"
        body = json.loads(response.data, parse_int=_shortened)
        for error in self.validator_of(content[response.content_type]["schema"]["$ref"]).iter_errors(body):
            raise AssertionError(f"{where}: {list(error.instance_path)}: {error.message[:500]}")

    def _described(self, method: str, path: str, status: int) -> JSON | None:
        """The description of the answer; that of any error where nobody can have described the route."""
        template = next((template for pattern, template in self._paths if pattern.fullmatch(path)), None)
        operation = self.content["paths"].get(template, {}).get(method.lower())
        if operation is not None:
            found = operation["responses"].get(str(status))
            return None if found is None else self.resolve(found)
        is_unknown = status in (401, 404, 405)
        return self.resolve({"$ref": "#/components/responses/NotFound"}) if is_unknown else None

    def resolve(self, found: JSON) -> JSON:
        """What a reference leads to, or what there is without one."""
        if "$ref" in found:
            target: Any = self.content
            for step in found["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            return self.resolve(target)
        return found

    def _validator_of(self, reference: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": reference, "components": self._components}, validate_formats=True)

    def _check_header(self, where: str, header: JSON, value: str | None) -> None:
        assert value is not None, f"{where} is missing"
        is_number = header["schema"].get("type") == "integer"
        Draft202012Validator(header["schema"]).validate(int(value) if is_number else value)


def document_of(app: Flask) -> Document:
    """The document of this app, built once for all apps that have the same routes."""
    return _document_of(_Routes(app))


class _Routes:
    """Stands for an app in the cache: equal to any app of the same routes."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.names = frozenset(app.view_functions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Routes) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)


@lru_cache(maxsize=16)
def _document_of(routes: _Routes) -> Document:
    return Document(build_document(routes.app))


def _closed(schemas: Mapping[str, JSON]) -> JSON:
    closed = deepcopy(dict(schemas))
    for schema in closed.values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return closed


def _shortened(digits: str) -> int:
    """Metadata may hold integers that neither Python nor the validator reads; their size is not what is checked."""
    return int(digits[:18])
