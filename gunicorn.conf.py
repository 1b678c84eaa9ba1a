"""How gunicorn serves Tracesets; the application's own settings are in app/settings.py.

`HOST`, `PORT`, `WEB_CONCURRENCY` (processes), `WEB_THREADS` (per process) and `WEB_PATIENCE` (seconds) are read here,
and every option can be given on gunicorn's command line. A thread is held for as long as a part streams in or a
completion is waited for, hence many of them.
"""

import json
import os
import pathlib
import socket
import struct
import tempfile

from gunicorn import util

bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ.get('PORT', '8000')}"
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = int(os.environ.get("WEB_THREADS", "32"))
timeout = 120
graceful_timeout = 30
keepalive = 75
# How long a client may stay silent in the middle of a request, or take nothing of its answer.
patience = int(os.environ.get("WEB_PATIENCE", "60"))
# Nobody steers it by a socket, and two servers of one account would fight for its path.
control_socket_disable = True
# A traceset's file may have a name of 1,024 bytes, each of which takes three characters in a URL.
limit_request_line = 8190

# Must stand before the first import of prometheus_client, in the master, so that all workers share one folder. One
# that the operator names is made where it is not there, and kept.
OWN_METRICS = "tracesets-metrics-"
if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=OWN_METRICS)
metrics_folder = pathlib.Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
metrics_folder.mkdir(parents=True, exist_ok=True)


def when_ready(server):
    """Let no client hold a thread by silence: gunicorn itself gives reading and writing no limit.

    What is set for a listener holds for the connections that it accepts. Source: Linux, `sk_clone_lock`.
    """
    for listener in server.LISTENERS:
        for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.sock.setsockopt(socket.SOL_SOCKET, direction, struct.pack("ll", patience, 0))
    # It would log a stack for each of them.
    server.log.error_log.addFilter(lambda line: not (line.exc_info and isinstance(line.exc_info[1], BlockingIOError)))


def write_error(client, status, reason, message):
    """Answer a request that cannot be read at all, in the shape that every error of the API has."""
    body = json.dumps({"error": {"message": message or reason}}).encode()
    head = (
        f"HTTP/1.1 {status} {reason}",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    util.write_nonblock(client, "\r\n".join((*head, "", "")).encode() + body)


# gunicorn would answer in HTML, and has no setting for it.
util.write_error = write_error


def post_worker_init(worker):
    """Every worker has a sweeper of its own; they share the work by claiming rows."""
    from app.services.sweep import start_sweeper

    start_sweeper(worker.wsgi)


def child_exit(server, worker):
    """Fold a dead worker's gauges away."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)


def on_exit(server):
    """Leave no folder of our own behind."""
    import shutil

    if metrics_folder.name.startswith(OWN_METRICS):
        shutil.rmtree(metrics_folder, ignore_errors=True)
