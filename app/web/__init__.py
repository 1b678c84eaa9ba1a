"""What is served outside the API: the disk store's signed URLs, archives, and the pages."""

from collections.abc import Iterator
from types import ModuleType

from flask import Blueprint, Flask

from app.settings import Settings
from app.storage.disk import DiskStore
from app.web import (
    account,
    admin,
    archives,
    auth,
    docs,
    filters,
    help_pages,
    home,
    login,
    objects,
    pages,
    progress,
    traceset,
    traceset_changes,
    tracesets,
    upload,
    workspaces,
)

AREAS = (login, home, account, workspaces, help_pages, docs, admin)
"""The areas of the pages that every deployment has."""
TRACE_AREAS = (tracesets, traceset, progress)
"""Those that show tracesets (G6)."""
CHANGE_AREAS = (upload, traceset_changes)
"""Those that only change tracesets (G6)."""


def init_app(app: Flask, settings: Settings) -> None:
    """Register the blueprints that this deployment has."""
    filters.init_app(app)
    web = Blueprint("web", __name__)
    web.before_request(auth.guard)
    pages.init_app(web)
    for area in _areas(settings):
        web.register_blueprint(area.blueprint)
    app.register_blueprint(web)
    app.register_blueprint(docs.assets)
    if settings.enable_trace_routes:
        app.register_blueprint(archives.blueprint)
    if isinstance(app.extensions["object_store"], DiskStore):
        app.register_blueprint(objects.blueprint)


def _areas(settings: Settings) -> Iterator[ModuleType]:
    yield from AREAS
    if settings.enable_trace_routes:
        yield from TRACE_AREAS
        if not settings.trace_routes_read_only:
            yield from CHANGE_AREAS
