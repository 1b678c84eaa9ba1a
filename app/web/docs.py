"""The API's document as a page to read and to try: Swagger UI, from its installed package."""

from importlib.metadata import version
from pathlib import Path

import flask_swagger_ui
from flask import Blueprint, Response, make_response, render_template, send_from_directory

from app.extensions import app_settings
from app.security import content_security_policy
from app.web.auth import public

blueprint = Blueprint("docs", __name__, url_prefix="/docs")
assets = Blueprint("swagger_ui", __name__, url_prefix="/docs/swagger-ui")

_FOLDER = Path(flask_swagger_ui.__file__).parent / "dist"
_YEAR_SECONDS = 365 * 86_400


@blueprint.get("/api")
@public
def api() -> Response:
    """The page, open to everyone: it shows what a deployment offers, and nothing of what is in it."""
    response = make_response(render_template("docs/api.html", version=version("flask-swagger-ui")))
    # Swagger UI styles single elements. Source: swagger-ui, issue 5817.
    policy = content_security_policy(app_settings()).replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
    response.headers["Content-Security-Policy"] = policy
    return response


@assets.get('/<any("swagger-ui.css", "swagger-ui-bundle.js"):name>')
def file(name: str) -> Response:
    """A file of the package; the page asks for it by the package's version, so it may be kept."""
    return send_from_directory(_FOLDER, name, max_age=_YEAR_SECONDS)
