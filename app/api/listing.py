"""The list of tracesets (L1-L12)."""

from flask import Response

from app.api.endpoint import Routes, respond
from app.api.presenters import present_page
from app.domain.access import Caller
from app.schemas.listing import ListQuery, TracesetList
from app.services.listing import list_tracesets

routes = Routes("tracesets")


@routes.endpoint(
    "GET",
    "/tracesets",
    query=ListQuery,
    answers={200: TracesetList},
    errors={400: "Invalid sort field: 'unknown'. Valid fields: created, name, status"},
)
def list_all(caller: Caller, query: ListQuery) -> Response:
    """List the tracesets that the caller sees, newest first unless sorted otherwise."""
    return respond(present_page(list_tracesets(caller, query.to_listing())))
