"""The settings in force, and whether database and store answer."""

import os
import platform
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from flask import current_app, render_template
from flask.typing import ResponseReturnValue
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.engine import make_url

from app.extensions import app_settings
from app.settings import Settings
from app.storage.disk import DiskStore
from app.transactions import reading
from app.web.admin.area import blueprint

log = structlog.get_logger()

HIDDEN = "•••••• (set, not shown)"
PACKAGES = ("tracesets", "flask", "sqlalchemy", "gunicorn", "boto3", "pydantic")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: the variable's name, its value as it may be shown, and whether that is the default."""

    name: str
    value: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of asking one part: None for a sign of life, else the kind of its failure; and the milliseconds."""

    name: str
    failure: str | None
    milliseconds: float


@blueprint.get("/settings")
def settings() -> ResponseReturnValue:
    """Show what is in force; secrets are not in the page, however it is looked at."""
    return render_template("admin/settings.html", settings=_shown(app_settings()))


@blueprint.get("/health")
def health() -> ResponseReturnValue:
    """Ask what `/readyz` asks, and tell how long each answer took."""
    probes = [_probed(name) for name in current_app.extensions["readiness"]]
    is_disk = isinstance(current_app.extensions["object_store"], DiskStore)
    current = app_settings()
    return render_template(
        "admin/health.html",
        probes=probes,
        is_well=not any(probe.failure for probe in probes),
        facts={
            "Database": make_url(current.sqlalchemy_url).get_backend_name(),
            "Schema": _schema(),
            "Object store": f"disk, below {current.data_dir.absolute()}" if is_disk else f"S3, {current.s3_bucket}",
            "Host": platform.node(),
            "Process": str(os.getpid()),
            "Python": platform.python_version(),
        },
        versions={name: version(name) for name in PACKAGES},
    )


def _shown(current: Settings) -> list[Setting]:
    shown = []
    for name, field in type(current).model_fields.items():
        value = getattr(current, name)
        shown.append(Setting(f"TRACESETS_{name.upper()}", masked(name, value), value == field.default))
    return shown


def masked(name: str, value: object) -> str:
    """A setting's value as text that holds no secret."""
    if name == "database_url" and isinstance(value, SecretStr):
        # Its query may hold a password too, so of the URL only what is known to be none is shown.
        url = make_url(value.get_secret_value())
        return f"{url.drivername}://{url.host or ''}/{url.database or ''} (credentials are not shown)"
    if isinstance(value, SecretStr):
        return HIDDEN
    if isinstance(value, str) and "://" in value and "@" in urlsplit(value).netloc:
        return value.replace(urlsplit(value).netloc.rpartition("@")[0], "••••••", 1)
    if value is None:
        return "not set"
    return str(value.absolute() if isinstance(value, Path) else value)


def _probed(name: str) -> Probe:
    began = time.perf_counter()
    failure = None
    try:
        current_app.extensions["readiness"][name]()
    except Exception as exc:  # noqa: BLE001 - whatever a probe meets is what this page is to tell
        log.warning("readiness.failed", part=name, error=type(exc).__name__)
        failure = type(exc).__name__
    return Probe(name, failure, round((time.perf_counter() - began) * 1000, 1))


def _schema() -> str:
    with reading() as session:
        return str(session.scalar(text("SELECT version_num FROM alembic_version")))
