"""The bytes of a request's body (G7)."""

from flask import request

from app.errors import Invalid, TooLarge
from app.extensions import app_settings


def read_bytes() -> bytes:
    """The whole body of the request.

    Why not `request.get_data`: where a body comes in chunks, werkzeug cuts it at the limit and goes on, and where one
    ends before its length, it does not always tell.

    Raises:
        TooLarge: it has more than `max_body_size` bytes.
        Invalid: it ends early, or cannot be read.
    """
    limit, announced = app_settings().max_body_size, request.content_length
    if (announced or 0) > limit:
        raise _too_large(limit)
    request.max_content_length = limit + 1
    data = bytearray()
    try:
        while len(data) <= limit and (chunk := request.stream.read(limit + 1 - len(data))):
            data += chunk
    except Exception as exc:  # Each server has exceptions of its own for a chunk that is none.
        raise Invalid("The body cannot be read to its end") from exc
    if len(data) > limit:
        raise _too_large(limit)
    if announced is not None and len(data) < announced:
        raise Invalid(f"The body ends {announced - len(data)} bytes before its length of {announced}")
    return bytes(data)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The request body is larger than the limit of {limit} bytes")
