"""What can go wrong, as exceptions; every message is a sentence that holds no token and no signed URL.

    TracesetsError
      ApiError              the service answered with an error: `status`, `message`, `request_id`
        Invalid 400, Unauthenticated 401, Forbidden 403, NotFound 404, RequestTimeout 408, Conflict 409, Gone 410,
        TooLarge 413, UnsupportedMediaType 415, RateLimited 429, Unavailable 503, StoreFull 507
      NotReachable          no usable answer within the patience that was asked for; the same call may succeed later
      UploadEnded           the upload session can take no more parts; open a new one
      SourceChanged         a file is not what it was when its upload began
      Damaged               bytes differ from the digest that the store or the plan has of them
      LocalError            a path, a name or a setting of this machine is in the way

The children of `ApiError` have the names and statuses of the server's own errors; a status without a class of its
own comes as `ApiError`.
"""

from typing import ClassVar


class TracesetsError(Exception):
    """The base of all that this package raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ApiError(TracesetsError):
    """The service has answered, and refused.

    Attributes:
        status: of the answer.
        request_id: by which the service's log knows the request; None where the answer had none.
        retry_after: the seconds that the answer asks to wait; None where it names none.
    """

    own_status: ClassVar[int | None] = None

    def __init__(
        self, message: str, status: int, *, request_id: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class Invalid(ApiError):
    """The request is wrong; the message names the field, the value and what would be right."""

    own_status = 400


class Unauthenticated(ApiError):
    """The token is not known, has run out or was revoked."""

    own_status = 401


class Forbidden(ApiError):
    """The object may be seen, but not changed, by this token."""

    own_status = 403


class NotFound(ApiError):
    """There is no such object, or this token may not see it."""

    own_status = 404


class RequestTimeout(ApiError):
    """The work goes on without the request."""

    own_status = 408


class Conflict(ApiError):
    """Another request is at it, or the object's state forbids the change."""

    own_status = 409


class Gone(ApiError):
    """The upload session has passed its time."""

    own_status = 410


class TooLarge(ApiError):
    """The request, or an uploaded file, is larger than allowed."""

    own_status = 413


class UnsupportedMediaType(ApiError):
    """The service did not take the request for JSON."""

    own_status = 415


class RateLimited(ApiError):
    """Too many requests."""

    own_status = 429


class Unavailable(ApiError):
    """The service's store or database does not answer."""

    own_status = 503


class StoreFull(ApiError):
    """The store has no room; the upload session stays open."""

    own_status = 507


class NotReachable(TracesetsError):
    """No usable answer came, however often it was tried."""


class UploadEnded(TracesetsError):
    """The upload session has failed, expired or was ended."""


class SourceChanged(TracesetsError):
    """A local file changed while it was being sent, or since."""


class Damaged(TracesetsError):
    """Bytes arrived that are not those that were sent."""


class LocalError(TracesetsError):
    """Something on this machine is in the way: a path, a name, a setting."""


_BY_STATUS = {child.own_status: child for child in ApiError.__subclasses__()}


def api_error(
    status: int, message: str, *, request_id: str | None = None, retry_after: float | None = None
) -> ApiError:
    """The error of this status."""
    return _BY_STATUS.get(status, ApiError)(message, status, request_id=request_id, retry_after=retry_after)
