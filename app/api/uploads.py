"""Opening, watching, completing and ending uploads: one exchange for tracesets and for mapping files (M1)."""

import hashlib
from collections.abc import Callable

from flask import Response, request

from app.api.endpoint import Routes, no_content, respond
from app.api.presenters import JSON, present_mapping_file, present_opened, present_session, present_traceset
from app.domain import strict_json
from app.domain.access import Caller
from app.errors import Invalid
from app.models.tracesets import Kind
from app.models.uploads import IDEMPOTENCY_KEY_LENGTH
from app.schemas import mapping_files, tracesets, uploads
from app.schemas.base import Schema
from app.services import deletion
from app.services.completion import complete_upload
from app.services.tracesets import ShownTraceset, show_traceset
from app.services.upload_view import show_upload
from app.services.uploads import Idempotency, open_upload


def _upload_routes(
    tag: str,
    root: str,
    kind: Kind,
    *,
    new: type[uploads.UploadRequest] | type[mapping_files.MappingUploadRequest],
    shown: type[Schema],
    present: Callable[[ShownTraceset], tuple[JSON, dict[str, str]]],
) -> Routes:
    """The exchange below `root`.

    Args:
        tag: the resource's name in the API document.
        root: the collection's path.
        kind: what is uploaded.
        new: the schema of a request to open one.
        shown: the schema of a completed one.
        present: its members.
    """
    routes = Routes(tag)

    @routes.endpoint(
        "POST",
        f"{root}/upload-url",
        body=new,
        answers={200: uploads.UploadResponse},
        errors=(413, 429, 503),
        changes=True,
    )
    def open(caller: Caller, body: uploads.UploadRequest | mapping_files.MappingUploadRequest) -> Response:  # noqa: A001
        """Open an upload, and answer a URL for every part of every file."""
        return respond(present_opened(open_upload(caller, body.to_new(), _idempotency(body))))

    @routes.endpoint(
        "POST",
        f"{root}/upload-url/complete",
        body=uploads.CompleteUploadRequest,
        answers={201: shown, 200: shown},
        errors=(404, 408, 409, 410, 413, 503),
        changes=True,
    )
    def complete(caller: Caller, body: uploads.CompleteUploadRequest) -> Response:
        """Complete an upload. 201 the first time, 200 on every retry."""
        completion = complete_upload(caller, body.upload_id, kind, [file.to_named() for file in body.files])
        members, metadata = present(show_traceset(caller, completion.traceset_id, kind))
        return respond(members, 201 if completion.is_first else 200, raw=metadata)

    @routes.endpoint("GET", f"{root}/upload-url/<upload_id>", answers={200: uploads.UploadSession}, errors=(404, 503))
    def session(caller: Caller, upload_id: str) -> Response:
        """Show a session: which parts the store holds, and fresh URLs for the others."""
        return respond(present_session(show_upload(caller, upload_id, kind)))

    @routes.endpoint(
        "DELETE", f"{root}/upload-url/<upload_id>", answers={204: None}, errors=(404, 409, 503), changes=True
    )
    def abort(caller: Caller, upload_id: str) -> Response:
        """End a session and discard its parts; nothing happens to one that has ended."""
        deletion.abort_upload(caller, upload_id, kind)
        return no_content()

    return routes


def _idempotency(body: Schema) -> Idempotency | None:
    """The request's idempotency key with the hash of what was asked (U10)."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_LENGTH:
        raise Invalid(f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_LENGTH} characters, got {len(key)}")
    text = strict_json.dumps([request.path, body.model_dump()])
    return Idempotency(key, hashlib.sha256(text.encode()).hexdigest())


traceset_routes = _upload_routes(
    "tracesets",
    "/tracesets",
    Kind.TRACESET,
    new=uploads.UploadRequest,
    shown=tracesets.Traceset,
    present=present_traceset,
)
mapping_file_routes = _upload_routes(
    "mapping_files",
    "/mapping-files",
    Kind.MAPPING,
    new=mapping_files.MappingUploadRequest,
    shown=mapping_files.MappingFile,
    present=present_mapping_file,
)
