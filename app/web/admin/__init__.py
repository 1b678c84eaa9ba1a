"""What site administrators see and do; for everybody else there is nothing here."""

from app.web.admin import library, people, sessions, system
from app.web.admin.area import blueprint

__all__ = ["blueprint", "library", "people", "sessions", "system"]
