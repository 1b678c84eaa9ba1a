"""The JSON API below `/api/v1`."""

from flask import Blueprint, Flask

from app.api import auth, document, listing, mapping_files, rate_limits, tracesets, uploads, workspaces
from app.settings import Settings

TRACE_ROUTES = (
    uploads.traceset_routes,
    listing.routes,
    tracesets.routes,
    uploads.mapping_file_routes,
    mapping_files.routes,
)


def init_app(app: Flask, settings: Settings) -> None:
    """Register the routes that the settings allow (G6)."""
    app.extensions["rate_limiter"] = rate_limits.make_limiter()
    api = Blueprint("api", __name__, url_prefix="/api/v1")
    api.before_request(auth.authenticate)
    document.routes.register(api)
    workspaces.routes.register(api)
    if settings.enable_trace_routes:
        for routes in TRACE_ROUTES:
            routes.register(api, is_read_only=settings.trace_routes_read_only)
    app.register_blueprint(api)
