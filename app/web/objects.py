"""The disk store's door: part PUTs and downloads by signed URL, as S3 would answer them.

No login and no CSRF token: the URL is the permission, and any page may use one that it was given (CORS), as with a
bucket that allows it. Bytes stream in pieces of 1 MiB in both directions; nothing here grows with their number.
"""

import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import structlog
from flask import Blueprint, Response, current_app, g, jsonify, request

from app.errors import AppError, Invalid, NotFound, TooLarge, Unavailable
from app.storage.base import MAX_PART_SIZE, ObjectGone, Stored, UploadGone
from app.storage.disk import DiskStore
from app.storage.disposition import attachment

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

blueprint = Blueprint("objects", __name__, url_prefix="/objects")

_CHUNK = 1024 * 1024
_DRAINED = 128 * 1024 * 1024
"""Bytes of a refused body that are read all the same: a client that is still sending would not see the answer."""
_RANGE = re.compile(r"bytes=(?:(\d{1,30})-(\d{0,30})|-(\d{1,30}))", re.ASCII)
_EXPOSED = "ETag, Content-Length, Content-Range, Accept-Ranges, Content-Disposition"
_TOO_LARGE = f"A part may have {MAX_PART_SIZE} bytes"

log = structlog.get_logger()


@blueprint.put("/parts/<token>/<int:number>")
def put_part(token: str, number: int) -> Response:
    """Store a part; its ETag is the SHA-256 of its bytes."""
    g.body = _Body(request.environ, request.content_length)
    store = _store()
    key, upload_id = store.urls.open_part(token, number)
    part = store.write_part(key, upload_id, number, g.body)
    answer = Response(status=200)
    answer.set_etag(part.etag)
    return answer


@blueprint.get("/files/<token>/<name>")
def get_file(token: str, name: str) -> Response:
    """Send an object, or a range of it, as an attachment of this name."""
    store = _store()
    key = store.urls.open_download(token, name)
    stored = store.stat(key)
    if stored is None:
        raise ObjectGone(key)
    if request.if_none_match.contains_weak(stored.etag):
        answer = Response(status=304)
    else:
        answer = _content(store, key, stored)
        answer.headers["Content-Disposition"] = attachment(name)
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Accept-Ranges"] = "bytes"
    answer.set_etag(stored.etag)
    answer.headers["Cache-Control"] = "private, no-store"
    return answer


@blueprint.errorhandler(AppError)
def expected(exc: AppError) -> Response:
    """The error as a small JSON body, to a client that has been heard out."""
    if "body" in g:
        g.body.drain()
    answer = jsonify({"error": {"message": exc.message}})
    answer.status_code = exc.status
    if isinstance(exc, Unavailable):
        log.warning("unavailable", error=exc.message, cause=repr(exc.__cause__))
        answer.headers["Retry-After"] = str(exc.retry_after)
    return answer


@blueprint.errorhandler(UploadGone)
@blueprint.errorhandler(ObjectGone)
def gone(exc: UploadGone | ObjectGone) -> Response:
    """A link whose upload has ended, or whose object was deleted."""
    what = "upload" if isinstance(exc, UploadGone) else "file"
    return expected(NotFound(f"This {what} is no longer there"))


@blueprint.after_request
def allow_any_origin(answer: Response) -> Response:
    """CORS, preflight included: the URL is the permission, whichever page sends it."""
    answer.headers["Access-Control-Allow-Origin"] = "*"
    answer.headers["Access-Control-Expose-Headers"] = _EXPOSED
    if request.method == "OPTIONS":
        answer.headers["Access-Control-Allow-Methods"] = "GET, HEAD, PUT"
        answer.headers["Access-Control-Allow-Headers"] = request.headers.get("Access-Control-Request-Headers", "*")
        answer.headers["Access-Control-Max-Age"] = "3600"
    return answer


def _store() -> DiskStore:
    return cast("DiskStore", current_app.extensions["object_store"])


def _content(store: DiskStore, key: str, stored: Stored) -> Response:
    """The answer's status and bytes: 200 with all of them, 206 with some, 416 with none."""
    wanted = _wanted(stored)
    if wanted is None:
        wanted, status = range(stored.size), 200
    elif wanted:
        status = 206
    else:
        return Response(status=416, headers={"Content-Range": f"bytes */{stored.size}"})
    chunks = store.read(key, wanted.start, len(wanted))
    answer = Response(() if request.method == "HEAD" else chunks, status, content_type="application/octet-stream")
    answer.content_length = len(wanted)
    if status == 206:
        answer.headers["Content-Range"] = f"bytes {wanted.start}-{wanted.stop - 1}/{stored.size}"
    return answer


def _wanted(stored: Stored) -> range | None:
    """The bytes that the request's Range names; empty where there are none such, None where all are meant.

    A header that is malformed, of another unit or of several ranges is ignored, as is one whose If-Range speaks of
    another object. Source: RFC 9110, sections 13.1.5 and 14.2.
    """
    match = _RANGE.fullmatch(request.headers.get("Range", ""))
    is_other = "If-Range" in request.headers and request.headers["If-Range"] != f'"{stored.etag}"'
    if match is None or is_other or request.method == "HEAD":
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        return range(max(stored.size - int(suffix), 0), stored.size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, stored.size) if last else stored.size)


class _Body:
    """The request's body, in chunks.

    It is read from the server itself: werkzeug's own stream copies every byte twice more, and takes a body that ends
    early for a complete one where the server ends its input.
    """

    def __init__(self, environ: "WSGIEnvironment", announced: int | None) -> None:
        if announced is None and "wsgi.input_terminated" not in environ:
            announced = 0
        self._stream = environ["wsgi.input"]
        self._announced = announced
        self._left = MAX_PART_SIZE + 1 if announced is None else announced

    def __iter__(self) -> Iterator[bytes]:
        """Every byte, once.

        Raises:
            TooLarge: the body is longer than a part may be.
            Invalid: it ends before its length, or cannot be read.
        """
        if self._left > MAX_PART_SIZE and self._announced is not None:
            raise TooLarge(_TOO_LARGE)
        yield from self._chunks()
        if self._announced is None and not self._left:
            raise TooLarge(_TOO_LARGE)
        if self._announced is not None and self._left:
            raise Invalid(f"The body ends {self._left} bytes before its length of {self._announced}")

    def drain(self) -> None:
        """Read on to the end: a client that is still sending would not see the answer. There is a limit to that."""
        self._left = min(self._left, _DRAINED)
        with suppress(Invalid):
            deque(self._chunks(), maxlen=0)

    def _chunks(self) -> Iterator[bytes]:
        while self._left:
            try:
                chunk = self._stream.read(min(_CHUNK, self._left))
            except Exception as exc:  # Each server has exceptions of its own for a chunk that is none.
                raise Invalid("The body cannot be read to its end") from exc
            if not chunk:
                return
            self._left -= len(chunk)
            yield chunk
