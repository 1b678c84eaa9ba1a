"""The errors that the application raises on purpose.

Each carries the sentence that its user reads and the status under which the API answers it; `error_handlers`
is the one place that turns them into responses. This module imports nothing of the project and nothing of
HTTP, so every layer may raise from it.
"""

from typing import ClassVar


class AppError(Exception):
    """An expected failure, told to the user in one sentence that holds no secret."""

    status: ClassVar[int] = 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Invalid(AppError):
    """The request is wrong; the message names the field, the value and what would be right."""

    status = 400


class Unauthenticated(AppError):
    """No credentials, or none that we know (G1)."""

    status = 401


class Forbidden(AppError):
    """The caller may see the object but not change it (K1)."""

    status = 403


class NotFound(AppError):
    """There is no such object, or the caller may not see it; the two look alike (G5)."""

    status = 404


class RequestTimeout(AppError):
    """The work outlives its request (C6)."""

    status = 408


class Conflict(AppError):
    """Another request is at it, or the object's state forbids the change."""

    status = 409


class Gone(AppError):
    """The upload session has passed its time (C4)."""

    status = 410


class TooLarge(AppError):
    """The body, or an uploaded file, is larger than allowed (C3)."""

    status = 413
    code: ClassVar[str] = "PAYLOAD_TOO_LARGE"


class UnsupportedMediaType(AppError):
    """The body is not JSON by its content type (G7)."""

    status = 415


class RateLimited(AppError):
    """Too many requests; `retry_after` is in seconds."""

    status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(AppError):
    """The store or the database does not answer; a retry after `retry_after` seconds heals it."""

    status = 503
    retry_after: ClassVar[int] = 5


class StoreUnavailable(Unavailable):
    """The object store is away, slow or at fault."""


class DatabaseUnavailable(Unavailable):
    """The database is away, locked or full."""


class StoreFull(AppError):
    """The disk store has no room for a part; the session stays open."""

    status = 507
