"""The tables. Importing this package makes all of them known to `Base.metadata`."""

from app.models import events, people, sweeps, tracesets, uploads, validations, workspaces
from app.models.base import Base

__all__ = ["Base", "events", "people", "sweeps", "tracesets", "uploads", "validations", "workspaces"]
