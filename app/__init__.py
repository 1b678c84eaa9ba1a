"""Tracesets: one Flask application, and the client that talks to it.

Why `create_app` is looked up only when it is asked for: the client lies in this package too, runs where nothing of
the server is installed, and starts in a fifth of the time without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.factory import create_app
else:

    def __getattr__(name: str) -> object:
        """The application's factory; PEP 562."""
        if name == "create_app":
            try:
                return import_module("app.factory").create_app
            except AttributeError as exc:  # It would be taken for the lack of this name.
                raise ImportError("app.factory cannot be imported") from exc
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["create_app"]
