"""Opening, watching, completing and ending uploads: one exchange for tracesets and for mapping files (M1)."""

import hashlib
from collections.abc import Callable

from flask import Response, request

from app.api.endpoint import Routes, no_content, respond
from app.api.presenters import JSON, present_mapping_file, present_opened, present_session, present_traceset
from app.domain import strict_json
from app.domain.access import Caller
from app.domain.rank_count import NOT_DECLARED
from app.models.tracesets import Kind
from app.schemas import mapping_files, tracesets, uploads
from app.schemas.base import Schema
from app.services import deletion
from app.services.completion import complete_upload
from app.services.tracesets import ShownTraceset, show_traceset
from app.services.upload_view import show_upload
from app.services.uploads import Idempotency, open_upload

_NOT_FOUND = "Upload session 'upload_notfound' not found"
_ENDED_MEANWHILE = "Upload session 'upload_ghi789' was ended meanwhile"


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
        headers=uploads.UploadHeaders,
        body=new,
        answers={200: uploads.UploadResponse},
        errors={400: NOT_DECLARED if kind is Kind.TRACESET else "", 409: _ENDED_MEANWHILE, 429: ""},
        changes=True,
    )
    def open(  # noqa: A001
        caller: Caller,
        headers: uploads.UploadHeaders,
        body: uploads.UploadRequest | mapping_files.MappingUploadRequest,
    ) -> Response:
        """Open an upload, and answer a URL for every part of every file.

        PUT each part with exactly its `size` bytes to its `url`, before `partUrlsExpireAt`. `expiresAt` is the
        session's own end: until then, the session answers fresh URLs for the parts that are missing.
        """
        return respond(present_opened(open_upload(caller, body.to_new(), _idempotency(headers.idempotency_key, body))))

    @routes.endpoint(
        "POST",
        f"{root}/upload-url/complete",
        body=uploads.CompleteUploadRequest,
        answers={201: shown, 200: shown},
        errors={
            400: "Missing parts for file 'rank_0.chakra.json'",
            404: _NOT_FOUND,
            408: "",
            409: "",
            410: "",
            413: "File rank_0.chakra.json is 2097152 bytes, larger than its declared size of 1048576 bytes",
        },
        changes=True,
    )
    def complete(caller: Caller, body: uploads.CompleteUploadRequest) -> Response:
        """Complete an upload: 201 the first time, 200 on every retry.

        The completion goes on where its request runs out of time (408) or is given up: send the same request
        again, which answers 409 while it runs, then 200, or 400 where it failed.
        """
        completion = complete_upload(caller, body.upload_id, kind, [file.to_named() for file in body.files])
        members, metadata = present(show_traceset(caller, completion.traceset_id, kind))
        return respond(members, 201 if completion.is_first else 200, raw=metadata)

    @routes.endpoint(
        "GET",
        f"{root}/upload-url/<upload_id>",
        answers={200: uploads.UploadSession},
        errors={404: _NOT_FOUND, 409: _ENDED_MEANWHILE},
    )
    def session(caller: Caller, upload_id: str) -> Response:
        """Show a session: which parts the store holds, and fresh URLs for the others."""
        return respond(present_session(show_upload(caller, upload_id, kind)))

    @routes.endpoint(
        "DELETE",
        f"{root}/upload-url/<upload_id>",
        answers={204: None},
        errors={404: _NOT_FOUND, 409: "Upload session 'upload_ghi789' is completed and cannot be ended"},
        changes=True,
    )
    def abort(caller: Caller, upload_id: str) -> Response:
        """End a session and discard its parts; nothing happens to one that has ended."""
        deletion.abort_upload(caller, upload_id, kind)
        return no_content()

    return routes


def _idempotency(key: str | None, body: Schema) -> Idempotency | None:
    """The request's idempotency key with the hash of what was asked (U10)."""
    if key is None:
        return None
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
