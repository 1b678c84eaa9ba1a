"""Opening, watching, completing and ending uploads of tracesets."""

import hashlib
from typing import Any

from flask import Response, request

from app.api.endpoint import Routes, no_content, respond
from app.api.presenters import present_opened, present_session, present_traceset
from app.domain import strict_json
from app.domain.access import Caller
from app.errors import Invalid
from app.models.tracesets import Kind
from app.models.uploads import IDEMPOTENCY_KEY_LENGTH
from app.schemas import tracesets as shown
from app.schemas import uploads as schemas
from app.services import deletion
from app.services.completion import complete_upload
from app.services.tracesets import show_traceset
from app.services.uploads import Idempotency, open_upload, show_upload

routes = Routes("tracesets")


@routes.endpoint(
    "POST",
    "/tracesets/upload-url",
    body=schemas.UploadRequest,
    answers={200: schemas.UploadResponse},
    errors=(413, 429, 503),
    changes=True,
)
def open_traceset_upload(caller: Caller, body: schemas.UploadRequest) -> Response:
    """Open an upload: create the traceset and answer a URL for every part of every file."""
    return respond(present_opened(open_upload(caller, body.to_new(), idempotency_of(body))))


@routes.endpoint(
    "POST",
    "/tracesets/upload-url/complete",
    body=schemas.CompleteUploadRequest,
    answers={201: shown.Traceset, 200: shown.Traceset},
    errors=(404, 408, 409, 410, 413, 503),
    changes=True,
)
def complete_traceset_upload(caller: Caller, body: schemas.CompleteUploadRequest) -> Response:
    """Complete an upload: make the traceset ready. 201 the first time, 200 on every retry."""
    named = [file.to_named() for file in body.files]
    completion = complete_upload(caller, body.upload_id, Kind.TRACESET, named)
    traceset, metadata = present_traceset(show_traceset(caller, completion.traceset_id))
    return respond(traceset, 201 if completion.is_first else 200, raw=metadata)


@routes.endpoint("GET", "/tracesets/upload-url/<upload_id>", answers={200: schemas.UploadSession}, errors=(404, 503))
def show_traceset_upload(caller: Caller, upload_id: str) -> Response:
    """Show a session: which parts the store holds, and fresh URLs for the others."""
    return respond(present_session(show_upload(caller, upload_id, Kind.TRACESET)))


@routes.endpoint(
    "DELETE", "/tracesets/upload-url/<upload_id>", answers={204: None}, errors=(404, 409, 503), changes=True
)
def abort_traceset_upload(caller: Caller, upload_id: str) -> Response:
    """End a session and discard its parts; the traceset becomes `upload_failed`."""
    deletion.abort_upload(caller, upload_id, Kind.TRACESET)
    return no_content()


def idempotency_of(body: Any) -> Idempotency | None:
    """The request's idempotency key with the hash of what was asked (U10)."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_LENGTH:
        raise Invalid(f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_LENGTH} characters, got {len(key)}")
    text = strict_json.dumps([request.path, body.model_dump()])
    return Idempotency(key, hashlib.sha256(text.encode()).hexdigest())
