"""The client: `TracesetsClient` for programs, `tracesets` for people and scripts.

It runs where nothing of the server is installed: beside the standard library it needs urllib3, click and rich. How to
use both is told in docs/client.md.
"""

from app.client.client import Download, TracesetsClient
from app.client.errors import (
    ApiError,
    Damaged,
    LocalError,
    NotReachable,
    SourceChanged,
    TracesetsError,
    UploadEnded,
)
from app.client.plan import Plan, plan_upload
from app.client.sources import collect
from app.client.watcher import Watcher

__all__ = [
    "ApiError",
    "Damaged",
    "Download",
    "LocalError",
    "NotReachable",
    "Plan",
    "SourceChanged",
    "TracesetsClient",
    "TracesetsError",
    "UploadEnded",
    "Watcher",
    "collect",
    "plan_upload",
]
