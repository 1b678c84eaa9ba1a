"""The API's document, for people and for what generates clients from it."""

from flask import Response, current_app

from app.api.endpoint import Routes, respond
from app.openapi import build_document
from app.schemas.document import OpenAPIDocument

routes = Routes("document")


@routes.endpoint("GET", "/openapi.json", answers={200: OpenAPIDocument}, is_public=True)
def openapi() -> Response:
    """Describe the API: this document.

    It holds the routes that this deployment has, and is the same for every caller.
    """
    if "openapi" not in current_app.extensions:
        current_app.extensions["openapi"] = build_document(current_app)
    return respond(current_app.extensions["openapi"])
