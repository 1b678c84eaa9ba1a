"""The one shape of an error (G2)."""

from typing import Annotated

from pydantic import Field

from app.schemas.base import Schema


class ErrorDetail(Schema):
    """What went wrong, in a sentence for people."""

    message: str
    code: Annotated[str | None, Field(description="PAYLOAD_TOO_LARGE with 413, absent else.")] = None


class Error(Schema):
    """Every answer of 400 and above."""

    error: ErrorDetail
