"""The one shape of an error (G2), and what each status means wherever it is answered."""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from app.errors import TooLarge
from app.schemas.base import Schema


class ErrorDetail(Schema):
    """What went wrong."""

    message: Annotated[str, Field(description="A sentence for people, which names what is wrong and what is right.")]
    code: Annotated[Literal["PAYLOAD_TOO_LARGE"] | None, Field(description="With 413 only.")] = None


class Error(Schema):
    """Every answer of 400 and above."""

    error: ErrorDetail


class Fault(NamedTuple):
    """An error's name, its meaning, and an example of its message."""

    name: str
    description: str
    message: str

    def example(self, status: int, message: str) -> dict[str, object]:
        """The body of an answer with this message, or the usual one where it is empty."""
        code = {"code": TooLarge.code} if status == TooLarge.status else {}
        return {"error": {**code, "message": message or self.message}}


FAULTS: Mapping[int, Fault] = {
    400: Fault(
        "Invalid",
        "The request is wrong; the message names the member or parameter at fault.",
        "name is required",
    ),
    401: Fault(
        "Unauthenticated",
        "There is no token, or none that may be used.",
        "Give an API token: Authorization: Bearer <token>",
    ),
    403: Fault(
        "Forbidden",
        "The caller, or the token, may only read here.",
        "A read-only token changes nothing",
    ),
    404: Fault(
        "NotFound",
        "There is none, or none that the caller may see.",
        "Traceset 'ts_notfound' not found",
    ),
    408: Fault(
        "RequestTimeout",
        "The work takes longer than a request may, and goes on: send the same request again.",
        "The completion takes longer than this request may. It goes on: retry the same request until it answers 200",
    ),
    409: Fault(
        "Conflict",
        "Another request is at it, or its state forbids this.",
        "Upload session is already being completed by another request",
    ),
    410: Fault(
        "Gone",
        "The upload session has passed its lifetime.",
        "Upload session 'upload_ghi789' has expired",
    ),
    413: Fault(
        "TooLarge",
        "The request's body, or an uploaded file, is larger than it may be.",
        "The request body is larger than the limit of 33554432 bytes",
    ),
    415: Fault(
        "UnsupportedMediaType",
        "The request's body is declared as something else than JSON.",
        "The body must be application/json, got text/plain",
    ),
    429: Fault(
        "RateLimited",
        "Too much at once; send it again after `Retry-After`.",
        "You have 200 uploads open; complete or end some first",
    ),
    500: Fault(
        "InternalError",
        "A fault of the server, whose log has the request's id.",
        "Something went wrong on our side; the request id is 3f9c2b7d1a5e8046",
    ),
    503: Fault(
        "Unavailable",
        "The database or the object store does not answer; send it again after `Retry-After`.",
        "The object store does not answer; please try again",
    ),
}
"""Every status that the API answers on purpose; an endpoint may give a message of its own as the example."""
