"""What is served outside the API: the disk store's signed URLs, archives, and the pages."""

from flask import Flask

from app.settings import Settings
from app.storage.disk import DiskStore
from app.web import archives, docs, objects


def init_app(app: Flask, settings: Settings) -> None:
    """Register the blueprints that this deployment has."""
    app.register_blueprint(docs.blueprint)
    if settings.enable_trace_routes:
        app.register_blueprint(archives.blueprint)
    if isinstance(app.extensions["object_store"], DiskStore):
        app.register_blueprint(objects.blueprint)
