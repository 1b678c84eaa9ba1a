"""What is promised of one route: the API checks its requests by it, and the document describes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flask import Response

from app.schemas.base import Schema

View = Callable[..., Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One route and all that is promised of it; `api.endpoint.Routes` declares it.

    Args:
        method: of HTTP.
        path: as Flask writes it, below the API's root.
        view: is called with the caller (unless `is_public`), the path's arguments, and `body`, `query` and `headers`
            where they are declared. Its docstring is the summary and description in the document.
        tag: the resource that the route belongs to.
        answers: the schema of the body by status; None where there is no body.
        errors: by status, an example of the message, or "" where the usual one is as good.
        body: of the request, a JSON object.
        is_body_optional: no body is as good as `{}`.
        query: the query parameters; of one that is repeated the first counts, unless its type is a list.
        headers: the headers that are looked at beside the usual ones, under their names as aliases.
        changes: it changes tracesets or mapping files: a read-only token may not call it, and it is absent where
            the deployment is read-only (G6).
        is_public: it needs no token.
    """

    method: str
    path: str
    view: View
    tag: str
    answers: Mapping[int, type[Schema] | None]
    errors: Mapping[int, str]
    body: type[Schema] | None = None
    is_body_optional: bool = False
    query: type[Schema] | None = None
    headers: type[Schema] | None = None
    changes: bool = False
    is_public: bool = False

    @property
    def name(self) -> str:
        """The route's name, unique in the API: `tracesets_get`."""
        return f"{self.tag}_{self.view.__name__}"
