"""The API's document as a page to read and to try: Swagger UI, from its installed package."""

from importlib.metadata import version
from pathlib import Path

import flask_swagger_ui
from flask import Blueprint, Response, make_response, render_template, send_from_directory

blueprint = Blueprint("docs", __name__, url_prefix="/docs")

_PACKAGE = "flask-swagger-ui"
_FOLDER = Path(flask_swagger_ui.__file__).parent / "dist"
_YEAR_SECONDS = 365 * 86_400
# Swagger UI sets the style of elements, and its sheet holds its icons.
# Source: swagger-ui, issues 5817 and 10655.
_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@blueprint.get("/api")
def api() -> Response:
    """The page, open to everyone: it shows what a deployment offers, and nothing of what is in it."""
    response = make_response(render_template("docs/api.html", version=version(_PACKAGE)))
    response.headers["Content-Security-Policy"] = _POLICY
    return response


@blueprint.get('/swagger-ui/<any("swagger-ui.css", "swagger-ui-bundle.js"):name>')
def swagger_ui(name: str) -> Response:
    """A file of the package; the page asks for it by the package's version, so it may be kept."""
    return send_from_directory(_FOLDER, name, max_age=_YEAR_SECONDS)
