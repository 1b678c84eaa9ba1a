"""The Flask application, wired together. Only `create_app` of the package imports from this module."""

from flask import Flask
from sqlalchemy import text
from werkzeug.middleware.proxy_fix import ProxyFix

from app import api, commands, error_handlers, extensions, observability, security, upkeep_commands, web
from app.extensions import bootstrap, csrf, db, migrate
from app.settings import ROOT, Settings
from app.storage import make_store
from app.transactions import reading


def create_app(settings: Settings | None = None) -> Flask:
    """The application with these settings, or those of the environment."""
    settings = settings or Settings()
    # What lies there is for the application's account alone.
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    observability.configure_logging(settings)

    app = Flask("tracesets", root_path=str(ROOT), template_folder="templates", static_folder="static")
    # Else a path with an empty segment would be answered by a page that leads to another path.
    app.url_map.merge_slashes = False
    app.config["SECRET_KEY"] = settings.signing_key
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_size
    app.config.update(extensions.database_config(settings))
    if settings.trusted_proxies:
        hops = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]

    app.extensions["settings"] = settings
    store = make_store(settings, extensions.public_origin)
    app.extensions["object_store"] = store
    app.extensions["readiness"] = {"database": _probe_database, "object store": store.check}

    db.init_app(app)
    migrate.init_app(app)
    extensions.configure_engine(app)
    observability.init_app(app)
    security.init_app(app, settings)
    csrf.init_app(app)
    bootstrap.init_app(app)
    api.init_app(app, settings)
    web.init_app(app, settings)
    error_handlers.init_app(app)
    commands.init_app(app)
    upkeep_commands.init_app(app)
    return app


def _probe_database() -> None:
    with reading() as session:
        session.execute(text("SELECT version_num FROM alembic_version")).one()
