"""Logs, request ids, metrics, and the three health pages.

A log line is one JSON object with an event's name and keys. It holds no token, no signed URL and no file's
content: requests are logged by their route's pattern, never by their path.
"""

import logging
import os
import re
import secrets
import sys
import time
from collections.abc import Callable

import structlog
from flask import Blueprint, Flask, Response, current_app, g, jsonify, request
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from app.settings import Settings

log = structlog.get_logger()

REQUESTS = Counter("tracesets_requests", "Requests answered", ["endpoint", "method", "status"])
REQUEST_SECONDS = Histogram("tracesets_request_seconds", "Seconds from request to response", ["endpoint", "method"])
COMPLETIONS = Counter("tracesets_completions", "Ends of completions", ["outcome"])
COMPLETED_BYTES = Counter("tracesets_completed_bytes", "Bytes of the files whose uploads were completed")
SWEEPS = Histogram(
    "tracesets_sweep_seconds", "Seconds of sweeps, whole ones and those of which a step failed", ["outcome"]
)
SWEPT = Counter("tracesets_swept", "Things that sweeps ended", ["what"])

_PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

health = Blueprint("health", __name__)


def configure_logging(settings: Settings) -> None:
    """Send structured lines to standard error: JSON, or columns where a person is watching."""
    renderer = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # As text: the structured form would write local variables, and with them tokens, into the log.
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[settings.log_level]),
        # Line and end in one write: the server's own lines go to the same stream, and would come in between.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def init_app(app: Flask) -> None:
    """Give every request an id, a line in the log and its place in the metrics."""

    @app.before_request
    def begin() -> None:
        given = request.headers.get("X-Request-Id", "")
        g.request_id = given if _PLAIN_ID.fullmatch(given) else secrets.token_hex(8)
        g.began = time.perf_counter()
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=g.request_id)

    @app.after_request
    def end(response: Response) -> Response:
        endpoint = request.endpoint or "none"
        seconds = time.perf_counter() - g.get("began", time.perf_counter())
        response.headers["X-Request-Id"] = request_id()
        REQUESTS.labels(endpoint, _method(), response.status_code).inc()
        REQUEST_SECONDS.labels(endpoint, _method()).observe(seconds)
        log.info(
            "request",
            endpoint=endpoint,
            method=_method(),
            status=response.status_code,
            milliseconds=round(seconds * 1000, 1),
        )
        return response

    app.register_blueprint(health)


def request_id() -> str:
    """The id of this request, which its log lines and its `X-Request-Id` header carry."""
    if "request_id" not in g:
        g.request_id = secrets.token_hex(8)
    identifier: str = g.request_id
    return identifier


def note_person(user_id: int | None) -> None:
    """Let the further log lines of this request tell whose it is."""
    structlog.contextvars.bind_contextvars(user_id=user_id)


def _method() -> str:
    known = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    return request.method if request.method in known else "OTHER"


@health.get("/healthz")
def healthz() -> Response:
    """Whether this process serves."""
    return jsonify({"status": "ok"})


@health.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Whether the database and the store answer; 503 names what does not."""
    probes: dict[str, Callable[[], None]] = current_app.extensions["readiness"]
    faults = {}
    for name, probe in probes.items():
        try:
            probe()
        except Exception as exc:  # noqa: BLE001 - whatever a probe meets is what this page is to tell
            log.warning("readiness.failed", part=name, error=type(exc).__name__)
            faults[name] = "does not answer"
    body = {"status": "unavailable" if faults else "ready", **faults}
    return jsonify(body), 503 if faults else 200


@health.get("/metrics")
def metrics() -> Response:
    """All counters in Prometheus' text format, summed over the worker processes."""
    registry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
