"""The API's document, as the document itself shows it."""

from typing import Annotated, Any

from pydantic import Field

from app.schemas.base import Schema


class OpenAPIDocument(Schema):
    """An OpenAPI description."""

    openapi: Annotated[str, Field(pattern=r"^3\.1\.")]
    info: dict[str, Any]
    servers: list[dict[str, Any]]
    security: list[dict[str, Any]]
    tags: list[dict[str, Any]]
    paths: dict[str, Any]
    components: dict[str, Any]
