"""Errors become responses here and nowhere else: the contract's JSON below `/api`, a page elsewhere (G2).

Why by path and not by blueprint: an unknown URL belongs to no blueprint.
"""

from contextlib import suppress
from http import HTTPStatus

import structlog
from flask import Flask, Response, jsonify, render_template, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from app.errors import AppError, RateLimited, TooLarge, Unauthenticated, Unavailable
from app.observability import request_id

MAX_MESSAGE = 4000
"""Characters. A message quotes what it speaks of, and a request may hold a name of millions."""
_SECRET = ("/objects/", "/archives/", "/login/")
"""Addresses that are a permission by themselves; no page repeats them."""
_CHUNK = 1024 * 1024
_DRAINED = 128 * 1024 * 1024
"""Bytes of a refused body that are read all the same."""

log = structlog.get_logger()


def init_app(app: Flask) -> None:
    """Register the three handlers."""
    app.register_error_handler(AppError, _expected)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)


def _expected(exc: AppError) -> ResponseReturnValue:
    if isinstance(exc, Unavailable):
        log.warning("unavailable", error=exc.message, cause=repr(exc.__cause__) if exc.__cause__ else None)
    response = _answer(exc.status, exc.message)
    if isinstance(exc, Unauthenticated):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(exc, RateLimited | Unavailable):
        response.headers["Retry-After"] = str(exc.retry_after)
    return response


def _http(exc: HTTPException) -> ResponseReturnValue:
    status = exc.code or 500
    if status < 400:
        return exc.get_response()
    if isinstance(exc, RequestEntityTooLarge):
        limit = request.max_content_length
        return _answer(413, f"The request body is larger than the limit of {limit} bytes")
    place = "this address" if request.path.startswith(_SECRET) else request.path
    message = {
        404: f"There is nothing at {place}",
        405: f"{request.method} is not allowed at {place}",
    }.get(status, exc.description or HTTPStatus(status).phrase)
    response = _answer(status, message)
    if isinstance(exc, MethodNotAllowed) and exc.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(exc.valid_methods))
    return response


def _unexpected(exc: Exception) -> ResponseReturnValue:
    log.error("request.failed", exc_info=exc)
    return _answer(500, f"Something went wrong on our side; the request id is {request_id()}")


def _answer(status: int, message: str) -> Response:
    _hear_out()
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}…"
    if request.path == "/api" or request.path.startswith("/api/"):
        error = {"message": message}
        if status == 413:
            error["code"] = TooLarge.code
        response = jsonify({"error": error})
    else:
        reason = HTTPStatus(status).phrase
        page = render_template(
            "errors/error.html", status=status, reason=reason, message=message, request_id=request_id()
        )
        response = Response(page)
    response.status_code = status
    return response


def _hear_out() -> None:
    """Read what is left of a refused body: a client that is still sending would not see the answer.

    There is a limit to that. A server that does not end the stream with the body is not asked.
    """
    left = _DRAINED if "wsgi.input_terminated" in request.environ else 0
    with suppress(Exception):
        while left > 0 and (chunk := request.environ["wsgi.input"].read(min(_CHUNK, left))):
            left -= len(chunk)
