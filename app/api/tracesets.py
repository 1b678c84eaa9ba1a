"""Showing, downloading, validating, promoting and deleting tracesets."""

from flask import Response

from app.api.endpoint import Routes, no_content, respond
from app.api.presenters import present_download, present_events, present_traceset, present_validation
from app.domain.access import Caller
from app.domain.listing import parse_limit
from app.schemas import tracesets as schemas
from app.schemas.events import EventList, EventQuery
from app.services.deletion import delete_traceset
from app.services.downloads import sign_download
from app.services.events import list_traceset_events
from app.services.promotion import promote_traceset
from app.services.tracesets import show_traceset
from app.services.validation import validate_traceset

routes = Routes("tracesets")


@routes.endpoint("GET", "/tracesets/<traceset_id>", answers={200: schemas.Traceset})
def get(caller: Caller, traceset_id: str) -> Response:
    """Show a traceset with all its files."""
    traceset, metadata = present_traceset(show_traceset(caller, traceset_id))
    return respond(traceset, raw=metadata)


@routes.endpoint("DELETE", "/tracesets/<traceset_id>", answers={204: None}, changes=True)
def delete(caller: Caller, traceset_id: str) -> Response:
    """Delete a traceset; bytes that nothing refers to any more go with the next sweep."""
    delete_traceset(caller, traceset_id)
    return no_content()


@routes.endpoint(
    "GET",
    "/tracesets/<traceset_id>/download",
    query=schemas.DownloadQuery,
    answers={200: schemas.DownloadURL},
    errors={400: "File 'external.dat' uses an external URL and cannot be downloaded via presigned URL"},
)
def download(caller: Caller, traceset_id: str, query: schemas.DownloadQuery) -> Response:
    """Answer a URL for one file, or for the whole traceset as one zip."""
    return respond(present_download(sign_download(caller, traceset_id, query.file)))


@routes.endpoint(
    "POST",
    "/tracesets/<traceset_id>/validate",
    body=schemas.ValidateRequest,
    is_body_optional=True,
    answers={200: schemas.Validation},
)
def validate(caller: Caller, traceset_id: str, body: schemas.ValidateRequest) -> Response:
    """Check that a traceset is whole: its files in the store, its metadata, and with `deep` every byte."""
    return respond(present_validation(validate_traceset(caller, traceset_id, is_deep=bool(body.deep))))


@routes.endpoint(
    "POST",
    "/tracesets/<traceset_id>/promote",
    body=schemas.PromoteRequest,
    is_body_optional=True,
    answers={201: schemas.Traceset, 200: schemas.Traceset},
    errors={400: "'ts_abc123xyz' cannot be promoted: its status is uploading, not ready"},
    changes=True,
)
def promote(caller: Caller, traceset_id: str, body: schemas.PromoteRequest) -> Response:
    """Publish a ready traceset into another workspace, over the same bytes. 200 where that was done already."""
    promotion = promote_traceset(
        caller, traceset_id, workspace_id=body.workspace_id, name=body.name, metadata=body.workload_metadata
    )
    traceset, metadata = present_traceset(show_traceset(caller, promotion.traceset_id))
    return respond(traceset, 201 if promotion.is_first else 200, raw=metadata)


@routes.endpoint("GET", "/tracesets/<traceset_id>/events", query=EventQuery, answers={200: EventList})
def events(caller: Caller, traceset_id: str, query: EventQuery) -> Response:
    """List what happened to a traceset, newest first: who, when, from where."""
    page = list_traceset_events(caller, traceset_id, limit=parse_limit(query.limit), cursor=query.next)
    return respond(present_events(page))
